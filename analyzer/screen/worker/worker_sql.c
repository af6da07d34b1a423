/* worker_sql.c - SQL that the user types, restricted to reading. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "worker_impl.h"
#include "worker_query.h"

#define BLOB_BYTES 32u /* shown of a blob */

/* Indexes of the columns that link a row to the screen; -1: no such column. */
struct sql_columns {
	int site, time;
};

static int ends_in(const char *word, const char *end)
{
	size_t size = strlen(word), of = strlen(end);

	return size >= of && !strcmp(word + size - of, end);
}

static struct sql_columns name_columns(struct worker_table *table, const struct db_stmt *stmt)
{
	struct sql_columns columns = { -1, -1 };
	const char *name;
	int i;

	for (i = 0; i < db_columns(stmt); i++) {
		name = db_name(stmt, i);
		worker_table_column(table, name, 1);
		if (columns.site < 0 && !strcmp(name, "site"))
			columns.site = i;
		if (columns.time < 0 && (!strcmp(name, "time") || ends_in(name, "_time")))
			columns.time = i;
	}
	return columns;
}

static void fill_blob(struct worker_table *table, int column, const struct db_stmt *row)
{
	char hex[2 * BLOB_BYTES + 4];
	size_t size, i;
	const unsigned char *byte = db_blob(row, column, &size);

	for (i = 0; i < size && i < BLOB_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", byte[i]);
	hex[2 * i] = '\0';
	worker_table_print(table, (uint32_t)column, "%s%s", hex, size > BLOB_BYTES ? "..." : "");
}

static void fill_cell(struct worker_table *table, int column, const struct db_stmt *row)
{
	switch (db_type(row, column)) {
	case DB_INTEGER:
		worker_table_print(table, (uint32_t)column, "%lld", (long long)db_int(row, column));
		break;
	case DB_REAL:
		worker_table_print(table, (uint32_t)column, "%.15g", db_real(row, column));
		break;
	case DB_TEXT:
		table->answer.column[column].numbers = 0;
		worker_table_cell(table, (uint32_t)column, db_text(row, column));
		break;
	case DB_BLOB:
		table->answer.column[column].numbers = 0;
		fill_blob(table, column, row);
		break;
	case DB_NULL:
		break;
	}
}

static int is_int(const struct db_stmt *row, int column)
{
	return column >= 0 && db_type(row, column) == DB_INTEGER;
}

/* Takes rows until the table is full. */
static int take_rows(struct worker *worker, struct worker_table *table, struct db_stmt *stmt)
{
	struct sql_columns columns = name_columns(table, stmt);
	int64_t time;
	uint32_t site;
	int i, more;

	while (!table->failed && (more = db_step(stmt)) == 1) {
		site = is_int(stmt, columns.site) ? worker_site(worker, db_int(stmt, columns.site)) : 0;
		time = is_int(stmt, columns.time) ? db_int(stmt, columns.time) : -1;
		if (worker_table_row(table, site, time < 0 ? -1 : time))
			return 0;
		for (i = 0; i < db_columns(stmt); i++)
			fill_cell(table, i, stmt);
	}
	return table->failed ? -MT_E_MEMORY : more;
}

static int add_table(void *context, struct db_stmt *row)
{
	struct sentence *words = context;

	sentence_say(words, " %s", db_text(row, 0));
	return 0;
}

/* Says why there is no answer, and lists the tables. */
static void say_trouble(struct worker *worker, struct worker_table *table, int error)
{
	struct sentence words = { 0 };

	if (error == -MT_E_ARGUMENT) {
		worker_table_trouble(table, "not one statement that gives rows (SELECT ...)");
		return;
	}
	sentence_say(&words, "%.400s (the database is read-only; all tables: SELECT name, sql FROM sqlite_schema)",
		     error == -MT_E_MEMORY ? mt_strerror(error) : db_message(worker->db));
	db_unrestrict(worker->db); /* the following statements are the program's own */
	sentence_say(&words, ". Ask:");
	worker_query_tables(worker->db, add_table, &words); /* a failure names none */
	worker_table_trouble(table, words.text);
}

int worker_answer_sql(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	struct db_stmt *stmt = NULL;
	int error;

	db_restrict(worker->db);
	error = db_prepare(worker->db, &stmt, question->text);
	if (!error)
		error = take_rows(worker, table, stmt);
	if (error)
		say_trouble(worker, table, error);
	db_finish(stmt);
	db_unrestrict(worker->db);
	return 0;
}
