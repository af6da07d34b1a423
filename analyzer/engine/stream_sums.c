/*
 * stream_sums.c - bytes and allocations that each site loses when a process ends. The sink gets the sums at the end:
 * one call for each site, not one for each allocation.
 */
#include "stream.h"

#include <limits.h>
#include <stdlib.h>
#include "memtrace/error.h"

/* Losses of a site, plain or as slack. All allocations are in the plain one. */
struct stream_sum {
	uint64_t cell; /* site * 2 + slack */
	int64_t bytes, count;
};

static int by_cell(const void *a, const void *b)
{
	const struct stream_sum *one = a, *two = b;

	return one->cell < two->cell ? -1 : one->cell > two->cell;
}

/* Sorts the cells, and adds up equal ones. */
static void join_sums(struct stream *stream)
{
	struct stream_sum *sum = stream->sum;
	size_t i, last = 0;

	if (!stream->sums)
		return;
	qsort(sum, stream->sums, sizeof(*sum), by_cell);
	for (i = 1; i < stream->sums; i++) {
		if (sum[i].cell != sum[last].cell) {
			sum[++last] = sum[i];
			continue;
		}
		sum[last].bytes += sum[i].bytes;
		sum[last].count += sum[i].count;
	}
	stream->sums = last + 1;
}

/* Makes room for one more. The array grows with the sites, not with the allocations. Returns 0 or -MT_E_MEMORY. */
static int sum_room(struct stream *stream)
{
	size_t room = stream->sum_room ? stream->sum_room * 2 : 256;
	struct stream_sum *grown;

	if (stream->sums < stream->sum_room)
		return 0;
	join_sums(stream);
	if (stream->sums < stream->sum_room / 2)
		return 0;
	grown = realloc(stream->sum, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	stream->sum = grown;
	stream->sum_room = room;
	return 0;
}

void stream_sums_add(struct stream *stream, uint32_t site, int slack, int64_t bytes, int count)
{
	if (sum_room(stream)) {
		stream->analysis->attribution.failed = 1;
		return;
	}
	stream->sum[stream->sums++] = (struct stream_sum){ .cell = (uint64_t)site * 2 + (slack != 0),
							   .bytes = bytes,
							   .count = count };
}

void stream_sums_tell(struct stream *stream)
{
	const struct analysis_sink *sink = stream->sink;
	const struct stream_sum *sum;
	uint32_t site;
	size_t i;

	join_sums(stream);
	for (i = 0; i < stream->sums; i++) {
		sum = &stream->sum[i];
		site = (uint32_t)(sum->cell / 2);
		if (sum->bytes && sink->moved)
			sink->moved(sink->context, site, sum->cell % 2, sum->bytes, stream->time);
		if (sum->count && sink->counted)
			sink->counted(sink->context, site, sum->count < INT_MIN ? INT_MIN : (int)sum->count,
				      stream->time);
	}
	stream->sums = 0;
}
