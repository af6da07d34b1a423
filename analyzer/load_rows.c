#include "load_rows.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define LOT 256u /* phases are shorter than thousands of allocations, and each end of one waits for the rows */

static int insert_all(const struct load_rows *rows, const struct load_row *row, size_t count)
{
	size_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = rows->insert(rows->context, &row[i]);
	return error;
}

static void *serve(void *context)
{
	struct load_rows *rows = context;
	int error;

	pthread_mutex_lock(&rows->lock);
	for (;;) {
		while (!rows->handed && !rows->stop)
			pthread_cond_wait(&rows->changed, &rows->lock);
		if (!rows->handed)
			break;
		pthread_mutex_unlock(&rows->lock);
		error = insert_all(rows, rows->write, rows->handed);
		pthread_mutex_lock(&rows->lock);
		rows->error = rows->error ? rows->error : error;
		rows->handed = 0;
		pthread_cond_signal(&rows->changed);
	}
	pthread_mutex_unlock(&rows->lock);
	return NULL;
}

/* Signals are for the thread that was there before. */
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

int load_rows_init(struct load_rows *rows, load_row_insert *insert, void *context)
{
	memset(rows, 0, sizeof(*rows));
	rows->insert = insert;
	rows->context = context;
	pthread_mutex_init(&rows->lock, NULL);
	pthread_cond_init(&rows->changed, NULL);
	rows->fill = malloc(LOT * sizeof(*rows->fill));
	rows->write = malloc(LOT * sizeof(*rows->write));
	if (!rows->fill || !rows->write)
		return -MT_E_MEMORY;
	rows->threaded = start(rows);
	return 0;
}

void load_rows_release(struct load_rows *rows)
{
	pthread_mutex_lock(&rows->lock);
	rows->stop = 1;
	pthread_cond_signal(&rows->changed);
	pthread_mutex_unlock(&rows->lock);
	if (rows->threaded)
		pthread_join(rows->thread, NULL);
	pthread_mutex_destroy(&rows->lock);
	pthread_cond_destroy(&rows->changed);
	free(rows->fill);
	free(rows->write);
}

/* Waits until the thread rests. 0, or what it has met. With the lock. */
static int wait_for_rest(struct load_rows *rows)
{
	while (rows->handed)
		pthread_cond_wait(&rows->changed, &rows->lock);
	return rows->error;
}

static int hand_over(struct load_rows *rows)
{
	struct load_row *lot = rows->fill;
	int error;

	pthread_mutex_lock(&rows->lock);
	error = wait_for_rest(rows);
	if (!error) {
		rows->fill = rows->write;
		rows->write = lot;
		rows->handed = rows->count;
		pthread_cond_signal(&rows->changed);
	}
	pthread_mutex_unlock(&rows->lock);
	rows->count = 0;
	return error;
}

int load_rows_add(struct load_rows *rows, const struct load_row *row)
{
	rows->fill[rows->count++] = *row;
	if (rows->count < LOT)
		return 0;
	return rows->threaded ? hand_over(rows) : load_rows_drain(rows);
}

int load_rows_drain(struct load_rows *rows)
{
	size_t count = rows->count;
	int error;

	pthread_mutex_lock(&rows->lock);
	error = wait_for_rest(rows);
	pthread_mutex_unlock(&rows->lock);
	rows->count = 0;
	if (!error)
		error = rows->error = insert_all(rows, rows->fill, count);
	return error;
}
