/*
 * row_sink.h - a sink of the analysis that turns its calls into rows, for the database or the facts.
 *
 *     analysis ── struct analysis_sink ──> row_sink ──┬── each life ────────────────────────┬──> row_maker ──> the database, facts
 *                                                     └── load_sums: lives between instants ─┘
 */
#ifndef MEMANA_ROW_SINK_H
#define MEMANA_ROW_SINK_H

#include "engine/analysis.h"
#include "kept.h"
#include "load_sums.h"
#include "phase_use.h"

struct row_freed_process {
	uint8_t *node; /* by node number; 1: a free had this stack */
	uint32_t room;
};

/* The stacks of all frees. Zeroed: none. */
struct row_freed {
	struct row_freed_process *process;
	uint32_t processes;
};

/* Notes that a free of `process` had stack node `node`. 0 or -MT_E_MEMORY; call row_freed_release in any case. */
int row_freed_add(struct row_freed *freed, uint32_t process, uint32_t node);
void row_freed_release(struct row_freed *freed);

struct row_sink {
	const struct analysis *analysis;
	const struct row_maker *maker;
	struct row_freed freed;
	struct load_sums sums;     /* unused if each allocation has a row */
	int steps_alone;           /* 1: only the ends of steps are instants */
	struct kept *kept;         /* the caller's; NULL: no moment is kept */
	struct analysis_sink rest; /* with `kept`: the original calls, which make rows */
	struct phase_use *use;     /* the caller's; NULL: no figures of phases */
};

/* Sets up `sink` with `rows` as its context. `sums` 1: allocations become sums, and a free that failed ends the pass with -MT_E_BUSY. */
void row_sink_init(struct row_sink *rows, struct analysis_sink *sink, const struct analysis *analysis,
		   const struct row_maker *maker, int sums);

/*
 * After row_sink_init: passes the calls on to `kept`, which must outlive the pass. `alone` 1: allocations and mappings have no rows, and a pass that
 * cannot keep a moment ends with -MT_E_BUSY.
 */
void row_sink_keep(struct row_sink *rows, struct analysis_sink *sink, struct kept *kept, int alone);

/* After row_sink_keep: passes the calls on to `use`, which must outlive the pass. */
void row_sink_use(struct row_sink *rows, struct phase_use *use);

/* After the last event: writes the remaining rows. 0 or an error. */
int row_sink_finish(struct row_sink *rows);

/* Forgets all sums: the pass begins once more, and rows so far are void. */
void row_sink_anew(struct row_sink *rows);

void row_sink_release(struct row_sink *rows);

#endif
