/*
 * inflow.h - what an analysis tells of a run, on its way into the model. Private to feed.c.
 *
 * Bytes go to the tape at once, which nobody reads beyond model->events. Everything else waits until inflow_publish,
 * which takes the model's lock once for all of it.
 */
#ifndef MEMANA_TUI_INFLOW_H
#define MEMANA_TUI_INFLOW_H

#include <stdint.h>
#include "engine/analysis.h"
#include "model.h"
#include "site_name.h"

/* A site's bytes, and the most it has held; all processes of a device together. */
struct inflow_site {
	uint64_t held, most;
};

struct inflow {
	struct model *model;
	struct analysis *analysis;
	/* The change that is being told: the event of which process it is, and where it begins on the tape. */
	uint32_t process;
	uint64_t event, change;
	uint64_t *peak, *oom; /* points on the tape of each device's peak, and of each failed request */
	uint32_t peaks, ooms, peak_room, oom_room;
	int64_t time;             /* time of the newest event of the tape */
	struct tape *split;       /* at the end: the tape that is to replace the model's, NULL: none */
	struct inflow_site *site; /* by number */
	uint32_t sites;
	/* Since the last publication. */
	struct model_span *span;
	uint32_t spans, span_room;
	struct model_step *step;
	uint32_t steps, step_room;
	struct site_name *name; /* names of the new sites */
	uint32_t name_room;
	uint64_t bytes; /* read */
	struct site_names names;

	uint64_t published;   /* events */
	int64_t publish_time; /* CLOCK_MONOTONIC, ns */
	int64_t edition_time; /* when sites were last said to have changed what they are, */
	int64_t edition_wait; /* and how long that is not said again */
	int error;            /* the first one, -MT_E_x: nothing is taken in after it */
	int no_disk;          /* 1: it was the tape's file, */
	int disk_errno;       /* for this reason */
	int stopped;          /* model->stop was set */

	/* For traces that are still being written: 1 after a while, 0: it is over. NULL: they are whole. */
	int (*wait)(void *context);
	void *wait_context;
};

/* The sink that fills `inflow`; `analysis` is going to be run with it. `wait` may have been set before. */
struct analysis_sink inflow_sink(struct inflow *inflow, struct model *model, struct analysis *analysis);

/* Makes everything so far known. `end`: nothing more comes, and sites are what they are. The error, if there was one. */
int inflow_publish(struct inflow *inflow, int end);

void inflow_release(struct inflow *inflow);

#endif
