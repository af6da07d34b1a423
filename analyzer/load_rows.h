/*
 * load_rows.h - rows of the table `allocation` on their way into the database: a thread writes one lot while the
 * analysis fills the next. SQLite is never used by two threads at a time: drain before anything else is written.
 */
#ifndef MEMANA_LOAD_ROWS_H
#define MEMANA_LOAD_ROWS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "memtrace/ledger.h"

/* One allocation that is over, with what would not hold still meanwhile. */
struct load_row {
	struct mt_live live;
	int64_t birth, death; /* of the run, ns */
	uint64_t death_seq;
	uint32_t process, device, stack, step;
	uint8_t category, died; /* died 0: alive at the end; `death`, `death_seq` and `step` mean nothing */
};

typedef int load_row_insert(void *context, const struct load_row *row);

struct load_rows {
	load_row_insert *insert;
	void *context;
	struct load_row *fill, *write; /* lots: of the analysis, of the thread */
	size_t count;		       /* in `fill` */
	pthread_mutex_t lock;	       /* of what follows */
	pthread_cond_t changed;
	size_t handed; /* in `write`, 0: the thread rests */
	int stop, error;
	int threaded;
	pthread_t thread;
};

/* `insert` is called in the order of load_rows_add, in any thread. 0 or -MT_E_MEMORY; release in any case. */
int load_rows_init(struct load_rows *rows, load_row_insert *insert, void *context);
void load_rows_release(struct load_rows *rows);

/* 0, or the error of an earlier insert. */
int load_rows_add(struct load_rows *rows, const struct load_row *row);

/* All rows are in the database when this returns. 0, or the first error. */
int load_rows_drain(struct load_rows *rows);

#endif
