/*
 * refusals.h - counts the requests for GPU memory that failed in one process, each request once.
 *
 * One failure can make several events: the driver refuses, the allocator frees its cache and asks again, and then the
 * allocator itself fails. `memana oom` joins the same events by SQL (query_oom_failures.c).
 */
#ifndef MEMTRACE_REFUSALS_H
#define MEMTRACE_REFUSALS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"

#define MT_REFUSALS_OPEN 64 /* refusals of one second that are kept; older ones beyond this number count as failures */

struct mt_refusal {
	uint64_t time, device, entry, size;
};

/* Begin with zeros; holds nothing to release. */
struct mt_refusals {
	uint64_t failed;   /* failed requests, without those of `open` */
	uint64_t survived; /* refusals after which the same call had the same bytes within a second */
	struct mt_refusal open[MT_REFUSALS_OPEN]; /* refusals of the last second, by time */
	size_t count;
};

/* Adds the next event, of any kind, in the order of the trace. */
void mt_refusals_event(struct mt_refusals *refusals, const struct mt_event *event);

/* Ends the count after the last event: open refusals become failures. */
void mt_refusals_end(struct mt_refusals *refusals);

#endif
