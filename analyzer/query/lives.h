/* lives.h - all allocations of a database, each with the span of time in which its bytes were there: the rows of allocation_span. */
#ifndef MEMANA_LIVES_H
#define MEMANA_LIVES_H

#include <stdint.h>
#include "database/db.h"

/* A row has the site's id alone: SQLite would look up the rest for each row. */
struct life {
	int64_t site, since_time, since_seq, until_time, until_seq, seq, time, step;
	int64_t free_step; /* -1: never freed */
	uint64_t bytes, asleep;
	int ends, counts,
		slept; /* ends: `until` is known; counts: as in_use_span, for sites outside of the caching allocator; slept: pages went or came */
};

/*
 * Calls `take` for each life until it fails. Packed lives are read without SQLite. `slept` is 0 unless the moment is a kept one. Returns 0 or
 * -MT_E_x.
 */
int lives_each(struct db *db, int kept, int (*take)(void *context, const struct life *life), void *context);

#endif
