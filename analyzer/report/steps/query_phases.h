/*
 * query_phases.h - figures of each phase on a device: its runs, the memory that it took, and the memory that it left
 * behind.
 *
 *     forward ████        ████            two runs of the phase
 *     took    a b c       d e
 *     a ══════════════════════════════>   alive at the end of the phase's run, of the step and of the recording
 *     b ═════════             d ══        alive at the end of the phase's run
 *     c ═                     e ═         freed before the end of the phase's run
 *     step 1 ────────────┤├─── step 2 ──
 *
 * Bytes are bytes in use (in_use_span of schema.sql), by the phase of their allocation. Runs of several processes on
 * one device are added up; "left" is the most that one run, or one step, of one process left.
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
	const char *category; /* static */
	int64_t bytes;
	int64_t probable; /* bytes with a guessed category */
};

struct phases_row {
	int phase;
	uint64_t runs;         /* runs in all processes that use the device */
	int64_t time;          /* time of all runs, ns */
	uint64_t bytes, count; /* allocated on the device */
	int ran_peak;          /* 1: the device has a peak for the phase */
	int inherits;          /* 1: the phase has the device's peak level, and took no memory to reach it */
	uint64_t peak;         /* peak of the device during the phase */
	int64_t peak_time, peak_step;
	uint64_t left_run, left_step; /* the run and the step that left most bytes */
	uint64_t left_end;            /* at the end of the recording, of all runs */
	struct phases_left *left;     /* places that left most of it, the largest first; PHASES_PLACES at most */
	size_t places;
	uint64_t asleep_end; /* not in `left_end`: allocated by the phase, but not resident */
};

struct phases_device {
	int64_t id, number;
	char kind[8], name[128];
	uint64_t total; /* 0: unknown */
	int64_t steps;  /* ended steps of the process with most */
	int peak_phase; /* phase of the device's peak; of phases with the same level the first to name */
	struct phases_row row[MT_PHASE_COUNT];          /* by phase */
	const struct phases_row *shown[MT_PHASE_COUNT]; /* phases that did something, the highest peak first */
	size_t rows;
};

struct phases {
	struct phases_device *device; /* devices that held memory, by number */
	size_t count, room;
};

extern const struct column_table phases_columns;

/* `peaks_alone` 1: loads only the peaks of the rows. Returns 0 or -MT_E_x. The caller releases `phases` in any case. */
int phases_load(struct phases *phases, struct db *db, int peaks_alone);
void phases_release(struct phases *phases);

#endif
