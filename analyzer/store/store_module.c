/* Writes the modules of a run: their names, their tree, and the peak by module. */
#include <stdlib.h>
#include "base/tuple.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "store.h"

static int store_names(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct tellings *tellings = &process->tellings;
	const struct telling_run *run;
	uint32_t slot, at;
	int error = 0;

	for (slot = 0; slot < tellings->slots; slot++) {
		for (at = tellings->slot[slot].run; at && !error; at = run->before) {
			run = &tellings->run[at];
			db_bind(stmt, 1, store_process_id(number));
			db_bind(stmt, 2, (int64_t)tellings->slot[slot].address);
			db_bind_text(stmt, 3, mt_defs_string(process->defs, run->name.model));
			db_bind_text(stmt, 4, mt_defs_string(process->defs, run->name.name));
			db_bind_unsigned(stmt, 5, tellings->telling[run->first].begin);
			db_bind_unsigned(stmt, 6, tellings->telling[run->last].begin);
			error = db_run(stmt);
		}
	}
	return error;
}

static int store_rows(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct module_tree *tree = &process->modules;
	char word[MODULE_WORD_MAX + 16], path[MODULE_PATH_MAX], pattern[MODULE_PATH_MAX];
	const struct module_row *row;
	uint32_t i;
	int error = 0;

	for (i = 1; i < tree->rows && !error; i++) {
		row = &tree->row[i];
		db_bind(stmt, 1, store_id(number, i));
		db_bind(stmt, 2, store_process_id(number));
		store_bind_id(stmt, 3, store_id(number, row->parent));
		db_bind_text(stmt, 4, module_tree_word(word, sizeof(word), tree, i));
		db_bind_text(stmt, 5, module_tree_path(path, sizeof(path), tree, i));
		db_bind_text(stmt, 6, module_path_pattern(pattern, path));
		db_bind_text(stmt, 7, row->type ? mt_defs_string(tree->defs, row->type) : NULL);
		db_bind(stmt, 8, row->kind != MODULE_TYPE);
		db_bind(stmt, 9, row->depth);
		error = db_run(stmt);
	}
	return error;
}

/* Stores the nests with one module row in the whole run. */
static int store_nests(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct module_tree *tree = &process->modules;
	uint32_t nest;
	int error = 0;

	for (nest = 1; nest < tree->nests && !error; nest++) {
		if (!module_tree_steady(tree, nest))
			continue;
		db_bind(stmt, 1, store_id(number, nest));
		store_bind_id(stmt, 2, store_id(number, mt_defs_nest(tree->defs, nest)->parent));
		db_bind(stmt, 3, store_id(number, mt_defs_nest(tree->defs, nest)->instance));
		db_bind(stmt, 4, store_id(number, module_tree_steady(tree, nest)));
		error = db_run(stmt);
	}
	return error;
}

/* Stores the modules of sites. A sum has many modules, and gets no row here. */
static int store_sites(struct db_stmt *stmt, const struct analysis *analysis, const int64_t *row)
{
	uint32_t i;
	int error = 0;

	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		if (!analysis->modules.of_site[i] || (row && row[i] < 0))
			continue;
		db_bind(stmt, 1, i);
		db_bind(stmt, 2, store_id(analysis->attribution.site[i].key.process, analysis->modules.of_site[i]));
		db_bind(stmt, 3, analysis->modules.alike[i]);
		error = db_run(stmt);
	}
	return error;
}

static int64_t submodule_of(const struct analysis *analysis, const struct parameter_bytes *part)
{
	return store_id(analysis->attribution.site[part->site].key.process, part->row);
}

static int store_part(struct db_stmt *stmt, int64_t site, int64_t submodule, const struct parameter_bytes *part)
{
	db_bind(stmt, 1, site);
	store_bind_id(stmt, 2, submodule);
	db_bind_unsigned(stmt, 3, part->bytes);
	db_bind_unsigned(stmt, 4, part->count);
	return db_run(stmt);
}

/* The parts of summed sites: one for each sum and module. */
struct part_sums {
	struct tuple_table known;
	struct parameter_bytes *part; /* site: one of the sites of the sum */
	uint32_t count, room;
};

static int add_part(struct part_sums *sums, const struct analysis *analysis, const struct parameter_bytes *part,
		    int64_t site)
{
	const struct tuple key = { { (uint64_t)site, (uint64_t)submodule_of(analysis, part) } };
	uint32_t at = tuple_find(&sums->known, &key);

	if (at != TUPLE_NONE) {
		sums->part[at].bytes += part->bytes;
		sums->part[at].count += part->count;
		return 0;
	}
	if (MT_ARRAY_ROOM(sums->part, sums->count, sums->room))
		return -MT_E_MEMORY;
	sums->part[sums->count] = *part;
	return tuple_add(&sums->known, &key, sums->count++);
}

static int store_parts(struct db_stmt *stmt, const struct analysis *analysis, const int64_t *row)
{
	const struct parameter_bytes *part;
	struct part_sums sums = { .count = 0 };
	size_t i;
	int error = 0;

	for (i = 0; i < analysis->modules.parts && !error; i++) {
		part = &analysis->modules.part[i];
		error = row && row[part->site] < 0 ? add_part(&sums, analysis, part, row[part->site])
						   : store_part(stmt, part->site, submodule_of(analysis, part), part);
	}
	for (i = 0; i < sums.count && !error; i++)
		error = store_part(stmt, row[sums.part[i].site], submodule_of(analysis, &sums.part[i]), &sums.part[i]);
	tuple_release(&sums.known);
	free(sums.part);
	return error;
}

static int store_all(struct db *db, const struct analysis *analysis, const char *sql, const int64_t *row,
		     int (*rows)(struct db_stmt *stmt, const struct analysis *analysis, const int64_t *row))
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql);

	if (!error)
		error = rows(stmt, analysis, row);
	db_finish(stmt);
	return error;
}

int store_modules(struct db *db, const struct analysis *analysis, int everything, const int64_t *row)
{
	int error = 0;

	if (everything)
		error = store_each_process(db, analysis, "INSERT INTO module_name VALUES (?, ?, ?, ?, ?, ?)",
					   store_names);
	if (error || !analysis->modules.of_site)
		return error;
	error = store_each_process(db, analysis, "INSERT INTO submodule VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
				   store_rows);
	if (!error)
		error = store_each_process(
			db, analysis,
			"INSERT INTO module_call VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET submodule = "
			"excluded.submodule",
			store_nests);
	if (!error)
		error = store_all(db, analysis, "INSERT INTO site_module VALUES (?, ?, ?)", row, store_sites);
	return error ? error : store_all(db, analysis, "INSERT INTO peak_module VALUES (?, ?, ?, ?)", row, store_parts);
}
