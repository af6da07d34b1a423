/* The phase of a process: the events that show the phase, and the spans of one phase. */
#include "stream.h"

#define SPANS_LOOKED_AT 256u /* stretches with a look at the memory left at their ends: the first ones are enough */

int stream_phase_end(struct stream *stream)
{
	struct stream_span *span = &stream->span;

	if (!span->open)
		return 0;
	span->open = 0;
	if (stream->sink->instant)
		stream->sink->instant(stream->sink->context, stream->process, span->last.seq);
	if (!stream->sink->span)
		return 0;
	return stream->sink->span(stream->sink->context, stream->process, span->phase, span->step, &span->first,
				  &span->last);
}

/*
 * Whether an event tells the phase. Memory events and beginnings of ranges do. The end of a range says nothing of the
 * work after it. A helper thread without a rule does not change the phase of the process.
 */
static int tells_phase(const struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	const struct mt_thread *thread;

	if (event->kind > MT_RANGE_PUSH && event->kind != MT_RANGE_START && event->kind != MT_PHASE_PUSH &&
	    event->kind != MT_BACKWARD_BEGIN)
		return 0;
	if (label->phase != MT_PHASE_OTHER)
		return 1;
	thread = mt_defs_thread(stream_process(stream)->defs,
				event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0);
	return thread && thread->flags & MT_THREAD_MAIN;
}

/* Begins a stretch of a phase, on every device of the process. */
static int begin_span(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis_process *process = stream_process(stream);
	struct stream_span *span = &stream->span;
	uint32_t i;
	int error = stream_phase_end(stream);

	process->phase_known = 1;
	process->phase = label->phase;
	process->step = label->step;
	span->open = 1;
	span->phase = label->phase;
	span->step = label->step;
	span->first = *event;
	process->phase_first = event->seq;
	for (i = 0; i < stream->touched_count; i++)
		stream_phase_peaks(stream, stream->touched[i]);
	stream_instant(stream);
	return error;
}

int stream_phase(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct stream_span *span = &stream->span;
	int error = 0;

	stream_process(stream)->role = label->role;
	if (!tells_phase(stream, event, label))
		return 0;
	if (span->open && span->phase != label->phase && stream->spans++ < SPANS_LOOKED_AT)
		category_phase_over(&stream->analysis->categories, &stream->analysis->attribution, stream->process,
				    span->phase);
	if (!span->open || span->phase != label->phase || span->step != label->step)
		error = begin_span(stream, event, label);
	span->last.seq = event->seq;
	span->last.time = event->time;
	stream_process(stream)->phase_last = event->seq;
	return error;
}
