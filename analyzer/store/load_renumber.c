/* Rows of a pass that read groups of processes one after the other: sites and devices got other numbers at its end. */
#include "load_sink.h"
#include "memtrace/base.h"
#include "rows/row_id.h"

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
