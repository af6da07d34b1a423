/* facts.h - an analysis from the facts of a trace (memtrace/facts.h). */
#ifndef MEMANA_FACTS_H
#define MEMANA_FACTS_H

#include "engine/analysis.h"
#include "rows/kept.h"
#include "rows/row_sink.h"

/*
 * As analysis_run without a sink. No events are read of traces that all have facts, and of which no two share a device. Facts are of the
 * built-in rules: with others the events are read.
 */
int facts_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	      const struct mt_rules *rules);

/*
 * The same with the rows of the pass, lives as sums, for the maker; with `moment`, the moment that the pass kept instead of any lives. 1; 0: there are no such facts, and nothing was told; or an error,
 * of the maker or -MT_E_CORRUPT: some rows were told. Release the analysis after 1.
 */
int facts_run_rows(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules, const struct row_maker *maker, struct row_freed *freed,
		   struct kept_moment *moment);

#endif
