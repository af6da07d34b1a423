/*
 * oom_decide.h - what follows from a failed request: the rules of OOM_RULE_LIST tried against each other. Part of
 * query_oom.h.
 */
#ifndef MEMANA_OOM_DECIDE_H
#define MEMANA_OOM_DECIDE_H

#include "query_oom.h"

/* Fills oom->unrecorded, rule and all that belongs to it. The rest of `oom` is there. 0 or -MT_E_x. */
int oom_decide(struct oom *oom, struct db *db);

#endif
