/*
 * Rows that SQLite reads as a virtual table.
 *
 * A feed has its rows in memory, as <table>_rows. INSERT ... SELECT takes less than two thirds of the time of statements
 * with bound values, and one statement writes many rows. Lots are rows that a cursor makes as it comes to them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

struct db_feed {
	struct db *db;
	struct db_stmt *insert;
	const struct db_column *column;
	int columns;
	char name[64], names[1024]; /* names of the virtual table and of its columns */
	const char *rows;
	size_t count;
	struct db_lots lots; /* fill NULL: of a feed */
};

struct feed_table {
	sqlite3_vtab base; /* must be first */
	struct db_feed *feed;
};

struct feed_cursor {
	sqlite3_vtab_cursor base; /* must be first */
	const struct db_feed *feed;
	const char *row, *end;
	char *room; /* the lot; NULL: a feed has no lots */
	size_t lot; /* its number */
	int alone;  /* 1: no row follows `end` */
};

static size_t row_bytes(const struct db_feed *feed)
{
	return (size_t)feed->columns * DB_CELL_BYTES;
}

static int feed_connect(sqlite3 *handle, void *context, int arguments, const char *const *argument, sqlite3_vtab **made,
			char **message)
{
	struct db_feed *feed = context;
	struct feed_table *table;
	char sql[sizeof(feed->names) + 32];

	(void)arguments, (void)argument, (void)message;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->feed = feed;
	*made = &table->base;
	snprintf(sql, sizeof(sql), "CREATE TABLE t (%s)", feed->names);
	sqlite3_vtab_config(handle, SQLITE_VTAB_INNOCUOUS); /* views may read it */
	return sqlite3_declare_vtab(handle, sql);
}

static int feed_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

#define PLAN_ROW 1 /* else all rows, from the beginning to the end */

/* The first column of lots is the number of the row. */
static int feed_plan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
	const struct db_feed *feed = ((struct feed_table *)table)->feed;
	int i;

	plan->estimatedRows = (sqlite3_int64)feed->lots.rows;
	plan->estimatedCost = (double)feed->lots.rows;
	for (i = 0; feed->lots.fill && i < plan->nConstraint && plan->idxNum != PLAN_ROW; i++) {
		if (plan->aConstraint[i].iColumn || !plan->aConstraint[i].usable ||
		    plan->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		plan->aConstraintUsage[i].argvIndex = 1;
		plan->idxNum = PLAN_ROW;
		plan->estimatedRows = 1;
		plan->estimatedCost = (double)feed->lots.lot;
	}
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **made)
{
	struct feed_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->feed = ((struct feed_table *)table)->feed;
	*made = &cursor->base;
	if (!cursor->feed->lots.fill)
		return SQLITE_OK;
	cursor->room = malloc(cursor->feed->lots.lot * row_bytes(cursor->feed));
	if (cursor->room)
		return SQLITE_OK;
	free(cursor);
	return SQLITE_NOMEM;
}

static int feed_close(sqlite3_vtab_cursor *base)
{
	free(((struct feed_cursor *)base)->room);
	free(base);
	return SQLITE_OK;
}

/* Rows of the lot. */
static size_t lot_rows(const struct db_lots *lots, size_t number)
{
	size_t first = number * lots->lot, rest = first < lots->rows ? lots->rows - first : 0;

	return rest < lots->lot ? rest : lots->lot;
}

static int make_lot(struct feed_cursor *cursor, size_t number)
{
	const struct db_feed *feed = cursor->feed;
	size_t rows = lot_rows(&feed->lots, number);
	int error = rows ? feed->lots.fill(feed->lots.context, number, cursor->room) : 0;

	cursor->lot = number;
	cursor->row = cursor->room;
	cursor->end = cursor->room + rows * row_bytes(feed);
	return !error ? SQLITE_OK : error == -MT_E_MEMORY ? SQLITE_NOMEM : SQLITE_CORRUPT;
}

static int find_row(struct feed_cursor *cursor, sqlite3_int64 id)
{
	const struct db_lots *lots = &cursor->feed->lots;
	size_t number = (size_t)id - 1;
	int code;

	cursor->row = cursor->end = cursor->room;
	if (id < 1 || number >= lots->rows)
		return SQLITE_OK;
	code = make_lot(cursor, number / lots->lot);
	cursor->row += number % lots->lot * row_bytes(cursor->feed);
	cursor->end = cursor->row + row_bytes(cursor->feed);
	return code;
}

static int feed_begin(sqlite3_vtab_cursor *base, int plan, const char *words, int arguments, sqlite3_value **argument)
{
	struct feed_cursor *cursor = (struct feed_cursor *)base;
	const struct db_feed *feed = cursor->feed;

	(void)words, (void)arguments;
	cursor->alone = plan == PLAN_ROW;
	if (plan == PLAN_ROW)
		return find_row(cursor, sqlite3_value_int64(argument[0]));
	if (cursor->room)
		return make_lot(cursor, 0);
	cursor->row = feed->rows;
	cursor->end = cursor->row + feed->count * row_bytes(feed);
	return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *base)
{
	struct feed_cursor *cursor = (struct feed_cursor *)base;

	cursor->row += row_bytes(cursor->feed);
	return cursor->room && !cursor->alone && cursor->row == cursor->end ? make_lot(cursor, cursor->lot + 1)
									    : SQLITE_OK;
}

static int feed_at_end(sqlite3_vtab_cursor *base)
{
	const struct feed_cursor *cursor = (const struct feed_cursor *)base;

	return cursor->row == cursor->end;
}

/* A column without a result is null. */
static int feed_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	const struct feed_cursor *cursor = (const struct feed_cursor *)base;
	const char *cell = cursor->row + (size_t)column * DB_CELL_BYTES;
	const struct db_column *kind = &cursor->feed->column[column];

	if (kind->type == DB_TEXT)
		sqlite3_result_text(result, *(const char *const *)cell, -1, SQLITE_STATIC);
	else if (!kind->optional || *(const int64_t *)cell != DB_CELL_NULL)
		sqlite3_result_int64(result, *(const int64_t *)cell);
	return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	const struct feed_cursor *cursor = (const struct feed_cursor *)base;

	*id = cursor->room ? *(const int64_t *)cursor->row : cursor->row - cursor->feed->rows;
	return SQLITE_OK;
}

static const sqlite3_module feed_module = {
	.xConnect = feed_connect,
	.xDisconnect = feed_disconnect,
	.xBestIndex = feed_plan,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_begin,
	.xNext = feed_next,
	.xEof = feed_at_end,
	.xColumn = feed_column,
	.xRowid = feed_rowid,
};

/* Writes the names of the columns, and makes the virtual table `name`. SQLite calls `release`, also after an error. */
static int make_table(struct db_feed *feed, void (*release)(void *feed))
{
	int i, length = 0, code;

	for (i = 0; i < feed->columns && length < (int)sizeof(feed->names); i++)
		length += snprintf(feed->names + length, sizeof(feed->names) - (size_t)length, "%s%s", i ? ", " : "",
				   feed->column[i].name);
	if (length >= (int)sizeof(feed->names) && release)
		release(feed);
	if (length >= (int)sizeof(feed->names))
		return -MT_E_LIMIT;
	code = sqlite3_create_module_v2(feed->db->handle, feed->name, &feed_module, feed, release);
	return code == SQLITE_OK ? 0 : db_error_of(code);
}

/* ---- feeds ---- */

static int prepare_feed(struct db_feed *feed, const char *table)
{
	char sql[2 * sizeof(feed->names) + 256];
	int error;

	snprintf(feed->name, sizeof(feed->name), "%s_rows", table);
	error = make_table(feed, NULL);
	if (error)
		return error;
	snprintf(sql, sizeof(sql), "INSERT INTO %s (%s) SELECT %s FROM %s", table, feed->names, feed->names,
		 feed->name);
	return db_prepare(feed->db, &feed->insert, sql);
}

int db_feed_new(struct db_feed **feed, struct db *db, const char *table, const struct db_column *column, int columns)
{
	int error;

	*feed = calloc(1, sizeof(**feed));
	if (!*feed)
		return -MT_E_MEMORY;
	(*feed)->db = db;
	(*feed)->column = column;
	(*feed)->columns = columns;
	error = prepare_feed(*feed, table);
	if (error) {
		db_feed_free(*feed);
		*feed = NULL;
	}
	return error;
}

int db_feed_run(struct db_feed *feed, const void *rows, size_t count)
{
	feed->rows = rows;
	feed->count = count;
	return db_run(feed->insert);
}

/* Drops the virtual table, too: no later statement needs it. */
void db_feed_free(struct db_feed *feed)
{
	if (!feed)
		return;
	db_discard(feed->insert);
	sqlite3_create_module(feed->db->handle, feed->name, NULL, NULL);
	free(feed);
}

/* ---- lots ---- */

static void release_lots(void *context)
{
	struct db_feed *feed = context;

	feed->lots.release(feed->lots.context);
	free(feed);
}

int db_lots_new(struct db *db, const char *table, const struct db_column *column, int columns,
		const struct db_lots *lots)
{
	struct db_feed *feed = calloc(1, sizeof(*feed));
	char sql[128];
	int error;

	if (!feed) {
		lots->release(lots->context);
		return -MT_E_MEMORY;
	}
	*feed = (struct db_feed){ .db = db, .column = column, .columns = columns, .lots = *lots };
	mt_copy_text(feed->name, sizeof(feed->name), table);
	snprintf(sql, sizeof(sql), "DROP TABLE %s", table);
	error = db_execute(db, sql);
	if (error)
		release_lots(feed);
	else
		error = make_table(feed, release_lots);
	if (!error)
		db->lots = feed;
	return error;
}

int db_lots_each(struct db *db, int (*take)(void *context, const void *rows, size_t count), void *context)
{
	const struct db_feed *feed = db->lots;
	char *room = feed ? malloc(feed->lots.lot * row_bytes(feed)) : NULL;
	size_t number, rows;
	int error = feed && !room ? -MT_E_MEMORY : 0;

	for (number = 0; room && !error && (rows = lot_rows(&feed->lots, number)); number++) {
		error = feed->lots.fill(feed->lots.context, number, room);
		if (!error)
			error = take(context, room, rows);
	}
	free(room);
	return error ? error : feed != NULL;
}
