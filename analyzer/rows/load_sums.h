/*
 * load_sums.h - lives of allocations as sums, for reports that ask for no single allocation.
 *
 * Reports ask for the live set at an instant: the begin and the end of a stretch of a phase, the end of a step, the peak of a
 * phase. A birth or a death between two instants is the same to them wherever it lies:
 *
 *     instants      |       |           |      |
 *     three lives     ═════════════════════         one row: one site, born in one interval, gone in one
 *                      ══════════════════
 *                       ══════════════════
 *
 * No mappings are told of. The row has the bytes of all of them, their number, and the first birth and death. A life inside one interval is in no live set:
 * the row of these is one for each site, and for each step where it counts. A tensor whose pages came and went has a row of its own.
 * Memory: at most SUMS_MOST rows of the running interval and of lives inside one, and 8 bytes for each instant. More rows make several of one
 * kind.
 */
#ifndef MEMANA_LOAD_SUMS_H
#define MEMANA_LOAD_SUMS_H

#include <stddef.h>
#include <stdint.h>
#include "base/tuple.h"
#include "load_table.h"
#include "memtrace/ledger.h"

/* One death, with times of the run. */
struct load_death {
	uint32_t site, step; /* step of the birth */
	const char *memory;  /* as in the schema; static */
	int tensors_inside;
	uint64_t bytes, seq;
	int64_t time;
	uint64_t gone_seq; /* 0: alive at the end */
	int64_t gone_time;
	uint32_t gone_step;
	int home;    /* in the phase and step of the birth */
	int by_step; /* 1: inside one interval its step counts */
};

/* A change of what is there of a tensor (schema.sql, resident_span). */
struct row_residence {
	int64_t process, alloc_seq, seq, time, step, bytes;
};

/* The destination of rows. Each call: 0 or an error, which ends the pass. */
struct row_maker {
	void *context;
	/* A row to fill before the next call: a struct load_<table>, all of its members. NULL: *error says why. */
	void *(*row)(void *context, enum load_table table, int *error);
	/* The newest allocation of the process with that birth is not gone after all. */
	int (*forget)(void *context, int64_t process, int64_t alloc_seq);
	int (*residence)(void *context, const struct row_residence *change);
};

struct load_sums_process;

struct load_sums {
	const struct row_maker *maker; /* the caller's */
	uint32_t first;                /* no process with a lower number is told of */
	int seen_alone;                /* 1: lives that no instant sees have no row */
	struct load_sums_process *process;
	uint32_t processes;        /* from `first` on */
	struct tuple_table single; /* process and birth of what has rows of its own */
	int error;                 /* the first: -MT_E_MEMORY, or one of the rows */
};

/*
 * An allocation of the process is gone at `gone_seq`. `device` is the id of the site's. Returns the place for all other figures of the
 * death, to be filled before the next call: a copy of figures that were just written would wait for the writes. NULL: sums->error.
 */
struct load_death *load_sums_gone(struct load_sums *sums, uint32_t process, int64_t device, uint64_t gone_seq);

/* After event `seq` of the process is an instant. An error is told by the next call. */
void load_sums_instant(struct load_sums *sums, uint32_t process, uint64_t seq);

/* The tensor born at `seq` is to have a row of its own; whether it is. */
int load_sums_leave_out(struct load_sums *sums, uint32_t process, uint64_t seq);
static inline int load_sums_is_left_out(const struct load_sums *sums, uint32_t process, uint64_t seq)
{
	return sums->single.used && tuple_find(&sums->single, &(struct tuple){ { process, seq, 0, 0 } }) != TUPLE_NONE;
}

/*
 * Fewer instants: load_sums_begin_again makes rows of all sums, and forgets the instants. Then come the new ones (load_sums_instant), some of
 * the old; then load_sums_row for all rows that were made, in their order. Each: 0 or the error; -MT_E_CORRUPT for a row of no allocation.
 */
int load_sums_begin_again(struct load_sums *sums);
int load_sums_row(struct load_sums *sums, uint32_t process, const struct load_allocation_raw *row);

/* After the last event, or the last row: the rows that are left. 0 or the error. */
int load_sums_finish(struct load_sums *sums);

void load_sums_release(struct load_sums *sums);

#endif
