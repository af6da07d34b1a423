/*
 * stream_gap.c - the moment when a gap begins. Memory that the checkpoint after a gap does not have goes then.
 *
 *     events ──┐                gap                  ┌── CUT or LOST, CHECKPOINT ── events
 *              └ stream_gap: 1 ns later              └ stream_checkpoint
 *
 * Events of other processes lie in between. The checkpoint is therefore read before the time of the gap's beginning.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* Whether a batch opens a gap: memory must have been alive before. */
static int opens_gap(const struct stream *stream, const struct mt_ahead_batch *batch)
{
	const struct mt_event *first = batch->events;

	return batch->count && mt_ledger_count(stream->ledger) &&
	       (batch->checkpoint == MT_BATCH_ANEW || first->kind == MT_CUT ||
		(first->kind == MT_LOST && first->flags == MT_LOSS_DAMAGED));
}

/* Copies a batch: the original is valid until the next is read. Returns 0 or -MT_E_MEMORY. */
static int keep_copy(struct stream *stream, size_t count, const struct mt_ahead_batch *batch)
{
	size_t all = count + batch->count;
	struct mt_event *event = realloc(stream->ahead.event, all * sizeof(*event));
	struct mt_label *label;

	if (!event)
		return -MT_E_MEMORY;
	stream->ahead.event = event;
	label = realloc(stream->ahead.label, all * sizeof(*label));
	if (!label)
		return -MT_E_MEMORY;
	stream->ahead.label = label;
	memcpy(event + count, batch->events, batch->count * sizeof(*event));
	memcpy(label + count, batch->labels, batch->count * sizeof(*label));
	return 0;
}

/* Reads on to the checkpoint. `batch` becomes all events before the checkpoint. 0 or -MT_E_MEMORY. */
static int find_checkpoint(struct stream *stream, struct mt_ahead_batch *batch)
{
	struct mt_ahead_batch *next = &stream->ahead.next;
	size_t count = 0;
	int error = 0;

	*next = *batch;
	while (!error && next->count && next->checkpoint == MT_BATCH_EVENTS && count + next->count <= STREAM_GAP_MAX) {
		if (keep_copy(stream, count, next))
			return -MT_E_MEMORY;
		count += next->count;
		error = mt_ahead_next(stream->analysis->ahead, stream->process, next);
	}
	batch->events = stream->ahead.event;
	batch->labels = stream->ahead.label;
	batch->count = count;
	stream->ahead.known = 1;
	stream->ahead.error = error;
	if (!error && next->count && next->checkpoint == MT_BATCH_ANEW)
		stream->ahead.stage = STREAM_GAP_BEGINS;
	return 0;
}

int stream_gap_batch(struct stream *stream, struct mt_ahead_batch *batch)
{
	int error;

	if (stream->ahead.known) {
		stream->ahead.known = 0;
		*batch = stream->ahead.next;
		return stream->ahead.error;
	}
	error = mt_ahead_next(stream->analysis->ahead, stream->process, batch);
	return error || !opens_gap(stream, batch) ? error : find_checkpoint(stream, batch);
}

/* Removes the memory that the checkpoint does not have. The carried events stay the next ones. */
static int begin_gap(struct stream *stream)
{
	const struct mt_ahead_batch *checkpoint = &stream->ahead.next;
	const struct mt_event *event = stream->event;
	const struct mt_label *label = stream->label;
	size_t count = stream->count;
	int error;

	stream->time++;
	stream->gap = (struct mt_event){ .kind = MT_LOST,
					 .seq = stream_process(stream)->last_seq + 1,
					 .time = (uint64_t)(stream->time + stream_process(stream)->origin) };
	stream->event = checkpoint->events;
	stream->label = checkpoint->labels;
	stream->count = checkpoint->count;
	error = stream_checkpoint_known(stream);
	stream->event = event;
	stream->label = label;
	stream->count = count;
	stream->next = 0;
	return error;
}

static int64_t newest_birth(const struct stream *stream)
{
	const struct mt_ahead_batch *checkpoint = &stream->ahead.next;
	int64_t newest = stream->time, time;
	size_t i;

	for (i = 0; i < checkpoint->count; i++) {
		time = analysis_time(stream_process(stream), checkpoint->events[i].time);
		newest = checkpoint->events[i].value && time > newest ? time : newest;
	}
	return newest;
}

int stream_gap(struct stream *stream)
{
	int ends = stream->ahead.stage == STREAM_GAP_ENDS, error;

	stream->ahead.stage = STREAM_NO_GAP;
	if (ends) {
		stream->time = stream->ahead.time;
		return 0;
	}
	error = begin_gap(stream);
	if (stream->count)
		return error;
	stream->ahead.time = newest_birth(stream);
	stream->ahead.stage = STREAM_GAP_ENDS;
	return error;
}
