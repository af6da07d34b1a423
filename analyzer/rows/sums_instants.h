/*
 * sums_instants.h - the instants that reports of steps ask for, among all those of a pass (load_sums.h).
 *
 *     SUMS_STEPS     ends of steps: growth, steps
 *     SUMS_BATCHES   with begins of micro-batches, and the peaks of phases: retained
 *     SUMS_ALL       with the ends of all stretches of a phase, and peaks that became no peaks: phases
 */
#ifndef MEMANA_SUMS_INSTANTS_H
#define MEMANA_SUMS_INSTANTS_H

#include <stddef.h>
#include <stdint.h>
#include "engine/analysis.h"

enum sums_detail { SUMS_NONE, SUMS_STEPS, SUMS_BATCHES, SUMS_ALL };

struct sums_instants_list {
	uint64_t *seq; /* numbers of events of one process */
	size_t count, room;
};

/* Zeroed: none. */
struct sums_instants {
	struct sums_instants_list ends, begins, steps; /* two begins and the number of the step for each micro-batch */
	uint64_t last_seq;                             /* last event of the newest stretch */
	uint32_t step;                                 /* step of the newest forward or backward */
	int forward;                                   /* 1: the newest of both was a forward */
};

/* A step has ended with event `seq`. 0 or -MT_E_MEMORY. */
int sums_instants_step(struct sums_instants *instants, uint64_t seq);

/* A stretch of a phase has ended. Call in the order of their ends. 0 or -MT_E_MEMORY. */
int sums_instants_span(struct sums_instants *instants, uint8_t phase, uint32_t step, uint64_t first_seq,
		       uint64_t last_seq);

/* Adds the instants of the other's micro-batch with this index. 0 or -MT_E_MEMORY. */
int sums_instants_copy(struct sums_instants *instants, const struct sums_instants *other, size_t batch);

/*
 * The instants of this detail, SUMS_STEPS or SUMS_BATCHES, ascending, with the peaks of phases that process `process` of the analysis has made up
 * to now. *seq is the caller's. 0 or -MT_E_MEMORY.
 */
int sums_instants_all(const struct sums_instants *instants, enum sums_detail detail, const struct analysis *analysis,
		      uint32_t process, uint64_t **seq, size_t *count);

void sums_instants_release(struct sums_instants *instants);

#endif
