#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2
#define ASKED_AGAIN 1000000000 /* ns */
#define ASKED_AGAIN_MOST 16u   /* newest refusals that are searched */

/* ---- the recorder's own events ---- */

static uint64_t add_capped(uint64_t sum, uint64_t more)
{
	return sum + more < sum ? UINT64_MAX : sum + more;
}

static void note_loss(struct stream *stream, const struct mt_event *event)
{
	/* A reason that is unknown to this program counts as the last known reason. */
	uint64_t why = event->flags < MT_LOSS_COUNT ? event->flags : MT_LOSS_COUNT - 1;
	struct analysis_loss *loss = &stream_process(stream)->loss[why];

	if (!loss->records++)
		loss->first_time = stream->time;
	loss->last_time = stream->time;
	loss->count = add_capped(loss->count, event->value);
}

static void note_source(struct stream *stream, const struct mt_event *event)
{
	struct analysis_source *source;

	if (event->flags >= MT_SOURCE_COUNT)
		return;
	source = &stream_process(stream)->source[event->flags];
	source->seen = 1;
	source->state = event->value < MT_SOURCE_STATES ? (uint32_t)event->value : MT_SOURCE_FAILED;
	source->why = mt_defs_string(stream_process(stream)->defs,
				     event->name <= UINT32_MAX ? (uint32_t)event->name : 0);
	source->time = stream->time;
}

static int note_oom(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis *analysis = stream->analysis;
	uint32_t device = stream_device(stream, event->device);
	struct analysis_oom *oom;

	if (device == STREAM_NO_DEVICE)
		return -MT_E_MEMORY;
	analysis->oom_count++;
	stream->unwinds = 1;
	analysis->device[device].used = 1;
	if (analysis->ooms == ANALYSIS_OOMS_MAX) {
		analysis->entangled |= analysis->sequential; /* the kept errors must be the first of all processes */
		return 0;
	}
	if (!analysis->oom && !(analysis->oom = calloc(ANALYSIS_OOMS_MAX, sizeof(*oom))))
		return -MT_E_MEMORY;
	oom = &analysis->oom[analysis->ooms++];
	if (event->kind == MT_TENSOR_OOM)
		category_refused(&analysis->categories, stream->process, event->size);
	oom->time = stream->time;
	oom->turn = stream->turn;
	oom->seq = event->seq;
	oom->requested = event->size;
	oom->recorded = analysis->attribution.device[device].held;
	oom->others = -1;
	oom->process = stream->process;
	oom->device = device;
	stream_bound_free(analysis, oom);
	oom->stack = event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0;
	oom->step = label->step;
	oom->kind = event->kind;
	oom->entry = event->kind == MT_DRIVER_FAIL ? event->entry : 0;
	oom->phase = label->phase;
	oom->role = label->role;
	oom->category = label->category;
	if (stream->sink->reached)
		stream->sink->reached(stream->sink->context, device, 1);
	stream_sample_oom(stream, event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0);
	return stream_step_oom(stream);
}

/*
 * An allocator frees its cache after a refusal, and asks for the same again (PyTorch: num_alloc_retries). If the second
 * request succeeds, there was no failure. Host memory, or memory of another GPU, does not count: a program may take it
 * instead.
 */
static void note_driver_memory(struct stream *stream, const struct mt_event *event)
{
	struct analysis *analysis = stream->analysis;
	uint32_t i = analysis->ooms, least = i > ASKED_AGAIN_MOST ? i - ASKED_AGAIN_MOST : 0;
	struct analysis_oom *oom;

	while (i-- > least && !stream->carrying) {
		oom = &analysis->oom[i];
		if (oom->process == stream->process && oom->kind == MT_DRIVER_FAIL && oom->requested == event->size &&
		    oom->entry == event->entry && oom->device == stream_device(stream, event->device) &&
		    stream->time - oom->time <= ASKED_AGAIN)
			oom->had = 1;
	}
}

/*
 * A skipped step has its mark before any recorded event. A dropped step has its mark after a cut. Neither counts as a
 * step.
 */
static int note_step(struct stream *stream, const struct mt_event *event)
{
	int counts = stream->worked && !stream->carrying, error = 0;

	stream_process(stream)->steps += counts;
	if (counts)
		stream_process(stream)->last_step = event->value <= UINT32_MAX ? (uint32_t)event->value : UINT32_MAX;
	if (counts && stream->sink->step)
		error = stream->sink->step(stream->sink->context, stream->process, event);
	return error ? error : stream_step_end(stream, event, counts);
}

/* Events before this one were dropped. The events up to the checkpoint are all that is known of them. */
static int note_cut(struct stream *stream, const struct mt_event *event)
{
	struct analysis_process *process = stream_process(stream);

	process->cut = add_capped(process->cut, event->value);
	process->cuts++;
	stream->carrying = 1;
	stream->gap = *event;
	return stream_phase_end(stream);
}

/* Everything that is not about bytes alive. 0 or an error. */
static int note(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	stream->worked |= event->kind < MT_STEP;
	switch (event->kind) {
	case MT_TENSOR_OOM:
		return note_oom(stream, event, label);
	case MT_DRIVER_FAIL:
		return event->result == CUDA_ERROR_OUT_OF_MEMORY ? note_oom(stream, event, label) : 0;
	case MT_DRIVER_ALLOC:
	case MT_VMM_CREATE:
		note_driver_memory(stream, event);
		return 0;
	case MT_STEP:
		return note_step(stream, event);
	case MT_GPU_SAMPLE:
	case MT_HOST_SAMPLE:
	case MT_DRIVER_NOTE:
	case MT_CONTEXT_GONE:
		return stream_sample(stream, event);
	case MT_LOST:
		note_loss(stream, event);
		if (event->flags == MT_LOSS_DAMAGED)
			stream->gap = *event;
		return 0;
	case MT_CUT:
		return note_cut(stream, event);
	case MT_SOURCE:
		note_source(stream, event);
		return 0;
	case MT_CENSUS:
		stream_process(stream)->census_seq = event->seq;
		return 0;
	case MT_INSTANCE_NAME:
		return tellings_add(&stream_process(stream)->tellings, event);
	case MT_MARK:
	case MT_RANGE_PUSH:
	case MT_RANGE_POP:
		return stream->sink->named ? stream->sink->named(stream->sink->context, stream->process, event) : 0;
	case MT_END:
		stream_process(stream)->ended = (event->value > 254 ? 254 : (uint32_t)event->value) + 1;
		return 0;
	default:
		return 0;
	}
}

/* ---- one event ---- */

/*
 * Time does not go back: a late event of another thread gets the time of the event before it (see alive.h). A sample
 * keeps its own time, because all earlier events are written before a sample.
 */
static const struct mt_event *in_order(struct stream *stream, const struct mt_event *event)
{
	int64_t time = analysis_time(stream_process(stream), event->time);

	if (event->kind == MT_GPU_SAMPLE || event->kind == MT_HOST_SAMPLE)
		return event;
	if (!stream->started || time >= stream->time) {
		stream->time = time;
		return event;
	}
	stream->late = *event;
	stream->late.time = (uint64_t)(stream->time + stream_process(stream)->origin);
	return &stream->late;
}

static int take(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis_process *process = stream_process(stream);
	int error;

	event = in_order(stream, event);
	if (!process->events++) {
		process->first_time = process->step_time = stream->time;
		process->first_seq = event->seq;
		process->step_seq = event->seq - 1;
	}
	process->last_time = stream->time;
	process->last_seq = event->seq;
	process->kinds[event->kind <= MT_KIND_MAX ? event->kind : 0]++;
	stream->started = 1;

	error = note(stream, event, label);
	if (!error && (event->kind < MT_RANGE_PUSH || event->kind == MT_LOST))
		error = stream_book(stream, event, label, 0);
	if (!error)
		error = stream_phase(stream, event, label);
	if (!error)
		stream_settle(stream, event, label);
	return error;
}

static int next_batch(struct stream *stream, int *checkpoint)
{
	struct progress *progress = &stream->analysis->progress;
	uint64_t before = stream->offset;
	struct mt_ahead_batch batch;
	int error = stream_gap_batch(stream, &batch);

	stream->event = batch.events;
	stream->label = batch.labels;
	stream->count = batch.count;
	stream->offset = batch.offset;
	*checkpoint = batch.checkpoint;
	if (progress->file)
		progress_add(progress, stream->offset - before, stream->count, progress_now());
	return error;
}

static int tell_batch(struct stream *stream, uint64_t before)
{
	const struct analysis_sink *sink = stream->sink;

	return sink->batch ? sink->batch(sink->context, stream->process, stream->count, stream->offset - before) : 0;
}

int stream_ready(struct stream *stream)
{
	uint64_t before;
	int error, checkpoint;

	while (stream->next == stream->count && stream->end == STREAM_GOES_ON && !stream->ahead.stage) {
		before = stream->offset;
		stream->next = stream->count = 0;
		error = next_batch(stream, &checkpoint);
		if (error == -MT_E_MEMORY)
			return error;
		if (!error && (error = tell_batch(stream, before)))
			return error;
		if (stream->ahead.stage)
			return 1;
		if (error || !stream->count) {
			stream_ends(stream);
			return stream->end == STREAM_ENDS;
		}
		if (checkpoint == MT_BATCH_EVENTS)
			return 1;
		if (checkpoint == MT_BATCH_ANEW && (error = stream_checkpoint(stream)))
			return error;
		stream->next = stream->count;
	}
	return stream->end != STREAM_OVER;
}

/* `time`: stream_next_time. */
static int take_next(struct stream *stream, int64_t time)
{
	if (time > stream->turn)
		stream->turn = time;
	stream->analysis->attribution.turn = stream->turn;
	if (stream->end == STREAM_ENDS)
		return stream_over(stream);
	if (stream->ahead.stage)
		return stream_gap(stream);
	stream->next++;
	return take(stream, &stream->event[stream->next - 1], &stream->label[stream->next - 1]);
}

int stream_take(struct stream *stream, int64_t until, uint32_t most)
{
	int ready = 1, error;
	int64_t time;

	for (; ready > 0 && most && !stream->analysis->entangled; most--) {
		time = stream_next_time(stream);
		if (time > until)
			break;
		error = take_next(stream, time);
		if (error)
			return error;
		ready = stream->next < stream->count ? 1 : stream_ready(stream);
	}
	return ready;
}

/* ---- the end ---- */

int stream_finish(struct stream *stream)
{
	int error = stream->end == STREAM_OVER ? 0 : stream_over_tell(stream);

	stream_sample_finish(stream);
	return error;
}

int stream_init(struct stream *stream, const struct mt_rules *rules)
{
	stream->rules = rules;
	stream->own = &stream->analysis->process[stream->process];
	stream->turn = stream->alive = INT64_MIN;
	stream->time = analysis_time(stream_process(stream), stream_process(stream)->info->start_monotonic);
	memset(stream->device_of, 0xff, sizeof(stream->device_of));
	stream->tracker = mt_tracker_new(rules, stream_process(stream)->defs);
	stream->ledger = mt_ledger_new(stream_move, stream);
	if (stream->ledger)
		stream_resident_watch(stream);
	return stream->tracker && stream->ledger ? 0 : -MT_E_MEMORY;
}

void stream_release(struct stream *stream)
{
	size_t i;

	mt_tracker_free(stream->tracker);
	mt_ledger_free(stream->ledger);
	free(stream->ahead.event);
	free(stream->ahead.label);
	free(stream->owner_of);
	free(stream->import);
	free(stream->sum);
	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		free(stream->gpu[i]);
	memset(stream, 0, sizeof(*stream));
}
