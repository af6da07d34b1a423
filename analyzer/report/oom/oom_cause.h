/*
 * oom_cause.h - what other reports know about a failed request: places that grow (retained.h), how the allocators take
 * memory (frag.h), and sizes that are those of logits (category_sizes.h). Part of query_oom.h.
 */
#ifndef MEMANA_OOM_CAUSE_H
#define MEMANA_OOM_CAUSE_H

#include "query_oom.h"

/*
 * Places of the process that grow, where they hold a large part of what it has in use: fills oom->growth. 1: they do, 0, or
 * -MT_E_x. Makes the temporary tables of retained_load(): once for a database.
 */
int oom_find_growth(struct oom *oom, struct db *db);

/* Fills oom->hole, idle_segments, expandable and sleeps. 0 or -MT_E_x. */
int oom_find_holes(struct oom *oom, struct db *db);

/* Fills oom->logits, when the request is tokens x vocabulary x bytes of an element. 0 or -MT_E_x. */
int oom_find_logits(struct oom *oom, struct db *db);

#endif
