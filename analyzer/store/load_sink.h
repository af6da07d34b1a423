/* load_sink.h - what the analysis finds on its way, as rows of the database. Private to load*.c. */
#ifndef MEMANA_LOAD_SINK_H
#define MEMANA_LOAD_SINK_H

#include "database/db.h"
#include "engine/analysis.h"
#include "load.h"
#include "load_category.h"
#include "load_freed.h"
#include "load_resident.h"
#include "load_rows.h"
#include "load_timeline.h"

struct load_sink {
	const struct analysis *analysis;
	const struct load_watch *watch; /* NULL: nobody watches */
	struct load_category categories;
	struct load_freed freed;
	struct load_rows rows; /* drained before anything else touches the database */
	struct load_resident resident;
	struct load_timeline timeline;
	struct db_stmt *forget;
};

/* 0, -MT_E_MEMORY or an error of the database; release in any case. `sink`: the calls, with `load` as their context. */
int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   const struct load_watch *watch);

/* After the last event: all rows are in the database when this returns, but those of `freed` and `resident`. */
int load_sink_finish(struct load_sink *load);

void load_sink_release(struct load_sink *load);

#endif
