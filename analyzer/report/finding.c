#include "finding.h"

#include <stdio.h>
#include <string.h>
#include "query/query.h"
#include "report.h"

#define SIZE_COLUMNS 12

int finding_rows(struct db *db, const char *sql, int (*row)(void *context, const struct db_stmt *stmt), void *context)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql), more;

	if (error)
		return error;
	while (!error && (more = db_step(stmt)) != 0)
		error = more < 0 ? more : row(context, stmt);
	db_finish(stmt);
	return error;
}

int64_t finding_int(const struct db_stmt *row, int column, int64_t min, int64_t max)
{
	int64_t value = db_int(row, column);

	return value < min ? min : value > max ? max : value;
}

int finding_spots(struct db *db)
{
	return db_execute(db,
			  "CREATE TEMP TABLE IF NOT EXISTS spot AS SELECT node, min(node) OVER (PARTITION BY at) AS spot "
			  "FROM callsite_node");
}

int finding_spot(struct finding_spot *spot, struct db *db, int64_t node)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "SELECT function, file, line, place FROM callsite WHERE node = ?"), more = 0;

	memset(spot, 0, sizeof(*spot));
	if (error)
		return error;
	db_bind(stmt, 1, node);
	more = db_step(stmt);
	if (more == 1) {
		snprintf(spot->function, sizeof(spot->function), "%s", db_text(stmt, 0));
		snprintf(spot->file, sizeof(spot->file), "%.*s", (int)sizeof(spot->file) - 1, db_text(stmt, 1));
		spot->line = db_int(stmt, 2);
		snprintf(spot->place, sizeof(spot->place), "%s", db_text(stmt, 3));
	}
	db_finish(stmt);
	return more < 0 ? more : 0;
}

int finding_module(char out[FINDING_MODULE_MAX], int *several, struct db *db, int64_t spot, const char *phase)
{
	struct db_stmt *stmt = NULL;
	int error = finding_spots(db), more = 0;

	*out = '\0';
	*several = 0;
	if (!error)
		error = db_prepare(
			db, &stmt,
			"SELECT ifnull(pattern, ''), sum(bytes) FROM temp.spot AS spot JOIN site ON site.node = spot.node "
			"JOIN outlived ON outlived.site = site.id LEFT JOIN site_module ON site_module.site = site.id "
			"LEFT JOIN submodule ON submodule.id = submodule WHERE spot.spot = ?1 AND phase = ?2 AND "
			"until_step IS NULL GROUP BY pattern ORDER BY 2 DESC, 1 LIMIT 2");
	if (error)
		return error;
	db_bind(stmt, 1, spot);
	db_bind_text(stmt, 2, phase);
	more = db_step(stmt);
	if (more == 1) {
		snprintf(out, FINDING_MODULE_MAX, "%s", db_text(stmt, 0));
		more = db_step(stmt);
		*several = more == 1;
	}
	db_finish(stmt);
	return more < 0 ? more : 0;
}

const char *finding_in_module(char out[FINDING_MODULE_MAX], struct db *db, int64_t spot, const char *phase)
{
	char module[FINDING_MODULE_MAX], clean[FINDING_MODULE_MAX / 2];
	int several;

	*out = '\0';
	if (finding_module(module, &several, db, spot, phase) || !*module)
		return out;
	snprintf(out, FINDING_MODULE_MAX, " %sin %s", several ? "mostly " : "",
		 text_fit(clean, sizeof(clean), module, 60, 1));
	return out;
}

int finding_module_json(struct doc *doc, struct db *db, int64_t spot, const char *phase)
{
	char module[FINDING_MODULE_MAX];
	int several, error = finding_module(module, &several, db, spot, phase);

	if (!error && *module)
		doc_string(doc, "submodule", module);
	return error;
}

const char *finding_place(char *out, size_t size, struct db *db, int64_t node)
{
	struct finding_spot spot;
	char place[128], function[128];

	if (finding_spot(&spot, db, node) || (!*spot.function && !*spot.place)) {
		snprintf(out, size, "no stack was recorded");
		return out;
	}
	text_fit(place, sizeof(place), spot.place, 40, 1);
	text_fit(function, sizeof(function), spot.function, 40, 0);
	if (*function)
		snprintf(out, size, "%s (%s)", function, place);
	else
		snprintf(out, size, "%s", place);
	return out;
}

void finding_phase_line(const struct text *text, const char *phase, uint64_t bytes, const char *words)
{
	char size[TEXT_SIZE_MAX];

	text_phase_print(text, phase, "%*s  ", SIZE_COLUMNS, text_bytes(size, bytes));
	text_wrap(text, SIZE_COLUMNS + 2, SIZE_COLUMNS + 2, words);
}

void finding_line(const struct text *text, uint64_t bytes, const char *words)
{
	finding_phase_line(text, "", bytes, words);
}

int finding_fail(const char *command, const char *name, struct db *db, int error)
{
	char what[1024];

	snprintf(what, sizeof(what), "%s: %s", command, name);
	return report_no_answer(what, db, error);
}
