/*
 * load_timeline.h - the table `timeline`: what the screen draws from, so that it opens a database as it opens traces. The
 * same sink fills it as fills the screen (timeline/inflow.h), beside that of the rows. Private to load*.c.
 */
#ifndef MEMANA_LOAD_TIMELINE_H
#define MEMANA_LOAD_TIMELINE_H

#include "database/db.h"
#include "engine/analysis.h"
#include "timeline/inflow.h"

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

#endif
