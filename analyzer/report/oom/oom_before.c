/* What was so before, and is not now. */
#include "oom_before.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "report/answer.h"

/* ---- when it woke up before ---- */

struct wake {
	int64_t time, seq; /* 0: it never did */
};

static int take_wake(void *context, struct db_stmt *stmt)
{
	*(struct wake *)context = (struct wake){ db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

/* Of what is asleep now, and at least as much as was asked for. */
static int find_wake(const struct oom *oom, struct db *db, struct wake *wake)
{
	static const char sql[] =
		"SELECT ifnull(max(since_time), 0), ifnull(since_seq, 0) FROM resident WHERE bytes > 0 AND since_seq < ?3 "
		"AND allocation IN (SELECT allocation FROM resident JOIN allocation ON allocation.id = resident.allocation "
		"WHERE process = ?1 AND device = ?2 AND resident.bytes = 0 AND allocation.bytes >= ?4 AND since_seq <= ?3 "
		"AND (until_seq IS NULL OR until_seq > ?3)) "
		"AND EXISTS (SELECT 1 FROM resident AS slept WHERE slept.allocation = resident.allocation AND slept.bytes = 0 "
		"AND slept.since_seq < resident.since_seq)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };

	return answer_rows(db, sql, parameter, take_wake, wake);
}

static int take_bytes(void *context, struct db_stmt *stmt)
{
	*(uint64_t *)context = (uint64_t)db_int(stmt, 0);
	return 0;
}

/* What a process had in use when this one was at `time` and `seq`. */
static int had(const struct oom *oom, struct db *db, int64_t process, struct wake when, uint64_t *bytes)
{
	static const char sql[] = "SELECT ifnull(sum(bytes), 0) FROM in_use WHERE process = ?1 AND device = ?2 "
				  "AND " STRETCH_AT("?3", "?4", "?5");
	const int64_t parameter[ANSWER_PARAMETERS] = { process, oom->it->device, when.time, oom->it->process,
						       when.seq };

	return answer_rows(db, sql, parameter, take_bytes, bytes);
}

static int take_between(void *context, struct db_stmt *stmt)
{
	struct oom_before *before = context;
	const char *file = db_text(stmt, 1), *slash = strrchr(file, '/');

	mt_copy_text(before->function, sizeof(before->function), db_text(stmt, 0));
	snprintf(before->place, sizeof(before->place), "%.200s:%lld", slash ? slash + 1 : file,
		 (long long)db_int(stmt, 2));
	return 0;
}

/*
 * What a training does now and then, between its steps, and what moves the model and its optimizer, or keeps them: a checkpoint, a
 * validation. The outermost such function that was on a stack since then, and on none before.
 */
static int find_between(struct oom *oom, struct db *db, int64_t process, struct wake wake)
{
	static const char sql[] =
		"WITH RECURSIVE seen(node, late) AS MATERIALIZED (SELECT node, max(alloc_time > ?2) FROM allocation "
		"WHERE process = ?1 AND alloc_time <= ?3 AND node IS NOT NULL GROUP BY node UNION SELECT free_node, "
		"max(free_time > ?2) FROM allocation WHERE process = ?1 AND free_time <= ?3 AND free_node IS NOT NULL "
		"GROUP BY free_node), up(id, late, depth) AS (SELECT node, late, 0 FROM seen UNION SELECT parent, late, depth + 1 "
		"FROM up JOIN node USING (id) WHERE parent IS NOT NULL), "
		"rare AS (SELECT function, file, line, late, depth FROM up JOIN node USING (id) JOIN frame ON frame.id = node.frame "
		"WHERE kind = 'python' AND (function GLOB '*save_c[hk]*' OR function GLOB '*save_model*' OR "
		"function GLOB '*save_pretrained*' OR function GLOB '*save_hf*' OR function GLOB '*async_save*' OR "
		"function GLOB '*validat*' OR function GLOB '*evaluat*')) "
		"SELECT function, file, line FROM rare AS now WHERE late "
		"AND NOT EXISTS (SELECT 1 FROM rare WHERE rare.function = now.function AND NOT rare.late) "
		"ORDER BY depth DESC LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { process, wake.time, oom->it->time };

	return answer_rows(db, sql, parameter, take_between, &oom->before);
}

int oom_find_before(struct oom *oom, struct db *db)
{
	struct wake now = { oom->it->time, oom->it->seq }, wake = { 0 };
	uint64_t then = 0, has = 0;
	int error;

	if (oom->rule != OOM_LARGEST || !*oom->waking || !oom_is_others(oom))
		return 0;
	error = find_wake(oom, db, &wake);
	if (error || !wake.time)
		return error;
	error = had(oom, db, oom->place->process, wake, &then);
	if (!error)
		error = had(oom, db, oom->place->process, now, &has);
	/* A process that had nothing had not begun. */
	if (error || !then || has < then || has - then < oom_missing(oom->it))
		return error;
	oom->before = (struct oom_before){ .bytes = has - then, .time = wake.time };
	return find_between(oom, db, oom->place->process, wake);
}

/* ---- the same load before ---- */

#define NODES_MAX 32

struct node {
	int64_t node;
	uint64_t bytes;
};

struct nodes {
	struct node node[NODES_MAX];
	size_t count;
};

static int take_node(void *context, struct db_stmt *stmt)
{
	struct nodes *nodes = context;

	nodes->node[nodes->count++] = (struct node){ db_int(stmt, 0), (uint64_t)db_int(stmt, 1) };
	return 0;
}

static int same_function(const struct callstack_frame *one, const struct callstack_frame *other)
{
	return !one->native && !other->native && !strcmp(one->function, other->function) &&
	       !strcmp(one->file, other->file);
}

/* `depth` from the outermost frame; NULL: so deep it is not. */
static const struct callstack_frame *at_depth(const struct callstack *stack, size_t depth)
{
	return depth < stack->count ? stack->frame[stack->count - 1 - depth] : NULL;
}

/* Whether a function that takes a state dict over is on the stack, from `depth` inwards. */
static int takes_over(const struct callstack *stack, size_t depth)
{
	for (; depth < stack->count; depth++)
		if (!at_depth(stack, depth)->native && strstr(at_depth(stack, depth)->function, "load_state"))
			return 1;
	return 0;
}

/*
 * The stacks part below a function that loads, and only this one takes a state dict over: the frame where `other` leaves. NULL: they
 * do not.
 */
static const struct callstack_frame *parts_from(const struct callstack *stack, const struct callstack *other)
{
	const struct callstack_frame *mine, *its;
	size_t depth;
	int loads = 0;

	for (depth = 0;; depth++) {
		mine = at_depth(stack, depth);
		its = at_depth(other, depth);
		if (!mine || !its || !same_function(mine, its))
			break;
		loads |= strstr(mine->function, "load") != NULL;
		if (mine->line != its->line) {
			its = at_depth(other, ++depth);
			break;
		}
	}
	return loads && its && !its->native && takes_over(stack, depth) && !takes_over(other, depth) ? its : NULL;
}

static int add_again(struct oom *oom, struct db *db, const struct callstack *asks, const struct node *node)
{
	const struct callstack_frame *from = NULL;
	struct callstack stack = { .count = 0 };
	int error = callstack_load(&stack, db, node->node, NULL);

	if (!error)
		from = parts_from(asks, &stack);
	if (from && !oom->again.bytes) { /* most first */
		callstack_function(oom->again.function, sizeof(oom->again.function), from);
		callstack_place(oom->again.place, sizeof(oom->again.place), from);
	}
	oom->again.bytes += from ? node->bytes : 0;
	callstack_release(&stack);
	return error;
}

/*
 * Megatron lets an optimizer make its state to know what to load; what takes the loaded one over can make it once more, while the
 * state dict still has the first.
 */
int oom_find_again(struct oom *oom, struct db *db, uint64_t least)
{
	static const char sql[] =
		"SELECT node, sum(bytes) FROM in_use WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND node IS NOT NULL "
		"AND category = 'optimizer state' AND since_seq < ?3 AND (until_seq IS NULL OR until_seq > ?3) GROUP BY node "
		"HAVING min(bytes) <= ?4 AND max(bytes) >= ?4 ORDER BY 2 DESC, 1 LIMIT 32";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };
	struct callstack asks = { .count = 0 };
	struct nodes nodes = { .count = 0 };
	size_t i;
	int error;

	if (strcmp(oom->it->category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) ||
	    strcmp(oom->it->source, "tensor") || !oom->it->node)
		return 0;
	error = callstack_load(&asks, db, oom->it->node, NULL);
	if (!error)
		error = answer_rows(db, sql, parameter, take_node, &nodes);
	for (i = 0; i < nodes.count && !error; i++)
		error = add_again(oom, db, &asks, &nodes.node[i]);
	callstack_release(&asks);
	if (error || oom->again.bytes < least)
		oom->again = (struct oom_again){ 0 };
	return error ? error : oom->again.bytes != 0;
}
