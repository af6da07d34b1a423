/*
 * db.h - access to SQLite; no other room uses SQLite. A database of memana is a cache of traces, and can always be made
 * again.
 *
 * Functions return 0 or -MT_E_x (-MT_E_SYSTEM: errno says why); db_message() has SQLite's own words for the newest
 * failure.
 */
#ifndef MEMANA_DB_H
#define MEMANA_DB_H

#include <stddef.h>
#include <stdint.h>

struct db;
struct db_stmt;

/* Types of the values of a row. Text and blobs live until the next step. */
enum db_type { DB_NULL, DB_INTEGER, DB_REAL, DB_TEXT, DB_BLOB };

/* Opens a new database and runs `schema`. `path` NULL: in memory; else the file must not exist. One transaction is
 * open. */
int db_create(struct db **db, const char *path, const char *schema);

/* Opens a database of this program and version read-only: -MT_E_MAGIC, -MT_E_VERSION, -MT_E_SYSTEM, -MT_E_CORRUPT (a
 * table is missing or another one). */
int db_open(struct db **db, const char *path);

/* Whether the file begins like a SQLite database. */
int db_is_database(const char *path);

/* Ends the transaction of db_create. */
int db_commit(struct db *db);

/* Restricts later statements to reading the tables: for SQL of the user. */
void db_restrict(struct db *db);
void db_unrestrict(struct db *db); /* lifts this restriction */

/*
 * While a statement runs, its thread calls `stop` now and then. If `stop` returns 1, the statement fails with
 * -MT_E_SQL. `stop` NULL: statements run to their ends.
 */
void db_watch(struct db *db, int (*stop)(void *context), void *context);

void db_close(struct db *db); /* NULL is allowed */

/* Why the newest call failed. Valid until the next call; `db` NULL: out of memory. */
const char *db_message(const struct db *db);

/*
 * Prepares one statement. Returns -MT_E_ARGUMENT for a text after the statement and, after db_restrict, for a statement
 * without rows. Parameters count from 1, columns from 0, as in SQLite. The newest finished statements are kept until
 * db_close: preparing the same text again is free. Values should therefore be parameters.
 */
int db_prepare(struct db *db, struct db_stmt **stmt, const char *sql);
void db_finish(struct db_stmt *stmt); /* call it before db_close; NULL is allowed */

void db_bind(struct db_stmt *stmt, int parameter, int64_t value);
void db_bind_unsigned(struct db_stmt *stmt, int parameter, uint64_t value); /* at most INT64_MAX is stored */
void db_bind_text(struct db_stmt *stmt, int parameter, const char *text);   /* must live until db_run; NULL: null */
void db_bind_blob(struct db_stmt *stmt, int parameter, const void *data, size_t size); /* as text */
void db_bind_null(struct db_stmt *stmt, int parameter);

int db_step(struct db_stmt *stmt);              /* 1: a row, 0: no more rows, or an error */
int db_run(struct db_stmt *stmt);               /* runs a statement without rows; it can run again with other values */
int db_execute(struct db *db, const char *sql); /* prepares, runs and finishes a statement without rows or values */
void db_rewind(struct db_stmt *stmt);           /* makes the statement ready to run again */

/* Parameters are numbers for ?1 to ?5; NULL: none. */
#define DB_PARAMETERS 5
#define DB_NUMBERS(...) ((const int64_t[DB_PARAMETERS]){ __VA_ARGS__ })

/* Calls `row` for each row, until `row` returns anything but 0. Returns 0, this result, or -MT_E_x. */
int db_rows(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS],
	    int (*row)(void *context, struct db_stmt *stmt), void *context);

/* Returns 1 with *stmt at the first row, for db_finish; 0: no row; or -MT_E_x. *stmt is NULL then. */
int db_first(struct db *db, struct db_stmt **stmt, const char *sql, const int64_t parameter[DB_PARAMETERS]);

/* Reads the number in the first row. Without a row *number stays. Returns 0 or -MT_E_x. */
int db_number(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], int64_t *number);

/*
 * Writes rows from memory into a table. Rows lie one after the other, with a cell of DB_CELL_BYTES for each column.
 * `column` names all columns, in their order. DB_INTEGER is an int64_t; in an optional column DB_CELL_NULL is null (a
 * new id for an INTEGER PRIMARY KEY). DB_TEXT is a const char *; NULL is null.
 */
#define DB_CELL_BYTES 8
#define DB_CELL_NULL INT64_MIN

struct db_column {
	const char *name;
	enum db_type type;
	int optional;
};

struct db_feed;

/* `column` must live as long as the feed. A table has one feed at a time. On failure *feed is NULL. */
int db_feed_new(struct db_feed **feed, struct db *db, const char *table, const struct db_column *column, int columns);
int db_feed_run(struct db_feed *feed, const void *rows, size_t count);
void db_feed_free(struct db_feed *feed); /* NULL is allowed */

/*
 * Rows in place of those of an empty table, made lot by lot as they are read: SQLite reads them as a virtual table, which nothing changes. The
 * first column is the number of the row, from 1: a row is found by it.
 */
struct db_lots {
	size_t rows, lot; /* number of rows; of rows in each lot but the last */
	void *context;
	int (*fill)(void *context, size_t number,
		    void *rows); /* fills the lot with this number, from 0. 0 or -MT_E_x */
	void (*release)(void *context);
};

/* `release` is called when the database closes, or at once after an error. A database has one such table. */
int db_lots_new(struct db *db, const char *table, const struct db_column *column, int columns,
		const struct db_lots *lots);

/* Takes all lots without SQLite, until `take` fails. 1; 0: no table is made of lots; or -MT_E_x. */
int db_lots_each(struct db *db, int (*take)(void *context, const void *rows, size_t count), void *context);

int db_columns(const struct db_stmt *stmt);
const char *db_name(const struct db_stmt *stmt, int column);
enum db_type db_type(const struct db_stmt *stmt, int column);
int64_t db_int(const struct db_stmt *stmt, int column); /* null: 0 */
double db_real(const struct db_stmt *stmt, int column);
const char *db_text(const struct db_stmt *stmt, int column); /* null: "" */
const void *db_blob(const struct db_stmt *stmt, int column, size_t *size);

/* Schema.sql inside the program. */

#define SCHEMA_APPLICATION_ID 0x6d656d61 /* "mema" */
#define SCHEMA_VERSION 16                /* memana makes a database of another version again */

/* Ends in NUL. */
extern const char schema_sql[];

/* Rows (name, holds) for an expression of sqlite_schema: its tables and views with the comment that schema.sql has on each. */
#define SCHEMA_RELATIONS(where)                                                                                          \
	"SELECT name, substr(sql, instr(sql, '-- ') + 3, instr(substr(sql, instr(sql, '-- ')), char(10)) - 4) AS holds " \
	"FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND " where       \
	" ORDER BY name"

/* Relations that people ask. The others are their sources. */
#define SCHEMA_FOR_PEOPLE "name IN ('allocation', 'bytes_by_module', 'bytes_by_place', 'bytes_by_step', 'live_at')"

#endif
