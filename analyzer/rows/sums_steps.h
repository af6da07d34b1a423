/*
 * sums_steps.h - steps with few micro-batches, which memana retained need not tell apart.
 *
 * retained looks at the micro-batches of a step with more than SUMS_PARTS of them. In all other steps retained asks only for memory at the peaks of
 * phases, and for memory alive when the last step ends. Allocations born in these steps share one row of their site:
 *
 *     step       1    2    3    4    5           1    2              5
 *     a leak     ══════════════════════>   ──>   ══════════════════════>
 *                     ═════════════════>              2 and more ══════>
 *                          ════════════>
 */
#ifndef MEMANA_SUMS_STEPS_H
#define MEMANA_SUMS_STEPS_H

#include "load_table.h"
#include "sums_instants.h"

#define SUMS_PARTS 3u /* equal to GROWTH_PARTS of analyzer/report/steps */

/* Zeroed: no steps. */
struct sums_steps {
	uint64_t *looked_into; /* steps with more than SUMS_PARTS micro-batches, ascending */
	size_t count;
	uint64_t first, last;      /* ended steps; last 0: no step ended */
	uint64_t earliest, latest; /* the alike steps after `first`: the first and the last; earliest 0: none */
};

/* Notes the end of a step. */
void sums_steps_end(struct sums_steps *steps, uint64_t step);

/*
 * After all ends and spans: lists in *seq the instants that retained needs, ascending. The caller frees *seq. 0 or -MT_E_MEMORY; call
 * sums_steps_release in any case.
 */
int sums_steps_find(struct sums_steps *steps, const struct sums_instants *instants, const struct analysis *analysis,
		    uint32_t process, uint64_t **seq, size_t *count);

/* Replaces the steps of an allocation that outlives its step by the common numbers of the alike steps. */
void sums_steps_alike(const struct sums_steps *steps, struct load_allocation_raw *row);

void sums_steps_release(struct sums_steps *steps);

#endif
