#include "load_sink.h"
#include "store.h"

static int store_process_nodes(struct db_stmt *insert, const struct row_freed *freed, uint32_t process)
{
	const struct row_freed_process *nodes = &freed->process[process];
	uint32_t i;
	int error = 0;

	for (i = 1; i < nodes->room && !error; i++) {
		if (!nodes->node[i])
			continue;
		db_bind(insert, 1, store_id(process, i));
		error = db_run(insert);
	}
	return error;
}

int load_freed_store(const struct row_freed *freed, struct db *db)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "CREATE TEMP TABLE freed (node INTEGER PRIMARY KEY)");

	if (!error)
		error = db_run(stmt);
	db_finish(stmt);
	if (error)
		return error;
	error = db_prepare(db, &stmt, "INSERT INTO freed VALUES (?)");
	for (i = 0; i < freed->processes && !error; i++)
		error = store_process_nodes(stmt, freed, i);
	db_finish(stmt);
	return error;
}
