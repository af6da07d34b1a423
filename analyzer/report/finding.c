#include "finding.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/phase.h"
#include "query/query.h"
#include "report.h"

#define SIZE_COLUMNS 12

int64_t finding_int(const struct db_stmt *row, int column, int64_t min, int64_t max)
{
	int64_t value = db_int(row, column);

	return value < min ? min : value > max ? max : value;
}

uint32_t finding_phase(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (uint32_t)phase;
}

int finding_same_places(struct db *db)
{
	return db_execute(db,
			  "CREATE TEMP TABLE IF NOT EXISTS same_place AS SELECT node, min(node) OVER (PARTITION BY place_id) AS first_node "
			  "FROM place_node");
}

int finding_place_of(struct finding_place *place, struct db *db, int64_t node)
{
	struct db_stmt *stmt;
	int found = db_first(db, &stmt, "SELECT function, file, line, place FROM place WHERE node = ?",
			     DB_NUMBERS(node));

	memset(place, 0, sizeof(*place));
	if (found == 1) {
		snprintf(place->function, sizeof(place->function), "%s", db_text(stmt, 0));
		snprintf(place->file, sizeof(place->file), "%.*s", (int)sizeof(place->file) - 1, db_text(stmt, 1));
		place->line = db_int(stmt, 2);
		snprintf(place->place, sizeof(place->place), "%s", db_text(stmt, 3));
	}
	db_finish(stmt);
	return found < 0 ? found : 0;
}

const char *finding_place_words(char *out, size_t size, const struct finding_place *named)
{
	char place[128], function[128];

	text_fit(place, sizeof(place), named->place, 40, 1);
	text_fit(function, sizeof(function), named->function, 40, 0);
	if (!*named->function && !*named->place)
		snprintf(out, size, "code without a stack");
	else if (*function)
		snprintf(out, size, "%s (%s)", function, place);
	else
		snprintf(out, size, "%s", place);
	return out;
}

const char *finding_place(char *out, size_t size, struct db *db, int64_t node)
{
	struct finding_place named;

	if (finding_place_of(&named, db, node))
		memset(&named, 0, sizeof(named));
	return finding_place_words(out, size, &named);
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
