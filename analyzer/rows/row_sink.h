/*
 * row_sink.h - what a pass finds on its way, as rows: a sink of the analysis that makes them, for whoever takes rows.
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
	uint8_t *node; /* by number, 1: it freed something */
	uint32_t room;
};

/* Zeroed: no stack. */
struct row_freed {
	struct row_freed_process *process;
	uint32_t processes;
};

/* Notes that stack node `node` of `process` freed something. 0 or -MT_E_MEMORY; release in any case. */
int row_freed_add(struct row_freed *freed, uint32_t process, uint32_t node);
void row_freed_release(struct row_freed *freed);

/* The stack of a free; 0: none. Others can end an allocation too, such as the next one at its address: their stack is not that of a free. */
uint32_t row_free_stack(const struct analysis_process *process, const struct mt_event *event);

struct row_sink {
	const struct analysis *analysis;
	const struct row_maker *maker;
	struct row_freed freed;
	struct load_sums sums;     /* unused where each life is a row */
	int steps_alone;           /* instants are the ends of steps */
	struct kept *kept;         /* the caller's; NULL: no moment is asked for */
	struct analysis_sink rest; /* with `kept`: the calls that make rows */
	struct phase_use *use;     /* the caller's; NULL: no figures of phases are asked for */
};

/* `sink`: the calls, with `rows` as their context. `sums` 1: lives as sums; a free that failed then ends the pass with -MT_E_BUSY. */
void row_sink_init(struct row_sink *rows, struct analysis_sink *sink, const struct analysis *analysis,
		   const struct row_maker *maker, int sums);

/*
 * After row_sink_init: `kept` is told, too; it outlives the pass. `alone`: no life and no mapping is a row, and a pass that can keep no
 * moment ends with -MT_E_BUSY.
 */
void row_sink_keep(struct row_sink *rows, struct analysis_sink *sink, struct kept *kept, int alone);

/* After row_sink_keep: `use` is told, too; it outlives the pass. */
void row_sink_use(struct row_sink *rows, struct phase_use *use);

/* After the last event: the rows that are left. 0 or an error. */
int row_sink_finish(struct row_sink *rows);

/* All that was told is void, and the pass begins once more. */
void row_sink_anew(struct row_sink *rows);

void row_sink_release(struct row_sink *rows);

#endif
