/*
 * oom_neighbour.h - the other processes of the device: what stays of them when they sleep, and whether that grows; and
 * which library asked. Part of query_oom.h.
 */
#ifndef MEMANA_OOM_NEIGHBOUR_H
#define MEMANA_OOM_NEIGHBOUR_H

#include "query_oom.h"

/* Fills staying, grown and each of all holders, and asked_by. 0 or -MT_E_x. */
int oom_look_around(struct oom *oom, struct db *db);

/* Where `holder` has grown most: fills function and place of oom->growth. 0 or -MT_E_x. */
int oom_find_grown_place(struct oom *oom, struct db *db, const struct oom_holder *holder);

/* Whether the process has anything that a backward or forward is at work on at that moment. 1, 0 or -MT_E_x. */
int oom_is_at_work(const struct oom *oom, struct db *db, int64_t process);

/*
 * The process that asked is to wake up, and did so before: fills oom->before of the other process that has most more than it had
 * then, where that is as much as is missing. 0 or -MT_E_x.
 */
int oom_find_before(struct oom *oom, struct db *db);

/* What NVML counts of the process that asked, and no call of CUDA's tells of: fills oom->unseen. After `unrecorded`. 0 or -MT_E_x. */
int oom_find_unseen(struct oom *oom, struct db *db);

#endif
