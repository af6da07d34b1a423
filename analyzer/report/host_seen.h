/* host_seen.h - names the processes with most host memory, and their last actions, after a run that ended for lack of host memory. */
#ifndef MEMANA_HOST_SEEN_H
#define MEMANA_HOST_SEEN_H

#include "base/text.h"
#include "database/db.h"

/*
 * Says the processes with most memory, and the place of each one's last allocation: " Last seen: rank 0 (pid 2122) in save_checkpoint (x.py:150), its
 * RSS from 37.3 GiB up to 242.4 GiB; ..". Says nothing if the database has no lives. Returns 0 or -MT_E_x.
 */
int host_seen_say(struct sentence *sentence, struct db *db);

/* How much the RSS of the recorded processes rose since the first sample of each, and how much all memory in use rose. */
struct host_rise {
	uint64_t own, all; /* bytes: of the processes; of all memory, since the process that began last */
};

/* Finds the rise; 0: no rise, or no samples in the database. Returns 0 or -MT_E_x. */
int host_rose(struct host_rise *rise, struct db *db);

#endif
