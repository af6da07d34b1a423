#include "db_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/error.h"

static sqlite3_stmt *raw(const struct db_stmt *stmt)
{
	return stmt ? stmt->raw : NULL;
}

int db_error_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -MT_E_MEMORY;
	case SQLITE_FULL:
		return -MT_E_SPACE;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return -MT_E_SYSTEM;
	case SQLITE_NOTADB:
		return -MT_E_MAGIC;
	case SQLITE_CORRUPT:
		return -MT_E_CORRUPT;
	case SQLITE_BUSY:
		return -MT_E_BUSY;
	default:
		return -MT_E_SQL;
	}
}

/* The error of the newest call, with the system's errno. If SQLite does not know errno, the present value stays. */
static int error_in(sqlite3 *handle, int code)
{
	int error = db_error_of(code), system = errno;

	if (error == -MT_E_SYSTEM) {
		errno = sqlite3_system_errno(handle);
		if (!errno)
			errno = system ? system : EIO;
	}
	return error;
}

/* Closes the database; errno stays. */
static int give_up(struct db **db, int error)
{
	int system = errno;

	db_close(*db);
	*db = NULL;
	errno = system;
	return error;
}

static int open_handle(struct db **db, const char *path, int flags)
{
	int code;

	*db = calloc(1, sizeof(**db));
	if (!*db)
		return -MT_E_MEMORY;
	code = sqlite3_open_v2(path, &(*db)->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return give_up(db, error_in((*db)->handle, code));
	return 0;
}

static int execute(struct db *db, const char *sql)
{
	return error_in(db->handle, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

/* Marks the file as a database of this program and version. */
static int sign(struct db *db)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION_ID,
		 SCHEMA_VERSION);
	return execute(db, sql);
}

int db_create(struct db **db, const char *path, const char *schema)
{
	int error = open_handle(db, path ? path : ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

	if (error)
		return error;
	/*
	 * The file gets its name when it is complete: it needs no journal, and no waiting for the disk. Rows are
	 * appended: pages that were written are seldom needed again.
	 */
	error = execute(*db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
			     "PRAGMA page_size = 16384; PRAGMA cache_size = -8192; PRAGMA foreign_keys = OFF;");
	if (!error && !path) /* temporary files could fail on a full disk, and a database in memory needs none */
		error = execute(*db, "PRAGMA temp_store = MEMORY");
	if (!error)
		error = execute(*db, "BEGIN");
	if (!error)
		error = execute(*db, schema);
	if (!error)
		error = sign(*db);
	return error ? give_up(db, error) : 0;
}

/* Returns 0 if the number that `sql` asks for is `wanted`; else `otherwise`; or an error of the question. */
static int expect(struct db *db, const char *sql, int64_t wanted, int otherwise)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql);

	if (error)
		return error;
	error = db_step(stmt);
	if (error >= 0)
		error = error && db_int(stmt, 0) == wanted ? 0 : otherwise;
	db_finish(stmt);
	return error;
}

/* Whether the newest statement is SQLite's own: SELECT tbl,idx,stat FROM sqlite_stat1. */
static int loads_statistics(void *handle)
{
	sqlite3_stmt *stmt = sqlite3_next_stmt(handle, NULL);

	return stmt && sqlite3_column_count(stmt) == 3 && !strcmp(sqlite3_column_name(stmt, 0), "tbl");
}

/*
 * Reads the schema, without the statistics of ANALYZE. Statistics come from the file, and false ones can turn a
 * question of milliseconds into minutes. SQLite has no setting to leave them out. The progress handler stops their
 * reading, and SQLite plans without statistics.
 */
static int read_schema(struct db *db)
{
	int error;

	sqlite3_progress_handler(db->handle, 1, loads_statistics, db->handle);
	error = execute(db, "SELECT 1 FROM sqlite_schema LIMIT 1");
	sqlite3_progress_handler(db->handle, 0, NULL, NULL);
	return error;
}

/* Looks for one row of `made`, this program's schema, in `db`. Returns 0; -MT_E_CORRUPT: no such table or view. */
static int find_table(struct db *db, const struct db_stmt *made)
{
	struct db_stmt *stmt;
	int column, error = db_prepare(db, &stmt,
				       "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2 AND sql IS ?3");

	if (error)
		return error;
	for (column = 0; column < 3; column++)
		db_bind_text(stmt, column + 1, db_text(made, column));
	error = db_step(stmt);
	db_finish(stmt);
	return error < 0 ? error : error ? 0 : -MT_E_CORRUPT;
}

/* Whether all tables and views are as this program makes them: later questions rely on it. There may be others, too. */
static int check_schema(struct db *db)
{
	struct db_stmt *stmt = NULL;
	struct db *made;
	int more, error = db_create(&made, NULL, schema_sql);

	if (error)
		return error;
	error = db_prepare(made, &stmt, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
	while (!error && (more = db_step(stmt)))
		error = more < 0 ? more : find_table(db, stmt);
	db_finish(stmt);
	db_close(made);
	return error;
}

int db_open(struct db **db, const char *path)
{
	int error = open_handle(db, path, SQLITE_OPEN_READONLY);

	if (error)
		return error;
	error = expect(*db, "PRAGMA application_id", SCHEMA_APPLICATION_ID, -MT_E_MAGIC);
	if (!error)
		error = expect(*db, "PRAGMA user_version", SCHEMA_VERSION, -MT_E_VERSION);
	if (!error)
		error = read_schema(*db);
	if (!error)
		error = check_schema(*db);
	if (error == -MT_E_SQL) /* no SQL of the user ran: SQLite cannot read the file */
		error = -MT_E_CORRUPT;
	return error ? give_up(db, error) : 0;
}

int db_is_database(const char *path)
{
	char begin[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	if (fd < 0)
		return 0;
	got = read(fd, begin, sizeof(begin));
	close(fd);
	return got == sizeof(begin) && !memcmp(begin, "SQLite format 3", 16);
}

int db_commit(struct db *db)
{
	return execute(db, "COMMIT");
}

/* Lets statements read tables and compute. The allowed pragmas only describe tables. */
static int authorize(void *context, int action, const char *one, const char *two, const char *schema,
		     const char *trigger)
{
	(void)context, (void)schema, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return strcmp(two, "load_extension") ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		if (!strcmp(one, "table_info") || !strcmp(one, "table_list") || !strcmp(one, "foreign_key_check") ||
		    (!two && (!strcmp(one, "user_version") || !strcmp(one, "application_id"))))
			return SQLITE_OK;
		return SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

void db_restrict(struct db *db)
{
	sqlite3_set_authorizer(db->handle, authorize, NULL);
	db->restricted = 1;
}

void db_unrestrict(struct db *db)
{
	sqlite3_set_authorizer(db->handle, NULL, NULL);
	db->restricted = 0;
}

#define WATCH_OPERATIONS 200 /* operations of SQLite's machine between two calls of `stop`: some 10 us */

void db_watch(struct db *db, int (*stop)(void *context), void *context)
{
	sqlite3_progress_handler(db->handle, stop ? WATCH_OPERATIONS : 0, stop, context);
}

void db_discard(struct db_stmt *stmt)
{
	sqlite3_finalize(raw(stmt));
	free(stmt);
}

void db_close(struct db *db)
{
	int i;

	if (!db)
		return;
	for (i = 0; i < db->kept_count; i++)
		db_discard(db->kept[i]);
	sqlite3_close(db->handle);
	free(db);
}

const char *db_message(const struct db *db)
{
	return db ? sqlite3_errmsg(db->handle) : "out of memory";
}

/* NULL: no such statement is kept. */
static struct db_stmt *take_kept(struct db *db, const char *sql)
{
	struct db_stmt *found;
	int i;

	for (i = 0; i < db->kept_count && !db->restricted; i++) {
		found = db->kept[i];
		if (strcmp(sqlite3_sql(found->raw), sql) != 0)
			continue;
		db->kept_count--;
		memmove(&db->kept[i], &db->kept[i + 1], (size_t)(db->kept_count - i) * sizeof(found));
		return found;
	}
	return NULL;
}

static void keep(struct db *db, struct db_stmt *stmt)
{
	if (db->kept_count == KEPT)
		db_discard(db->kept[--db->kept_count]);
	memmove(&db->kept[1], &db->kept[0], (size_t)db->kept_count++ * sizeof(stmt));
	db->kept[0] = stmt;
}

static int make(struct db *db, struct db_stmt *stmt, const char *sql)
{
	const char *rest = "";
	int code = sqlite3_prepare_v2(db->handle, sql, -1, &stmt->raw, &rest);

	if (code != SQLITE_OK)
		return error_in(db->handle, code);
	if (!stmt->raw || rest[strspn(rest, " \t\r\n;")] || (db->restricted && !sqlite3_column_count(stmt->raw)))
		return -MT_E_ARGUMENT;
	return 0;
}

int db_prepare(struct db *db, struct db_stmt **stmt, const char *sql)
{
	int error;

	*stmt = take_kept(db, sql);
	if (*stmt)
		return 0;
	*stmt = calloc(1, sizeof(**stmt));
	if (!*stmt)
		return -MT_E_MEMORY;
	(*stmt)->db = db;
	(*stmt)->restricted = db->restricted;
	error = make(db, *stmt, sql);
	if (error) {
		db_discard(*stmt);
		*stmt = NULL;
	}
	return error;
}

/* SQLite itself prepares a kept statement again if the tables have changed. */
void db_finish(struct db_stmt *stmt)
{
	if (!stmt)
		return;
	sqlite3_reset(stmt->raw);
	if (stmt->restricted) {
		db_discard(stmt);
		return;
	}
	sqlite3_clear_bindings(stmt->raw);
	keep(stmt->db, stmt);
}

void db_bind(struct db_stmt *stmt, int parameter, int64_t value)
{
	sqlite3_bind_int64(raw(stmt), parameter, value);
}

void db_bind_unsigned(struct db_stmt *stmt, int parameter, uint64_t value)
{
	sqlite3_bind_int64(raw(stmt), parameter, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void db_bind_text(struct db_stmt *stmt, int parameter, const char *text)
{
	sqlite3_bind_text(raw(stmt), parameter, text, -1, SQLITE_STATIC);
}

void db_bind_blob(struct db_stmt *stmt, int parameter, const void *data, size_t size)
{
	sqlite3_bind_blob64(raw(stmt), parameter, data, size, SQLITE_STATIC);
}

void db_bind_null(struct db_stmt *stmt, int parameter)
{
	sqlite3_bind_null(raw(stmt), parameter);
}

int db_step(struct db_stmt *stmt)
{
	int code = sqlite3_step(raw(stmt));

	return code == SQLITE_ROW ? 1 : error_in(sqlite3_db_handle(raw(stmt)), code);
}

int db_run(struct db_stmt *stmt)
{
	int error = db_step(stmt), system = errno;

	sqlite3_reset(raw(stmt));
	errno = system;
	return error;
}

int db_execute(struct db *db, const char *sql)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql);

	if (!error)
		error = db_run(stmt);
	db_finish(stmt);
	return error;
}

void db_rewind(struct db_stmt *stmt)
{
	sqlite3_reset(raw(stmt));
}

static int prepare_with(struct db *db, struct db_stmt **stmt, const char *sql, const int64_t *parameter)
{
	int error = db_prepare(db, stmt, sql), i;

	for (i = 0; !error && parameter && i < DB_PARAMETERS; i++)
		db_bind(*stmt, i + 1, parameter[i]);
	return error;
}

int db_rows(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS],
	    int (*row)(void *context, struct db_stmt *stmt), void *context)
{
	struct db_stmt *stmt;
	int error = prepare_with(db, &stmt, sql, parameter), more;

	while (!error && (more = db_step(stmt)) != 0)
		error = more < 0 ? more : row(context, stmt);
	db_finish(stmt);
	return error;
}

int db_first(struct db *db, struct db_stmt **stmt, const char *sql, const int64_t parameter[DB_PARAMETERS])
{
	int found = prepare_with(db, stmt, sql, parameter);

	if (!found)
		found = db_step(*stmt);
	if (found == 1)
		return 1;
	db_finish(*stmt);
	*stmt = NULL;
	return found;
}

int db_number(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], int64_t *number)
{
	struct db_stmt *stmt;
	int found = db_first(db, &stmt, sql, parameter);

	if (found == 1)
		*number = db_int(stmt, 0);
	db_finish(stmt);
	return found < 0 ? found : 0;
}

int db_columns(const struct db_stmt *stmt)
{
	return sqlite3_column_count(raw(stmt));
}

const char *db_name(const struct db_stmt *stmt, int column)
{
	const char *name = sqlite3_column_name(raw(stmt), column);

	return name ? name : "";
}

enum db_type db_type(const struct db_stmt *stmt, int column)
{
	switch (sqlite3_column_type(raw(stmt), column)) {
	case SQLITE_INTEGER:
		return DB_INTEGER;
	case SQLITE_FLOAT:
		return DB_REAL;
	case SQLITE_TEXT:
		return DB_TEXT;
	case SQLITE_BLOB:
		return DB_BLOB;
	default:
		return DB_NULL;
	}
}

int64_t db_int(const struct db_stmt *stmt, int column)
{
	return sqlite3_column_int64(raw(stmt), column);
}

double db_real(const struct db_stmt *stmt, int column)
{
	return sqlite3_column_double(raw(stmt), column);
}

const char *db_text(const struct db_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(raw(stmt), column);

	return text ? text : "";
}

const void *db_blob(const struct db_stmt *stmt, int column, size_t *size)
{
	*size = (size_t)sqlite3_column_bytes(raw(stmt), column);
	return sqlite3_column_blob(raw(stmt), column);
}

__asm__(".section .rodata\n"
	".global schema_sql\n"
	".type schema_sql, @object\n"
	"schema_sql:\n"
	".incbin \"analyzer/database/schema.sql\"\n"
	".byte 0\n"
	".size schema_sql, . - schema_sql\n"
	".previous\n");
