/*
 * load_category.c - the categories of allocations. Rows are written when something dies, with the first opinion; what
 * it was is known at the end. One pass over the table, and none where every opinion was right.
 */
#include "load_more.h"
#include "store.h"

/* *count: how many sites turned out to be something else. */
static int store_changed(struct db *db, const struct analysis *analysis, uint32_t *count)
{
	const struct attribution *attribution = &analysis->attribution;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO changed VALUES (?, ?, NULL)");

	for (i = 1; i < attribution->sites && !error; i++) {
		if (category_of_site(&analysis->categories, attribution, i) == attribution->site[i].key.category)
			continue;
		db_bind(stmt, 1, i);
		db_bind_text(stmt, 2, mt_category_name(category_of_site(&analysis->categories, attribution, i)));
		error = db_run(stmt);
		++*count;
	}
	db_finish(stmt);
	return error;
}

/* Those that died of a site that was split are of its twin (category_site.twin). */
static int move_to_twins(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	uint32_t i, count = 0;
	int error = db_prepare(db, &stmt, "UPDATE changed SET twin = ? WHERE site = ?");

	for (i = 1; i < analysis->attribution.sites && i < analysis->categories.room && !error; i++) {
		if (!analysis->categories.site[i].twin)
			continue;
		db_bind(stmt, 1, analysis->categories.site[i].twin);
		db_bind(stmt, 2, i);
		error = db_run(stmt);
		count++;
	}
	db_finish(stmt);
	if (error || !count)
		return error;
	return db_execute(db, "UPDATE allocation SET (site, category) = (SELECT twin, site.category FROM changed "
			  "JOIN site ON site.id = twin WHERE changed.site = allocation.site) "
			  "WHERE free_seq IS NOT NULL AND site IN (SELECT site FROM changed WHERE twin)");
}

int load_categories(struct db *db, const struct analysis *analysis)
{
	uint32_t count = 0;
	int error = db_execute(db, "CREATE TEMP TABLE changed (site INTEGER PRIMARY KEY, category TEXT, twin INTEGER)");

	if (!error)
		error = store_changed(db, analysis, &count);
	if (!error && count)
		error = db_execute(db, "UPDATE allocation SET category = (SELECT category FROM changed WHERE changed.site = "
				   "allocation.site) WHERE NOT tensors_inside AND site IN (SELECT site FROM changed)");
	if (!error)
		error = move_to_twins(db, analysis);
	return error ? error : db_execute(db, "DROP TABLE changed");
}
