/* load.h - fills a database with the allocations, phases and steps of a run. */
#ifndef MEMANA_LOAD_H
#define MEMANA_LOAD_H

#include "base/symbol.h"
#include "database/db.h"
#include "engine/analysis.h"

/* The parts of the database that a command needs. */
enum load_parts {
	LOAD_HISTORY, /* a long run whose moves the caller keeps (struct load_watch): steps, phases and samples, no allocation */
	LOAD_ENDS, /* for memana growth: LOAD_STEPS; from facts, phase_span has the processes that share a device alone */
	LOAD_STEPS, /* for reports that need only the ends of steps: LOAD_SUMS with fewer rows */
	LOAD_BATCHES, /* for memana retained: LOAD_SUMS; from facts, with fewer rows (rows/sums_instants.h) and temp.batch_begin */
	LOAD_SUMS, /* for reports on instants: lives as sums (load_sums.h); birth_module and mapping are empty */
	LOAD_PHASES, /* for memana phases: LOAD_SUMS, or, from facts, LOAD_ENDS, temp.phase_use (rows/phase_use.h) and temp.phase_run */
	LOAD_MOMENT,  /* for memana oom: live memory at the moment that a pass kept (rows/kept.h); no birth_module */
	LOAD_ADVICE,  /* for memana advise: LOAD_MOMENT with the tables `timeline` and `timeline_mark` */
	LOAD_LIVES,   /* reports: everything but the tables `timeline` and `timeline_mark`, which stay empty */
	LOAD_TIMELINE /* LOAD_LIVES with these tables: for the screen, and database files */
};

/* Whether only the lives that a kept moment needs are loaded. */
static inline int load_keeps(enum load_parts parts)
{
	return parts == LOAD_MOMENT || parts == LOAD_ADVICE;
}

/* The parts with all lives that answer the same. */
static inline enum load_parts load_whole(enum load_parts parts)
{
	return parts < LOAD_ADVICE ? LOAD_LIVES : parts == LOAD_ADVICE ? LOAD_TIMELINE : parts;
}

/* Whether lives are added up instead of kept. */
static inline int load_has_sums(enum load_parts parts)
{
	return parts >= LOAD_ENDS && parts <= LOAD_PHASES;
}

/*
 * Runs the analysis and fills the tables of a new database. The transaction stays open. The caller releases `analysis`, also after an error; after
 * LOAD_MOMENT and LOAD_ADVICE when the database is closed, because allocation_raw may be lots that need the analysis (load_lives_store). Returns
 * 0, -MT_E_MEMORY or an error of the database. For sums and moments also -MT_E_BUSY: only lives can answer, as after a failed free.
 */
int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules, enum load_parts parts);

/* Stack nodes of frees that processes share, and their rows (store_shared.h). Empty if no load has filled it. */
#define LOAD_FREED_AS "CREATE TEMP TABLE IF NOT EXISTS freed_as (node INTEGER PRIMARY KEY, shared INTEGER)"

/*
 * Fills the table `named_moment`. If lives are sums, the table stays empty. Peaks and ends of steps are left out where a moment of one process is
 * kept: its reference is kept, too. Returns 0 or -MT_E_x.
 */
int load_moments(struct db *db, const struct analysis *analysis, enum load_parts parts);

/*
 * Callbacks of load_run_watched, as in struct analysis_sink. Each can be NULL. `batch` is called before each batch of events; a result other than 0
 * ends the load. The other callbacks are for LOAD_HISTORY alone.
 */
struct load_watch {
	void *context;
	int quiet; /* 1: no progress line */
	int (*batch)(void *context, uint32_t process, uint64_t events, uint64_t bytes);
	void (*moved)(void *context, uint32_t site, int slack, int64_t bytes, int64_t time);
	void (*counted)(void *context, uint32_t site, int change, int64_t time);
	void (*reached)(void *context, uint32_t device, int oom);
};

int load_run_watched(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, enum load_parts parts, const struct load_watch *watch);

/* As load_run with LOAD_MOMENT, for the failed request with this number, from 1. */
int load_run_failure(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, uint32_t failure);

/* Instants of the run in ascending order, ns since the run began; INT64_MAX: the end of the run. */
struct load_instants {
	const int64_t *time;
	size_t count;
};

/*
 * As load_run with LOAD_LIVES, for questions about these instants alone: memory that is alive at no instant may have no row. The size of the database
 * grows with the live memory, and not with the run.
 */
int load_run_at(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		const struct mt_rules *rules, const struct load_instants *instants);

/*
 * Looks up the names of all native frames, and the places that follow from the names. The database then has them on
 * other machines, too. `analysis`: that of the database, which is read faster; may be NULL. Returns 0 or -MT_E_x.
 */
int load_names_of(struct db *db, const struct analysis *analysis);
int load_names(struct db *db);

/* The columns of temp.batch_begin: the event that begins each micro-batch. */
#define LOAD_BATCH_BEGIN \
	"(process INTEGER, step INTEGER, first_seq INTEGER, PRIMARY KEY (process, step, first_seq)) WITHOUT ROWID"

/*
 * Fills the table `place` for the stacks of sites and of failed requests, and of temp.freed (load_freed.c) if this table exists. Native frames
 * without a name get one. Returns 0 or -MT_E_x.
 */
int load_places(struct db *db, struct symbols *symbols);

/*
 * The same of an analysis (NULL: none). `own`, after store_summary_of: places for the stacks of `own` sites and of failed
 * requests; helpers are still found among all stacks. NULL: as load_places.
 */
int load_places_of(struct db *db, struct symbols *symbols, const struct analysis *analysis, const uint8_t *own);

#endif
