#include "load_sink.h"

#include <string.h>
#include "memtrace/error.h"
#include "store.h"

/* SQLite has no numbers beyond. */
static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* A time that was told is not null, whatever it is. */
static int64_t told(int64_t time)
{
	return time == DB_CELL_NULL ? time + 1 : time;
}

static int64_t or_null(int64_t id)
{
	return id ? id : DB_CELL_NULL;
}

static const struct analysis_process *owner_of(const struct load_sink *load, uint32_t process)
{
	return &load->analysis->process[process];
}

/* ---- allocations ---- */

static const char *memory_word(const struct mt_live *live)
{
	const char *space = live->kind == MT_TENSOR_ALLOC ? "tensor" : mt_space_name(live->flags);

	return space ? space : "unknown";
}

/* Others can end an allocation too, such as the next one at its address: their stack is not that of a free. */
static uint32_t free_stack(const struct analysis_process *process, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_TENSOR_FREE:
	case MT_DRIVER_FREE:
	case MT_CONTEXT_GONE:
	case MT_VMM_RELEASE:
	case MT_VMM_UNMAP:
		return event->stack <= mt_defs_count(process->defs, MT_DEF_NODE) ? (uint32_t)event->stack : 0;
	default:
		return 0;
	}
}

static void fill_birth(struct load_allocation_raw *row, const struct load_sink *load, uint32_t process,
		       const struct mt_live *live)
{
	row->id = DB_CELL_NULL; /* the next one */
	row->process = store_process_id(process);
	row->device = store_device_id(load->analysis->attribution.site[live->tag].key.device);
	row->site = (int64_t)live->tag;
	row->memory = memory_word(live);
	row->address = (int64_t)live->addr;
	row->bytes = capped(live->size);
	row->alloc_seq = capped(live->seq);
	row->alloc_time = analysis_time(owner_of(load, process), live->time);
	row->thread = or_null(store_id(process, live->thread));
	row->step = live->step;
	row->tensors_inside = live->tensors_seen != 0;
	row->allocations = 1;
}

static int fill_death(struct load_allocation_raw *row, struct load_sink *load, uint32_t process,
		      const struct mt_event *event, uint32_t step)
{
	uint32_t stack = event ? free_stack(owner_of(load, process), event) : 0;

	row->free_seq = event ? capped(event->seq) : DB_CELL_NULL;
	row->free_time = event ? told(analysis_time(owner_of(load, process), event->time)) : DB_CELL_NULL;
	row->free_step = event ? step : DB_CELL_NULL;
	row->free_node = or_null(store_id(process, stack));
	row->at_home = event && load->analysis->categories.home;
	return stack ? load_freed_add(&load->freed, process, stack) : 0;
}

static int add_life(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step)
{
	struct load_sink *load = context;
	int error;
	struct load_allocation_raw *row = load_rows_new(&load->rows, LOAD_allocation_raw, &error);

	if (!row)
		return error;
	fill_birth(row, load, process, live);
	return fill_death(row, load, process, event, step);
}

/* Handles of physical memory are few, and mappings ask for them: they have rows of their own. */
static int is_summed(const struct load_sink *load, uint32_t process, const struct mt_live *live)
{
	return load->sums.rows && (live->kind == MT_TENSOR_ALLOC || live->kind == MT_DRIVER_ALLOC) &&
	       !load_sums_is_left_out(&load->sums, process, live->seq);
}

static int add_sum(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		   uint32_t step)
{
	struct load_sink *load = context;
	const struct analysis_process *owner = owner_of(load, process);
	struct load_death death = { .site = (uint32_t)live->tag,
				    .step = live->step,
				    .memory = memory_word(live),
				    .tensors_inside = live->tensors_seen != 0,
				    .bytes = live->size,
				    .seq = live->seq,
				    .time = analysis_time(owner, live->time) };

	if (!is_summed(load, process, live))
		return add_life(context, process, live, event, step);
	if (event) {
		death.gone_seq = event->seq;
		death.gone_time = told(analysis_time(owner, event->time));
		death.gone_step = step;
		death.home = load->analysis->categories.home;
	}
	return load_sums_gone(&load->sums, process,
			      store_device_id(load->analysis->attribution.site[live->tag].key.device), &death);
}

static void add_instant(void *context, uint32_t process, uint64_t seq)
{
	struct load_sink *load = context;

	if (!load->steps_alone || load->analysis->process[process].step_seq == seq)
		load_sums_instant(&load->sums, process, seq);
}

/* A call to free failed, and is told of soon: its row is not written yet, or one of the newest. */
static int forget_death(void *context, uint32_t process, const struct mt_live *live)
{
	struct load_sink *load = context;
	int error;

	if (is_summed(load, process, live))
		return -MT_E_BUSY; /* it is a part of a sum by now */
	if (load_rows_forget(&load->rows, store_process_id(process), capped(live->seq)))
		return 0;
	error = load_rows_drain(&load->rows);
	if (error)
		return error;
	db_bind(load->forget, 1, store_process_id(process));
	db_bind_unsigned(load->forget, 2, live->seq);
	return db_run(load->forget);
}

static int add_mapping(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct load_sink *load = context;
	int error;
	struct load_mapping *row = load_rows_new(&load->rows, LOAD_mapping, &error);

	if (!row)
		return error;
	row->id = DB_CELL_NULL;
	row->process = store_process_id(process);
	row->address = (int64_t)live->addr;
	row->bytes = capped(live->size);
	row->handle = (int64_t)live->handle;
	row->map_seq = capped(live->seq);
	row->map_time = analysis_time(owner_of(load, process), live->time);
	row->unmap_seq = event ? capped(event->seq) : DB_CELL_NULL;
	row->unmap_time = event ? told(analysis_time(owner_of(load, process), event->time)) : DB_CELL_NULL;
	return 0;
}

static int add_residence(void *context, uint32_t process, const struct mt_live *tensor, uint64_t bytes,
			 const struct mt_event *event, uint32_t step)
{
	struct load_sink *load = context;
	int error = load_rows_drain(&load->rows);

	if (!error && load->sums.rows)
		error = load_sums_leave_out(&load->sums, process, tensor->seq);
	if (error)
		return error;
	return load_resident_add(&load->resident, store_process_id(process), tensor, bytes, event->seq,
				 analysis_time(owner_of(load, process), event->time), step);
}

/* ---- phases and steps ---- */

static int add_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		    const struct mt_event *last)
{
	struct load_sink *load = context;
	int error;
	struct load_phase_span *row = load_rows_new(&load->rows, LOAD_phase_span, &error);

	if (!row)
		return error;
	row->id = DB_CELL_NULL;
	row->process = store_process_id(process);
	row->phase = mt_phase_name(phase);
	row->step = step;
	row->first_seq = capped(first->seq);
	row->last_seq = capped(last->seq);
	row->first_time = analysis_time(owner_of(load, process), first->time);
	row->last_time = analysis_time(owner_of(load, process), last->time);
	return 0;
}

static int add_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct load_sink *load = context;
	const struct analysis_process *owner = owner_of(load, process);
	int error;
	struct load_step *row = load_rows_new(&load->rows, LOAD_step, &error);

	if (!row)
		return error;
	row->process = store_process_id(process);
	row->step = capped(event->value);
	row->begin_seq = capped(owner->step_seq);
	row->begin_time = owner->step_time;
	row->end_seq = capped(event->seq);
	row->end_time = analysis_time(owner, event->time);
	row->closed_by = mt_defs_string(owner->defs, (uint32_t)event->name);
	return 0;
}

static int add_step_device(void *context, uint32_t process, uint32_t device, uint32_t step,
			   const struct analysis_step_device *end)
{
	struct load_sink *load = context;
	int error;
	struct load_step_device *row = load_rows_new(&load->rows, LOAD_step_device, &error);

	if (!row)
		return error;
	row->process = store_process_id(process);
	row->step = step;
	row->device = store_device_id(device);
	row->peak_bytes = capped(end->peak.level.bytes);
	row->peak_time = end->peak.time;
	row->peak_phase = mt_phase_name(end->peak.phase);
	row->held_bytes = capped(end->held);
	row->slack_bytes = capped(end->slack);
	row->tensor_bytes = capped(end->tensors);
	row->peak_tensor_bytes = capped(end->peak.level.tensors);
	row->peak_process = store_process_id(end->peak.process);
	row->peak_seq = capped(end->peak.seq);
	row->peak_role = mt_role_name(end->peak.role);
	return 0;
}

/* ---- samples ---- */

static int add_gpu_sample(void *context, uint32_t process, uint32_t device, const struct gpu_total_sample *sample,
			  const struct gpu_total_parts *parts)
{
	struct load_sink *load = context;
	int error;
	struct load_gpu_sample *row = load_rows_new(&load->rows, LOAD_gpu_sample, &error);

	if (!row)
		return error;
	row->process = store_process_id(process);
	row->device = store_device_id(device);
	row->time = sample->time;
	row->used_bytes = capped(sample->used);
	row->total_bytes = capped(sample->total);
	row->process_bytes = sample->own_known ? capped(sample->own) : DB_CELL_NULL;
	row->recorded_bytes = parts ? capped(parts->held) : DB_CELL_NULL;
	row->context_bytes = parts ? parts->cause[GPU_TOTAL_CONTEXT] : DB_CELL_NULL;
	row->code_bytes = parts ? parts->cause[GPU_TOTAL_CODE] : DB_CELL_NULL;
	row->graph_bytes = parts ? parts->cause[GPU_TOTAL_GRAPHS] : DB_CELL_NULL;
	row->pool_bytes = parts ? parts->cause[GPU_TOTAL_POOLS] : DB_CELL_NULL;
	row->earlier_bytes = parts ? parts->cause[GPU_TOTAL_EARLIER] : DB_CELL_NULL;
	row->unexplained_bytes = parts ? parts->unexplained : DB_CELL_NULL;
	row->mixed = parts ? gpu_total_mixed(parts) : DB_CELL_NULL;
	return 0;
}

static int add_host_sample(void *context, uint32_t process, const struct mt_event *event, uint64_t pinned)
{
	struct load_sink *load = context;
	int error;
	struct load_host_sample *row = load_rows_new(&load->rows, LOAD_host_sample, &error);

	if (!row)
		return error;
	row->process = store_process_id(process);
	row->time = analysis_time(owner_of(load, process), event->time);
	row->rss_bytes = or_null(capped(event->size));
	row->pinned_bytes = capped(pinned);
	row->cgroup_bytes = capped(event->value);
	row->cgroup_limit_bytes = or_null(capped(event->offset));
	row->available_bytes = capped(event->handle);
	row->killed = capped(event->flags);
	return 0;
}

/* ---- all of them ---- */

static void tell_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->moved(timeline->context, site, slack, bytes, time);
}

static void tell_count(void *context, uint32_t site, int change, int64_t time)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->counted(timeline->context, site, change, time);
}

static void tell_reached(void *context, uint32_t device, int oom)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->reached(timeline->context, device, oom);
}

static int tell_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct load_sink *load = context;
	const struct load_watch *watch = load->watch;
	const struct analysis_sink *timeline = &load->timeline.sink;
	int error = timeline->batch ? timeline->batch(timeline->context, process, events, bytes) : 0;

	return error || !watch || !watch->batch ? error : watch->batch(watch->context, process, events, bytes);
}

static void hear_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->moved(watch->context, site, slack, bytes, time);
}

static void hear_count(void *context, uint32_t site, int change, int64_t time)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->counted(watch->context, site, change, time);
}

static void hear_reached(void *context, uint32_t device, int oom)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->reached(watch->context, device, oom);
}

/* No allocation has a row: who watches hears of the bytes. */
static void leave_out_lives(struct analysis_sink *sink)
{
	sink->gone = NULL;
	sink->back = NULL;
	sink->unmapped = NULL;
	sink->resident = NULL;
	sink->moved = hear_move;
	sink->counted = hear_count;
	sink->reached = hear_reached;
}

static int tell_timeline(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis)
{
	sink->moved = tell_move;
	sink->counted = tell_count;
	sink->reached = tell_reached;
	return load_timeline_init(&load->timeline, analysis);
}

int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   enum load_parts parts, const struct load_watch *watch)
{
	int error = 0;

	*sink = (struct analysis_sink){
		.context = load,
		.quiet = watch && watch->quiet,
		.batch = tell_batch,
		.gone = add_life,
		.back = forget_death,
		.unmapped = add_mapping,
		.resident = add_residence,
		.span = add_span,
		.step = add_step,
		.step_device = add_step_device,
		.gpu_sample = add_gpu_sample,
		.host_sample = add_host_sample,
	};
	memset(load, 0, sizeof(*load));
	load->analysis = analysis;
	load->watch = watch;
	load->resident.db = db;
	load->steps_alone = parts == LOAD_STEPS;
	if (parts == LOAD_HISTORY) {
		leave_out_lives(sink);
	} else if (parts <= LOAD_SUMS) {
		load->sums.rows = &load->rows;
		sink->gone = add_sum;
		sink->instant = add_instant;
	}
	if (parts == LOAD_TIMELINE)
		error = tell_timeline(load, sink, analysis);
	if (!error)
		error = load_rows_init(&load->rows, db);
	if (!error)
		error = db_prepare(
			db, &load->forget,
			"DELETE FROM allocation_raw WHERE id = (SELECT id FROM allocation_raw WHERE process = ? AND alloc_seq = ? "
			"ORDER BY id DESC LIMIT 1)");
	return error;
}

int load_sink_finish(struct load_sink *load)
{
	int error = load->sums.rows ? load_sums_finish(&load->sums) : 0;

	return error ? error : load_rows_drain(&load->rows);
}

void load_sink_release(struct load_sink *load)
{
	load_sums_release(&load->sums);
	load_rows_release(&load->rows);
	load_timeline_release(&load->timeline);
	load_freed_release(&load->freed);
	load_resident_finish(&load->resident, 0);
	db_finish(load->forget);
}
