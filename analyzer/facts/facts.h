/* facts.h - an analysis from the facts of a trace (memtrace/facts.h). */
#ifndef MEMANA_FACTS_H
#define MEMANA_FACTS_H

#include "engine/analysis.h"
#include "rows/course.h"
#include "rows/kept.h"
#include "rows/outline.h"
#include "rows/row_sink.h"
#include "rows/sums_instants.h"

/*
 * As analysis_run without a sink. No events are read of traces that all have facts, and of which no two share a device. Facts are of the
 * built-in rules: with others the events are read.
 */
int facts_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	      const struct mt_rules *rules);

/* Takes lives of a moment, in order of birth: some at a time. 0 or an error. */
typedef int facts_tell_lives(void *context, const struct kept_life *life, uint32_t lives);

/* The taker of rows. */
struct facts_taker {
	const struct row_maker *maker; /* NULL: no rows are asked for */
	struct row_freed *freed;       /* the stacks that freed something */
	enum sums_detail detail;       /* lives have it, as sums; SUMS_NONE: none are asked for */
	struct kept_moment *moment; /* NULL: not asked for. Moments of several processes need events (facts_peers.h) */
	struct course_moves *
		course; /* NULL: it is not asked for; else `moment` is, too, with what advice needs. The caller frees its moves */
	struct course_moves *
		outline; /* NULL: it is not asked for (rows/outline.h); else of one process alone. The caller frees its moves */
	struct phase_use_list *use; /* NULL: figures of phases are not asked for; the caller frees its rows */
	facts_tell_lives *lives;    /* takes the moment's lives of one process; NULL: not asked for */
	void *lives_context;
};

/*
 * The same with the rows of the pass for the taker. 1; 0: there are no such facts, and nothing was told; or an error, of the maker or
 * -MT_E_CORRUPT: some rows were told. Release the analysis after 1.
 */
int facts_run_rows(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules, const struct facts_taker *taker);

/* Facts against the events of their trace. X(NAME, word) */
#define FACTS_VERDICT_LIST(X) \
	X(NONE, "none")       \
	X(AGREE, "agree")     \
	X(DIFFER, "differ")

enum facts_verdict {
#define FACTS_VERDICT_ENUM(name, word) FACTS_##name,
	FACTS_VERDICT_LIST(FACTS_VERDICT_ENUM)
#undef FACTS_VERDICT_ENUM
};

const char *facts_verdict_word(enum facts_verdict verdict);

/*
 * Makes the facts of the trace once more, from its events, and compares all bytes. FACTS_NONE: the trace has no facts of this
 * program. 0 or -MT_E_x.
 */
int facts_verify(const char *path, const struct mt_rules *rules, enum facts_verdict *verdict);

#endif
