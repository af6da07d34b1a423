/* memana sql - asks the database of a run, or a trace that is loaded for the question. The database cannot be changed. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/json.h"
#include "database/db.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"
#include "source/source.h"
#include "store/load.h"

enum { OPTION_HEADER = COMMAND_OWN };

static const struct command_option own_options[] = {
	{ OPTION_HEADER, "header", NULL, "print the names of the columns first (default: on a terminal)" },
	COMMAND_RULES_OPTION,
	{ COMMAND_JSON, "json", NULL, "an array of objects" },
	COMMAND_HELP_OPTION,
};

static const char notes[] = "Instead of a statement: .tables, the views for people; .tables all, also those behind them; "
			    ".schema [TABLE], columns and what these mean.";

/* ---- rows as text: columns separated by tabs ---- */

/* The form in which rows are shown. */
struct look {
	int header;
	int terminal; /* 1: values must not control the terminal; 0: values stay as they are */
};

/* Prints a value. Next to other columns, a tab or a line end in the value must not look like a separator. */
static int print_text(const struct look *look, const char *text, int alone)
{
	char *copy = strdup(text), *at;

	if (!copy)
		return -MT_E_MEMORY;
	if (look->terminal)
		mt_clean(copy, alone ? "\t\n" : "");
	for (at = copy; !alone && (at = strpbrk(at, "\t\n")); at++)
		*at = '?';
	fputs(copy, stdout);
	free(copy);
	return 0;
}

static void print_blob(const struct db_stmt *stmt, int column)
{
	size_t size, i;
	const unsigned char *byte = db_blob(stmt, column, &size);

	for (i = 0; i < size; i++)
		printf("%02x", byte[i]);
}

/* Prints the value of a column. Returns 0 or -MT_E_MEMORY. */
static int print_value(const struct look *look, const struct db_stmt *stmt, int column)
{
	switch (db_type(stmt, column)) {
	case DB_INTEGER:
		printf("%lld", (long long)db_int(stmt, column));
		break;
	case DB_REAL:
		printf("%.15g", db_real(stmt, column));
		break;
	case DB_TEXT:
		return print_text(look, db_text(stmt, column), db_columns(stmt) == 1);
	case DB_BLOB:
		print_blob(stmt, column);
		break;
	case DB_NULL:
		break;
	}
	return 0;
}

static int print_rows(struct db_stmt *stmt, const struct look *look)
{
	int columns = db_columns(stmt), column, more = 0, error = 0;

	for (column = 0; look->header && column < columns && !error; column++) {
		error = print_text(look, db_name(stmt, column), 0);
		putchar(column + 1 < columns ? '\t' : '\n');
	}
	while (!error && (more = db_step(stmt)) == 1) {
		for (column = 0; column < columns && !error; column++) {
			error = print_value(look, stmt, column);
			putchar(column + 1 < columns ? '\t' : '\n');
		}
	}
	return error ? error : more;
}

/* ---- rows as JSON ---- */

static int json_row(const struct db_stmt *stmt)
{
	struct doc *doc = doc_new();
	int error = -MT_E_MEMORY;

	if (doc) {
		answer_row_json(doc, stmt);
		error = doc_print_line(doc, stdout);
	}
	doc_free(doc);
	return error;
}

/*
 * Prints row after row: memory does not grow with the rows. After an error the array has no end, and is not valid JSON. main reports an error of
 * stdout.
 */
static int json_rows(struct db_stmt *stmt)
{
	int more = db_step(stmt), rows = 0, error = 0;

	if (more >= 0)
		fputs("[", stdout);
	for (; more == 1 && !error && !ferror(stdout); more = error ? 0 : db_step(stmt)) {
		fputs(rows++ ? ",\n " : "\n ", stdout);
		error = json_row(stmt);
	}
	if (!error && more == 0)
		fputs(rows ? "\n]\n" : "]\n", stdout);
	return error ? error : more < 0 ? more : 0;
}

/* ---- questions about the database itself ---- */

static const char all_tables[] = SCHEMA_RELATIONS("1"), people_tables[] = SCHEMA_RELATIONS(SCHEMA_FOR_PEOPLE);

#define SCHEMA_TEXT "SELECT sql || ';' AS sql FROM sqlite_schema WHERE type IN ('table', 'view') "

/* Words that replace a statement: X(word, its statement, its statement for a name after the word). */
#define DOT_LIST(X)                                                                   \
	X(".tables", people_tables, SCHEMA_RELATIONS("(?1 = 'all' OR name LIKE ?1)")) \
	X(".schema", SCHEMA_TEXT "AND name NOT LIKE 'sqlite%' ORDER BY rowid",        \
	  SCHEMA_TEXT "AND name = ?1 COLLATE NOCASE")

struct dot {
	const char *word, *all, *one;
};

static const struct dot dots[] = {
#define DOT_ENTRY(word, all, one) { word, all, one },
	DOT_LIST(DOT_ENTRY)
#undef DOT_ENTRY
};

/* The names of a list in one line, and the name that is nearest to the typed one. */
struct names {
	struct mt_nearest nearest;
	char *best; /* a copy, owned */
	char line[1400];
	size_t size;
};

static void list_name(struct names *names, const char *name)
{
	int length = snprintf(names->line + names->size, sizeof(names->line) - names->size, "%s%s",
			      names->size ? ", " : "", name);

	if (length > 0 && (size_t)length < sizeof(names->line) - names->size)
		names->size += (size_t)length;
	names->line[names->size] = '\0';
}

static void try_name(struct names *names, const char *name)
{
	const char *before = names->nearest.best;

	/* A column with this same name, in another table, is no correction. */
	if (!strcasecmp(name, names->nearest.word))
		return;
	mt_nearest_try(&names->nearest, name);
	if (names->nearest.best == before)
		return;
	free(names->best);
	names->best = strdup(name);
	names->nearest.best = names->best;
}

/* Adds the names in the first column of a statement's rows, by `add`: list_name or try_name. */
static void add_names(struct names *names, struct db *db, const char *sql, const char *parameter,
		      void (*add)(struct names *names, const char *name))
{
	struct db_stmt *stmt;

	if (db_prepare(db, &stmt, sql))
		return;
	if (parameter)
		db_bind_text(stmt, 1, parameter);
	while (db_step(stmt) == 1)
		add(names, db_text(stmt, 0));
	db_finish(stmt);
}

static int fail_with_names(const struct names *names, const char *what, const char *list)
{
	char words[MT_NEAREST_WORDS];

	return command_fail(EXIT_USAGE, "sql: %s%s; %s%s", what, mt_nearest_words(words, &names->nearest), list,
			    names->line);
}

static int no_table(struct db *db, const char *what, const char *table)
{
	struct names names = { .nearest.word = table };
	int status;

	add_names(&names, db, all_tables, NULL, try_name);
	add_names(&names, db, people_tables, NULL, list_name);
	status = fail_with_names(&names, what, "see .tables all; for people: ");
	free(names.best);
	return status;
}

/* Whether `table` is a word of the statement. */
static int is_asked(const char *sql, const char *table)
{
	size_t size = strlen(table);
	const char *at;

	for (at = sql; (at = strcasestr(at, table)) != NULL; at++)
		if ((at == sql || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !(isalnum((unsigned char)at[size]) || at[size] == '_'))
			return 1;
	return 0;
}

/* Writes ": TABLE has it" for a table that the statement does not read, and that has the column; "": no table. */
static void say_owner(char *owner, size_t size, struct db *db, const char *column)
{
	static const char tables_with[] = "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c"
					  " WHERE c.name = ?1 COLLATE NOCASE ORDER BY length(m.name) LIMIT 1";
	struct db_stmt *stmt;

	*owner = '\0';
	if (db_prepare(db, &stmt, tables_with))
		return;
	db_bind_text(stmt, 1, column);
	if (db_step(stmt) == 1)
		snprintf(owner, size, ": %s has it", db_text(stmt, 0));
	db_finish(stmt);
}

/* Prints the columns of the tables in the statement. The word of the missing column is no table. */
static int no_column(struct db *db, const char *what, const char *column, const char *sql)
{
	static const char columns_of[] = "SELECT name FROM pragma_table_info(?1)";
	const char *dot = strrchr(column, '.');
	struct names names = { .nearest.word = dot ? dot + 1 : column };
	char owner[80], wrong[336];
	struct db_stmt *stmt;
	int status;

	say_owner(owner, sizeof(owner), db, names.nearest.word);
	if (!db_prepare(db, &stmt, all_tables)) {
		while (db_step(stmt) == 1)
			if (is_asked(sql, db_text(stmt, 0)) && strcasecmp(db_text(stmt, 0), names.nearest.word)) {
				add_names(&names, db, columns_of, db_text(stmt, 0), list_name);
				add_names(&names, db, columns_of, db_text(stmt, 0), try_name);
			}
		db_finish(stmt);
	}
	if (*owner)
		names.nearest.best = NULL;
	snprintf(wrong, sizeof(wrong), "%s%s", what, owner);
	status = fail_with_names(&names, wrong, names.size ? "there are: " : "see .schema");
	free(names.best);
	return status;
}

/* ---- the command ---- */

static int refuse(struct db *db, const char *sql, int error)
{
	static const char table[] = "no such table: ", column[] = "no such column: ";
	char what[256];

	db_unrestrict(db); /* this program's own statements follow */
	snprintf(what, sizeof(what), "%s", error == -MT_E_MEMORY ? mt_strerror(error) : db_message(db));
	if (error == -MT_E_SQL && !strncmp(what, table, sizeof(table) - 1))
		return no_table(db, what, what + sizeof(table) - 1);
	if (error == -MT_E_SQL && !strncmp(what, column, sizeof(column) - 1))
		return no_column(db, what, what + sizeof(column) - 1, sql);
	return command_fail(mt_exit_code(error), "sql: %s (the database is read-only; tables: memana sql DB .tables)",
			    what);
}

/*
 * Finds the next text, from *at on, that `sql` compares with a column moment: moment = 'step:3', but not moment = 'step:' || step. Returns 1; 0: no
 * further text.
 */
static int next_moment(const char **at, char out[64])
{
	const char *value, *end;

	while ((*at = strcasestr(*at, "moment")) != NULL) {
		*at += strlen("moment");
		value = *at + strspn(*at, " \t\n");
		if (*value != '=')
			continue;
		value += strspn(value, "= \t\n");
		end = *value == '\'' || *value == '"' ? strchr(value + 1, *value) : NULL;
		if (!end || end[1 + strspn(end + 1, " \t\n")] == '|')
			continue;
		snprintf(out, 64, "%.*s", (int)(end - value) - 1, value + 1);
		*at = end;
		return 1;
	}
	return 0;
}

/* Refuses a moment that the run does not have: a sum over no rows would look like an answer. Returns 0, or the exit status. */
static int refuse_moment(struct db *db, const char *sql)
{
	char name[64], first[64] = "", names[QUERY_MOMENTS_MAX];
	const char *at = is_asked(sql, "live_at") ? sql : "";

	while (next_moment(&at, name)) {
		if (query_is_moment(db, name))
			return 0;
		if (!*first)
			snprintf(first, sizeof(first), "%s", name);
	}
	return *first ? command_fail(EXIT_USAGE, "sql: no such moment: %s; there are: %s", first,
				     query_moments(names, db))
		      : 0;
}

static int answer(struct db *db, const char *sql, const char *parameter, const struct look *look, int json)
{
	struct db_stmt *stmt;
	int error;

	db_restrict(db);
	error = db_prepare(db, &stmt, sql);
	if (error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE, "sql: not one statement that gives rows (SELECT ...; or .tables)");
	if (!error && parameter)
		db_bind_text(stmt, 1, parameter);
	if (!error && refuse_moment(db, sql)) {
		db_finish(stmt);
		return EXIT_USAGE;
	}
	if (!error)
		error = json ? json_rows(stmt) : print_rows(stmt, look);
	db_finish(stmt);
	return error ? refuse(db, sql, error) : 0;
}

static int has_rows(struct db *db, const char *sql, const char *parameter)
{
	struct db_stmt *stmt;
	int there = 1;

	if (db_prepare(db, &stmt, sql))
		return 1;
	db_bind_text(stmt, 1, parameter);
	there = db_step(stmt) == 1;
	db_finish(stmt);
	return there;
}

/* Answers a word with a dot, such as ".schema step". */
static int answer_dot(struct db *db, const char *line, const struct look *look, int json)
{
	size_t size = strcspn(line, " \t\n;"), i;
	struct mt_nearest nearest = { 0 };
	struct look plain = { .terminal = look->terminal };
	char word[64], name[128], what[192];

	snprintf(word, sizeof(word), "%.*s", (int)(size < sizeof(word) ? size : sizeof(word) - 1), line);
	line += size + strspn(line + size, " \t\n;\"'");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " \t\n;\"'"), line);
	nearest.word = word;
	for (i = 0; i < MT_ARRAY_SIZE(dots); i++) {
		mt_nearest_try(&nearest, dots[i].word);
		if (strcmp(word, dots[i].word) != 0)
			continue;
		if (!*name)
			return answer(db, dots[i].all, NULL, &plain, json);
		if (has_rows(db, dots[i].one, name))
			return answer(db, dots[i].one, name, &plain, json);
		snprintf(what, sizeof(what), "%s: there is no such table", name);
		return no_table(db, what, name);
	}
	return command_bad_word(&nearest, "sql: %s: neither .tables [all] nor .schema [TABLE] nor a statement", word);
}

static int answer_any(struct db *db, const char *sql, const struct look *look, int json)
{
	return *sql == '.' ? answer_dot(db, sql, look, json) : answer(db, sql, NULL, look, json);
}

/* Loads a trace into memory to answer one question. */
static int answer_from_traces(struct source *source, const char *sql, const struct look *look, int json)
{
	struct analysis analysis = { 0 };
	struct db *db = NULL;
	int error = db_create(&db, NULL, schema_sql), status;

	if (!error && *sql != '.') /* all runs have the same tables */
		error = load_run(db, &analysis, source->input, source->inputs, source->rules, LOAD_TIMELINE);
	if (!error)
		error = load_names(db);
	if (!error)
		error = db_commit(db);
	if (error)
		status = command_fail(mt_exit_code(error), "sql: %s: %s%s", source->input[0].file,
				      error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error),
				      error == -MT_E_SYSTEM ? " (temporary files: see TMPDIR)" : "");
	else
		status = answer_any(db, sql, look, json);
	if (!status)
		status = report_damage(&analysis, "in the answer");
	db_close(db);
	analysis_release(&analysis);
	return status;
}

int cmd_sql(int argc, char **argv)
{
	struct source source;
	int option, status = 0, json = 0;
	struct look look = { .terminal = isatty(STDOUT_FILENO) };

	look.header = look.terminal;
	while (!status && (option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("sql", own_options, notes);
		if (option == COMMAND_RULES)
			status = command_rules(optarg);
		else if (option != OPTION_HEADER && option != COMMAND_JSON)
			return command_bad_option(argc, argv, option);
		look.header |= option == OPTION_HEADER;
		json |= option == COMMAND_JSON;
	}
	if (status)
		return status;
	if (argc - optind < 2)
		return command_fail(EXIT_USAGE, "sql: a database or trace and a statement are needed "
						"(memana sql run.db \"SELECT * FROM peak\"; tables: .tables)");
	status = command_open(&source, argv + optind, (uint32_t)(argc - optind - 1), 1);
	if (!status && source.db)
		status = answer_any(source.db, argv[argc - 1], &look, json);
	else if (!status)
		status = answer_from_traces(&source, argv[argc - 1], &look, json);
	return command_close(&source, status);
}
