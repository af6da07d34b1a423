/* load_sink.h - what the analysis finds on its way, as rows of the database. Private to load*.c. */
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
 * Allocations of a site that held two kinds of things (category_site.twin) are of the one or of the other, which is known at
 * the end: their rows are moved. 0 or an error of the database.
 */
int load_twins(struct db *db, const struct analysis *analysis);

/* The stacks that freed something, as the table temp.freed (node): their places are looked up, too. 0 or an error of the database. */
int load_freed_store(const struct row_freed *freed, struct db *db);

/*
 * The moment that a pass kept (rows/kept.h): its lives as rows of the maker; then the tables temp.kept_moment and temp.kept_sum. The
 * tables are empty if no moment is there. 0, -MT_E_MEMORY or an error of the database.
 */
int load_kept_rows(const struct kept_moment *moment, const struct analysis *analysis, const struct row_maker *maker);
int load_kept_store(const struct kept_moment *moment, struct db *db);

/*
 * The table `resident`. Changes are written down as they come, in a temporary table; when every
 * allocation has its row they become stretches.
 */

struct load_resident {
	struct db *db;
	struct db_stmt *change; /* NULL: there was none yet */
};

/* A change of what is there of a tensor. 0 or -MT_E_SQL. */
int load_resident_add(struct load_resident *resident, const struct row_residence *change);

/* After the last one: fills the table, if `fill`, and lets go what it needed. 0 or -MT_E_SQL. */
int load_resident_finish(struct load_resident *resident, int fill);

/*
 * The table `timeline`: what the screen draws from, so that it opens a database as it opens traces. The
 * same sink fills it as fills the screen (timeline/inflow.h), beside that of the rows.
 */

struct load_timeline {
	struct model model;
	struct inflow inflow;
	struct analysis_sink sink; /* to be told of moves, counts, batches and what is reached */
};

/* 0 or -MT_E_MEMORY; release in any case. */
int load_timeline_init(struct load_timeline *timeline, struct analysis *analysis);

/* After the last event: fills the tables. 0 or -MT_E_x. */
int load_timeline_store(struct load_timeline *timeline, struct db *db);

void load_timeline_release(struct load_timeline *timeline);

/*
 * The lives of some instants alone (load_instants.c): stands before the sink of the rows.
 */

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
	struct row_sink sink; /* the first: it is the context of what the analysis calls */
	struct row_maker maker;
	const struct load_watch *watch; /* NULL: no watcher */
	struct load_rows rows;          /* drained before anything else touches the database */
	struct load_resident resident;
	struct load_timeline timeline; /* unused where it was not asked for */
	struct load_at at;
	struct db_stmt *forget;
	struct kept *kept;         /* LOAD_MOMENT: the pass's, else NULL */
	struct kept_moment moment; /* the moment of the facts or of the pass; else not there */
};

/* 0, -MT_E_MEMORY or an error of the database; release in any case. `sink`: the calls, with `load` as their context. */
int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   enum load_parts parts, const struct load_watch *watch);

/* For LOAD_LIVES, after load_sink_init; `instants` outlives the pass. */
void load_at_init(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis,
		  const struct load_instants *instants);

/* After the last event, before load_sink_finish: the rows that are left. 0 or an error. */
int load_at_finish(struct load_sink *load);

/* For LOAD_MOMENT, after load_sink_init: the pass keeps the moment (kept_new), and no life is a row. 0 or -MT_E_MEMORY. */
int load_sink_keep(struct load_sink *load, struct analysis_sink *sink, const struct analysis *analysis,
		   uint32_t failure);

/* After the last event of a pass without facts: the moment of LOAD_MOMENT. 0; -MT_E_BUSY: none could be kept; -MT_E_MEMORY. */
int load_sink_find(struct load_sink *load);

/* After the last event: all rows are in the database when this returns, but those of `freed` and `resident`. */
int load_sink_finish(struct load_sink *load);

void load_sink_release(struct load_sink *load);

/* The table `step_let_go` (load_let_go.c), when `step` is filled. 0, -MT_E_MEMORY or an error of the database. */
int load_let_go(struct db *db, const struct analysis *analysis, const struct analysis_input *input);

/* The table `birth_module` (load_births.c). After load_twins. 0, -MT_E_MEMORY or an error of the database. */
int load_births(struct db *db, const struct analysis *analysis);

#endif
