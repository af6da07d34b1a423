/*
 * query_steps.h - figures of each step of each process on each device.
 *
 * A lane is one process on one device. Steps are compared by memory in use at their ends (in_use_span of schema.sql:
 * resident bytes of tensors, and driver memory that is not cut into tensors). Held memory would not do: the reserve of
 * a caching allocator hides a leak. growth.h decides whether a lane grows.
 */
#ifndef MEMANA_QUERY_STEPS_H
#define MEMANA_QUERY_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "base/column.h"
#include "database/db.h"
#include "growth.h"
#include "memtrace/phase.h"

struct steps_lane;

struct steps_row {
	int64_t step, first; /* first: first step of a row that stands for several */
	const struct steps_lane *lane;
	char *closed_by;                 /* "": nothing; rows in a row of one text share it */
	int64_t begin, end;              /* ns */
	uint64_t peak;                   /* peak of the device, all processes */
	uint64_t peak_tensors;           /* the part in tensors */
	int64_t peak_time, peak_process; /* id: process of the event that made the peak */
	int64_t peak_pid, peak_rank;     /* pid and rank of this process; rank -1: none */
	const char *peak_phase;          /* static: phase of this process at the peak, as in memana top */
	const char *own_phase;           /* static: phase of the lane's process at the peak */
	uint64_t held, slack;            /* bytes of the process at the end of the step */
	uint64_t in_use;                 /* sum of the categories; with slack: all bytes held */
	uint64_t asleep;                 /* not in in_use: allocated, but not resident */
	int64_t change;                  /* change of in_use since the row before; COLUMN_NONE: no row before */
	uint32_t at;                     /* its number in the arrays of the lane */
	uint8_t ended;                   /* 0: the recording ended in the step */
	uint8_t failed;                  /* 1: the recording ended in the step, in which a request failed */
	int8_t grown;                    /* category with the largest growth since the row before; -1: none grew */
};

struct steps_lane {
	int64_t process, device, pid, rank, number; /* ids; rank -1: none; number of the device */
	char kind[8], name[128];                    /* kind and name of the device */
	uint64_t total;                             /* total bytes of the device, 0: unknown */
	struct steps_row *row;                      /* by step; an unfinished step is the last */
	size_t count, room;
	size_t ended;
	int64_t *category[MT_CATEGORY_COUNT],
		*phase[MT_PHASE_COUNT]; /* in_use by row and category; by allocating phase; NULL: none */
	enum growth_state state;
	uint64_t each, grown; /* bytes for each step, and in all: see growth.h */
	int atypical; /* 1: the first step's peak or end is 5% or more off the others' median (growing: the second's) */
	const struct steps_row *highest; /* NULL: no rows */
};

struct steps {
	struct steps_lane *lane; /* by process and device */
	size_t count, room;
};

/* in_use of the row by category; by allocating phase. */
static inline int64_t steps_category(const struct steps_row *row, uint32_t category)
{
	const int64_t *bytes = row->lane->category[category];

	return bytes ? bytes[row->at] : 0;
}

static inline int64_t steps_phase(const struct steps_row *row, uint32_t phase)
{
	const int64_t *bytes = row->lane->phase[phase];

	return bytes ? bytes[row->at] : 0;
}

extern const struct column_table steps_columns, steps_lane_columns;

/*
 * Loads the steps. `growth` must be of the same database. Returns 0 or -MT_E_x. The caller releases `steps` in any
 * case. Devices that held no memory have no lane.
 */
int steps_load(struct steps *steps, struct db *db, const struct growth *growth);
void steps_release(struct steps *steps);

/*
 * Returns the lane in at most `most` rows (3 or more): the first step, the last step, and between them rows for several
 * steps, with their highest peak. *rows: number of rows. NULL: out of memory. The caller frees it.
 */
struct steps_row *steps_thin(const struct steps_lane *lane, size_t most, size_t *rows);

#endif
