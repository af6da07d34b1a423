/*
 * load_rows.h - rows on their way into the database: a thread writes a lot while the analysis fills the next lot.
 *
 *     analysis ── fill: a lot for each table ── full ──> queue of lots ──> thread ── INSERT
 *
 * Only one thread uses SQLite at a time: call load_rows_drain before any other use of the database. Lots are written in the order in which they
 * become full: the same trace always makes the same file.
 */
#ifndef MEMANA_LOAD_ROWS_H
#define MEMANA_LOAD_ROWS_H

#include <pthread.h>
#include <stddef.h>
#include "database/db.h"
#include "rows/load_table.h"

#define LOAD_LOT_BYTES (128u << 10)
#define LOAD_LOTS 8u /* largest number of lots in the queue */

/* Rows of one table, without gaps. */
struct load_lot {
	enum load_table table;
	size_t count;
	unsigned char *rows; /* LOAD_LOT_BYTES bytes */
};

struct load_rows {
	struct db_feed *feed[LOAD_TABLE_COUNT];
	struct load_lot fill[LOAD_TABLE_COUNT]; /* the lots that the analysis fills */
	pthread_mutex_t lock;                   /* guards all members below */
	pthread_cond_t handed, written;
	struct load_lot queue[LOAD_LOTS]; /* a ring: `count` full lots from `first` on; the other lots are empty */
	size_t first, count;
	int stop, error;
	int system; /* errno of `error` */
	int threaded;
	pthread_t thread;
};

/* Starts the thread. Returns 0, -MT_E_MEMORY or an error of the database. The caller releases `rows`, also after an error. */
int load_rows_init(struct load_rows *rows, struct db *db);

/* Ends the thread. Rows that were not drained are lost. */
void load_rows_release(struct load_rows *rows);

/*
 * Returns a new row, a struct load_<table>. The caller fills all members before the next call. NULL: an earlier row was not written, or memory ran
 * out; *error is the error.
 */
void *load_rows_new(struct load_rows *rows, enum load_table table, int *error);

/* Removes the newest allocation with this birth if its row is in `fill`. Returns 1 if it was removed, else 0. */
int load_rows_forget(struct load_rows *rows, int64_t process, int64_t alloc_seq);

/* Makes the table of lots. See db_lots_new. */
int load_rows_lots(struct db *db, enum load_table table, const struct db_lots *lots);

/* Waits until all rows are in the database. Returns 0, or the thread's first error, with its errno. */
int load_rows_drain(struct load_rows *rows);

#endif
