/* The effects of an event on memory: births and deaths, and a check of the allocator's totals against ours. */
#include "stream.h"

#include "label/category_sizes.h"
#include "memtrace/error.h"

static int is_driver(const struct mt_live *live)
{
	return live->kind != MT_TENSOR_ALLOC;
}

/* Driver memory, or a mapping, was born (change 1) or died (-1). */
static int note_driver(struct stream *stream, const struct mt_live *live, const struct mt_event *event, int change)
{
	stream_sample_pool(stream, live, event);
	return live->flags == MT_SPACE_IMPORTED || live->kind == MT_VMM_MAP ? stream_import(stream, live, change) : 0;
}

void stream_count(struct stream *stream, const struct mt_live *live, int change)
{
	const struct analysis_sink *sink = stream->sink;

	if (!live->tag || live->tag >= stream->analysis->attribution.sites)
		return;
	attribution_count(&stream->analysis->attribution, (uint32_t)live->tag, change);
	if (sink->counted && stream->end == STREAM_ENDS)
		stream_sums_add(stream, (uint32_t)live->tag, 0, 0, change);
	else if (sink->counted)
		sink->counted(sink->context, (uint32_t)live->tag, change, stream->time);
}

int stream_gone(struct stream *stream, const struct mt_live *live, const struct mt_event *event, uint32_t step)
{
	const struct analysis_sink *sink = stream->sink;

	if (!stream_holds_bytes(live))
		return sink->unmapped ? sink->unmapped(sink->context, stream->process, live, event) : 0;
	return sink->gone ? sink->gone(sink->context, stream->process, live, event, step) : 0;
}

/* Memory of another process, of the host, or with tensors inside is counted elsewhere. */
static int is_in_use(const struct mt_live *live)
{
	return live->kind == MT_TENSOR_ALLOC ||
	       (!live->tensors_seen && live->flags != MT_SPACE_PINNED && live->flags != MT_SPACE_HOST &&
		live->flags != MT_SPACE_IMPORTED && live->flags != MT_SPACE_MULTICAST);
}

int stream_outlived(struct stream *stream, const struct mt_live *live, uint32_t until)
{
	if (until <= live->step || !stream_holds_bytes(live) || !live->tag || live->tag > UINT32_MAX ||
	    !is_in_use(live))
		return 0;
	return outlived_add(&stream_process(stream)->outlived,
			    &(struct outlived_row){ .site = (uint32_t)live->tag,
						    .step = live->step,
						    .until = until,
						    .bytes = live->size,
						    .count = 1 },
			    stream_process(stream)->last_step);
}

/* Notes a death in the phase and step of the birth, if the memory was part of the peak of its device. */
static void note_passing(struct stream *stream, const struct mt_live *live)
{
	struct analysis *analysis = stream->analysis;
	uint32_t number = analysis->attribution.site[live->tag].key.device;
	const struct analysis_device *device = &analysis->device[number];
	int is_own = device->peak.process == stream->process;

	if (is_own ? live->seq <= device->peak.seq
		   : analysis_time(stream_process(stream), live->time) <= device->peak.time)
		category_passed(&analysis->categories.site[live->tag], analysis->attribution.device[number].epoch,
				live->size);
}

/* Whether the census names memory of the site. Births and deaths of such memory later give the peak by module. */
static int is_named(const struct stream *stream, const struct mt_live *live)
{
	const struct attribution *attribution = &stream->analysis->attribution;

	return live->tag && live->tag < attribution->sites &&
	       (attribution->site[live->tag].key.size == SIZES_KNOWN ||
		attribution->site[live->tag].key.size == SIZES_ALIKE);
}

static int named_born(struct stream *stream, const struct mt_live *live)
{
	struct analysis_process *process = stream_process(stream);
	struct parameter_moment peak;
	uint32_t device;

	if (!is_named(stream, live))
		return 0;
	device = stream->analysis->attribution.site[live->tag].key.device;
	peak = analysis_moment(stream->analysis, stream->process, device);
	return parameter_lives_born(&process->lives, &process->census, live, analysis_time(process, live->time), device,
				    &peak);
}

void stream_named_died(struct stream *stream, const struct mt_live *live, uint64_t seq, int64_t time)
{
	struct analysis_process *process = stream_process(stream);

	if (is_named(stream, live))
		parameter_lives_died(&process->lives, &process->census, live, seq, time,
				     stream->analysis->categories.home);
}

/* 0: none. */
static uint8_t size_class(const struct attribution *attribution, const struct mt_live *live)
{
	return live->tag < attribution->sites ? attribution->site[live->tag].key.size : 0;
}

static int note_death(struct stream *stream, const struct mt_event *event, const struct mt_live *live,
		      const struct mt_label *label)
{
	struct categories *categories = &stream->analysis->categories;
	int error = is_driver(live) ? note_driver(stream, live, event, -1) : 0;

	if (stream_holds_bytes(live)) {
		stream_count(stream, live, -1);
		if (category_died(categories, stream->process, live, size_class(&stream->analysis->attribution, live),
				  label, stream->unwinds))
			note_passing(stream, live);
		stream_named_died(stream, live, event->seq, stream->time);
	}
	if (!error)
		error = stream_outlived(stream, live, label->step);
	if (!error)
		error = stream_gone(stream, live, event, label->step);
	categories->home = 0;
	return error;
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
	if (change->born && stream_holds_bytes(change->born)) {
		stream_count(stream, change->born, 1);
		if (event->kind == MT_DRIVER_KEEP)
			category_back(&stream->analysis->categories, change->born);
		if (event->kind == MT_DRIVER_KEEP && change->born->tag <= UINT32_MAX)
			outlived_forget(&stream_process(stream)->outlived, (uint32_t)change->born->tag,
					change->born->step, label->step, change->born->size);
		if (event->kind == MT_DRIVER_KEEP && sink->back && !error)
			error = sink->back(sink->context, stream->process, change->born);
	}
	for (i = 0; i < change->died_count && !error; i++)
		error = note_death(stream, event, &change->died[i], label);
	if (change->born && sink->born && !error)
		error = sink->born(sink->context, stream->process, change->born, event);
	return error;
}

void stream_settle_totals(struct stream *stream, int explained)
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
 * PyTorch's CPU allocator counts under its lock and reports outside. A thread that waits in between (for Python's lock,
 * perhaps) reports late. Totals differ until then, and agree again. The CUDA allocator reports under its lock.
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
		stream_settle_totals(stream, stream->unsettled.several);
	else if (!stream->unsettled.count++)
		stream->unsettled.first = process->events;
}

/* The enum mt_kind of the memory that this event brings to life, if it holds bytes; else 0. */
static uint32_t kind_of_birth(const struct mt_event *event)
{
	const uint32_t births = 1u << MT_TENSOR_ALLOC | 1u << MT_DRIVER_ALLOC | 1u << MT_VMM_CREATE;
	uint64_t kind = event->kind == MT_LIVE ? event->value : event->kind;

	return kind < 32 && births >> kind & 1 ? (uint32_t)kind : 0;
}

/* A snapshot has requested sizes, and the sum of the blocks. Older memory is told one by one. */
static void note_blocks(struct stream *stream, const struct mt_event *event)
{
	uint32_t number;
	struct analysis_blocks *blocks;

	if (!(event->flags & MT_FLAG_REQUESTED) || (event->kind != MT_TENSOR_ALLOC && event->kind != MT_TENSOR_FREE &&
						    (event->kind != MT_LIVE || event->value != MT_TENSOR_ALLOC)))
		return;
	number = stream_device(stream, event->device <= UINT32_MAX ? (uint32_t)event->device : 0);
	if (number == STREAM_NO_DEVICE)
		return;
	blocks = &stream->analysis->device[number].blocks_now;
	blocks->bytes = event->kind == MT_LIVE ? blocks->bytes + event->handle : event->total;
	blocks->least = (blocks->least && event->kind == MT_LIVE) || event->flags & MT_FLAG_AT_LEAST;
	blocks->known = 1;
}

static void note_pinned(struct stream *stream)
{
	struct analysis_host *host = &stream_process(stream)->host;
	uint64_t pinned = mt_ledger_pinned(stream->ledger);

	if (pinned > host->most_pinned)
		host->most_pinned = pinned;
}

static int note_birth(struct stream *stream, const struct mt_live *live)
{
	struct category_site *facts = &stream->analysis->categories.site[live->tag];

	stream->unwinds = 0;
	category_born(facts, live);
	if (facts->is_loss)
		category_loss(&stream->analysis->categories, stream->process, live->size);
	return named_born(stream, live);
}

/* Sets the event and the step of the changes that the ledger reports during `event`. */
static void stream_resident_at(struct stream *stream, const struct mt_event *event, uint32_t step)
{
	stream->resident.event = event;
	stream->resident.step = event->kind == MT_LIVE ? stream_process(stream)->step : step;
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
	note_blocks(stream, event);
	if (kind == MT_DRIVER_ALLOC)
		note_pinned(stream);
	if (is_new && change.born)
		error = note_birth(stream, change.born);
	if (!error)
		error = note_change(stream, event, &change, label);
	return error || !stream->moved_count ? error : stream_sample_held(stream, event);
}

/*
 * Tensors of pools that sleep: their pages come and go. The ledger notices such changes while it takes an event. The
 * sink gets them with the event's time and step.
 */

/* A checkpoint has a tensor in its present state. Pages that moved unseen moved in the gap. */
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
