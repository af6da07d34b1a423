/*
 * query_steps.h - what each step of each process did to each device.
 *
 * A lane is one process on one device. Steps are compared by memory in use at a step's end (in_use of schema.sql:
 * resident bytes of tensors, and driver memory that is not cut into tensors): the reserve of a caching allocator hides
 * a leak until it is too late. Whether a lane grows, growth.h says.
 */
#ifndef MEMANA_QUERY_STEPS_H
#define MEMANA_QUERY_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "growth.h"
#include "memtrace/phase.h"

struct steps_row {
	int64_t step;
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
	int64_t category[MT_CATEGORY_COUNT];
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
	struct growth growth;
};

/* 0 or -MT_E_x. Release in any case. Devices that held nothing have no lane. */
int steps_load(struct steps *steps, struct db *db);
void steps_release(struct steps *steps);

/* The kind that grew most between the row and the one before, as enum mt_category; -1: none did. `row` is not the
 * first. */
int steps_grown_category(const struct steps_row *row);

#endif
