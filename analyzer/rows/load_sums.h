/*
 * load_sums.h - sums of allocations by birth and death, for reports that show no single allocation.
 *
 * Reports ask for the live set at an instant: the begin and the end of a span of a phase, the end of a step, the peak of a phase. The exact time of a
 * birth or a death between two instants changes no answer:
 *
 *     instants      |       |           |      |
 *     three lives     ═════════════════════         one row: one site, one interval of births, one of deaths
 *                      ══════════════════
 *                       ══════════════════
 *
 * A row has the bytes and the number of its allocations, and the first birth and death. An allocation that begins and ends inside one interval is in
 * no live set. All of these at a site share one row, or one row for each step if the step counts. A tensor that lost or regained pages has a row of
 * its own. Mappings have no rows. Memory: at most SUMS_MOST sums of the running interval and SUMS_MOST of allocations inside one, and 8 bytes for
 * each instant. A full table is written early, and then one kind has several rows.
 */
#ifndef MEMANA_LOAD_SUMS_H
#define MEMANA_LOAD_SUMS_H

#include <stddef.h>
#include <stdint.h>
#include "base/tuple.h"
#include "load_table.h"
#include "memtrace/ledger.h"

/* The end of one allocation. Times count from the begin of the run. */
struct load_death {
	uint32_t site, step; /* step of the birth */
	const char *memory;  /* as in the schema; static */
	int tensors_inside;
	uint64_t bytes, seq;
	int64_t time;
	uint64_t gone_seq; /* 0: alive at the end */
	int64_t gone_time;
	uint32_t gone_step;
	int home;    /* 1: ended in the phase and step of the birth */
	int by_step; /* 1: sums inside one interval are kept by step */
};

/* A change of a tensor's resident bytes (schema.sql, resident_span). */
struct row_residence {
	int64_t process, alloc_seq, seq, time, step, bytes;
};

/* The destination of rows. Each call returns 0 or an error; an error ends the pass. */
struct row_maker {
	void *context;
	/* Returns a struct load_<table>; the caller fills in all members before the next call. NULL: see *error. */
	void *(*row)(void *context, enum load_table table, int *error);
	/* Takes back the end of the process's newest allocation with that birth: the free failed. */
	int (*forget)(void *context, int64_t process, int64_t alloc_seq);
	int (*residence)(void *context, const struct row_residence *change);
};

struct load_sums_process;

struct load_sums {
	const struct row_maker *maker; /* the caller's */
	uint32_t first;                /* lowest number of a process with rows */
	int seen_alone;                /* 1: allocations inside one interval have no row */
	struct load_sums_process *process;
	uint32_t processes;        /* number of processes, from `first` on */
	struct tuple_table single; /* process and birth of each allocation with a row of its own */
	int error;                 /* the first error: -MT_E_MEMORY, or an error of the maker */
};

/*
 * Adds an allocation of the process that ended at event `gone_seq`. `device`: id of the site's device. Returns the place for the other figures, which
 * the caller fills in before the next call (a copy of words that were just written would stall). NULL: see sums->error.
 */
struct load_death *load_sums_gone(struct load_sums *sums, uint32_t process, int64_t device, uint64_t gone_seq);

/* Adds an instant after event `seq` of the process. The next call returns an error of this one. */
void load_sums_instant(struct load_sums *sums, uint32_t process, uint64_t seq);

/* load_sums_leave_out: the tensor born at event `seq` gets a row of its own. load_sums_is_left_out: whether it does. */
int load_sums_leave_out(struct load_sums *sums, uint32_t process, uint64_t seq);
static inline int load_sums_is_left_out(const struct load_sums *sums, uint32_t process, uint64_t seq)
{
	return sums->single.used && tuple_find(&sums->single, &(struct tuple){ { process, seq, 0, 0 } }) != TUPLE_NONE;
}

/*
 * Reduces the instants. load_sums_begin_again writes all sums as rows and forgets the instants. Then call load_sums_instant for the new instants,
 * some of the old ones, and load_sums_row for all written rows in their order. Each returns 0 or an error; -MT_E_CORRUPT: a row without an
 * allocation.
 */
int load_sums_begin_again(struct load_sums *sums);
int load_sums_row(struct load_sums *sums, uint32_t process, const struct load_allocation_raw *row);

/* After the last event or row: writes the remaining sums. 0 or an error. */
int load_sums_finish(struct load_sums *sums);

void load_sums_release(struct load_sums *sums);

#endif
