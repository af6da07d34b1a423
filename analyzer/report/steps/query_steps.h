/*
 * query_steps.h - what each step of each process did to each device, and whether the run grows.
 *
 * A lane is one process on one device. Steps are compared by memory in use at a step's end (in_use of schema.sql:
 * resident bytes of tensors, and driver memory that is not cut into tensors), because the reserve of a caching
 * allocator hides a leak until it is too late. The first step is left out of every comparison: it sets things up.
 *
 * Growth is the slope of the least-squares line through the ends of step 2 and later, in bytes a step. It is called
 * growing when
 *  - over two such steps, the second ends at least 0.1% and 64 KiB above the first;
 *  - over more, each ends above the one before and the slope is 64 KiB or more, or three of four do and all in all they
 *    rise by at least 1%.
 */
#ifndef MEMANA_QUERY_STEPS_H
#define MEMANA_QUERY_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/phase.h"

struct steps_row {
	int64_t step;
	int ended;                       /* 0: the recording ended in it */
	char closed_by[64];              /* "": nothing */
	int64_t begin, end;              /* ns */
	uint64_t peak;                   /* peak of the device, all processes */
	uint64_t peak_tensors;           /* the part in tensors */
	int64_t peak_time, peak_process; /* id: after an event of which it stood */
	int64_t peak_pid;                /* pid of that process */
	char peak_phase[24];             /* in which that process was, as memana top says of the same peak */
	char own_phase[24];              /* in which the lane's process was meanwhile */
	uint64_t held, slack;            /* by the process, at its end */
	uint64_t in_use;                 /* sum of the categories; with the slack, all that is held */
	uint64_t asleep;                 /* beside it: allocated, but its pages are not there */
	int64_t category[MT_CATEGORY_COUNT];
};

enum steps_state { STEPS_UNKNOWN, STEPS_STEADY, STEPS_GROWING };

struct steps_lane {
	int64_t process, device, pid, rank, number; /* ids; rank -1: none; number of the device */
	char kind[8], name[128];                    /* kind and name of the device */
	uint64_t total;                             /* total bytes of the device, 0: unknown */
	struct steps_row *row;                      /* by step; one that did not end is the last */
	size_t count, room;
	size_t ended;
	enum steps_state state;
	int64_t slope; /* bytes a step; 0 when unknown */
	int atypical;  /* the first step's peak or end is 5% or more off the others' median (growing: the second's) */
	const struct steps_row *highest; /* NULL: no row */
};

struct steps {
	struct steps_lane *lane; /* by process and device */
	size_t count, room;
};

/* One place: how much more of it was in use at the end of the newest step than at the end of the second. */
struct steps_growth {
	const char *function, *place, *phase, *category; /* function, place "": unknown */
	int64_t bytes, count;
	int64_t probable; /* the part with a guessed kind */
};

typedef int steps_growth_row(void *context, const struct steps_growth *row);

/* 0 or -MT_E_x. Release in any case. Devices that held nothing have no lane. */
int steps_load(struct steps *steps, struct db *db);
void steps_release(struct steps *steps);

/* The `limit` places that grew most, largest first; none where fewer than three steps ended. 0 or -MT_E_x. */
int steps_growing(struct db *db, const struct steps_lane *lane, int64_t limit, steps_growth_row *row, void *context);

/* The kind that grew most between the row and the one before, as enum mt_category; -1: none did. `row` is not the
 * first. */
int steps_grown_category(const struct steps_row *row);

/* "steady", "growing", "unknown" */
const char *steps_state_word(enum steps_state state);

#endif
