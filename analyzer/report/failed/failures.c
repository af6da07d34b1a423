/* failures.c - loads the failed requests, and joins the driver's refusals with the failures that follow (failures.h). */
#include "failures.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define SAME_FAILURE 1000000000 /* ns: a failure comes at most this long after its refusals */

/* Adds a failure. NULL: out of memory. */
static struct oom_failure *add_failure(struct oom_failures *all)
{
	struct oom_failure *grown;

	if (MT_ARRAY_ROOM(all->failure, all->count, all->room))
		return NULL;
	grown = &all->failure[all->count++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

static int64_t int_or_unknown(const struct db_stmt *stmt, int column)
{
	return db_type(stmt, column) == DB_NULL ? -1 : db_int(stmt, column);
}

static const char failures_sql[] =
	"SELECT oom.id, process, device, pid, rank, number, kind, device.name, total_bytes, source, phase, time, seq, "
	"step, oom.node, requested_bytes, free_bytes, free_by, others_bytes, function, place, "
	"(SELECT count(*) FROM process), (SELECT max(steps) FROM process), oom.category, had FROM oom "
	"JOIN process ON process.id = process JOIN device ON device.id = device "
	"LEFT JOIN place ON place.node = oom.node ORDER BY oom.id";

static int take_failure(void *context, struct db_stmt *stmt)
{
	struct oom_failures *all = context;
	struct oom_failure *it = add_failure(all);

	if (!it)
		return -MT_E_MEMORY;
	it->id = db_int(stmt, 0);
	it->process = db_int(stmt, 1);
	it->device = db_int(stmt, 2);
	it->pid = db_int(stmt, 3);
	it->rank = int_or_unknown(stmt, 4);
	it->number = db_int(stmt, 5);
	mt_copy_text(it->kind, sizeof(it->kind), db_text(stmt, 6));
	mt_copy_text(it->name, sizeof(it->name), db_text(stmt, 7));
	it->total = (uint64_t)db_int(stmt, 8);
	mt_copy_text(it->source, sizeof(it->source), db_text(stmt, 9));
	mt_copy_text(it->phase, sizeof(it->phase), db_text(stmt, 10));
	it->time = db_int(stmt, 11);
	it->seq = db_int(stmt, 12);
	it->step = db_int(stmt, 13);
	it->node = db_int(stmt, 14);
	it->requested = (uint64_t)db_int(stmt, 15);
	it->free = int_or_unknown(stmt, 16);
	mt_copy_text(it->free_by, sizeof(it->free_by), db_text(stmt, 17));
	it->others = int_or_unknown(stmt, 18);
	mt_copy_text(it->function, sizeof(it->function), db_text(stmt, 19));
	mt_copy_text(it->place, sizeof(it->place), db_text(stmt, 20));
	it->processes = db_int(stmt, 21);
	it->steps = db_int(stmt, 22);
	mt_copy_text(it->category, sizeof(it->category), db_text(stmt, 23));
	it->had = db_int(stmt, 24) != 0;
	return 0;
}

/* The whole failure has the driver's figures of its newest refusal. */
static void take_over(struct oom_failure *it, struct oom_failure *part)
{
	static const char *const trust[] = { "driver", "nvml" };
	size_t i;

	part->is_part = 1;
	it->refusals++;
	for (i = 0; i < MT_ARRAY_SIZE(trust); i++) {
		if (!strcmp(it->free_by, trust[i]))
			break;
		if (strcmp(part->free_by, trust[i]))
			continue;
		it->free = part->free;
		mt_copy_text(it->free_by, sizeof(it->free_by), part->free_by);
	}
	if (it->others < 0)
		it->others = part->others;
}

static void join_refusals(struct oom_failures *all)
{
	struct oom_failure *it, *part;
	size_t i, j;

	for (i = 0; i < all->count; i++) {
		it = &all->failure[i];
		if (strcmp(it->source, "tensor"))
			continue;
		for (j = i; j-- && it->time - all->failure[j].time <= SAME_FAILURE;) {
			part = &all->failure[j];
			if (part->process != it->process || part->device != it->device)
				continue;
			if (!strcmp(part->source, "tensor"))
				break;
			take_over(it, part);
		}
	}
}

/* If the run has failures, a refused request that later got its memory is no failure. */
static void leave_out_had(struct oom_failures *all)
{
	size_t i, failed = 0;

	for (i = 0; i < all->count; i++)
		failed += !all->failure[i].is_part && !all->failure[i].had;
	for (i = 0; i < all->count && failed; i++)
		all->failure[i].is_part |= all->failure[i].had;
}

int oom_failures_load(struct oom_failures *all, struct db *db)
{
	int error;

	memset(all, 0, sizeof(*all));
	error = db_rows(db, failures_sql, NULL, take_failure, all);
	if (!error) {
		join_refusals(all);
		leave_out_had(all);
	}
	return error;
}

void oom_failures_release(struct oom_failures *all)
{
	free(all->failure);
	memset(all, 0, sizeof(*all));
}
