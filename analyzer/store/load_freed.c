#include "load_sink.h"
#include "store.h"
#include "store_shared.h"

/*
 * Writes the stack nodes of frees. Rows of allocations have ids of store_id, so a node shared with another process also gets a row of temp.freed_as.
 */
static int store_process_nodes(struct db_stmt *insert[2], const struct analysis *analysis,
			       const struct row_freed *freed, uint32_t process)
{
	const struct row_freed_process *nodes = &freed->process[process];
	int64_t id;
	uint32_t i;
	int error = 0;

	for (i = 1; i < nodes->room && !error; i++) {
		if (!nodes->node[i])
			continue;
		id = store_node_id(analysis, process, i);
		db_bind(insert[0], 1, id);
		error = db_run(insert[0]);
		if (error || id == store_id(process, i))
			continue;
		db_bind(insert[1], 1, store_id(process, i));
		db_bind(insert[1], 2, id);
		error = db_run(insert[1]);
	}
	return error;
}

int load_freed_store(const struct row_freed *freed, const struct analysis *analysis, struct db *db)
{
	struct db_stmt *insert[2] = { NULL };
	uint32_t i;
	int error = db_execute(db, "CREATE TEMP TABLE freed (node INTEGER PRIMARY KEY)");

	if (!error)
		error = db_execute(db, LOAD_FREED_AS);
	if (!error)
		error = db_prepare(db, &insert[0], "INSERT OR IGNORE INTO freed VALUES (?)");
	if (!error)
		error = db_prepare(db, &insert[1], "INSERT INTO freed_as VALUES (?, ?)");
	for (i = 0; i < freed->processes && !error; i++)
		error = store_process_nodes(insert, analysis, freed, i);
	db_finish(insert[0]);
	db_finish(insert[1]);
	return error;
}
