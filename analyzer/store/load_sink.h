/* load_sink.h - the sink that turns the results of an analysis into rows of the database. Private to load*.c. */
#ifndef MEMANA_LOAD_SINK_H
#define MEMANA_LOAD_SINK_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"
#include "load.h"
#include "load_rows.h"
#include "memtrace/ledger.h"
#include "rows/kept.h"
#include "rows/row_sink.h"
#include "timeline/inflow.h"

/*
 * Moves rows of allocations to twin sites (category_site.twin). A site with two kinds of allocations has a twin, and
 * only the end of the run tells the kind of each. Returns 0 or an error of the database.
 */
int load_twins(struct db *db, const struct analysis *analysis);

/*
 * Writes the stacks that freed memory into the table temp.freed (node), because their places are needed, too. Returns 0
 * or an error of the database.
 */
int load_freed_store(const struct row_freed *freed, struct db *db);

/*
 * Writes the moment that a pass kept (rows/kept.h): its lives as rows, and the tables temp.kept_moment and
 * temp.kept_sum. The tables stay empty if there is no moment. Returns 0, -MT_E_MEMORY or an error of the database.
 */
int load_kept_rows(const struct kept_moment *moment, const struct analysis *analysis, const struct row_maker *maker);
int load_kept_store(const struct kept_moment *moment, struct db *db);

/*
 * The table `resident`. Changes go into a temporary table as they come. They become stretches when every allocation has
 * its row.
 */

struct load_resident {
	struct db *db;
	struct db_stmt *change; /* NULL: no change yet */
};

/* Adds a change of a tensor's resident bytes. Returns 0 or -MT_E_SQL. */
int load_resident_add(struct load_resident *resident, const struct row_residence *change);

/* After the last change: fills the table, if `fill`, and drops the temporary table. Returns 0 or -MT_E_SQL. */
int load_resident_finish(struct load_resident *resident, int fill);

/*
 * The table `timeline`: the screen draws a database from it as it draws traces. The sink of the screen
 * (timeline/inflow.h) fills it, next to the sink of the rows.
 */

struct load_timeline {
	struct model model;
	struct inflow inflow;
	struct analysis_sink sink; /* receives moves, counts, batches and `reached` */
};

/* 0 or -MT_E_MEMORY; release in any case. */
int load_timeline_init(struct load_timeline *timeline, struct analysis *analysis);

/* After the last event: fills the tables. 0 or -MT_E_x. */
int load_timeline_store(struct load_timeline *timeline, struct db *db);

void load_timeline_release(struct load_timeline *timeline);

/* The lives of some instants alone (load_instants.c). This sink filters calls for the sink of the rows. */

struct load_death_before;

struct load_at {
	const struct load_instants *instants; /* NULL: all lives */
	struct analysis *analysis;
	struct load_death_before *before; /* by process; NULL: none yet */
	int (*gone)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step);
	int (*back)(void *context, uint32_t process, const struct mt_live *live);
	int (*unmapped)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
};

/* ---- the sink ---- */

struct load_sink {
	struct row_sink sink; /* first member: it is the context of the sink's callbacks */
	struct row_maker maker;
	const struct load_watch *watch; /* NULL: no watcher */
	struct load_rows rows;          /* drain it before any other use of the database */
	struct load_resident resident;
	struct load_timeline timeline; /* unused unless the timeline is wanted */
	struct load_at at;
	struct db_stmt *forget;
	struct kept *kept;         /* LOAD_MOMENT: the moment kept by the pass, else NULL */
	struct kept_moment moment; /* moment of the facts or of the pass; empty otherwise */
};

/*
 * Returns 0, -MT_E_MEMORY or an error of the database. The caller releases `load` in any case. Sets the callbacks of
 * `sink`, with `load` as their context.
 */
int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   enum load_parts parts, const struct load_watch *watch);

/* For LOAD_LIVES, after load_sink_init; `instants` outlives the pass. */
void load_at_init(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis,
		  const struct load_instants *instants);

/* After the last event, before load_sink_finish: writes the remaining rows. Returns 0 or an error. */
int load_at_finish(struct load_sink *load);

/*
 * For LOAD_MOMENT, after load_sink_init: the pass keeps the moment (kept_new), and lives get no rows. Returns 0 or
 * -MT_E_MEMORY.
 */
int load_sink_keep(struct load_sink *load, struct analysis_sink *sink, const struct analysis *analysis,
		   uint32_t failure);

/*
 * After the last event of a pass without facts: finds the moment of LOAD_MOMENT. Returns 0, -MT_E_MEMORY, or
 * -MT_E_BUSY: no moment could be kept.
 */
int load_sink_find(struct load_sink *load);

/* After the last event: writes all rows, except those of `freed` and `resident`. */
int load_sink_finish(struct load_sink *load);

void load_sink_release(struct load_sink *load);

/* The table `step_let_go` (load_let_go.c), when `step` is filled. 0, -MT_E_MEMORY or an error of the database. */
int load_let_go(struct db *db, const struct analysis *analysis, const struct analysis_input *input);

/* The table `birth_module` (load_births.c). After load_twins. 0, -MT_E_MEMORY or an error of the database. */
int load_births(struct db *db, const struct analysis *analysis);

#endif
