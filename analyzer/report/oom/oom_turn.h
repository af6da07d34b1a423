/*
 * oom_turn.h - what the processes on a device are there for, training, serving or evaluating; whose turn it is, and who keeps
 * there what he does not need until his next turn. Part of query_oom.h.
 */
#ifndef MEMANA_OOM_TURN_H
#define MEMANA_OOM_TURN_H

#include "query_oom.h"

/* Of one process: what it keeps of a category. */
struct oom_waiting {
	const char *category; /* static storage */
	int64_t process;
	uint64_t bytes;
};

/*
 * Gradients or optimizer state of a process that does not train, of which there is as much as is missing, while another one
 * generates or computes log-probs: 1, and fills `waiting`. 0: there is no such process, or -MT_E_x.
 */
int oom_find_waiting(const struct oom *oom, struct db *db, struct oom_waiting *waiting);

/* While one trains: fills oom->beside with the process that has most weights, no engine, which does not work. 0 or -MT_E_x. */
int oom_find_beside(struct oom *oom, struct db *db);

/*
 * The cache of an engine in the process that asked, from a pool that can sleep, and there is most of it, while that process
 * trains, or takes up its training again. 1, 0 or -MT_E_x.
 */
int oom_is_awake(const struct oom *oom, struct db *db, const struct oom_sum *largest);

/*
 * Who has most has no turn now: an engine's cache while the trainer computes, a trainer's states while the engine generates.
 * What to do; static. NULL: it is not so, or what was left is known better (left_over).
 */
const char *oom_out_of_turn(const struct oom *oom);

/* Fills nobody_trains, evaluates, engine_asks and serves of `oom`, of which the parts are there. 0 or -MT_E_x. */
int oom_find_roles(struct oom *oom, struct db *db);

/*
 * 1: the process that asked has run no backward and no optimizer, and several forwards before this one, as an evaluation or a
 * server does; 0, or -MT_E_x. The first forward of a training is none of these. After oom_find_growth(), whose tables it needs.
 */
int oom_is_inference(const struct oom *oom, struct db *db);

/* A phase in which a model computes, layer by layer: what is asked for has the size of what goes through it. */
int oom_is_computed(const char *phase);

#endif
