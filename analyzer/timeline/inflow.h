/*
 * inflow.h - the sink that passes the results of an analysis to the model. Private to feed.c.
 *
 * Bytes go to the tape at once: readers stop at model->events. All other results wait for inflow_publish. It takes the
 * model's lock once for all.
 */
#ifndef MEMANA_TUI_INFLOW_H
#define MEMANA_TUI_INFLOW_H

#include <stdint.h>
#include "engine/analysis.h"
#include "model.h"
#include "rows/course.h"
#include "site_name.h"
#include "tape.h"

/* A site's bytes now, and the most that the site has held, for all processes of a device. */
struct inflow_site {
	uint64_t held, most;
};

struct inflow {
	struct model *model;
	struct analysis *analysis;
	/* The current change: the process of its event, and its beginning on the tape. */
	uint32_t process;
	uint64_t event, change;
	uint64_t *peak, *oom; /* points on the tape of each device's peak, and of each failed request */
	uint32_t peaks, ooms, peak_room, oom_room;
	int64_t time;             /* time of the newest event of the tape */
	struct tape *split;       /* at the end: tape that replaces the model's, NULL: none */
	struct inflow_site *site; /* by number */
	uint32_t sites;
	/* Collected since the last publication. */
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
	int64_t edition_time; /* time of the newest edition */
	int64_t edition_wait; /* ns until the next edition may come */
	int error;            /* first error, -MT_E_x; the sink ignores all input after it */
	int no_disk;          /* 1: the error is of the tape's file */
	int disk_errno;       /* errno of this error */
	int stopped;          /* model->stop was set */

	/*
	 * For traces that are still being written: returns 1 after a while, 0: the recording is over. NULL: the traces
	 * are complete.
	 */
	int (*wait)(void *context);
	void *wait_context;
};

/* Returns the sink that fills `inflow`. The caller runs `analysis` with it. The caller may set `wait` before. */
struct analysis_sink inflow_sink(struct inflow *inflow, struct model *model, struct analysis *analysis);

/*
 * Publishes all results so far. `end`: no more events come, and the facts of sites are final. Returns 0, or the error
 * of the sink.
 */
int inflow_publish(struct inflow *inflow, int end);

void inflow_release(struct inflow *inflow);

/*
 * Makes a settled tape of the moves that facts have, with sites split as the categories have split them. *tape: the caller's; NULL after an error.
 * Returns 0 or an error of tape_add.
 */
int inflow_tape(struct tape **tape, const struct analysis *analysis, const struct course_moves *moves);

#endif
