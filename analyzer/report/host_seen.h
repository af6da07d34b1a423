/* host_seen.h - of a run that ended for want of host memory: who had most of it, and what these did last. */
#ifndef MEMANA_HOST_SEEN_H
#define MEMANA_HOST_SEEN_H

#include "base/text.h"
#include "database/db.h"

/*
 * " Last seen: rank 0 (pid 2122) in save_checkpoint (x.py:150), RSS from 37.3 GiB to 242.4 GiB; ..": the processes with
 * most of what the recorded ones have, where memory was allocated last in each. Nothing where no lives of allocations are in
 * the database. 0 or -MT_E_x.
 */
int host_seen_say(struct sentence *sentence, struct db *db);

/* By how much the RSS of the recorded processes rose since each was first looked at, and what is in use by all with it. */
struct host_rise {
	uint64_t own, all; /* bytes; all: since the last of them began */
};

/* 0: nothing rose, or no samples are in the database. 0 or -MT_E_x. */
int host_rose(struct host_rise *rise, struct db *db);

#endif
