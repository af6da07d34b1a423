/*
 * facts_join.h - joins the facts of several processes to one analysis of their run.
 *
 *     facts of process 1 ──> its analysis ──┐
 *     facts of process 2 ──> its analysis ──┼──> the analysis of the run, if no two of them share a device
 *     ...                                   ┘
 *
 * If processes share a device, its peak is no sum of their peaks: then all events are read.
 */
#ifndef MEMANA_FACTS_JOIN_H
#define MEMANA_FACTS_JOIN_H

#include "base/tuple.h"
#include "engine/analysis.h"

struct facts_joining {
	struct analysis *run;
	struct tuple_table device; /* devices of the run, by UUID or boot id */
	uint32_t cuda, nameless;   /* numbers of GPUs: all; without a UUID */
};

/* `run`: after analysis_begin. */
void facts_joining_init(struct facts_joining *joining, struct analysis *run);
void facts_joining_release(struct facts_joining *joining);

/*
 * Moves the analysis `one` of process `number` into the run, after facts_state; the caller releases `one`. 1; 0: the process shares a device, or the
 * run has too many failed requests; -MT_E_MEMORY.
 */
int facts_joining_add(struct facts_joining *joining, struct analysis *one, uint32_t number);

/* After all processes: numbers sites and devices as a pass over all events would. 0 or -MT_E_MEMORY. */
int facts_joining_end(struct facts_joining *joining);

/* Converts numbers and times of a process's facts into those of the run. */
struct facts_place {
	uint32_t process;
	int64_t later;        /* ns to add to times */
	const uint32_t *site; /* by site of the process, from 0: site of the run */
	uint32_t sites;
	uint32_t device[MT_LEDGER_DEVICES]; /* by device of the process, from 0: device of the run */
	uint32_t devices;
};

/* Returns the places of all processes, after facts_joining_end; the caller frees. NULL: out of memory. */
struct facts_place *facts_places(const struct analysis *run);

#endif
