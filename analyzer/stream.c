#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2
#define SPANS_LOOKED_AT 256u /* for what is left when they are over: the first ones tell it all */

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
	stream_moment_oom(stream, event, label, device);
	if (analysis->ooms == ANALYSIS_OOMS_MAX) {
		analysis->entangled |= analysis->apart; /* those that are kept are the first of all processes */
		return 0;
	}
	if (!analysis->oom && !(analysis->oom = calloc(ANALYSIS_OOMS_MAX, sizeof(*oom))))
		return -MT_E_MEMORY;
	held = analysis->attribution.device[device].held;
	oom = &analysis->oom[analysis->ooms++];
	oom->time = stream->time;
	oom->turn = stream->turn;
	oom->seq = event->seq;
	oom->requested = event->size;
	oom->free = analysis->device[device].total > held ? (int64_t)(analysis->device[device].total - held) : -1;
	oom->others = -1;
	oom->process = stream->process;
	oom->device = device;
	oom->stack = event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0;
	oom->step = label->step;
	oom->kind = event->kind;
	oom->phase = label->phase;
	stream_sample_oom(stream, event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0);
	return stream_step_oom(stream);
}

/* The mark of a step that was skipped comes before anything that was recorded, that of one let go after a cut. */
static int note_step(struct stream *stream, const struct mt_event *event)
{
	int counts = stream->worked && !stream->carrying, error = 0;

	stream_process(stream)->steps += counts;
	if (counts && stream->sink->step)
		error = stream->sink->step(stream->sink->context, stream->process, event);
	return error ? error : stream_step_end(stream, event, counts);
}

static int end_span(struct stream *stream);

/* Events before this one were let go: what follows, up to the checkpoint, is what there is to know of them. */
static int note_cut(struct stream *stream, const struct mt_event *event)
{
	struct analysis_process *process = stream_process(stream);

	process->cut = add_capped(process->cut, event->value);
	process->cuts++;
	stream->carrying = 1;
	stream->gap = *event;
	return end_span(stream);
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
	struct analysis_level level = stream_level(stream, number);
	const struct analysis_process *process;
	struct analysis_phase_peak *peak;
	uint32_t i;

	stream_step_held(stream, number);
	for (i = 0; i < device->users; i++) {
		process = &stream->analysis->process[device->user[i]];
		peak = &device->phase_peak[process->phase];
		if (!process->phase_known)
			continue;
		if (!peak->ran || analysis_is_higher(level, peak->level)) {
			peak->ran = 1;
			peak->level = level;
			peak->time = stream->time;
			peak->step = process->step;
		}
		if (analysis_is_higher(device->quiet, peak->level))
			device->quiet = peak->level;
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
	if (span->open && span->phase != label->phase && stream->spans++ < SPANS_LOOKED_AT)
		category_phase_over(stream->analysis, stream->process, span->phase);
	if (!span->open || span->phase != label->phase || span->step != label->step)
		error = begin_span(stream, event, label);
	span->last.seq = event->seq;
	span->last.time = event->time;
	return error;
}

/* ---- peaks ---- */

void stream_take_peak(struct stream *stream, uint32_t number, const struct mt_event *event,
		      const struct mt_label *label)
{
	struct analysis_device *device = &stream->analysis->device[number];

	attribution_peak(&stream->analysis->attribution, number);
	device->imported = device->imported_now;
	device->peak.bytes = stream->analysis->attribution.device[number].peak;
	device->peak.tensors = device->tensors_now;
	device->peak.seq = event->seq;
	device->peak.time = stream->time;
	device->peak.step = label->step;
	device->peak.process = stream->process;
	device->peak.thread = event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0;
	device->peak.phase = label->phase;
	device->peak.role = label->role;
}

/*
 * A caching allocator keeps what it took from the driver: the device stays equally full for long while tensors come and
 * go inside. Among these moments the peak is the first of those with the most tensor bytes. The block that a segment was
 * taken for is in it with that, and so are tensors that waited for their pages (a pool that wakes up).
 */
int stream_is_higher(const struct stream *stream, uint32_t number)
{
	const struct attribution_device *now = &stream->analysis->attribution.device[number];
	const struct analysis_device *device = &stream->analysis->device[number];

	return now->held > now->peak || (now->held == now->peak && device->tensors_now > device->peak.tensors);
}

void stream_settle(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct attribution *attribution = &stream->analysis->attribution;
	int device;

	while ((device = attribution_next_dirty(attribution)) >= 0) {
		stream->analysis->device[device].used = 1;
		if (stream_moment_open(stream, (uint32_t)device) && stream_is_higher(stream, (uint32_t)device))
			stream_take_peak(stream, (uint32_t)device, event, label);
		if (!stream->analysis->device[device].watched ||
		    analysis_is_higher(stream_level(stream, (uint32_t)device), stream->analysis->device[device].quiet))
			note_phase_peaks(stream, (uint32_t)device);
	}
}

/* ---- one event ---- */

static int holds_bytes(const struct mt_live *live)
{
	return live->kind != MT_VMM_MAP;
}

static int is_driver(const struct mt_live *live)
{
	return live->kind != MT_TENSOR_ALLOC;
}

/* Driver memory, or a mapping, was born (change 1) or died (-1). */
static int note_driver(struct stream *stream, const struct mt_live *live, const struct mt_event *event, int change)
{
	stream_sample_pool(stream, live, event);
	return stream_import(stream, live, change);
}

void stream_count(struct stream *stream, const struct mt_live *live, int change)
{
	const struct analysis_sink *sink = stream->sink;

	if (!live->tag || live->tag >= stream->analysis->attribution.sites)
		return;
	attribution_count(&stream->analysis->attribution, (uint32_t)live->tag, change);
	if (sink->counted)
		sink->counted(sink->context, (uint32_t)live->tag, change, stream->time);
}

int stream_gone(struct stream *stream, const struct mt_live *live, const struct mt_event *event, uint32_t step)
{
	const struct analysis_sink *sink = stream->sink;

	if (!holds_bytes(live))
		return sink->unmapped ? sink->unmapped(sink->context, stream->process, live, event) : 0;
	return sink->gone ? sink->gone(sink->context, stream->process, live, event, step) : 0;
}

/* Counts what was born and what died, and tells the sink. */
static int note_change(struct stream *stream, const struct mt_event *event, const struct mt_ledger_change *change,
		       const struct mt_label *label)
{
	const struct analysis_sink *sink = stream->sink;
	int error = 0;
	size_t i;

	if (change->born && is_driver(change->born))
		error = note_driver(stream, change->born, event, 1);
	if (change->born && holds_bytes(change->born)) {
		stream_count(stream, change->born, 1);
		if (event->kind == MT_DRIVER_KEEP)
			category_back(&stream->analysis->categories, change->born);
		if (event->kind == MT_DRIVER_KEEP && sink->back && !error)
			error = sink->back(sink->context, stream->process, change->born);
	}
	for (i = 0; i < change->died_count && !error; i++) {
		if (is_driver(&change->died[i]))
			error = note_driver(stream, &change->died[i], event, -1);
		if (holds_bytes(&change->died[i])) {
			stream_count(stream, &change->died[i], -1);
			category_died(&stream->analysis->categories, stream->process, &change->died[i], label);
		}
		if (!error)
			error = stream_gone(stream, &change->died[i], event, label->step);
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

static int is_cpu(const struct stream *stream, uint64_t id)
{
	const struct mt_device *device;

	if (id < MT_LEDGER_DEVICES && stream->device_of[id] != STREAM_NO_DEVICE)
		return stream->analysis->device[stream->device_of[id]].kind == MT_DEVICE_CPU;
	device = mt_defs_device(stream_process(stream)->defs, (uint32_t)id);
	return device && device->kind == MT_DEVICE_CPU;
}

/*
 * PyTorch's CPU allocator counts under its lock and reports outside: a thread that waits in between, for Python's lock
 * perhaps, reports late. Then totals differ until it has, and agree again. The CUDA allocator reports under its lock.
 */
static void note_totals(struct stream *stream, const struct mt_event *event, const struct mt_ledger_change *change)
{
	struct analysis_process *process = stream_process(stream);

	process->unknown_frees += change->unknown != 0;
	if (!change->total_known)
		return;
	process->compared++;
	if (is_cpu(stream, event->device)) {
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

static void note_pinned(struct stream *stream)
{
	struct analysis_host *host = &stream_process(stream)->host;
	uint64_t pinned = mt_ledger_pinned(stream->ledger);

	if (pinned > host->most_pinned)
		host->most_pinned = pinned;
}

int stream_book(struct stream *stream, const struct mt_event *event, const struct mt_label *label, uint32_t site)
{
	struct mt_ledger_change change;
	uint32_t kind = kind_of_birth(event);
	int error, is_new = kind && !site;

	if (is_new) {
		site = stream_site(stream, event, label, kind != MT_TENSOR_ALLOC);
		if (!site)
			return -MT_E_MEMORY;
	}
	stream_resident_at(stream, event, label->step);
	error = mt_ledger_event(stream->ledger, event, site, label->phase, label->step, &change);
	if (!error)
		error = stream->resident.error;
	if (error)
		return error;
	if (stream->analysis->attribution.failed)
		return -MT_E_MEMORY;
	note_totals(stream, event, &change);
	if (kind == MT_DRIVER_ALLOC)
		note_pinned(stream);
	if (is_new && change.born)
		category_born(&stream->analysis->categories.site[site], change.born->size, label->step);
	error = note_change(stream, event, &change, label);
	return error || !stream->moved_count ? error : stream_sample_held(stream, event);
}

static int take(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct analysis_process *process = stream_process(stream);
	int64_t time = analysis_time(process, event->time);
	int error;

	/* A sample is written when what happened before it has been: its time is behind that of its neighbours. */
	if ((!stream->started || time > stream->time) && event->kind != MT_GPU_SAMPLE && event->kind != MT_HOST_SAMPLE)
		stream->time = time;
	stream_moment_time(stream->analysis, stream->time);
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
		error = follow_phase(stream, event, label);
	if (!error) {
		stream_settle(stream, event, label);
		stream_moment_step(stream, event, label);
	}
	return error;
}

static int next_batch(struct stream *stream, int *checkpoint)
{
	struct progress *progress = &stream->analysis->progress;
	uint64_t before = stream->offset;
	struct mt_ahead_batch batch;
	int error = mt_ahead_next(stream->analysis->ahead, stream->process, &batch);

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

	while (stream->next == stream->count) {
		before = stream->offset;
		stream->next = stream->count = 0;
		error = next_batch(stream, &checkpoint);
		if (error == -MT_E_MEMORY)
			return error;
		if (!error && (error = tell_batch(stream, before)))
			return error;
		if (error || !stream->count)
			return 0;
		if (checkpoint == MT_BATCH_EVENTS)
			return 1;
		if (checkpoint == MT_BATCH_ANEW && (error = stream_anew(stream)))
			return error;
		stream->next = stream->count;
	}
	return 1;
}

int stream_take(struct stream *stream)
{
	int64_t time = stream_next_time(stream);

	if (time > stream->turn)
		stream->turn = time;
	stream->analysis->attribution.turn = stream->turn;
	stream->next++;
	return take(stream, &stream->event[stream->next - 1], &stream->label[stream->next - 1]);
}

/* ---- the end ---- */

struct survivors {
	struct mt_live *live;
	size_t count, room;
};

static int collect_survivor(void *context, const struct mt_live *live)
{
	struct survivors *survivors = context;

	if (survivors->count < survivors->room)
		survivors->live[survivors->count++] = *live;
	return 0;
}

static int by_birth(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* What is alive at the end is as old as the newest step lets it be. */
static int note_survivor(void *context, const struct mt_live *live)
{
	struct stream *stream = context;

	if (holds_bytes(live) && live->tag && live->tag < stream->analysis->categories.room)
		category_kept(&stream->analysis->categories.site[live->tag], live, stream_process(stream)->steps + 1);
	return 0;
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
		error = stream_gone(stream, &survivors.live[i], NULL, 0);
	free(survivors.live);
	return error;
}

int stream_finish(struct stream *stream)
{
	int error = end_span(stream);

	if (!error)
		error = stream_sample_finish(stream);
	if (!error)
		error = stream_step_finish(stream);
	mt_ledger_each(stream->ledger, note_survivor, stream);
	settle_totals(stream, 0);
	stream_process(stream)->balanced = mt_ledger_check(stream->ledger);
	if (!error && stream->sink->gone)
		error = report_survivors(stream);
	return error;
}

int stream_init(struct stream *stream, const struct mt_rules *rules)
{
	stream->rules = rules;
	stream->turn = INT64_MIN;
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
	free(stream->owner_of);
	free(stream->import);
	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		free(stream->whole[i]);
	memset(stream, 0, sizeof(*stream));
}
