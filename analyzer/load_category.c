/*
 * load_category.c - the categories of allocations. Rows are written when something dies, with the first opinion; what
 * it was is known at the end. One pass over the table, and none where every opinion was right.
 */
#include "load_more.h"
#include "store.h"

static int run(struct db *db, const char *sql)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql);

	if (!error)
		error = db_run(stmt);
	db_finish(stmt);
	return error;
}

/* *count: how many sites turned out to be something else. */
static int store_changed(struct db *db, const struct analysis *analysis, uint32_t *count)
{
	const struct attribution *attribution = &analysis->attribution;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO changed VALUES (?, ?)");

	for (i = 1; i < attribution->sites && !error; i++) {
		if (category_of_site(analysis, i) == attribution->site[i].key.category)
			continue;
		db_bind(stmt, 1, i);
		db_bind_text(stmt, 2, mt_category_name(category_of_site(analysis, i)));
		error = db_run(stmt);
		++*count;
	}
	db_finish(stmt);
	return error;
}

int load_categories(struct db *db, const struct analysis *analysis)
{
	uint32_t count = 0;
	int error = run(db, "CREATE TEMP TABLE changed (site INTEGER PRIMARY KEY, category TEXT)");

	if (!error)
		error = store_changed(db, analysis, &count);
	if (!error && count)
		error = run(db, "UPDATE allocation SET category = (SELECT category FROM changed WHERE changed.site = "
				"allocation.site) WHERE NOT tensors_inside AND site IN (SELECT site FROM changed)");
	return error ? error : run(db, "DROP TABLE changed");
}
