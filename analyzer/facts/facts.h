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
 * Like analysis_run without a sink. Reads no events if all traces have facts and no two processes share a device. Facts hold for the built-in rules;
 * with other rules all events are read.
 */
int facts_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	      const struct mt_rules *rules);

/* Takes some lives of a moment; calls come in order of birth. Returns 0 or an error. */
typedef int facts_tell_lives(void *context, const struct kept_life *life, uint32_t lives);

/* The taker of rows. */
struct facts_taker {
	const struct row_maker *maker; /* NULL: no rows are wanted */
	struct row_freed *freed;       /* gets the stacks of frees */
	enum sums_detail detail;       /* detail of the sums of lives; SUMS_NONE: no lives are wanted */
	struct kept_moment *moment;    /* NULL: not wanted. Several processes: made from events (facts_peers.h) */
	/* NULL: not wanted. Needs `moment`, which then has the members for advice. The caller frees the moves. */
	struct course_moves *course;
	/* NULL: not wanted (rows/outline.h). For one process only. The caller frees the moves. */
	struct course_moves *outline;
	struct phase_use_list *use; /* NULL: figures of phases are not wanted. The caller frees its rows */
	facts_tell_lives *lives;    /* gets the moment's lives, for one process only; NULL: not wanted */
	void *lives_context;
};

/*
 * Like facts_run, and gives the taker the rows of the pass. 1: release the analysis afterwards; 0: the facts are missing, and the taker got nothing;
 * or an error, of the maker or -MT_E_CORRUPT, after which the taker may have some rows.
 */
int facts_run_rows(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules, const struct facts_taker *taker);

/* Results of comparing facts with the events of their trace. X(NAME, word) */
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
 * Makes facts from the events of the trace, and compares all bytes with the stored facts. FACTS_NONE: the trace has no facts of this program. Returns
 * 0 or -MT_E_x.
 */
int facts_verify(const char *path, const struct mt_rules *rules, enum facts_verdict *verdict);

#endif
