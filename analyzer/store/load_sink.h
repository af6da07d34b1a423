/* load_sink.h - the sink that writes the results of an analysis as rows of the database. Private to load*.c. */
#ifndef MEMANA_LOAD_SINK_H
#define MEMANA_LOAD_SINK_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"
#include "load.h"
#include "load_rows.h"
#include "memtrace/ledger.h"
#include "rows/course.h"
#include "rows/kept.h"
#include "rows/row_sink.h"
#include "timeline/inflow.h"

/*
 * Moves rows of allocations to twin sites (category_site.twin). A site with two kinds of allocations has a twin. Only the end of the run shows the
 * kind of each allocation. `packed`: lives know their twins (load_lives_store). Returns 0 or an error of the database.
 */
int load_twins(struct db *db, const struct analysis *analysis, int packed);

/*
 * Gives rows the numbers of sites and devices that these have after the pass (`renumbered` of the analysis). Call it after the last row. Returns 0,
 * -MT_E_MEMORY or an error of the database.
 */
int load_renumber(struct db *db, const struct analysis *analysis);

/*
 * Writes the stacks that freed memory into the table temp.freed (node): the table `place` needs them. temp.freed_as (node, shared) has the rows of
 * those that processes share (store_shared.h). Returns 0 or an error of the database.
 */
int load_freed_store(const struct row_freed *freed, const struct analysis *analysis, struct db *db);

struct load_sink;
struct load_lives;

/*
 * Write the moment that a pass kept (rows/kept.h), as rows and as the tables temp.kept_moment and temp.kept_sum. Without a moment, the tables stay
 * empty. load_kept_lives: lives that facts tell; the context is a struct load_sink. Return 0, -MT_E_MEMORY or an error of the database.
 */
int load_kept_lives(void *context, const struct kept_life *life, uint32_t lives);
int load_kept_rows(struct load_sink *load, int for_advice);
int load_kept_store(const struct kept_moment *moment, struct db *db);

/*
 * Lives of a kept moment of one process, packed. load_lives_store makes the table allocation_raw of them: the analysis lives as long as the database.
 * Release load->lives also after an error. Return 0, -MT_E_MEMORY or an error of the database.
 */
int load_lives_new(struct load_sink *load, const struct analysis *analysis);
int load_lives_store(struct load_sink *load, struct db *db);
void load_lives_free(void *lives);

/* Writes the table temp.phase_use, if there are figures. 0 or an error of the database. */
int load_use_store(const struct phase_use_list *use, struct db *db);

/*
 * The table `resident`. Changes go into a temporary table as they come. They become stretches when every allocation has
 * its row.
 */

struct load_resident {
	struct db *db;
	struct db_stmt *change; /* NULL: no change so far */
};

/* Adds a change of a tensor's resident bytes. Returns 0 or -MT_E_SQL. */
int load_resident_add(struct load_resident *resident, const struct row_residence *change);

/* Fills the table if `fill`, after the last change, and drops the temporary table. Returns 0 or -MT_E_SQL. */
int load_resident_finish(struct load_resident *resident, int fill);

/*
 * The table `timeline`, from which the screen draws a database. The sink of the screen (timeline/inflow.h) fills it, in addition to the sink of the
 * rows.
 */

struct load_timeline {
	struct model model;
	struct inflow inflow;
	struct analysis_sink sink; /* receives moves, counts, batches and `reached` */
};

/* Returns 0 or -MT_E_MEMORY. Release after an error, too. */
int load_timeline_init(struct load_timeline *timeline, struct analysis *analysis);

/* Fills the tables after the last event. Returns 0 or -MT_E_x. */
int load_timeline_store(struct load_timeline *timeline, struct db *db);

/* Fills the tables from facts, after analysis_settle. Returns 0 or -MT_E_x. */
int load_timeline_course(const struct course_moves *course, const struct analysis *analysis, uint32_t device,
			 struct db *db);

void load_timeline_release(struct load_timeline *timeline);

/* The lives at a few instants (load_instants.c). This sink passes on a part of the calls to the sink of the rows. */

struct load_death_before;

struct load_at {
	const struct load_instants *instants; /* NULL: all lives get rows */
	struct analysis *analysis;
	struct load_death_before *before; /* by process; NULL: no death so far */
	int (*gone)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step);
	int (*back)(void *context, uint32_t process, const struct mt_live *live);
	int (*unmapped)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
};

/* ---- the sink ---- */

/*
 * The first event of a micro-batch. A micro-batch begins with a forward that does not follow another forward of its step (report/steps/retained.h).
 */
struct load_batch {
	uint32_t process, step;
	uint64_t seq;
};

/*
 * Reduces the spans of phases in facts, because a run of many processes has millions. Most reports get sums by process and phase. memana oom and
 * memana retained get a few spans of each process. The process of the failed request, and processes that share a device, keep every span.
 */
struct load_spans {
	const struct analysis *analysis; /* NULL: each span is a row */
	enum load_parts parts;
	const struct kept_moment *moment; /* memana oom: the moment, and no sums; else NULL */
	struct load_span_sum {
		int64_t runs, time; /* ns */
	} * sum;                    /* by process and phase; NULL: no span so far */
	uint8_t *whole;             /* by process; 1: each of its spans is a row */
	struct load_phase_span row; /* the newest span; its maker may still fill it in */
	int has_row;
	/* memana oom: */
	int64_t time, step;            /* time and step of the moment */
	int64_t process;               /* process of the spans that come now */
	uint32_t phases;               /* bits of the process's phases with a row */
	int has_step;                  /* 1: a span in the step of the moment has a row */
	struct load_phase_span newest; /* its newest span before the moment; process 0: none, or the span has a row */
	/* memana retained: */
	struct load_batch *batch; /* in the order of the spans */
	size_t batches, batch_room;
	int64_t forward; /* the step of the newest forward or backward, if it is a forward; -1: none */
};

struct load_sink {
	struct row_sink sink; /* first member: the context of the sink's callbacks */
	struct row_maker maker;
	struct load_spans spans;
	const struct load_watch *watch; /* NULL: no watcher */
	struct load_rows rows;          /* drain before any other use of the database */
	struct load_resident resident;
	struct load_timeline timeline; /* used only for LOAD_TIMELINE and LOAD_ADVICE */
	struct load_at at;
	struct db_stmt *forget;
	struct kept *kept;          /* LOAD_MOMENT: the moment kept by the pass, else NULL */
	struct kept_moment moment;  /* moment of the facts or of the pass; empty otherwise */
	struct load_lives *lives;   /* lives of a run of one process; NULL: lives become rows */
	struct course_moves course; /* LOAD_ADVICE from facts; empty otherwise */
	struct phase_use_list use;  /* LOAD_PHASES from facts; empty otherwise */
};

/*
 * Sets the callbacks of `sink`, with `load` as their context. Returns 0, -MT_E_MEMORY or an error of the database. The caller releases `load`, also
 * after an error.
 */
int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   enum load_parts parts, const struct load_watch *watch);

/* Limits LOAD_LIVES to `instants`, after load_sink_init. `instants` must outlive the pass. */
void load_at_init(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis,
		  const struct load_instants *instants);

/* Writes the remaining rows, after the last event and before load_sink_finish. Returns 0 or an error. */
int load_at_finish(struct load_sink *load);

/* Makes the pass keep the moment of LOAD_MOMENT (kept_new), after load_sink_init. Lives get no rows. Returns 0 or -MT_E_MEMORY. */
int load_sink_keep(struct load_sink *load, struct analysis_sink *sink, const struct analysis *analysis,
		   uint32_t failure);

/*
 * Finds the moment of LOAD_MOMENT after the last event of a pass without facts. Returns 0, -MT_E_MEMORY, or -MT_E_BUSY: the pass could not keep the
 * moment.
 */
int load_sink_find(struct load_sink *load, int for_advice);

/*
 * Writes the table temp.phase_run (process, phase, runs, time), or temp.batch_begin (LOAD_BATCH_BEGIN). After load_sink_finish. 0 or an error of the
 * database.
 */
int load_spans_store(const struct load_spans *spans, struct db *db);

/* Writes all rows but those from `freed` and `resident`, after the last event. Returns 0 or an error. */
int load_sink_finish(struct load_sink *load);

void load_sink_release(struct load_sink *load);

/* Fills the table `step_let_go` (load_let_go.c), after `step`. Returns 0, -MT_E_MEMORY or an error of the database. */
int load_let_go(struct db *db, const struct analysis *analysis, const struct analysis_input *input);

/* Fills the table `birth_module` (load_births.c), after load_twins. Returns 0, -MT_E_MEMORY or an error of the database. */
int load_births(struct db *db, const struct analysis *analysis);

#endif
