/*
 * refusals.h - counts the requests for GPU memory that failed in one process, each request once.
 *
 * The driver refuses a request, an allocator frees what it keeps and asks again, and its own failure may follow. `memana oom` joins the
 * same events from the database (query_oom_failures.c).
 */
#ifndef MEMTRACE_REFUSALS_H
#define MEMTRACE_REFUSALS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"

#define MT_REFUSALS_OPEN 64 /* refusals of a second that are kept; of more, the oldest count as failures */

struct mt_refusal {
	uint64_t time, device, entry, size;
};

/* Begin with zeros; holds nothing to release. */
struct mt_refusals {
	uint64_t failed;   /* requests that failed, those of `open` not among them */
	uint64_t survived; /* refusals after which the same call had the same bytes within a second */
	struct mt_refusal open[MT_REFUSALS_OPEN]; /* by time: a second has not passed yet */
	size_t count;
};

/* Takes the events in their order, of any kind. */
void mt_refusals_event(struct mt_refusals *refusals, const struct mt_event *event);

/* After the last event: what is open has failed. */
void mt_refusals_end(struct mt_refusals *refusals);

#endif
