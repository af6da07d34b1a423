/*
 * facts_join.h - the facts of several processes as one analysis of their run.
 *
 *     facts of process 1 ──> its analysis ──┐
 *     facts of process 2 ──> its analysis ──┼──> the analysis of the run, if no two of them share a device
 *     ...                                   ┘
 *
 * The peak of a device that processes share is no sum of their peaks: there all events are read.
 */
#ifndef MEMANA_FACTS_JOIN_H
#define MEMANA_FACTS_JOIN_H

#include "base/tuple.h"
#include "engine/analysis.h"

struct facts_joining {
	struct analysis *run;
	struct tuple_table device; /* those that are there, by what tells them from others */
	uint32_t cuda, nameless;   /* GPUs; those without a UUID, which may be any */
};

/* `run`: after analysis_begin. */
void facts_joining_init(struct facts_joining *joining, struct analysis *run);
void facts_joining_release(struct facts_joining *joining);

/* Takes the analysis `one` of process `number` over, after facts_state; release it. 1; 0: it shares a device, or has too many failed requests; -MT_E_MEMORY. */
int facts_joining_add(struct facts_joining *joining, struct analysis *one, uint32_t number);

/* After all of them: numbers as from the events of all, in order of time. 0 or -MT_E_MEMORY. */
int facts_joining_end(struct facts_joining *joining);

/* The numbers and times of a process's facts, in the run. */
struct facts_place {
	uint32_t process;
	int64_t later;        /* ns */
	const uint32_t *site; /* sites of the run, in the order of those of the process, from 0 */
	uint32_t sites;
	uint32_t device[MT_LEDGER_DEVICES]; /* the same */
	uint32_t devices;
};

/* The places of all processes of the run, after facts_joining_end; the caller frees. NULL: out of memory. */
struct facts_place *facts_places(const struct analysis *run);

#endif
