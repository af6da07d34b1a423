/*
 * facts_fold.h - lives between ends of steps, for reports that ask for each step and for each place, and not for both together.
 *
 * Sites are alike if they differ in their stacks alone. Alike sites have one row for each step of the birth and the death. The memory that is
 * never freed has two sums: by step over the alike sites, and by site over all steps. Rows with both sums are made from them:
 *
 *     step    1  2  3  4                    site \ step   1  2  3  4
 *     bytes   6  6  6  6                       a          6  6  .  .
 *     site    a   b                            b          .  .  6  6
 *     bytes  12  12
 *
 * So a step has the right bytes, and so has a site at the end: `memana growth`, `steps`, `phases` and `check` ask for no more. Room and rows:
 * sites and steps, and no product of the two. The rows have no moment of birth or death but the step. A tensor whose pages came and went is not
 * told here.
 */
#ifndef MEMANA_FACTS_FOLD_H
#define MEMANA_FACTS_FOLD_H

#include "engine/analysis.h"
#include "rows/load_sums.h"

struct facts_fold_sum {
	uint32_t like;        /* first of the alike sites */
	uint32_t kind;        /* bits that its rows share */
	uint32_t step, until; /* until UINT32_MAX: never freed */
	uint32_t site;        /* sum of one site over all steps; 0: not */
	const char *memory;
	uint64_t bytes, count;
};

struct facts_fold {
	const struct row_maker *maker; /* the caller's */
	const struct analysis *run;    /* the caller's */
	uint32_t *like;                /* by site: first of the sites that are alike */
	struct facts_fold_sum *sum;
	uint32_t *slot; /* a hash table of twice the room: the number of a sum and 1; 0: free */
	uint32_t sums, room;
};

/* `run`: after analysis_settle. 0 or -MT_E_MEMORY; release in any case. */
int facts_fold_init(struct facts_fold *fold, const struct analysis *run, const struct row_maker *maker);

/* A row of lives as sums, of the run. 0, -MT_E_CORRUPT or -MT_E_MEMORY. */
int facts_fold_row(struct facts_fold *fold, const struct load_allocation_raw *row);

/* After the last: makes the rows. 0, -MT_E_MEMORY, or an error of the maker. */
int facts_fold_finish(struct facts_fold *fold);

void facts_fold_release(struct facts_fold *fold);

#endif
