/*
 * query_steps.h - what each step of each process did to each device.
 *
 * A lane is one process on one device. Steps are compared by memory in use at a step's end (in_use_span of schema.sql:
 * resident bytes of tensors, and driver memory that is not cut into tensors): the reserve of a caching allocator hides
 * a leak until it is too late. Whether a lane grows, growth.h says.
 */
#ifndef MEMANA_QUERY_STEPS_H
#define MEMANA_QUERY_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "base/column.h"
#include "database/db.h"
#include "growth.h"
#include "memtrace/phase.h"

struct steps_row {
	int64_t step, first;             /* first: of a row that stands for several steps, the first of them */
	int ended;                       /* 0: the recording ended in it */
	char closed_by[64];              /* "": nothing */
	int64_t begin, end;              /* ns */
	uint64_t peak;                   /* peak of the device, all processes */
	uint64_t peak_tensors;           /* the part in tensors */
	int64_t peak_time, peak_process; /* id: after an event of which it stood */
	int64_t peak_pid, peak_rank;     /* its pid and rank, -1: none */
	char peak_phase[24];             /* in which that process was, as memana top says of the same peak */
	char own_phase[24];              /* in which the lane's process was meanwhile */
	uint64_t held, slack;            /* by the process, at its end */
	uint64_t in_use;                 /* sum of the categories; with the slack, all that is held */
	uint64_t asleep;                 /* beside it: allocated, but its pages are not there */
	int64_t category[MT_CATEGORY_COUNT], phase[MT_PHASE_COUNT]; /* in_use by what it is, and by who allocated it */
	int64_t change; /* change of in_use since the row before, COLUMN_NONE: none is before */
	int grown;      /* category that grew most since then, -1: none did */
};

struct steps_lane {
	int64_t process, device, pid, rank, number; /* ids; rank -1: none; number of the device */
	char kind[8], name[128];                    /* kind and name of the device */
	uint64_t total;                             /* total bytes of the device, 0: unknown */
	struct steps_row *row;                      /* by step; one that did not end is the last */
	size_t count, room;
	size_t ended;
	enum growth_state state;
	uint64_t each, grown; /* bytes a step, and in all: see growth.h */
	int atypical; /* the first step's peak or end is 5% or more off the others' median (growing: the second's) */
	const struct steps_row *highest; /* NULL: no row */
};

struct steps {
	struct steps_lane *lane; /* by process and device */
	size_t count, room;
};

extern const struct column_table steps_columns, steps_lane_columns;

/* Growth is that of the same database. 0 or -MT_E_x. Release in any case. Devices that held nothing have no lane. */
int steps_load(struct steps *steps, struct db *db, const struct growth *growth);
void steps_release(struct steps *steps);

/*
 * The lane in at most `most` rows (3 or more): the first step, the last one, and between them rows that stand for several steps, with the
 * highest of their peaks. *rows: how many. NULL: out of memory. Free it.
 */
struct steps_row *steps_thin(const struct steps_lane *lane, size_t most, size_t *rows);

#endif
