/* perfetto_slice.c - writes phases and steps as slices, and failed requests as instants. */
#include <stdio.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "perfetto.h"
#include "report/failed/failures.h"

/* Writes a slice, which must not begin before the end of the track's last one. `name` NULL: the name of `phase`. */
static void put_slice(struct perfetto *perfetto, uint64_t track, int64_t first, int64_t last, const char *name,
		      uint32_t phase)
{
	struct proto *proto = &perfetto->proto;

	perfetto_begin_event(perfetto, first, PERFETTO_SLICE_BEGIN, track);
	if (name)
		proto_text(proto, 23, name);
	else
		proto_number(proto, 10, phase + 1);
	proto_end(proto);
	perfetto_end(perfetto);
	perfetto_begin_event(perfetto, last, PERFETTO_SLICE_END, track);
	proto_end(proto);
	perfetto_end(perfetto);
	perfetto->run->written++;
}

/* 1: the slice is in the range. A slice that ends at the beginning of the range is not. */
static int overlaps(const struct perfetto *perfetto, int64_t first, int64_t last)
{
	if (first == last)
		return perfetto_is_in(perfetto, first);
	return last > perfetto->range.first && first < perfetto->range.last;
}

/* 1: the phase is left out. Each bucket has at most one phase that is shorter than a bucket. */
static int is_too_short(const struct perfetto *perfetto, struct perfetto_process *process, int64_t first, int64_t last)
{
	int64_t bucket;

	if (!perfetto->width || last - first >= perfetto->width)
		return 0;
	bucket = last / perfetto->width;
	if (bucket == process->slice_skip)
		return 1;
	process->slice_skip = bucket;
	return 0;
}

void perfetto_span(struct perfetto *perfetto, uint32_t number, uint8_t phase, int64_t first, int64_t last)
{
	struct perfetto_process *process = &perfetto->process[number];

	if (number >= perfetto->processes || !overlaps(perfetto, first, last))
		return;
	first = first > process->slice_end ? first : process->slice_end;
	last = last > first ? last : first;
	if (is_too_short(perfetto, process, first, last)) {
		perfetto->run->left_out++;
		return;
	}
	process->slice_end = last;
	put_slice(perfetto, perfetto_track(number) + PERFETTO_TRACK_PHASES, first, last, NULL, phase);
}

void perfetto_step(struct perfetto *perfetto, uint32_t number, uint32_t step, int64_t first, int64_t last)
{
	struct perfetto_process *process = &perfetto->process[number];
	char name[32];

	if (number >= perfetto->processes || !overlaps(perfetto, first, last))
		return;
	first = first > process->step_end ? first : process->step_end;
	last = last > first ? last : first;
	process->step_end = last;
	snprintf(name, sizeof(name), "step %u", step);
	put_slice(perfetto, perfetto_track(number) + PERFETTO_TRACK_STEPS, first, last, name, 0);
}

/* ---- failed requests --------------------------------------------------------------------------------------------- */

static void put_note(struct proto *proto, const char *name, int64_t value)
{
	if (value < 0)
		return;
	proto_begin(proto, 4);
	proto_text(proto, 10, name);
	proto_signed(proto, 4, value);
	proto_end(proto);
}

/* Writes a failed request as an instant on the track of its process, with its stack. */
static void put_failure(struct perfetto *perfetto, const struct oom_failure *it)
{
	struct proto *proto = &perfetto->proto;
	uint32_t stack = perfetto_stack(perfetto, it->node, 0);
	char size[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX + 40];

	snprintf(name, sizeof(name), "%s: %s", it->had ? "refused, then granted" : "out of memory",
		 text_bytes(size, it->requested));
	perfetto_begin_event(perfetto, it->time, PERFETTO_INSTANT, perfetto_track((uint32_t)(it->process - 1)));
	proto_text(proto, 23, name);
	put_note(proto, "requested_bytes", (int64_t)it->requested);
	put_note(proto, "free_bytes", it->free);
	put_note(proto, "device", it->number);
	put_note(proto, "step", it->step);
	if (stack)
		proto_number(proto, 56, stack);
	proto_end(proto);
	perfetto_end(perfetto);
}

int perfetto_failures(struct perfetto *perfetto)
{
	struct oom_failures all;
	size_t i;
	int error = oom_failures_load(&all, perfetto->run->db);

	for (i = 0; i < all.count && !error; i++)
		if (!all.failure[i].is_part && perfetto_is_in(perfetto, all.failure[i].time))
			put_failure(perfetto, &all.failure[i]);
	oom_failures_release(&all);
	return error ? error : perfetto->error;
}
