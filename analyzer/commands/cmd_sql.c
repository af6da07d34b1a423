/* memana sql - asks the database of a run, or of a trace loaded for the moment. Nothing can be changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "database/db.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "report/command.h"
#include "report/report.h"
#include "source/source.h"
#include "store/load.h"

static const char options_help[] = "      --header     print the names of the columns first (default: on a terminal)\n"
				   "      --json       an array of objects\n"
				   "Tables: memana sql DB \"SELECT sql FROM sqlite_schema\"\n";

static const struct option long_options[] = {
	{ "header", no_argument, NULL, 'H' },
	{ "json", no_argument, NULL, 'j' },
	COMMAND_RULES_OPTION,
	COMMAND_OPTIONS,
};

/* ---- rows as text: columns separated by tabs ---- */

/* How rows are shown. */
struct look {
	int header;
	int terminal; /* which must not act on what values hold; a file or a pipe gets them as they are */
};

/* Beside other columns, a tab or a line end inside a value would look like one between values. */
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

/* 0 or -MT_E_MEMORY. */
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

static void json_value(struct doc *doc, const struct db_stmt *stmt, int column)
{
	const char *name = db_name(stmt, column);

	switch (db_type(stmt, column)) {
	case DB_INTEGER:
		doc_int(doc, name, db_int(stmt, column));
		break;
	case DB_REAL:
		doc_real(doc, name, db_real(stmt, column));
		break;
	case DB_TEXT:
	case DB_BLOB:
		doc_string(doc, name, db_text(stmt, column));
		break;
	case DB_NULL:
		doc_null(doc, name);
		break;
	}
}

static int json_rows(struct db_stmt *stmt)
{
	struct doc *doc = doc_new();
	int columns = db_columns(stmt), column, more;

	if (!doc)
		return -MT_E_MEMORY;
	doc_array(doc, NULL);
	while ((more = db_step(stmt)) == 1) {
		doc_object(doc, NULL);
		for (column = 0; column < columns; column++)
			json_value(doc, stmt, column);
		doc_end(doc);
	}
	doc_end(doc);
	if (!more)
		more = doc_print(doc, stdout);
	doc_free(doc);
	return more;
}

/* ---- the command ---- */

static int answer(struct db *db, const char *sql, const struct look *look, int json)
{
	struct db_stmt *stmt;
	int error;

	db_restrict(db);
	error = db_prepare(db, &stmt, sql);
	if (error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE, "sql: not one statement that gives rows (SELECT ...)");
	if (!error)
		error = json ? json_rows(stmt) : print_rows(stmt, look);
	db_finish(stmt);
	if (!error)
		return 0;
	return command_fail(mt_exit_code(error), "sql: %s (the database is read-only; tables: memana sql --help)",
			    error == -MT_E_MEMORY ? mt_strerror(error) : db_message(db));
}

/* A trace is loaded into memory for the one question. */
static int answer_from_traces(struct source *source, const char *sql, const struct look *look, int json)
{
	struct analysis analysis = { 0 };
	struct db *db = NULL;
	int error = db_create(&db, NULL, schema_sql), status;

	if (!error)
		error = load_run(db, &analysis, source->input, source->inputs, source->rules);
	if (!error)
		error = load_names(db);
	if (!error)
		error = db_commit(db);
	if (error)
		status = command_fail(mt_exit_code(error), "sql: %s: %s", source->input[0].file, mt_strerror(error));
	else
		status = answer(db, sql, look, json);
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
	while (!status && (option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
		if (option == 'h')
			return command_help("sql", options_help);
		if (option == COMMAND_RULES)
			status = command_rules(optarg);
		else if (option != 'H' && option != 'j')
			return command_bad_option(argc, argv, option);
		look.header |= option == 'H';
		json |= option == 'j';
	}
	if (status)
		return status;
	if (argc - optind < 2)
		return command_fail(EXIT_USAGE, "sql: a database or trace and a statement are needed "
						"(memana sql run.db \"SELECT * FROM peak\")");
	status = command_open(&source, argv + optind, (uint32_t)(argc - optind - 1), 1);
	if (!status && source.db)
		status = answer(source.db, argv[argc - 1], &look, json);
	else if (!status)
		status = answer_from_traces(&source, argv[argc - 1], &look, json);
	return command_close(&source, status);
}
