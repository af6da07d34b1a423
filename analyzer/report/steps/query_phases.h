/*
 * query_phases.h - each phase on a device: its runs, the memory that it took, and the memory that it left.
 *
 *     forward      ████          ████             two runs of the phase
 *     took         a b c         d e
 *     a            ══════════════════════════════>    alive at the end of the phase's run, of the step and of the recording
 *     b              ═════════   d ══                 alive at the end of the phase's run
 *     c                ═           e ═                freed before the end of the phase's run
 *     step 1       ────────────┤├─── step 2 ──
 *
 * All bytes are bytes in use (in_use_span of schema.sql), by the phase of their allocation. Runs of several processes on a device are summed up.
 * "Left" is the largest number of bytes that one run, or one step, of one process left.
 */
#ifndef MEMANA_QUERY_PHASES_H
#define MEMANA_QUERY_PHASES_H

#include <stddef.h>
#include <stdint.h>
#include "base/column.h"
#include "database/db.h"
#include "memtrace/phase.h"

#define PHASES_PLACES 3 /* largest number of places for each phase */

/* Memory of a place that a phase left at the end of the recording. function, place "": unknown. */
struct phases_left {
	char function[256], place[256];
	const char *category; /* static word */
	int64_t bytes;
	int64_t probable; /* bytes whose category is a guess */
};

struct phases_row {
	int phase;
	uint64_t runs;         /* number of runs in all processes that use the device */
	int64_t time;          /* time of all runs, ns */
	uint64_t bytes, count; /* allocated on the device, in bytes and allocations */
	int ran_peak;          /* 1: the device has a peak for the phase */
	int inherits;          /* 1: the device had its peak level in the phase; the phase took no memory to reach it */
	uint64_t peak;         /* peak of the device during the phase */
	int64_t peak_time, peak_step;
	uint64_t left_run, left_step; /* largest bytes that one run left; largest bytes that one step left */
	uint64_t left_end;            /* bytes of all runs at the end of the recording */
	struct phases_left *left;     /* places that left most of these bytes, largest first; at most PHASES_PLACES */
	size_t places;
	uint64_t asleep_end; /* bytes that the phase allocated and that are not resident; not part of `left_end` */
};

struct phases_device {
	int64_t id, number;
	char kind[8], name[128];
	uint64_t total; /* 0: unknown */
	int64_t steps;  /* largest number of ended steps of a process */
	int peak_phase; /* phase of the device's peak; if several have this level, the phase to name */
	struct phases_row row[MT_PHASE_COUNT];          /* index: phase */
	const struct phases_row *shown[MT_PHASE_COUNT]; /* phases that did something, highest peak first */
	size_t rows;
};

struct phases {
	struct phases_device *device; /* devices with memory, by number */
	size_t count, room;
};

extern const struct column_table phases_columns;

/* Loads the phases; `peaks_alone` 1: only the peaks of the rows. Returns 0 or -MT_E_x. The caller releases `phases`, also after an error. */
int phases_load(struct phases *phases, struct db *db, int peaks_alone);
void phases_release(struct phases *phases);

#endif
