#include "load_rows.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define CELL_INTEGER DB_INTEGER, 0
#define CELL_OPTIONAL DB_INTEGER, 1
#define CELL_TIME DB_INTEGER, 1
#define CELL_PROCESS DB_INTEGER, 0
#define CELL_DEVICE DB_INTEGER, 0
#define CELL_SITE DB_INTEGER, 0
#define CELL_DEFINITION DB_INTEGER, 1
#define CELL_TEXT DB_TEXT, 1
#define COLUMN(type, column) { #column, CELL_##type },
#define COLUMNS(table) static const struct db_column columns_of_##table[] = { LOAD_COLUMNS_##table(COLUMN) };
LOAD_TABLES(COLUMNS)

#define TABLE(table) [LOAD_##table] = { #table, columns_of_##table, MT_ARRAY_SIZE(columns_of_##table) },
static const struct {
	const char *name;
	const struct db_column *column;
	int columns;
} tables[] = { LOAD_TABLES(TABLE) };

#define SIZE(table)                                                                                  \
	static_assert(sizeof(struct load_##table) ==                                                 \
			      sizeof(columns_of_##table) / sizeof(struct db_column) * DB_CELL_BYTES, \
		      "a row is its cells");
LOAD_TABLES(SIZE)

static size_t row_bytes(enum load_table table)
{
	return (size_t)tables[table].columns * DB_CELL_BYTES;
}

static int write_lot(struct load_rows *rows, const struct load_lot *lot)
{
	return db_feed_run(rows->feed[lot->table], lot->rows, lot->count);
}

/* ---- the thread ---- */

/* Takes a lot off the queue; the caller holds the lock. Wakes the analysis only if half of the queue is free. */
static void take_off(struct load_rows *rows)
{
	rows->queue[rows->first].count = 0;
	rows->first = (rows->first + 1) % LOAD_LOTS;
	rows->count--;
	if (rows->count == LOAD_LOTS / 2 || !rows->count)
		pthread_cond_signal(&rows->written);
}

static void *serve(void *context)
{
	struct load_rows *rows = context;
	int error, system;

	pthread_mutex_lock(&rows->lock);
	for (;;) {
		while (!rows->count && !rows->stop)
			pthread_cond_wait(&rows->handed, &rows->lock);
		if (!rows->count)
			break;
		if (!rows->error && !rows->stop) {
			pthread_mutex_unlock(&rows->lock);
			error = write_lot(rows, &rows->queue[rows->first]);
			system = errno;
			pthread_mutex_lock(&rows->lock);
			rows->error = error;
			rows->system = system;
		}
		take_off(rows);
	}
	pthread_mutex_unlock(&rows->lock);
	return NULL;
}

/* Starts the thread with all signals blocked: only the main thread handles signals. */
static int start(struct load_rows *rows)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&rows->thread, NULL, serve, rows);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed;
}

/* ---- the analysis ---- */

static int lot_init(struct load_lot *lot)
{
	lot->rows = malloc(LOAD_LOT_BYTES);
	return lot->rows ? 0 : -MT_E_MEMORY;
}

int load_rows_init(struct load_rows *rows, struct db *db)
{
	size_t i;
	int error = 0;

	memset(rows, 0, sizeof(*rows));
	pthread_mutex_init(&rows->lock, NULL);
	pthread_cond_init(&rows->handed, NULL);
	pthread_cond_init(&rows->written, NULL);
	for (i = 0; i < LOAD_LOTS && !error; i++)
		error = lot_init(&rows->queue[i]);
	for (i = 0; i < LOAD_TABLE_COUNT && !error; i++) {
		rows->fill[i].table = (enum load_table)i;
		error = lot_init(&rows->fill[i]);
		if (!error)
			error = db_feed_new(&rows->feed[i], db, tables[i].name, tables[i].column, tables[i].columns);
	}
	if (!error)
		rows->threaded = start(rows);
	return error;
}

void load_rows_release(struct load_rows *rows)
{
	size_t i;

	pthread_mutex_lock(&rows->lock);
	rows->stop = 1;
	pthread_cond_signal(&rows->handed);
	pthread_mutex_unlock(&rows->lock);
	if (rows->threaded)
		pthread_join(rows->thread, NULL);
	pthread_mutex_destroy(&rows->lock);
	pthread_cond_destroy(&rows->handed);
	pthread_cond_destroy(&rows->written);
	for (i = 0; i < LOAD_LOTS; i++)
		free(rows->queue[i].rows);
	for (i = 0; i < LOAD_TABLE_COUNT; i++) {
		free(rows->fill[i].rows);
		db_feed_free(rows->feed[i]);
	}
}

/* Unlocks. Returns 0, or the error of the thread. */
static int unlock(struct load_rows *rows)
{
	int error = rows->error;

	if (error)
		errno = rows->system;
	pthread_mutex_unlock(&rows->lock);
	return error;
}

/* Puts a full lot into the queue and takes an empty lot. */
static int put(struct load_rows *rows, struct load_lot *full)
{
	struct load_lot *last, empty;

	pthread_mutex_lock(&rows->lock);
	while (rows->count == LOAD_LOTS)
		pthread_cond_wait(&rows->written, &rows->lock);
	last = &rows->queue[(rows->first + rows->count++) % LOAD_LOTS];
	empty = *last;
	*last = *full;
	empty.table = full->table;
	*full = empty;
	pthread_cond_signal(&rows->handed);
	return unlock(rows);
}

static int hand_over(struct load_rows *rows, struct load_lot *lot)
{
	if (rows->threaded)
		return put(rows, lot);
	if (!rows->error)
		rows->error = write_lot(rows, lot);
	lot->count = 0;
	return rows->error;
}

void *load_rows_new(struct load_rows *rows, enum load_table table, int *error)
{
	struct load_lot *lot = &rows->fill[table];
	size_t size = row_bytes(table);

	*error = (lot->count + 1) * size > LOAD_LOT_BYTES ? hand_over(rows, lot) : 0;
	return *error ? NULL : lot->rows + lot->count++ * size;
}

int load_rows_forget(struct load_rows *rows, int64_t process, int64_t alloc_seq)
{
	struct load_lot *lot = &rows->fill[LOAD_allocation_raw];
	struct load_allocation_raw *row = (struct load_allocation_raw *)lot->rows;
	size_t i;

	for (i = lot->count; i--;) {
		if (row[i].process != process || row[i].alloc_seq != alloc_seq)
			continue;
		memmove(&row[i], &row[i + 1], (--lot->count - i) * sizeof(*row));
		return 1;
	}
	return 0;
}

int load_rows_lots(struct db *db, enum load_table table, const struct db_lots *lots)
{
	return db_lots_new(db, tables[table].name, tables[table].column, tables[table].columns, lots);
}

int load_rows_drain(struct load_rows *rows)
{
	size_t i;

	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		if (rows->fill[i].count)
			hand_over(rows, &rows->fill[i]);
	pthread_mutex_lock(&rows->lock);
	while (rows->count)
		pthread_cond_wait(&rows->written, &rows->lock);
	return unlock(rows);
}
