/* load.h - every allocation, phase and step of a run as rows of the database. */
#ifndef MEMANA_LOAD_H
#define MEMANA_LOAD_H

#include "base/symbol.h"
#include "database/db.h"
#include "engine/analysis.h"

/* The uses of the database. */
enum load_parts {
	LOAD_HISTORY, /* a long run whose moves the caller keeps (struct load_watch): steps, phases and samples, no allocation */
	LOAD_STEPS, /* reports that ask for the ends of steps alone: as LOAD_SUMS, with fewer rows */
	LOAD_SUMS, /* reports that ask for instants alone: lives as sums (load_sums.h); birth_module and mapping are empty */
	LOAD_MOMENT,  /* memana oom: what was alive at the moment that a pass kept (rows/kept.h); no birth_module */
	LOAD_LIVES,   /* reports: everything but the tables `timeline` and `timeline_mark`, which stay empty */
	LOAD_TIMELINE /* these, too: for the screen, for advice, and for a file that people keep */
};

/* Whether lives are added up instead of kept. */
static inline int load_has_sums(enum load_parts parts)
{
	return parts == LOAD_STEPS || parts == LOAD_SUMS;
}

/*
 * Runs the analysis and fills the tables of a new database; the transaction stays open. `analysis` is the caller's to
 * release, also after an error. 0; -MT_E_MEMORY; an error of the database; or, of sums and moments, -MT_E_BUSY: only lives
 * can tell, such as where a free failed.
 */
int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules, enum load_parts parts);

/*
 * The same, for who looks on, with the calls of struct analysis_sink. All may be NULL. `batch` hears of every batch of events before it is taken:
 * its result other than 0 ends the load with it. The others are called for LOAD_HISTORY alone.
 */
struct load_watch {
	void *context;
	int quiet; /* 1: there is no progress line */
	int (*batch)(void *context, uint32_t process, uint64_t events, uint64_t bytes);
	void (*moved)(void *context, uint32_t site, int slack, int64_t bytes, int64_t time);
	void (*counted)(void *context, uint32_t site, int change, int64_t time);
	void (*reached)(void *context, uint32_t device, int oom);
};

int load_run_watched(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, enum load_parts parts, const struct load_watch *watch);

/* LOAD_MOMENT of the failed request with this number, from 1. */
int load_run_failure(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, uint32_t failure);

/* Instants of the run, rising, in ns since it began; INT64_MAX: its end. */
struct load_instants {
	const int64_t *time;
	size_t count;
};

/*
 * LOAD_LIVES, for who asks for these instants alone: what was alive at none of them may have no row. The database grows with what
 * was alive, not with the run.
 */
int load_run_at(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		const struct mt_rules *rules, const struct load_instants *instants);

/*
 * Looks up the names of all native frames, so that the database has them on other machines too, and with them the
 * places. 0 or -MT_E_x.
 */
int load_names(struct db *db);

/*
 * The table `place` of the stacks of sites and failed requests, and of those in temp.freed (load_freed.c) if it is
 * there. Native frames have got their names, or get them here. 0 or -MT_E_x.
 */
int load_places(struct db *db, struct symbols *symbols);

/* The same after store_summary_of: places of the stacks of `own` sites and of failed requests. All stacks tell helpers. */
int load_places_of(struct db *db, struct symbols *symbols, const struct analysis *analysis, const uint8_t *own);

#endif
