/*
 * oom_before.h - what was so before, and is not now: of an engine that woke up then, and of a load that has made the same already.
 * Part of query_oom.h.
 */
#ifndef MEMANA_OOM_BEFORE_H
#define MEMANA_OOM_BEFORE_H

#include "query_oom.h"

/*
 * The process that asked is to wake up, and did so before: fills oom->before of the process that `place` is of, where that had less
 * then, by as much as is missing. 0 or -MT_E_x.
 */
int oom_find_before(struct oom *oom, struct db *db);

/*
 * Optimizer state is loaded: fills oom->again with what the same load has made for it already, of pieces as large as the one that
 * was asked for. 1: it would have been enough, 0, or -MT_E_x.
 */
int oom_find_again(struct oom *oom, struct db *db, uint64_t least);

#endif
