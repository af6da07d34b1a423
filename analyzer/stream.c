#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2

/* ---- what a process says of itself ---- */

static uint64_t add_capped(uint64_t sum, uint64_t more)
{
	return sum + more < sum ? UINT64_MAX : sum + more;
}

static void note_loss(struct stream *stream, const struct mt_event *event)
{
	/* A reason this program has no word for is kept as the last one: the count is what matters. */
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
	source->state = event->value > MT_SOURCE_FAILED ? MT_SOURCE_FAILED : (uint32_t)event->value;
	source->why =
		mt_defs_string(stream_process(stream)->defs, event->name <= UINT32_MAX ? (uint32_t)event->name : 0);
	source->time = stream->time;
}

static int note_oom(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis *analysis = stream->analysis;
	uint32_t device = stream_device(stream, event->device);
	struct analysis_oom *oom;
	uint64_t held;

	if (device == STREAM_NO_DEVICE)
		return -MT_E_MEMORY;
	analysis->oom_count++;
	analysis->device[device].used = 1;
	if (analysis->ooms == ANALYSIS_OOMS_MAX)
		return 0;
	if (!analysis->oom && !(analysis->oom = calloc(ANALYSIS_OOMS_MAX, sizeof(*oom))))
		return -MT_E_MEMORY;
	held = analysis->attribution.device[device].held;
	oom = &analysis->oom[analysis->ooms++];
	oom->time = stream->time;
	oom->seq = event->seq;
	oom->requested = event->size;
	oom->free = analysis->device[device].total > held ? (int64_t)(analysis->device[device].total - held) : -1;
	oom->process = stream->process;
	oom->device = device;
	oom->stack = event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0;
	oom->step = label->step;
	oom->kind = event->kind;
	oom->phase = label->phase;
	return 0;
}

/* The mark of a step that was skipped comes before anything that was recorded. */
static int note_step(struct stream *stream, const struct mt_event *event)
{
	if (!stream->worked)
		return 0;
	stream_process(stream)->steps++;
	return stream->sink->step ? stream->sink->step(stream->sink->context, stream->process, event) : 0;
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
	case MT_STEP:
		return note_step(stream, event);
	case MT_LOST:
		note_loss(stream, event);
		return 0;
	case MT_SOURCE:
		note_source(stream, event);
		return 0;
	case MT_END:
		stream_process(stream)->ended = (event->value > 254 ? 254 : (uint32_t)event->value) + 1;
		return 0;
	default:
		return 0;
	}
}

/* ---- phases ---- */

static int end_span(struct stream *stream)
{
	struct stream_span *span = &stream->span;

	if (!span->open)
		return 0;
	span->open = 0;
	if (!stream->sink->span)
		return 0;
	return stream->sink->span(stream->sink->context, stream->process, span->phase, span->step, &span->first,
				  &span->last);
}

/* For the phases of all processes that use the device: each of them runs while it is this big. */
static void note_phase_peaks(struct stream *stream, uint32_t number)
{
	struct analysis_device *device = &stream->analysis->device[number];
	uint64_t held = stream->analysis->attribution.device[number].held;
	const struct analysis_process *process;
	struct analysis_phase_peak *peak;
	uint32_t i;

	for (i = 0; i < device->users; i++) {
		process = &stream->analysis->process[device->user[i]];
		peak = &device->phase_peak[process->phase];
		if (!process->phase_known || (peak->ran && held <= peak->bytes))
			continue;
		peak->ran = 1;
		peak->bytes = held;
		peak->time = stream->time;
		peak->step = process->step;
	}
}

/*
 * Memory events and the beginnings of ranges do: the end of a range is no work of what comes after it. A helper thread
 * that no rule knows does not change what the process is doing.
 */
static int tells_phase(const struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	const struct mt_thread *thread;

	if (event->kind > MT_RANGE_PUSH && event->kind != MT_RANGE_START &&
	    event->kind != MT_PHASE_PUSH && event->kind != MT_BACKWARD_BEGIN)
		return 0;
	if (label->phase != MT_PHASE_OTHER)
		return 1;
	thread =
		mt_defs_thread(stream_process(stream)->defs, event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0);
	return thread && thread->flags & MT_THREAD_MAIN;
}

/* A phase begins: every device of the process counts for it. */
static int begin_span(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis_process *process = stream_process(stream);
	struct stream_span *span = &stream->span;
	uint32_t i;
	int error = end_span(stream);

	process->phase_known = 1;
	process->phase = label->phase;
	process->step = label->step;
	span->open = 1;
	span->phase = label->phase;
	span->step = label->step;
	span->first = *event;
	for (i = 0; i < stream->touched_count; i++)
		note_phase_peaks(stream, stream->touched[i]);
	return error;
}

static int follow_phase(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct stream_span *span = &stream->span;
	int error = 0;

	if (!tells_phase(stream, event, label))
		return 0;
	if (!span->open || span->phase != label->phase || span->step != label->step)
		error = begin_span(stream, event, label);
	span->last = *event;
	return error;
}

/* ---- peaks ---- */

static void take_peak(struct stream *stream, uint32_t number, const struct mt_event *event,
		      const struct mt_label *label)
{
	struct analysis_device *device = &stream->analysis->device[number];

	attribution_peak(&stream->analysis->attribution, number);
	device->peak.bytes = stream->analysis->attribution.device[number].peak;
	device->peak.seq = event->seq;
	device->peak.time = stream->time;
	device->peak.step = label->step;
	device->peak.process = stream->process;
	device->peak.thread = event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0;
	device->peak.phase = label->phase;
	device->peak.role = label->role;
}

/*
 * A caching allocator takes a segment from the driver and then hands out the block it took it for. The device is as
 * full after the first as after the second, but only then is it known with what: the peak is taken after the second.
 */
static int fills_the_peak(const struct stream *stream, uint32_t device, const struct mt_event *event)
{
	const struct attribution_device *now = &stream->analysis->attribution.device[device];

	return stream->filling_device == device && event->kind == MT_TENSOR_ALLOC && event->thread == stream->filling &&
	       now->held == now->peak;
}

/* After an event: new peaks of the devices that it changed. */
static void settle(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct attribution *attribution = &stream->analysis->attribution;
	uint32_t filling_device = STREAM_NO_DEVICE;
	int device;

	while ((device = attribution_next_dirty(attribution)) >= 0) {
		stream->analysis->device[device].used = 1;
		if (attribution->device[device].held > attribution->device[device].peak) {
			take_peak(stream, (uint32_t)device, event, label);
			if (event->kind != MT_TENSOR_ALLOC)
				filling_device = (uint32_t)device;
		} else if (fills_the_peak(stream, (uint32_t)device, event)) {
			take_peak(stream, (uint32_t)device, event, label);
		}
		note_phase_peaks(stream, (uint32_t)device);
	}
	if (filling_device != STREAM_NO_DEVICE || event->thread == stream->filling) {
		stream->filling_device = filling_device;
		stream->filling = (uint32_t)event->thread;
	}
}

/* ---- one event ---- */

static int holds_bytes(const struct mt_live *live)
{
	return live->kind != MT_VMM_MAP;
}

static void count(struct stream *stream, const struct mt_live *live, int change)
{
	if (live->tag && live->tag < stream->analysis->attribution.sites)
		attribution_count(&stream->analysis->attribution, (uint32_t)live->tag, change);
}

/* Counts what was born and what died, and tells the sink. */
static int note_change(struct stream *stream, const struct mt_event *event, const struct mt_ledger_change *change,
		       uint32_t step)
{
	const struct analysis_sink *sink = stream->sink;
	int error = 0;
	size_t i;

	if (change->born && holds_bytes(change->born)) {
		count(stream, change->born, 1);
		if (event->kind == MT_DRIVER_KEEP && sink->back)
			error = sink->back(sink->context, stream->process, change->born);
	}
	for (i = 0; i < change->died_count && !error; i++) {
		if (!holds_bytes(&change->died[i]))
			continue;
		count(stream, &change->died[i], -1);
		if (sink->gone)
			error = sink->gone(sink->context, stream->process, &change->died[i], event, step);
	}
	return error;
}

/* `explained`: the totals were only in another order than the events. */
static void settle_totals(struct stream *stream, int explained)
{
	struct analysis_process *process = stream_process(stream);

	if (explained)
		process->reordered += stream->unsettled.count;
	else
		process->differing += stream->unsettled.count;
	if (!explained && stream->unsettled.count && !process->first_differing)
		process->first_differing = stream->unsettled.first;
	stream->unsettled.count = 0;
}

/*
 * PyTorch's CPU allocator counts under its lock and reports outside: a thread that waits in between, for Python's lock
 * perhaps, reports late. Then totals differ until it has, and agree again. The CUDA allocator reports under its lock.
 */
static void note_totals(struct stream *stream, const struct mt_event *event, const struct mt_ledger_change *change)
{
	struct analysis_process *process = stream_process(stream);
	const struct mt_device *device;

	process->unknown_frees += change->unknown != 0;
	if (!change->total_known)
		return;
	process->compared++;
	device = mt_defs_device(process->defs, (uint32_t)event->device);
	if (device && device->kind == MT_DEVICE_CPU) {
		stream->unsettled.several |= stream->unsettled.thread && stream->unsettled.thread != event->thread;
		stream->unsettled.thread = event->thread;
	}
	if (!change->total_differs)
		settle_totals(stream, stream->unsettled.several);
	else if (!stream->unsettled.count++)
		stream->unsettled.first = process->events;
}

/* What kind of thing this event brings to life: an enum mt_kind that holds bytes, or 0. */
static uint32_t kind_of_birth(const struct mt_event *event)
{
	uint64_t kind = event->kind == MT_LIVE ? event->value : event->kind;

	return kind == MT_TENSOR_ALLOC || kind == MT_DRIVER_ALLOC || kind == MT_VMM_CREATE ? (uint32_t)kind : 0;
}

/* Brings an event to the ledger. 0 or an error. */
static int book(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct mt_ledger_change change;
	uint32_t kind = kind_of_birth(event), site = 0;
	int error;

	if (kind) {
		site = stream_site(stream, event, label, kind != MT_TENSOR_ALLOC);
		if (!site)
			return -MT_E_MEMORY;
	}
	memset(&change, 0, sizeof(change));
	error = mt_ledger_event(stream->ledger, event, site, label->phase, label->step, &change);
	if (error)
		return error;
	if (stream->analysis->attribution.failed)
		return -MT_E_MEMORY;
	note_totals(stream, event, &change);
	return note_change(stream, event, &change, label->step);
}

static int take(struct stream *stream, const struct mt_event *event)
{
	struct analysis_process *process = stream_process(stream);
	struct mt_label label;
	int64_t time = analysis_time(process, event->time);
	int error;

	if (!stream->started || time > stream->time)
		stream->time = time;
	if (!process->events++)
		process->first_time = stream->time;
	process->last_time = stream->time;
	process->kinds[event->kind <= MT_KIND_MAX ? event->kind : 0]++;
	stream->started = 1;

	mt_tracker_event(stream->tracker, event, 0, &label);
	error = note(stream, event, &label);
	if (!error && (event->kind < MT_RANGE_PUSH || event->kind == MT_LOST))
		error = book(stream, event, &label);
	if (!error)
		error = follow_phase(stream, event, &label);
	if (!error)
		settle(stream, event, &label);
	return error;
}

/* The category of bytes of which only the phase is known. */
static enum mt_category category_of(const struct mt_rules *rules, uint8_t phase)
{
#define FLAT(name, number, word, flat) MT_PHASE_##flat,
	static const uint8_t of_role[] = { MT_ROLE_LIST(FLAT) };
	static const uint8_t of_part[] = { MT_PART_LIST(FLAT) };
#undef FLAT
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(of_part); i++)
		if (of_part[i] == phase)
			return mt_rules_category(rules, MT_ROLE_NONE, (enum mt_part)i);
	for (i = 0; i < MT_ARRAY_SIZE(of_role); i++)
		if (of_role[i] == phase)
			return mt_rules_category(rules, (enum mt_role)i, MT_PART_NONE);
	return MT_CATEGORY_OTHER;
}

/* The phase at birth is known; what else the stack says is believed where it agrees with that. */
static struct mt_label label_at_birth(struct stream *stream, const struct mt_event *event)
{
	struct mt_label label;
	uint8_t phase = event->phase < MT_PHASE_COUNT ? (uint8_t)event->phase : MT_PHASE_OTHER;

	mt_tracker_event(stream->tracker, event, 0, &label);
	if (label.phase != phase)
		label.category = (uint8_t)category_of(stream->rules, phase);
	label.phase = phase;
	label.step = event->step <= UINT32_MAX ? (uint32_t)event->step : 0;
	return label;
}

/* What was alive when the recording began, as it was born. */
static int take_checkpoint(struct stream *stream)
{
	struct mt_label label = { 0 };
	const struct mt_event *event = NULL;
	int error;

	for (; stream->next < stream->count; stream->next++) {
		event = &stream->event[stream->next];
		label = label_at_birth(stream, event);
		error = book(stream, event, &label);
		if (error)
			return error;
	}
	if (event) {
		stream->time = analysis_time(stream_process(stream), event->time);
		settle(stream, event, &label);
	}
	return 0;
}

int stream_ready(struct stream *stream)
{
	int error, checkpoint;

	while (stream->next == stream->count) {
		stream->next = stream->count = 0;
		error = mt_reader_next(stream->reader, &stream->event, &stream->count, &checkpoint);
		if (error == -MT_E_MEMORY)
			return error;
		if (error || !stream->count)
			return 0;
		if (!checkpoint)
			return 1;
		if (!stream->started && (error = take_checkpoint(stream)))
			return error;
		stream->next = stream->count;
	}
	return 1;
}

int stream_take(struct stream *stream)
{
	return take(stream, &stream->event[stream->next++]);
}

/* ---- the end ---- */

struct survivors {
	struct mt_live *live;
	size_t count, room;
};

static int collect_survivor(void *context, const struct mt_live *live)
{
	struct survivors *survivors = context;

	if (holds_bytes(live) && survivors->count < survivors->room)
		survivors->live[survivors->count++] = *live;
	return 0;
}

static int by_birth(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* In order of birth, so that the same trace always gives the same database. */
static int report_survivors(struct stream *stream)
{
	struct survivors survivors = { .room = mt_ledger_count(stream->ledger) };
	size_t i;
	int error = 0;

	if (!survivors.room)
		return 0;
	survivors.live = malloc(survivors.room * sizeof(*survivors.live));
	if (!survivors.live)
		return -MT_E_MEMORY;
	mt_ledger_each(stream->ledger, collect_survivor, &survivors);
	qsort(survivors.live, survivors.count, sizeof(*survivors.live), by_birth);
	for (i = 0; i < survivors.count && !error; i++)
		error = stream->sink->gone(stream->sink->context, stream->process, &survivors.live[i], NULL, 0);
	free(survivors.live);
	return error;
}

int stream_finish(struct stream *stream)
{
	int error = end_span(stream);

	settle_totals(stream, 0);
	stream_process(stream)->balanced = mt_ledger_check(stream->ledger);
	if (!error && stream->sink->gone)
		error = report_survivors(stream);
	return error;
}

int stream_init(struct stream *stream, const struct mt_rules *rules)
{
	stream->rules = rules;
	memset(stream->device_of, 0xff, sizeof(stream->device_of));
	stream->filling_device = STREAM_NO_DEVICE;
	stream->tracker = mt_tracker_new(rules, stream_process(stream)->defs);
	stream->ledger = mt_ledger_new(stream_move, stream);
	return stream->tracker && stream->ledger ? 0 : -MT_E_MEMORY;
}

void stream_release(struct stream *stream)
{
	mt_tracker_free(stream->tracker);
	mt_ledger_free(stream->ledger);
	free(stream->owner_of);
	memset(stream, 0, sizeof(*stream));
}
