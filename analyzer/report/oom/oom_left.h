/*
 * oom_left.h - what a process has that no step of it needs: copies, outputs of batches that are done with, what an attempt
 * that failed before has left, what is there twice, or is made twice by a load, what is gathered and not let go of, a model
 * that has done its work, and models that were trained before the newest. Part of query_oom.h.
 */
#ifndef MEMANA_OOM_LEFT_H
#define MEMANA_OOM_LEFT_H

#include "query_oom.h"
#include "report/callers.h"

struct oom_left {
	const char *category; /* static storage */
	uint64_t bytes;
	const struct oom_part *place; /* in oom->part; NULL: the place that keeps most of the category */
};

/*
 * Of the process that asked, more than `other`, and as much as is missing: 1, and fills `left`, and oom->attempt,
 * oom->twice, oom->reload or oom->unsharded where it is that. 0: there is none, or -MT_E_x.
 */
int oom_find_left(struct oom *oom, struct db *db, uint64_t other, struct oom_left *left);

/*
 * Weights of a model that did its work before the training began, and nothing since: text encoders, when the prompt is embedded. Fills
 * oom->idle_model, where as much as is missing is such. 0 or -MT_E_x.
 */
int oom_find_idle(struct oom *oom, struct db *db);

/*
 * What is there of forwards before, or for the second time: 1, and fills oom->again and what was decided. 0, or -MT_E_x. Says nothing of
 * what grows.
 */
int oom_find_again(struct oom *oom, struct db *db);

/*
 * Models of the process that asked, trained before it made the newest by the same calls, and there still: more than `other`, and as much
 * as is missing. 1, and fills oom->again. 0, or -MT_E_x.
 */
int oom_find_trained(struct oom *oom, struct db *db, uint64_t other);

/*
 * Of a process that has run no backward and no step: the place of which it has kept pieces all the time, half a minute at least, where that is
 * as much as is missing and most of what came since the setting up. Fills oom->growth, by_time. 1: there is such a place, 0, or
 * -MT_E_x. After oom_find_growth(), whose tables it needs.
 */
int oom_find_course(struct oom *oom, struct db *db);

#endif
