/* The modules of all allocations that the census names, and of allocations like these, over the whole run. */
#include <stdlib.h>
#include "label/category_sizes.h"
#include "load_sink.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "store.h"

static int add_row(struct db_stmt *stmt, uint32_t process, uint64_t seq, uint32_t row, uint64_t bytes)
{
	db_bind(stmt, 1, store_process_id(process));
	db_bind_unsigned(stmt, 2, seq);
	store_bind_id(stmt, 3, store_id(process, row));
	db_bind_unsigned(stmt, 4, bytes);
	return db_run(stmt);
}

static int add_named(struct db_stmt *stmt, const struct analysis *analysis)
{
	const struct parameter_bytes *item;
	uint32_t process;
	size_t i;
	int error = 0;

	for (process = 0; process < analysis->processes; process++)
		for (i = 0; i < analysis->process[process].named.count && !error; i++) {
			item = &analysis->process[process].named.item[i];
			if (item->birth)
				error = add_row(stmt, process, item->birth, item->row, item->bytes);
		}
	return error;
}

/* ---- births like the named ones ---- */

/* Surviving births of one stack and size in one step. */
struct batch {
	const struct analysis *analysis;
	struct db_stmt *insert;
	uint64_t *seq;
	size_t count, room;
	uint32_t process, stack;
	int64_t bytes, step;
};

/* Gives a birth the modules of the named birth that is like it. */
static int add_like(struct batch *batch, const struct parameter_answer *named, uint64_t seq,
		    const struct parameter_member *member)
{
	const struct parameter_bytes *item = &named->item[member->first];
	uint32_t i;
	int error = 0;

	for (i = 0; i < member->count && !error; i++)
		error = add_row(batch->insert, batch->process, seq, item[i].row, item[i].bytes);
	return error;
}

static int flush(struct batch *batch)
{
	const struct parameter_answer *named = &batch->analysis->process[batch->process].named;
	const struct parameter_order *order = batch->count
						      ? parameter_order_of(named, batch->stack, (uint64_t)batch->bytes)
						      : NULL;
	int is_ordered = order && order->is_ordered && order->count == batch->count, error = 0;
	size_t i;

	for (i = 0; i < batch->count && order && !error; i++)
		error = is_ordered ? add_like(batch, named, batch->seq[i], &named->member[order->first + i])
				   : add_row(batch->insert, batch->process, batch->seq[i], order->common,
					     (uint64_t)batch->bytes);
	batch->count = 0;
	return error;
}

static int add_birth(void *context, struct db_stmt *row)
{
	struct batch *batch = context;
	uint32_t site = (uint32_t)db_int(row, 0);
	const struct site_key *key = &batch->analysis->attribution.site[site].key;
	int error = 0;

	if (key->process != batch->process || key->stack != batch->stack || db_int(row, 2) != batch->bytes ||
	    db_int(row, 3) != batch->step)
		error = flush(batch);
	batch->process = key->process;
	batch->stack = key->stack;
	batch->bytes = db_int(row, 2);
	batch->step = db_int(row, 3);
	if (MT_ARRAY_ROOM(batch->seq, batch->count, batch->room))
		return -MT_E_MEMORY;
	batch->seq[batch->count++] = (uint64_t)db_int(row, 1);
	return error;
}

/* Writes the sites of births that are like named births into a temporary table. *count: number of these sites. */
static int find_sites(struct db *db, const struct analysis *analysis, uint32_t *count)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error =
		db_execute(db,
			   "CREATE TEMP TABLE like_named (site INTEGER PRIMARY KEY, process INTEGER, stack INTEGER)");

	*count = 0;
	if (error)
		return error;
	error = db_prepare(db, &stmt, "INSERT INTO temp.like_named VALUES (?, ?, ?)");
	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		if (analysis->attribution.site[i].key.size != SIZES_ALIKE)
			continue;
		db_bind(stmt, 1, i);
		db_bind(stmt, 2, analysis->attribution.site[i].key.process);
		db_bind(stmt, 3, analysis->attribution.site[i].key.stack);
		error = db_run(stmt);
		++*count;
	}
	db_finish(stmt);
	return error;
}

static int add_like_named(struct db *db, struct batch *batch)
{
	int error = db_rows(
		db,
		"SELECT allocation_raw.site, alloc_seq, bytes, step FROM temp.like_named AS it JOIN allocation_raw ON allocation_raw.site = it.site "
		"WHERE NOT at_home AND NOT tensors_inside ORDER BY it.process, it.stack, bytes, step, alloc_seq",
		NULL, add_birth, batch);

	if (!error)
		error = flush(batch);
	free(batch->seq);
	return error;
}

int load_births(struct db *db, const struct analysis *analysis)
{
	struct batch batch = { .analysis = analysis };
	uint32_t count = 0;
	int error = db_prepare(db, &batch.insert, "INSERT INTO allocation_module VALUES (?, ?, ?, ?)");

	if (!error)
		error = add_named(batch.insert, analysis);
	if (!error)
		error = find_sites(db, analysis, &count);
	if (!error && count)
		error = add_like_named(db, &batch);
	db_finish(batch.insert);
	return error ? error : db_execute(db, "DROP TABLE temp.like_named");
}
