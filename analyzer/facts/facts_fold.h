/*
 * facts_fold.h - sums of lives between ends of steps, for reports with tables by step and by place, and no table of both.
 *
 * Sites are alike if only their stacks differ. Alike sites share one row for each pair of steps of birth and death. Memory that is never freed has
 * two kinds of sums: by step over the alike sites, and by site over all steps. Rows are made that have both kinds of sums:
 *
 *     step    1  2  3  4                    site \ step   1  2  3  4
 *     bytes   6  6  6  6                       a          6  6  .  .
 *     site    a   b                            b          .  .  6  6
 *     bytes  12  12
 *
 * The bytes of each step are right, and the bytes of each site at the end: `memana growth`, `steps`, `phases` and `check` need no more. The number of
 * rows is at most sites plus steps, not their product. The rows have steps of birth and death, and no times. Tensors that lost or regained pages do not
 * come here.
 */
#ifndef MEMANA_FACTS_FOLD_H
#define MEMANA_FACTS_FOLD_H

#include "engine/analysis.h"
#include "rows/load_sums.h"

struct facts_fold_sum {
	uint32_t like;        /* first site of the group of alike sites */
	uint32_t kind;        /* KIND_INSIDE, KIND_HOME */
	uint32_t step, until; /* until UINT32_MAX: never freed */
	uint32_t site;        /* the site, for a sum by site over all steps; 0: a sum by step */
	const char *memory;
	uint64_t bytes, count;
};

struct facts_fold {
	const struct row_maker *maker; /* the caller's */
	const struct analysis *run;    /* the caller's */
	uint32_t *like;                /* by site: first site of its group of alike sites */
	struct facts_fold_sum *sum;
	uint32_t *slot; /* hash table of twice the room: index of a sum, plus 1; 0: free */
	uint32_t sums, room;
};

/* `run`: after analysis_settle. 0 or -MT_E_MEMORY; call facts_fold_release in any case. */
int facts_fold_init(struct facts_fold *fold, const struct analysis *run, const struct row_maker *maker);

/* Adds a row of lives, with numbers of the run. 0, -MT_E_CORRUPT or -MT_E_MEMORY. */
int facts_fold_row(struct facts_fold *fold, const struct load_allocation_raw *row);

/* After the last row: passes the sums to the maker. 0, -MT_E_MEMORY, or an error of the maker. */
int facts_fold_finish(struct facts_fold *fold);

void facts_fold_release(struct facts_fold *fold);

#endif
