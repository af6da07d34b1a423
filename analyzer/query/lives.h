/* lives.h - all allocations of a database, each with the span of time in which its bytes were there: the rows of allocation_span. */
#ifndef MEMANA_LIVES_H
#define MEMANA_LIVES_H

#include <stdint.h>
#include "database/db.h"

/* Nothing of the site is told but its id: SQLite would look it up for each row. */
struct life {
	int64_t site, since_time, since_seq, until_time, until_seq, seq, time, step;
	int64_t free_step; /* -1: never freed */
	uint64_t bytes, asleep;
	int ends, counts,
		slept; /* ends: `until` is known; counts: as in_use_span, for sites outside of the caching allocator; slept: pages went or came */
};

/* Tells all lives, without SQLite where that is possible, until `take` fails. slept is 0 unless `kept`: the moment is a kept one. 0 or -MT_E_x. */
int lives_each(struct db *db, int kept, int (*take)(void *context, const struct life *life), void *context);

#endif
