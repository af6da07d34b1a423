/*
 * Writes rows of the allocations alive at a few instants. Reports also need memory that was never freed, births that are like named ones, and the
 * newest death of each process before an instant.
 */
#include <stdlib.h>
#include <string.h>
#include "label/category_sizes.h"
#include "load_sink.h"
#include "memtrace/error.h"

/* A death that may be the newest one before an instant. */
struct load_death_before {
	struct mt_live live;
	struct mt_event event;
	uint32_t step;
	int home, there; /* there 0: no such death in the process */
};

static int64_t time_of(const struct load_at *at, uint32_t process, uint64_t time)
{
	return analysis_time(&at->analysis->process[process], time);
}

/* Whether an instant is in the interval, ends included. */
static int has_instant(const struct load_at *at, int64_t first, int64_t last)
{
	size_t low = 0, high = at->instants->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (at->instants->time[middle] < first)
			low = middle + 1;
		else
			high = middle;
	}
	return low < at->instants->count && at->instants->time[low] <= last;
}

static int is_named(const struct load_at *at, const struct mt_live *live)
{
	return at->analysis->attribution.site[live->tag].key.size == SIZES_ALIKE && !at->analysis->categories.home;
}

static int tell_death(struct load_sink *load, uint32_t process)
{
	struct load_at *at = &load->at;
	struct load_death_before *death = &at->before[process];
	int home = at->analysis->categories.home, error;

	at->analysis->categories.home = death->home;
	error = at->gone(load, process, &death->live, &death->event, death->step);
	at->analysis->categories.home = home;
	death->there = 0;
	return error;
}

static int keep_death(struct load_sink *load, uint32_t process, const struct mt_live *live,
		      const struct mt_event *event, uint32_t step)
{
	struct load_at *at = &load->at;
	struct load_death_before *death;
	int error = 0;

	if (!at->before)
		at->before = calloc(at->analysis->processes, sizeof(*at->before));
	if (!at->before)
		return -MT_E_MEMORY;
	death = &at->before[process];
	if (death->there &&
	    has_instant(at, time_of(at, process, death->event.time), time_of(at, process, event->time) - 1))
		error = tell_death(load, process);
	*death = (struct load_death_before){ *live, *event, step, at->analysis->categories.home, 1 };
	return error;
}

static int gone(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		uint32_t step)
{
	struct load_sink *load = context;
	struct load_at *at = &load->at;

	if (!event || is_named(at, live) ||
	    has_instant(at, time_of(at, process, live->time), time_of(at, process, event->time)))
		return at->gone(load, process, live, event, step);
	return keep_death(load, process, live, event, step);
}

static int back(void *context, uint32_t process, const struct mt_live *live)
{
	struct load_sink *load = context;
	struct load_at *at = &load->at;

	if (at->before && at->before[process].there && at->before[process].live.seq == live->seq) {
		at->before[process].there = 0;
		return 0;
	}
	return at->back(load, process, live);
}

static int unmapped(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct load_sink *load = context;
	struct load_at *at = &load->at;
	int is_there = !event || has_instant(at, time_of(at, process, live->time), time_of(at, process, event->time));

	return is_there ? at->unmapped(load, process, live, event) : 0;
}

void load_at_init(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis,
		  const struct load_instants *instants)
{
	load->at = (struct load_at){ .instants = instants,
				     .analysis = analysis,
				     .gone = sink->gone,
				     .back = sink->back,
				     .unmapped = sink->unmapped };
	sink->gone = gone;
	sink->back = back;
	sink->unmapped = unmapped;
}

int load_at_finish(struct load_sink *load)
{
	uint32_t process;
	int error = 0;

	for (process = 0; load->at.before && process < load->at.analysis->processes && !error; process++)
		if (load->at.before[process].there)
			error = tell_death(load, process);
	return error;
}
