#include "load_sink.h"

#include "store.h"

/* Moves rows of a split site to its twin: rows of allocations that died, or that died in their own phase. */
#define MOVE(table)                                                                                       \
	"UPDATE " table                                                                                   \
	" AS it SET site = (SELECT twin FROM twin WHERE twin.site = it.site) WHERE free_seq IS NOT NULL " \
	"AND NOT tensors_inside AND (site IN (SELECT site FROM twin WHERE NOT home) OR (at_home AND site IN (SELECT site FROM twin)))"

/* Stores the twins. *count: number of twins. */
static int store_twins(struct db *db, const struct analysis *analysis, uint32_t *count)
{
	const struct category_site *site = analysis->categories.site;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO twin VALUES (?, ?, ?)");

	for (i = 1; i < analysis->attribution.sites && i < analysis->categories.room && !error; i++) {
		if (!site[i].twin)
			continue;
		db_bind(stmt, 1, i);
		db_bind(stmt, 2, site[i].twin);
		db_bind(stmt, 3, site[i].twin_home);
		error = db_run(stmt);
		++*count;
	}
	db_finish(stmt);
	return error;
}

int load_twins(struct db *db, const struct analysis *analysis)
{
	uint32_t count = 0;
	int error = db_execute(db, "CREATE TEMP TABLE twin (site INTEGER PRIMARY KEY, twin INTEGER, home INTEGER)");

	if (!error)
		error = store_twins(db, analysis, &count);
	if (!error && count)
		error = db_execute(db, MOVE("allocation_raw"));
	if (!error && count)
		error = db_execute(db, MOVE("temp.kept_sum"));
	return error ? error : db_execute(db, "DROP TABLE twin");
}
