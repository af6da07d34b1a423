/* load_renumber.c - changes rows after the pass, when sites and devices get other numbers. */
#include "load_sink.h"
#include "memtrace/base.h"
#include "rows/row_id.h"
#include "store.h"

/* ---- groups of processes that were read one after the other: their sites and devices are numbered at the end ---- */

static int add(struct db_stmt *stmt, int is_site, int64_t was, int64_t number)
{
	db_bind(stmt, 1, is_site);
	db_bind(stmt, 2, was);
	db_bind(stmt, 3, number);
	return db_run(stmt);
}

static int store_numbers(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO temp.renumbered VALUES (?, ?, ?)");

	for (i = 1; i < analysis->renumbered.sites && !error; i++)
		error = add(stmt, 1, i, analysis->renumbered.site[i]);
	for (i = 0; i < analysis->devices && !error; i++)
		error = add(stmt, 0, row_device_id(i), row_device_id(analysis->renumbered.device[i]));
	db_finish(stmt);
	return error;
}

int load_renumber(struct db *db, const struct analysis *analysis)
{
	static const char *const sql[] = {
		"UPDATE allocation_raw SET site = (SELECT number FROM temp.renumbered WHERE is_site = 1 AND was = site), "
		"device = (SELECT number FROM temp.renumbered WHERE is_site = 0 AND was = device)",
		"UPDATE step_device SET device = (SELECT number FROM temp.renumbered WHERE is_site = 0 AND was = device)",
		"UPDATE gpu_sample SET device = (SELECT number FROM temp.renumbered WHERE is_site = 0 AND was = device)",
		"DROP TABLE temp.renumbered",
	};
	size_t i;
	int error;

	if (!analysis->renumbered.site || !analysis->renumbered.device)
		return 0;
	error = db_execute(db, "CREATE TEMP TABLE renumbered (is_site INTEGER, was INTEGER, number INTEGER, "
			       "PRIMARY KEY (is_site, was)) WITHOUT ROWID");
	if (!error)
		error = store_numbers(db, analysis);
	for (i = 0; i < MT_ARRAY_SIZE(sql) && !error; i++)
		error = db_execute(db, sql[i]);
	return error;
}

/* ---- twins of sites ---- */

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

int load_twins(struct db *db, const struct analysis *analysis, int packed)
{
	uint32_t count = 0;
	int error = db_execute(db, "CREATE TEMP TABLE twin (site INTEGER PRIMARY KEY, twin INTEGER, home INTEGER)");

	if (!error)
		error = store_twins(db, analysis, &count);
	if (!error && count && !packed)
		error = db_execute(db, MOVE("allocation_raw"));
	if (!error && count)
		error = db_execute(db, MOVE("temp.kept_sum"));
	return error ? error : db_execute(db, "DROP TABLE twin");
}
