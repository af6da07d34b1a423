/*
 * oom_role.h - what the processes beside a failed request are there for: training, or serving requests, or inference. Part of
 * query_oom.h.
 */
#ifndef MEMANA_OOM_ROLE_H
#define MEMANA_OOM_ROLE_H

#include "query_oom.h"

/* Fills nobody_trains, evaluates and serves of `oom`, of which the parts are there. 0 or -MT_E_x. */
int oom_find_roles(struct oom *oom, struct db *db);

/*
 * 1: the process that asked has run no backward and no optimizer, and several forwards before this one, as an evaluation or a
 * server does; 0, or -MT_E_x. The first forward of a training is none of these.
 */
int oom_is_inference(const struct oom *oom, struct db *db);

#endif
