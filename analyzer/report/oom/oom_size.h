/*
 * oom_size.h - how large things are beside what was there before: of the place that keeps most, and of the one that asked. Part
 * of query_oom.h.
 */
#ifndef MEMANA_OOM_SIZE_H
#define MEMANA_OOM_SIZE_H

#include "query_oom.h"

/* Fills piece, piece_before and by_samples of oom->place, and asked_before. 0 or -MT_E_x. */
int oom_find_sizes(struct oom *oom, struct db *db);

/* The request is for the scores of attention, tokens x tokens: fills by_frame and by_asker. 0 or -MT_E_x. */
int oom_find_scores(struct oom *oom, struct db *db);

/* The request is as large as weights that are there, made over in more bits: fills by_frame and by_asker. 0 or -MT_E_x. */
int oom_find_remade(struct oom *oom, struct db *db);

/* Fills oom->clone. 0 or -MT_E_x. */
int oom_find_clone(struct oom *oom, struct db *db);

/* Fills oom->same. 0 or -MT_E_x. */
int oom_find_same(struct oom *oom, struct db *db);

/* Fills outlier and uneven, after the other signs: what is known better goes first. 0 or -MT_E_x. */
int oom_find_outlier(struct oom *oom, struct db *db);

/* Something that was found out about this request or these bytes says more than how large they are. */
int oom_is_known_better(const struct oom *oom);

#endif
