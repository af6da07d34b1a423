/*
 * sums_instants.h - the instants of a pass (load_sums.h) that reports of steps need.
 *
 *     SUMS_STEPS     ends of steps: growth, steps
 *     SUMS_BATCHES   and begins of micro-batches, and the peaks of phases: retained
 *     SUMS_ALL       and the ends of all spans of phases, and earlier highest moments: phases
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
	struct sums_instants_list ends, begins,
		steps;     /* for each micro-batch: two begins, and the number of its step */
	uint64_t last_seq; /* last event of the newest span */
	uint32_t step;     /* step of the newest forward or backward */
	int forward;       /* 1: it was a forward */
};

/* Notes a step that ended with event `seq`. 0 or -MT_E_MEMORY. */
int sums_instants_step(struct sums_instants *instants, uint64_t seq);

/* Notes a span of a phase that ended. Call it in the order of the ends. 0 or -MT_E_MEMORY. */
int sums_instants_span(struct sums_instants *instants, uint8_t phase, uint32_t step, uint64_t first_seq,
		       uint64_t last_seq);

/* Adds the instants of the other's micro-batch with this index. 0 or -MT_E_MEMORY. */
int sums_instants_copy(struct sums_instants *instants, const struct sums_instants *other, size_t batch);

/*
 * Lists the instants of detail SUMS_STEPS or SUMS_BATCHES, ascending, including the peaks of phases of process `process` up to now. The caller frees
 * *seq. 0 or -MT_E_MEMORY.
 */
int sums_instants_all(const struct sums_instants *instants, enum sums_detail detail, const struct analysis *analysis,
		      uint32_t process, uint64_t **seq, size_t *count);

void sums_instants_release(struct sums_instants *instants);

#endif
