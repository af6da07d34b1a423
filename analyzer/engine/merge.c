#include "merge.h"

#include <stdlib.h>
#include "memtrace/error.h"

/* ---- by time ---- */

/* A stream that has events. `time` is a copy of its next event's time: the heap needs no look into streams. */
struct waiting {
	int64_t time;
	uint32_t process;
	struct stream *stream;
};

/* Whether `one` has its turn before `two`. */
static int goes_first(const struct waiting *one, const struct waiting *two)
{
	return one->time != two->time ? one->time < two->time : one->process < two->process;
}

/* The streams form a heap: each comes before those at index 2i + 1 and 2i + 2. */
static void sift(struct waiting *heap, uint32_t count, uint32_t at)
{
	struct waiting sinking = heap[at];
	uint32_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && goes_first(&heap[child + 1], &heap[child]))
			child++;
		if (!goes_first(&heap[child], &sinking))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = sinking;
}

/* Returns the time up to which the first stream may go on before another stream comes first. */
static int64_t turn_of_first(const struct waiting *heap, uint32_t count)
{
	const struct waiting *second;

	if (count < 2)
		return INT64_MAX;
	second = &heap[count > 2 && goes_first(&heap[2], &heap[1]) ? 2 : 1];
	return second->time - (second->process < heap[0].process);
}

/* Streams that are merged by time, as a heap; those that ended are gone from it. */
struct merging {
	struct waiting *heap;
	uint32_t count;
};

static void begin_merging(const struct merging *merging)
{
	uint32_t i;

	for (i = merging->count / 2; i > 0; i--)
		sift(merging->heap, merging->count, i - 1);
}

/* Takes about `most` events. 1: there are more; 0: the end, or the analysis is entangled; or an error. */
static int take_turn(struct merging *merging, uint32_t most)
{
	struct waiting *first = merging->heap;
	const struct stream *stream;
	uint64_t events;
	int ready;

	while (merging->count && most) {
		stream = first->stream;
		events = stream->own->events;
		ready = stream_take(first->stream, turn_of_first(first, merging->count), most);
		if (ready < 0 || stream->analysis->entangled)
			return ready < 0 ? ready : 0;
		events = stream->own->events - events + 1; /* an end or a gap counts, too */
		most -= events < most ? (uint32_t)events : most;
		if (ready)
			first->time = stream_next_time(first->stream);
		else
			*first = merging->heap[--merging->count];
		if (merging->count)
			sift(merging->heap, merging->count, 0);
	}
	return merging->count > 0;
}

static struct waiting *make_waiting(struct stream **open, uint32_t count)
{
	struct waiting *waiting = calloc((size_t)count + 1, sizeof(*waiting));
	uint32_t i;

	for (i = 0; waiting && i < count; i++)
		waiting[i] = (struct waiting){ stream_next_time(open[i]), open[i]->process, open[i] };
	return waiting;
}

int merge_by_time(struct stream **open, uint32_t count)
{
	struct merging all = { make_waiting(open, count), count };
	int ready = all.heap ? 1 : -MT_E_MEMORY;

	if (all.heap)
		begin_merging(&all);
	while (ready > 0)
		ready = take_turn(&all, UINT32_MAX);
	free(all.heap);
	return ready;
}

/* ---- in turns ---- */

/*
 * Events in a turn. The first turns are short: entangled processes show soon, with little work lost. Later turns are
 * long: the cost of refilling the cache is small next to them.
 */
#define TURN_FIRST 512u
#define TURN_LONGEST (256u << 10)

/* Cuts the streams, which are in the order of their groups, into groups. Their number. */
static uint32_t cut_into_groups(struct merging *group, struct waiting *waiting, uint32_t count)
{
	const struct analysis *analysis = count ? waiting[0].stream->analysis : NULL;
	uint32_t groups = 0, of, last = 0, i;

	for (i = 0; i < count; i++) {
		of = sequential_group(analysis, waiting[i].process);
		if (!i || of != last)
			group[groups++] = (struct merging){ &waiting[i], 0 };
		group[groups - 1].count++;
		last = of;
	}
	for (i = 0; i < groups; i++)
		begin_merging(&group[i]);
	return groups;
}

/* A turn of each group. A group that is entangled with another ends, and errors after that mean nothing. 0 or an error. */
static int take_turns(struct analysis *analysis, struct merging *group, uint32_t *groups, uint32_t most)
{
	uint32_t left = 0, i;
	int entangled = 0, ready;

	for (i = 0; i < *groups; i++) {
		ready = take_turn(&group[i], most);
		entangled |= analysis->entangled;
		if (ready < 0 && !entangled)
			return ready;
		if (ready > 0)
			group[left++] = group[i];
		analysis->entangled = 0;
	}
	analysis->entangled = entangled;
	*groups = left;
	return 0;
}

static int by_group(const void *a, const void *b)
{
	const struct waiting *one = a, *two = b;
	uint32_t of_one = sequential_group(one->stream->analysis, one->process),
		 of_two = sequential_group(two->stream->analysis, two->process);

	if (of_one != of_two)
		return of_one < of_two ? -1 : 1;
	return (one->process > two->process) - (one->process < two->process);
}

int merge_by_turns(struct stream **open, uint32_t count)
{
	struct waiting *waiting = make_waiting(open, count);
	struct merging *group = calloc((size_t)count + 1, sizeof(*group));
	uint32_t groups = 0, turn;
	int error = waiting && group ? 0 : -MT_E_MEMORY;

	if (!error) {
		qsort(waiting, count, sizeof(*waiting), by_group);
		groups = cut_into_groups(group, waiting, count);
	}
	for (turn = TURN_FIRST; groups && !error; turn = turn < TURN_LONGEST ? turn * 2 : turn) {
		error = take_turns(open[0]->analysis, group, &groups, turn);
		if (open[0]->analysis->entangled)
			break;
	}
	free(waiting);
	free(group);
	return error;
}
