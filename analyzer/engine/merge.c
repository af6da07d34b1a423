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

static int merge(struct waiting *heap, uint32_t count)
{
	int ready;

	while (count) {
		ready = stream_take(heap[0].stream, turn_of_first(heap, count), UINT32_MAX);
		if (ready < 0)
			return ready;
		if (ready)
			heap[0].time = stream_next_time(heap[0].stream);
		else
			heap[0] = heap[--count];
		if (count)
			sift(heap, count, 0);
	}
	return 0;
}

int merge_by_time(struct stream **open, uint32_t count)
{
	struct waiting *heap = calloc((size_t)count + 1, sizeof(*heap));
	uint32_t i;
	int error;

	if (!heap)
		return -MT_E_MEMORY;
	for (i = 0; i < count; i++)
		heap[i] = (struct waiting){ stream_next_time(open[i]), open[i]->process, open[i] };
	for (i = count / 2; i > 0; i--)
		sift(heap, count, i - 1);
	error = merge(heap, count);
	free(heap);
	return error;
}

/* ---- in turns ---- */

/*
 * Events in a turn. The first turns are short: entangled processes show soon, with little work lost. Later turns are
 * long: the cost of refilling the cache is small next to them.
 */
#define TURN_FIRST 512u
#define TURN_LONGEST (256u << 10)

int merge_by_turns(struct stream **open, uint32_t count)
{
	uint32_t turn, i, left;
	int ready;

	for (turn = TURN_FIRST; count; turn = turn < TURN_LONGEST ? turn * 2 : turn) {
		for (i = left = 0; i < count; i++) {
			ready = stream_take(open[i], INT64_MAX, turn);
			if (ready < 0 || open[i]->analysis->entangled)
				return ready;
			if (ready)
				open[left++] = open[i];
		}
		count = left;
	}
	return 0;
}
