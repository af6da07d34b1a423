/* torch_entry.c - writes births, deaths, failed requests and ranges as the entries of a snapshot. */
#include <inttypes.h>
#include <stdio.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "torch.h"

/* ---- one entry --------------------------------------------------------------------------------------------------- */

/* The open list of entries. */
struct list {
	struct torch_slot *slot; /* NULL: pinned memory */
	uint32_t items;
	uint64_t entries; /* number of entries for the remaining records */
	uint64_t skipped; /* number of records in the log without entries */
};

/* The time of an event in microseconds since 1970. */
static int64_t time_of(const struct torch *torch, uint32_t process, uint64_t event_time)
{
	const struct mt_process *info = torch->run->analysis.process[process].info;

	return (int64_t)(info->start_realtime + (event_time - info->start_monotonic)) / 1000;
}

static int is_autograd(const struct mt_defs *defs, uint32_t id)
{
	const struct mt_thread *thread = mt_defs_thread(defs, id);

	return thread && thread->flags & MT_THREAD_AUTOGRAD;
}

/* Writes the frames. Threads of autograd have no Python frames: their list is empty, and not absent. */
static void put_frames(struct torch *torch, const struct torch_record *record)
{
	if (!record->stack && !is_autograd(torch->run->analysis.process[record->process].defs, record->thread))
		return;
	torch_word(torch, TORCH_FRAMES);
	torch_stack(torch, record->process, record->stack);
}

static void put_meaning(struct torch *torch, const struct torch_record *record)
{
	uint8_t category = record->site < torch->sites ? torch->category[record->site] : MT_CATEGORY_OTHER;
	char text[96];

	torch_word(torch, TORCH_CATEGORY);
	if (category == MT_CATEGORY_OTHER)
		torch_word(torch, TORCH_UNKNOWN);
	else
		torch_text(torch, mt_category_name(category));
	torch->memo.has_category = 1;
	torch->memo.has_unknown |= category == MT_CATEGORY_OTHER;
	snprintf(text, sizeof(text), "phase %s, step %" PRIu32, mt_phase_name(record->phase), record->step);
	torch_word(torch, TORCH_METADATA);
	torch_text(torch, text);
}

static void begin_entry(struct torch *torch, struct list *list)
{
	torch_write_item(torch->out, &list->items);
	torch_write_dict(torch->out);
}

static void put_entry(struct torch *torch, struct list *list, enum torch_word action, const struct torch_record *record)
{
	const struct mt_process *info = torch->run->analysis.process[record->process].info;

	begin_entry(torch, list);
	torch_key_word(torch, TORCH_ACTION, action);
	torch_key_int(torch, action == TORCH_OOM ? TORCH_DEVICE_FREE : TORCH_ADDR, (int64_t)record->addr);
	torch_key_int(torch, TORCH_SIZE, (int64_t)record->size);
	torch_key_int(torch, TORCH_STREAM, 0);
	if (!(info->snapshot & MT_SNAPSHOT_NO_TIMES))
		torch_key_int(torch, TORCH_TIME, time_of(torch, record->process, record->time));
	put_frames(torch, record);
	if (action == TORCH_ALLOC)
		put_meaning(torch, record);
	torch_write_dict_end(torch->out);
}

/* ---- a record ---------------------------------------------------------------------------------------------------- */

static int is_block(const struct torch *torch, const struct list *list, const struct torch_record *record)
{
	return record->is_tensor || (list->slot && torch_is_filled(torch, record->is_tensor, record->site));
}

static int is_segment(const struct torch *torch, const struct list *list, const struct torch_record *record)
{
	return !record->is_tensor || (list->slot && torch_slot_is_bare(torch, list->slot));
}

static void put_birth(struct torch *torch, struct list *list, const struct torch_record *record)
{
	if (is_segment(torch, list, record))
		put_entry(torch, list, record->is_mapped ? TORCH_SEGMENT_MAP : TORCH_SEGMENT_ALLOC, record);
	if (is_block(torch, list, record))
		put_entry(torch, list, TORCH_ALLOC, record);
}

static void put_death(struct torch *torch, struct list *list, const struct torch_record *record)
{
	if (is_block(torch, list, record)) {
		put_entry(torch, list, TORCH_FREE_REQUESTED, record);
		put_entry(torch, list, TORCH_FREE_COMPLETED, record);
	}
	if (is_segment(torch, list, record))
		put_entry(torch, list, record->is_mapped ? TORCH_SEGMENT_UNMAP : TORCH_SEGMENT_FREE, record);
}

/*
 * The failed request of a record. NULL: a refusal of the driver, which gets no entry because requests for tensors
 * failed.
 */
static const struct analysis_oom *find_failure(const struct torch *torch, const struct torch_record *record)
{
	const struct analysis_oom *oom = &torch->run->analysis.oom[record->site];

	return oom->kind == MT_TENSOR_OOM || !torch->has_tensor_ooms ? oom : NULL;
}

static void put_failure(struct torch *torch, struct list *list, const struct torch_record *record)
{
	const struct analysis_oom *oom = find_failure(torch, record);
	struct torch_record told = *record;

	if (!oom)
		return;
	told.addr = oom->free > 0 ? (uint64_t)oom->free : 0; /* known only after a later sample */
	put_entry(torch, list, TORCH_OOM, &told);
}

/* Number of entries for a record. */
static uint32_t entries_of(const struct torch *torch, const struct list *list, const struct torch_record *record)
{
	if (record->event == TORCH_FAILED)
		return find_failure(torch, record) != NULL;
	if (record->event == TORCH_MARK)
		return 1;
	return (uint32_t)(is_segment(torch, list, record) +
			  is_block(torch, list, record) * (record->event == TORCH_BIRTH ? 1 : 2));
}

static void count_record(struct torch *torch, const struct torch_record *record, void *context)
{
	struct list *list = context;

	list->entries += entries_of(torch, list, record);
}

/* Writes the entries of a record. The oldest records are left out until the viewer can take the others. */
static void put_record(struct torch *torch, const struct torch_record *record, void *context)
{
	struct list *list = context;

	if (list->entries > TORCH_SHOWN && !torch->run->options->full) {
		list->entries -= entries_of(torch, list, record);
		list->skipped++;
		return;
	}
	if (export_out_failed(torch->out))
		torch_fail(torch, -MT_E_SYSTEM);
	torch->run->written++;
	if (record->event == TORCH_BIRTH)
		put_birth(torch, list, record);
	else if (record->event == TORCH_DEATH)
		put_death(torch, list, record);
	else if (record->event == TORCH_FAILED)
		put_failure(torch, list, record);
	else
		put_entry(torch, list, TORCH_SNAPSHOT, record);
}

/* Adds an entry with the category "unknown" if categories are in use without it: the viewer needs one such entry. */
static void put_unknown(struct torch *torch, struct list *list)
{
	if (!torch->memo.has_category || torch->memo.has_unknown)
		return;
	begin_entry(torch, list);
	torch_key_word(torch, TORCH_ACTION, TORCH_SNAPSHOT);
	torch_key_int(torch, TORCH_ADDR, 0);
	torch_key_int(torch, TORCH_SIZE, 0);
	torch_key_int(torch, TORCH_STREAM, 0);
	torch_key_word(torch, TORCH_CATEGORY, TORCH_UNKNOWN);
	torch_write_dict_end(torch->out);
}

void torch_entries(struct torch *torch, struct torch_slot *slot, int is_last)
{
	struct torch_log *log = slot ? &slot->log : &torch->host;
	struct list list = { .slot = slot };

	torch_log_each(torch, log, count_record, &list);
	torch_write_list(torch->out);
	torch->run->left_out += torch_log_each(torch, log, put_record, &list) + list.skipped;
	if (is_last)
		put_unknown(torch, &list);
	torch_write_list_end(torch->out);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static void put_range(struct torch *torch, const struct torch_record *record, void *context)
{
	const struct analysis_process *process = &torch->run->analysis.process[record->process];

	torch->run->written++;
	begin_entry(torch, context);
	torch_key_word(torch, TORCH_STAGE, record->event == TORCH_RANGE_START ? TORCH_START : TORCH_END);
	torch_word(torch, TORCH_NAME);
	torch_text(torch, mt_defs_string(process->defs, record->site));
	torch_key_int(torch, TORCH_DEVICE, 0);
	torch_key_int(torch, TORCH_TIME, time_of(torch, record->process, record->time));
	torch_write_dict_end(torch->out);
}

void torch_range_entries(struct torch *torch)
{
	struct list list = { 0 };

	torch_write_list(torch->out);
	torch->run->left_out += torch_log_each(torch, &torch->ranges, put_range, &list);
	torch_write_list_end(torch->out);
}
