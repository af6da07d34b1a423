/*
 * stream_resident.c - tensors whose pages come and go: those of pools that sleep. What the ledger notices while it takes
 * an event, the sink is told with the event's time and step.
 */
#include "stream.h"

/* Out of a checkpoint a tensor comes as it is then; what went or came unseen did so where the events are missing. */
static const struct mt_event *event_of(const struct stream *stream, const struct mt_live *tensor)
{
	const struct mt_event *event = stream->resident.event;

	return event->kind == MT_LIVE && stream->gap.kind && stream->gap.seq > tensor->seq ? &stream->gap : event;
}

static void tell(void *context, const struct mt_live *tensor, uint64_t bytes)
{
	struct stream *stream = context;
	const struct mt_event *event = stream->resident.event;

	if (stream->resident.error || (event->kind == MT_LIVE && bytes == tensor->size && !stream->resident.was_asleep))
		return;
	stream->resident.error = stream->sink->resident(stream->sink->context, stream->process, tensor, bytes,
							event_of(stream, tensor), stream->resident.step);
}

void stream_resident_watch(struct stream *stream)
{
	if (stream->sink->resident)
		mt_ledger_watch(stream->ledger, tell, stream);
}

void stream_resident_at(struct stream *stream, const struct mt_event *event, uint32_t step)
{
	stream->resident.event = event;
	stream->resident.step = event->kind == MT_LIVE ? stream_process(stream)->step : step;
}
