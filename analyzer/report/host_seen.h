/*
 * host_seen.h - after a run that ended for lack of host memory: the processes with most of it, and their last actions.
 */
#ifndef MEMANA_HOST_SEEN_H
#define MEMANA_HOST_SEEN_H

#include "base/text.h"
#include "database/db.h"

/*
 * Says the processes with most memory, and the place of the last allocation of each: " Last seen: rank 0 (pid 2122) in
 * save_checkpoint (x.py:150), RSS from 37.3 GiB to 242.4 GiB; ..". Says nothing if the database has no lives. Returns 0
 * or -MT_E_x.
 */
int host_seen_say(struct sentence *sentence, struct db *db);

/*
 * The rise of the recorded processes' RSS since the first sample of each, and the rise of all memory in use in that
 * time.
 */
struct host_rise {
	uint64_t own, all; /* bytes; all: since the process that began last */
};

/* 0: no rise, or no samples in the database. Returns 0 or -MT_E_x. */
int host_rose(struct host_rise *rise, struct db *db);

#endif
