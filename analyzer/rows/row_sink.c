#include "row_sink.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "row_id.h"

static void *new_row(struct row_sink *sink, enum load_table table, int *error)
{
	return sink->maker->row(sink->maker->context, table, error);
}

/* The largest number of SQLite is INT64_MAX. */
static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* A known time must not look like null. */
static int64_t told(int64_t time)
{
	return time == DB_CELL_NULL ? time + 1 : time;
}

static int64_t or_null(int64_t id)
{
	return id ? id : DB_CELL_NULL;
}

static const struct analysis_process *owner_of(const struct row_sink *sink, uint32_t process)
{
	return &sink->analysis->process[process];
}

/* ---- allocations ---- */

static const char *memory_word(const struct mt_live *live)
{
	const char *space = live->kind == MT_TENSOR_ALLOC ? "tensor" : mt_space_name(live->flags);

	return space ? space : "unknown";
}

/* Returns the stack of a free; 0: none. Another event can end an allocation, such as a new one at its address: its stack is no stack of a free. */
static uint32_t row_free_stack(const struct analysis_process *process, const struct mt_event *event)
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

static void fill_birth(struct load_allocation_raw *row, const struct row_sink *sink, uint32_t process,
		       const struct mt_live *live)
{
	row->id = DB_CELL_NULL; /* the database chooses the id */
	row->process = row_process_id(process);
	row->device = row_device_id(sink->analysis->attribution.site[live->tag].key.device);
	row->site = (int64_t)live->tag;
	row->memory = memory_word(live);
	row->address = (int64_t)live->addr;
	row->bytes = capped(live->size);
	row->alloc_seq = capped(live->seq);
	row->alloc_time = analysis_time(owner_of(sink, process), live->time);
	row->thread = or_null(row_id(process, live->thread));
	row->step = live->step;
	row->tensors_inside = live->tensors_seen != 0;
	row->allocations = 1;
}

static int fill_death(struct load_allocation_raw *row, struct row_sink *sink, uint32_t process,
		      const struct mt_event *event, uint32_t step)
{
	uint32_t stack = event ? row_free_stack(owner_of(sink, process), event) : 0;

	row->free_seq = event ? capped(event->seq) : DB_CELL_NULL;
	row->free_time = event ? told(analysis_time(owner_of(sink, process), event->time)) : DB_CELL_NULL;
	row->free_step = event ? step : DB_CELL_NULL;
	row->free_node = or_null(row_id(process, stack));
	row->at_home = event && sink->analysis->categories.home;
	return stack ? row_freed_add(&sink->freed, process, stack) : 0;
}

static int add_life(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step)
{
	struct row_sink *sink = context;
	int error;
	struct load_allocation_raw *row = new_row(sink, LOAD_allocation_raw, &error);

	if (!row)
		return error;
	fill_birth(row, sink, process, live);
	return fill_death(row, sink, process, event, step);
}

static int is_summed(const struct row_sink *sink, uint32_t process, const struct mt_live *live)
{
	return sink->sums.maker && !load_sums_is_left_out(&sink->sums, process, live->seq);
}

/* Whether a birth of the site can make a device fuller, by the rule of heirs_sql in query_phases.c. */
static int makes_fuller(const struct row_sink *sink, const struct mt_live *live)
{
	const struct site *site = &sink->analysis->attribution.site[live->tag];

	return live->kind != MT_TENSOR_ALLOC || sink->analysis->device[site->key.device].kind == MT_DEVICE_CPU;
}

static int add_sum(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		   uint32_t step)
{
	struct row_sink *sink = context;
	const struct analysis_process *owner = owner_of(sink, process);
	struct load_death *death;

	if (!is_summed(sink, process, live))
		return add_life(context, process, live, event, step);
	death = load_sums_gone(&sink->sums, process,
			       row_device_id(sink->analysis->attribution.site[live->tag].key.device),
			       event ? event->seq : 0);
	if (!death)
		return sink->sums.error;
	death->site = (uint32_t)live->tag;
	death->step = live->step;
	death->memory = memory_word(live);
	death->tensors_inside = live->tensors_seen != 0;
	death->bytes = live->size;
	death->seq = live->seq;
	death->time = analysis_time(owner, live->time);
	death->gone_time = event ? told(analysis_time(owner, event->time)) : 0;
	death->gone_step = event ? step : 0;
	death->home = event && sink->analysis->categories.home;
	death->by_step = makes_fuller(sink, live);
	return 0;
}

static void add_instant(void *context, uint32_t process, uint64_t seq)
{
	struct row_sink *sink = context;

	if (!sink->steps_alone || sink->analysis->process[process].step_seq == seq)
		load_sums_instant(&sink->sums, process, seq);
}

/* Takes back a death, because the free failed. The event of the failure follows. */
static int forget_death(void *context, uint32_t process, const struct mt_live *live)
{
	struct row_sink *sink = context;

	if (is_summed(sink, process, live))
		return -MT_E_BUSY; /* the death is part of a sum already */
	return sink->maker->forget(sink->maker->context, row_process_id(process), capped(live->seq));
}

static int add_mapping(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct row_sink *sink = context;
	int error;
	struct load_mapping *row = new_row(sink, LOAD_mapping, &error);

	if (!row)
		return error;
	row->id = DB_CELL_NULL;
	row->process = row_process_id(process);
	row->address = (int64_t)live->addr;
	row->bytes = capped(live->size);
	row->handle = (int64_t)live->handle;
	row->map_seq = capped(live->seq);
	row->map_time = analysis_time(owner_of(sink, process), live->time);
	row->unmap_seq = event ? capped(event->seq) : DB_CELL_NULL;
	row->unmap_time = event ? told(analysis_time(owner_of(sink, process), event->time)) : DB_CELL_NULL;
	return 0;
}

static int add_residence(void *context, uint32_t process, const struct mt_live *tensor, uint64_t bytes,
			 const struct mt_event *event, uint32_t step)
{
	struct row_sink *sink = context;
	struct row_residence row = { .process = row_process_id(process),
				     .alloc_seq = capped(tensor->seq),
				     .seq = capped(event->seq),
				     .time = analysis_time(owner_of(sink, process), event->time),
				     .step = step,
				     .bytes = capped(bytes) };
	int error = sink->sums.maker || sink->kept ? load_sums_leave_out(&sink->sums, process, tensor->seq) : 0;

	if (sink->use)
		phase_use_resident(sink->use, tensor, bytes, event);
	return error ? error : sink->maker->residence(sink->maker->context, &row);
}

/* ---- phases and steps ---- */

static int add_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		    const struct mt_event *last)
{
	struct row_sink *sink = context;
	int error;
	struct load_phase_span *row = new_row(sink, LOAD_phase_span, &error);

	if (!row)
		return error;
	row->id = DB_CELL_NULL;
	row->process = row_process_id(process);
	row->phase = mt_phase_name(phase);
	row->step = step;
	row->first_seq = capped(first->seq);
	row->last_seq = capped(last->seq);
	row->first_time = analysis_time(owner_of(sink, process), first->time);
	row->last_time = analysis_time(owner_of(sink, process), last->time);
	return 0;
}

static int add_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct row_sink *sink = context;
	const struct analysis_process *owner = owner_of(sink, process);
	int error;
	struct load_step *row = new_row(sink, LOAD_step, &error);

	if (!row)
		return error;
	row->process = row_process_id(process);
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
	struct row_sink *sink = context;
	int error;
	struct load_step_device *row = new_row(sink, LOAD_step_device, &error);

	if (!row)
		return error;
	row->process = row_process_id(process);
	row->step = step;
	row->device = row_device_id(device);
	row->peak_bytes = capped(end->peak.level.bytes);
	row->peak_time = end->peak.time;
	row->peak_phase = mt_phase_name(end->peak.phase);
	row->held_bytes = capped(end->held);
	row->slack_bytes = capped(end->slack);
	row->tensor_bytes = capped(end->tensors);
	row->peak_tensor_bytes = capped(end->peak.level.tensors);
	row->peak_process = row_process_id(end->peak.process);
	row->peak_seq = capped(end->peak.seq);
	row->peak_role = mt_role_name(end->peak.role);
	return 0;
}

/* ---- samples ---- */

static int add_gpu_sample(void *context, uint32_t process, uint32_t device, const struct gpu_total_sample *sample,
			  const struct gpu_total_parts *parts)
{
	struct row_sink *sink = context;
	int error;
	struct load_gpu_sample *row = new_row(sink, LOAD_gpu_sample, &error);

	if (!row)
		return error;
	row->process = row_process_id(process);
	row->device = row_device_id(device);
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
	struct row_sink *sink = context;
	int error;
	struct load_host_sample *row = new_row(sink, LOAD_host_sample, &error);

	if (!row)
		return error;
	row->process = row_process_id(process);
	row->time = analysis_time(owner_of(sink, process), event->time);
	row->rss_bytes = or_null(capped(event->size));
	row->pinned_bytes = capped(pinned);
	row->cgroup_bytes = capped(event->value);
	row->cgroup_limit_bytes = or_null(capped(event->offset));
	row->available_bytes = capped(event->handle);
	row->killed = capped(event->flags);
	return 0;
}

/* ---- the moment ---- */

static int keep_life(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		     uint32_t step)
{
	struct row_sink *sink = context;
	uint32_t stack = event ? row_free_stack(owner_of(sink, process), event) : 0;

	kept_gone(sink->kept, process, live, event, step, stack,
		  load_sums_is_left_out(&sink->sums, process, live->seq));
	if (sink->use)
		phase_use_gone(sink->use, live, event);
	if (sink->rest.gone)
		return sink->rest.gone(context, process, live, event, step);
	if (kept_has_given_up(sink->kept))
		return -MT_E_BUSY;
	return stack ? row_freed_add(&sink->freed, process, stack) : 0;
}

static int keep_mapping(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	kept_unmapped(((struct row_sink *)context)->kept, process, live, event);
	return 0;
}

static int keep_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		     const struct mt_event *last)
{
	struct row_sink *sink = context;

	kept_span(sink->kept, process, phase, step, first, last);
	if (sink->use)
		phase_use_span(sink->use, phase, first->seq, last->seq);
	return sink->rest.span(context, process, phase, step, first, last);
}

static int keep_birth(void *context, uint32_t process, const struct mt_live *live,
		      const struct mt_event *event MT_UNUSED)
{
	struct row_sink *sink = context;

	kept_born(sink->kept, process, live);
	if (sink->use)
		phase_use_born(sink->use, live);
	return 0;
}

static int keep_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct row_sink *sink = context;

	kept_ended(sink->kept, process, event);
	return sink->rest.step(context, process, event);
}

static int keep_step_device(void *context, uint32_t process, uint32_t device, uint32_t step,
			    const struct analysis_step_device *end)
{
	struct row_sink *sink = context;

	kept_step(sink->kept, process, device, step, &end->peak);
	return sink->rest.step_device(context, process, device, step, end);
}

static void keep_peak(void *context, uint32_t device, int oom)
{
	kept_reached(((struct row_sink *)context)->kept, device, oom);
}

/* Gives up the moment, because a free failed: sums and the log cannot take the death back. */
static int keep_none(void *context, uint32_t process, const struct mt_live *live)
{
	struct row_sink *sink = context;

	kept_give_up(sink->kept);
	return sink->rest.gone ? sink->maker->forget(sink->maker->context, row_process_id(process), capped(live->seq))
			       : -MT_E_BUSY;
}

void row_sink_keep(struct row_sink *rows, struct analysis_sink *sink, struct kept *kept, int alone)
{
	rows->kept = kept;
	rows->rest = *sink;
	if (alone)
		rows->rest.gone = NULL;
	sink->born = keep_birth;
	sink->gone = keep_life;
	sink->back = keep_none;
	sink->unmapped = keep_mapping;
	sink->span = keep_span;
	sink->step = keep_step;
	sink->step_device = keep_step_device;
	sink->reached = keep_peak;
}

void row_sink_use(struct row_sink *rows, struct phase_use *use)
{
	rows->use = use;
}

/* ---- all of them ---- */

void row_sink_init(struct row_sink *rows, struct analysis_sink *sink, const struct analysis *analysis,
		   const struct row_maker *maker, int sums)
{
	*rows = (struct row_sink){ .analysis = analysis, .maker = maker };
	*sink = (struct analysis_sink){
		.context = rows,
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
	if (!sums)
		return;
	rows->sums.maker = maker;
	sink->gone = add_sum;
	sink->unmapped = NULL; /* reports from sums need no mappings */
	sink->instant = add_instant;
}

int row_sink_finish(struct row_sink *rows)
{
	return rows->sums.maker ? load_sums_finish(&rows->sums) : 0;
}

void row_sink_anew(struct row_sink *rows)
{
	struct load_sums sums = { .maker = rows->sums.maker, .seen_alone = rows->sums.seen_alone };

	row_sink_release(rows);
	rows->sums = sums;
}

void row_sink_release(struct row_sink *rows)
{
	load_sums_release(&rows->sums);
	row_freed_release(&rows->freed);
}
