#include "load_sink.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "store.h"

static int grow(struct load_category *categories, uint32_t site)
{
	size_t room = (size_t)site + site / 2 + 256;
	struct load_category_site *more = realloc(categories->site, room * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	memset(more + categories->room, 0, (room - categories->room) * sizeof(*more));
	categories->site = more;
	categories->room = (uint32_t)room;
	return 0;
}

/* The verdict is asked for again whenever twice as many have died: it costs more than a row. */
static int is_time_to_ask(const struct analysis *analysis, uint32_t site)
{
	uint64_t died = site < analysis->categories.room ? analysis->categories.site[site].died : 0;

	return !(died & (died - 1));
}

int load_category_row(struct load_category *categories, const struct analysis *analysis, uint32_t number)
{
	struct load_category_site *site;
	struct category_told told;
	uint8_t category;

	if (number >= categories->room && grow(categories, number))
		return -MT_E_MEMORY;
	site = &categories->site[number];
	if (!site->written || is_time_to_ask(analysis, number)) {
		told = analysis_told(analysis, analysis->attribution.site[number].key.process);
		category = category_so_far(&analysis->categories, &analysis->attribution, &told, number);
		if (site->written && category != site->category)
			site->until = categories->rows;
		site->category = category;
		site->written = 1;
	}
	categories->rows++;
	return site->category;
}

void load_category_release(struct load_category *categories)
{
	free(categories->site);
	memset(categories, 0, sizeof(*categories));
}

/* ---- at the end ---- */

/* The last row of the site that may have to change; 0: none. */
static uint64_t last_wrong(const struct load_category *categories, const struct analysis *analysis, uint32_t number)
{
	const struct load_category_site *site;

	if (number >= categories->room || !categories->site[number].written)
		return 0;
	site = &categories->site[number];
	if (number < analysis->categories.room && analysis->categories.site[number].twin)
		return categories->rows;
	return site->category == category_of_site(&analysis->categories, &analysis->attribution, number)
		       ? site->until
		       : categories->rows;
}

/* *until: the last row that may have to change, 0: none has to. */
static int store_changed(const struct load_category *categories, struct db *db, const struct analysis *analysis,
			 uint64_t *until)
{
	const struct attribution *attribution = &analysis->attribution;
	struct db_stmt *stmt;
	uint64_t last;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO changed VALUES (?, ?, NULL, 0)");

	for (i = 1; i < attribution->sites && !error; i++) {
		last = last_wrong(categories, analysis, i);
		if (!last)
			continue;
		db_bind(stmt, 1, i);
		db_bind_text(stmt, 2, mt_category_name(category_of_site(&analysis->categories, attribution, i)));
		error = db_run(stmt);
		if (last > *until)
			*until = last;
	}
	db_finish(stmt);
	return error;
}

static int update(struct db *db, uint64_t until)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt,
			       "UPDATE allocation SET category = (SELECT category FROM changed WHERE changed.site = "
			       "allocation.site) WHERE id <= ? AND NOT tensors_inside AND category <> (SELECT category "
			       "FROM changed WHERE changed.site = allocation.site)");

	if (!error) {
		db_bind_unsigned(stmt, 1, until);
		error = db_run(stmt);
	}
	db_finish(stmt);
	return error;
}

/* Those that died, or died at home, of a site that was split are of its twin (category_site.twin). */
static int move_to_twins(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	uint32_t i, count = 0;
	int error = db_prepare(db, &stmt, "UPDATE changed SET twin = ?, home = ? WHERE site = ?");

	for (i = 1; i < analysis->attribution.sites && i < analysis->categories.room && !error; i++) {
		if (!analysis->categories.site[i].twin)
			continue;
		db_bind(stmt, 1, analysis->categories.site[i].twin);
		db_bind(stmt, 2, analysis->categories.site[i].twin_home);
		db_bind(stmt, 3, i);
		error = db_run(stmt);
		count++;
	}
	db_finish(stmt);
	if (error || !count)
		return error;
	return db_execute(db,
			  "UPDATE allocation SET (site, category) = (SELECT twin, site.category FROM changed "
			  "JOIN site ON site.id = twin WHERE changed.site = allocation.site) "
			  "WHERE free_seq IS NOT NULL AND NOT tensors_inside AND (site IN (SELECT site FROM changed "
			  "WHERE twin AND NOT home) OR (at_home AND site IN (SELECT site FROM changed WHERE twin)))");
}

int load_category_settle(struct load_category *categories, struct db *db, const struct analysis *analysis)
{
	uint64_t until = 0;
	int error = db_execute(
		db, "CREATE TEMP TABLE changed (site INTEGER PRIMARY KEY, category TEXT, twin INTEGER, home INTEGER)");

	if (!error)
		error = store_changed(categories, db, analysis, &until);
	if (!error && until)
		error = update(db, until);
	if (!error)
		error = move_to_twins(db, analysis);
	return error ? error : db_execute(db, "DROP TABLE changed");
}
