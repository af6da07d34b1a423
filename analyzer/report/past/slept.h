/*
 * slept.h - the pool of another process on a device, which sleeps in turns (vLLM's sleep mode, torch_memory_saver): that it slept
 * before, whenever the process that asked had work to do, and is awake now; or that its pages went too late.
 *
 *     trainer     .. forward backward ..            .. forward ..           wake_up(): out of memory
 *     engine      ~~~~~~~~ sleeps ~~~~~~~  awake  ~~~~~~ sleeps ~~~~   awake          ..  ~~ sleeps
 *                                                                                    late
 *
 * Nothing is said of a pool that never slept in the recording.
 */
#ifndef MEMANA_SLEPT_H
#define MEMANA_SLEPT_H

#include <stdint.h>
#include "database/db.h"

/* A failed request; ids of the database. */
struct slept_question {
	int64_t oom, process, device, node, time; /* node 0: no stack */
	uint64_t missing;
	int computes; /* 1: in a phase in which a model computes: only the same phase tells of before */
};

struct slept {
	int64_t process, pid, rank; /* whose the pool is; rank -1: none */
	char category[32];          /* of it, or of most of it: an engine's cache, or what went too late */
	uint64_t bytes;             /* of that category, there; 0: there is no such pool */
	int64_t since;              /* when it woke up, of a cache */
	uint64_t works,
		calls; /* so many times it slept while the process that asked computed, and while `function` ran; and never not */
	char function[256],
		place[256]; /* the call that asked, where its stack parts from all that computes; "": nobody knows */
	uint64_t leaves;    /* of the pool, of whatever category, soon after the request; 0: less than is missing */
	int64_t late;       /* so long after, ns */
};

/* 0 or -MT_E_x. */
int slept_find(struct slept *slept, struct db *db, const struct slept_question *question);

#endif
