/*
 * sums_steps.h - steps that are alike to memana retained: those with few micro-batches.
 *
 * retained asks for the micro-batches of a step if the step has more than SUMS_PARTS of them. All other steps are alike: retained asks for
 * memory at the peaks of phases, and for memory that is alive when the last step ends. Lives that were born in alike steps become one row of
 * a site:
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

#define SUMS_PARTS 3u /* GROWTH_PARTS of analyzer/report/steps */

/* Zeroed: no steps. */
struct sums_steps {
	uint64_t *looked_into; /* steps with more than SUMS_PARTS micro-batches, ascending */
	size_t count;
	uint64_t first, last; /* ended steps; last 0: no step ended */
	uint64_t earliest,
		latest; /* numbers after `first`, up to `last`, of no step that is looked into; earliest 0: none */
};

/* A step has ended. */
void sums_steps_end(struct sums_steps *steps, uint64_t step);

/*
 * After all ends and stretches: *seq are the instants that retained asks for, ascending. *seq is the caller's. 0 or -MT_E_MEMORY; release in any
 * case.
 */
int sums_steps_find(struct sums_steps *steps, const struct sums_instants *instants, const struct analysis *analysis,
		    uint32_t process, uint64_t **seq, size_t *count);

/* Gives a life that outlives its step the numbers of steps that are alike. */
void sums_steps_alike(const struct sums_steps *steps, struct load_allocation_raw *row);

void sums_steps_release(struct sums_steps *steps);

#endif
