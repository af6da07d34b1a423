/* torch_event.c - makes the records of the logs from the events of the pass, and keeps the things alive at its end. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "torch.h"

#define BLOCK_MIN 512u /* bytes; sizes of PyTorch's blocks are multiples of it */
#define OPEN_MAX 4096u /* largest number of open ranges */

/* ---- handles of physical memory ---------------------------------------------------------------------------------- */

static size_t place_of(const struct torch *torch, uint32_t process, uint64_t handle)
{
	size_t at = (handle * 0x9e3779b97f4a7c15ull ^ process * 0xff51afd7ed558ccdull) >> 20;

	for (at &= torch->handle_room - 1; torch->handle[at].site; at = (at + 1) & (torch->handle_room - 1))
		if (torch->handle[at].handle == handle && torch->handle[at].process == process)
			break;
	return at;
}

static int handle_room(struct torch *torch)
{
	struct torch_handle *older = torch->handle;
	size_t room = torch->handle_room, i;

	if (torch->handles * 2 < room)
		return 0;
	torch->handle_room = room ? 2 * room : 1024;
	torch->handle = calloc(torch->handle_room, sizeof(*torch->handle));
	if (!torch->handle) {
		torch->handle = older;
		torch->handle_room = room;
		return -MT_E_MEMORY;
	}
	for (i = 0; i < room; i++)
		if (older[i].site)
			torch->handle[place_of(torch, older[i].process, older[i].handle)] = older[i];
	free(older);
	return 0;
}

static void add_handle(struct torch *torch, uint32_t process, const struct mt_live *live)
{
	size_t at;

	torch_fail(torch, handle_room(torch));
	if (torch->error || !live->tag)
		return;
	at = place_of(torch, process, live->handle);
	torch->handles += !torch->handle[at].site;
	torch->handle[at] = (struct torch_handle){ live->handle, process, live->device, (uint32_t)live->tag };
}

/* Removes a handle. Later handles of the same run of slots move into the hole, so that searches still find them. */
static void remove_handle(struct torch *torch, uint32_t process, uint64_t handle)
{
	size_t hole, at, mask = torch->handle_room - 1;
	struct torch_handle moved;

	if (!torch->handle_room)
		return;
	hole = place_of(torch, process, handle);
	if (!torch->handle[hole].site)
		return;
	torch->handle[hole].site = 0;
	torch->handles--;
	for (at = (hole + 1) & mask; torch->handle[at].site; at = (at + 1) & mask) {
		moved = torch->handle[at];
		torch->handle[at].site = 0;
		torch->handle[place_of(torch, moved.process, moved.handle)] = moved;
	}
}

/* ---- things ------------------------------------------------------------------------------------------------------ */

/* Describes a live thing for a snapshot. 0: a snapshot has no such things. */
static int describe(struct torch *torch, uint32_t process, const struct mt_live *live, struct torch_thing *thing)
{
	const struct torch_handle *handle;
	uint64_t site = live->tag;
	uint32_t device = live->device;
	struct torch_slot *slot;

	*thing = (struct torch_thing){
		.addr = live->addr, .size = live->size, .stack = live->stack, .thread = live->thread, .process = process
	};
	thing->is_tensor = live->kind == MT_TENSOR_ALLOC;
	thing->is_mapped = live->kind == MT_VMM_MAP;
	if (live->kind == MT_VMM_CREATE || !live->addr || !live->size)
		return 0;
	if (live->kind == MT_DRIVER_ALLOC &&
	    (live->flags == MT_SPACE_HOST || live->flags == MT_SPACE_IMPORTED || live->flags == MT_SPACE_MULTICAST))
		return 0;
	thing->is_host = live->kind == MT_DRIVER_ALLOC && live->flags == MT_SPACE_PINNED;
	if (thing->is_host)
		return 1;
	if (thing->is_mapped) {
		handle = torch->handle_room ? &torch->handle[place_of(torch, process, live->handle)] : NULL;
		if (!handle || !handle->site)
			return 0;
		site = handle->site;
		device = handle->device;
	}
	thing->site = site <= UINT32_MAX ? (uint32_t)site : 0;
	slot = torch_slot_of(torch, process, device);
	if (slot && site && site < torch->run->analysis.attribution.sites)
		slot->run_device = torch->run->analysis.attribution.site[site].key.device;
	thing->slot = slot ? (uint32_t)(slot - torch->slot) : 0;
	return slot != NULL;
}

/* Keeps the bytes of a tensor's block, if they are not the tensor's size rounded up to BLOCK_MIN. */
static void note_block(struct torch *torch, uint32_t process, const struct mt_live *live, uint64_t bytes)
{
	const struct tuple key = { { process, live->addr } };
	uint32_t number = tuple_find(&torch->block, &key);

	if (bytes <= live->size || bytes == (live->size + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN)
		return;
	if (number == TUPLE_NONE) {
		number = (uint32_t)torch->block_count;
		torch_fail(torch, export_grow(&torch->blocks, number, &torch->block_room, sizeof(*torch->blocks)));
		if (!torch->error)
			torch_fail(torch, tuple_add(&torch->block, &key, number));
		torch->block_count += !torch->error;
	}
	if (!torch->error)
		torch->blocks[number] = (struct torch_block){ live->seq, bytes };
}

static uint64_t block_of(const struct torch *torch, uint32_t process, const struct mt_live *live)
{
	const struct tuple key = { { process, live->addr } };
	uint32_t number = tuple_find(&torch->block, &key);

	return number != TUPLE_NONE && torch->blocks[number].birth == live->seq ? torch->blocks[number].bytes : 0;
}

/* Each event has the sum of all blocks. Its difference to the sum before is the block of the new tensor. */
static void follow_blocks(struct torch *torch, uint32_t process, const struct mt_live *live,
			  const struct mt_event *event)
{
	struct torch_slot *slot = torch_slot_of(torch, process, live->device);

	if (!slot || !(event->flags & MT_FLAG_REQUESTED))
		return;
	if (event->kind == MT_LIVE) {
		note_block(torch, process, live, event->handle);
		slot->blocks += event->handle;
		return;
	}
	if (event->kind == MT_TENSOR_ALLOC && event->total > slot->blocks)
		note_block(torch, process, live, event->total - slot->blocks);
	slot->blocks = event->total;
}

static int64_t run_time(const struct torch *torch, uint32_t process, uint64_t time)
{
	return analysis_time(&torch->run->analysis.process[process], time);
}

/* ---- births and deaths ------------------------------------------------------------------------------------------- */

static struct torch_record record_of(enum torch_event event, const struct torch_thing *thing)
{
	return (struct torch_record){ .addr = thing->addr,
				      .size = thing->size,
				      .process = thing->process,
				      .stack = thing->stack,
				      .thread = thing->thread,
				      .site = thing->site,
				      .event = (uint8_t)event,
				      .is_tensor = thing->is_tensor,
				      .is_mapped = thing->is_mapped };
}

/*
 * 1: the mapped piece may belong to the newest record. The allocator requests all memory of a call and then maps it
 * piece by piece; a snapshot has one entry for the call. An imported snapshot has one entry for the call already.
 */
static int is_of_one_call(const struct torch *torch, const struct torch_slot *slot, const struct torch_record *record)
{
	return !torch->run->analysis.process[record->process].info->snapshot &&
	       (record->event == TORCH_DEATH || slot->is_mapping);
}

static void add_thing(struct torch *torch, const struct torch_thing *thing, const struct torch_record *record)
{
	struct torch_slot *slot = thing->is_host ? NULL : &torch->slot[thing->slot];

	if (slot && thing->is_mapped && is_of_one_call(torch, slot, record))
		torch_log_join(torch, &slot->log, record);
	else
		torch_log_add(torch, slot ? &slot->log : &torch->host, record);
	if (slot && thing->is_mapped && record->event == TORCH_BIRTH)
		slot->is_mapping = 1;
}

static void add_birth(struct torch *torch, const struct torch_thing *thing, const struct mt_live *live)
{
	struct torch_record record = record_of(TORCH_BIRTH, thing);

	record.time = live->time;
	record.step = live->step;
	record.phase = (uint8_t)live->phase;
	add_thing(torch, thing, &record);
}

static void add_memory(struct torch *torch, uint32_t process, const struct mt_live *live)
{
	struct torch_slot *slot = torch_slot_of(torch, process, live->device);

	add_handle(torch, process, live);
	if (slot)
		slot->is_mapping = 0;
}

/* Memory of a checkpoint is older than the trace, so its birth has no entry. */
static int born(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct torch *torch = context;
	struct torch_thing thing;
	int64_t time = run_time(torch, process, live->time);

	if (live->kind == MT_VMM_CREATE)
		add_memory(torch, process, live);
	if (live->kind == MT_TENSOR_ALLOC)
		follow_blocks(torch, process, live, event);
	if (event->kind == MT_LIVE || time < torch->range.first || time > torch->range.last)
		return torch->error;
	if (describe(torch, process, live, &thing))
		add_birth(torch, &thing, live);
	return torch->error;
}

/* Adds a death. Its stack is that of the free; 0 if another event ended the life. */
static void add_death(struct torch *torch, const struct torch_thing *thing, const struct mt_event *event)
{
	int is_free = event->kind == MT_TENSOR_FREE || event->kind == MT_DRIVER_FREE || event->kind == MT_VMM_UNMAP;
	struct torch_record record = record_of(TORCH_DEATH, thing);

	record.time = event->time;
	record.stack = is_free && event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0;
	record.thread = event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0;
	add_thing(torch, thing, &record);
}

static void keep_thing(struct torch *torch, uint32_t process, const struct mt_live *live, struct torch_thing *thing)
{
	thing->block = thing->is_tensor ? block_of(torch, process, live) : 0;
	torch_fail(torch, export_grow(&torch->thing, torch->things, &torch->thing_room, sizeof(*torch->thing)));
	if (!torch->error)
		torch->thing[torch->things++] = *thing;
}

/* Keeps a thing that is alive at the end of the range, or adds its death. */
static int died(struct torch *torch, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct torch_thing thing;
	int64_t birth = run_time(torch, process, live->time),
		death = event ? run_time(torch, process, event->time) : INT64_MAX;

	if (live->kind == MT_TENSOR_ALLOC && event && event->kind == MT_TENSOR_FREE)
		follow_blocks(torch, process, live, event);
	if (birth <= torch->range.last && death >= torch->range.first && describe(torch, process, live, &thing)) {
		if (!event || death > torch->range.last)
			keep_thing(torch, process, live, &thing);
		else
			add_death(torch, &thing, event);
	}
	if (live->kind == MT_VMM_CREATE && event)
		remove_handle(torch, process, live->handle);
	return torch->error;
}

static int gone(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		uint32_t step)
{
	(void)step;
	return died(context, process, live, event);
}

static int unmapped(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	return died(context, process, live, event);
}

/* ---- failed requests --------------------------------------------------------------------------------------------- */

static void reached(void *context, uint32_t device, int oom)
{
	struct torch *torch = context;
	const struct analysis *analysis = &torch->run->analysis;
	const struct analysis_oom *it = oom && analysis->ooms ? &analysis->oom[analysis->ooms - 1] : NULL;
	struct torch_record record;
	struct torch_slot *slot;

	if (!it || analysis->oom_count != analysis->ooms || it->device != device || it->time < torch->range.first ||
	    it->time > torch->range.last)
		return;
	slot = torch_slot_run(torch, it->process, device);
	record = (struct torch_record){ .size = it->requested,
					.time = (uint64_t)(it->time + analysis->process[it->process].origin),
					.process = it->process,
					.stack = it->stack,
					.site = analysis->ooms - 1,
					.event = TORCH_FAILED };
	if (slot)
		torch_log_add(torch, &slot->log, &record);
}

/* ---- ranges and marks -------------------------------------------------------------------------------------------- */

static void add_range(struct torch *torch, const struct torch_range *range, enum torch_event event, uint64_t time)
{
	const struct torch_record record = {
		.time = time, .process = range->process, .site = range->name, .event = (uint8_t)event
	};

	if (!(torch->run->analysis.process[range->process].info->snapshot & MT_SNAPSHOT_NO_TIMES))
		torch_log_add(torch, &torch->ranges, &record);
}

static void push_range(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	const struct torch_range range = { .process = process,
					   .thread = (uint32_t)event->thread,
					   .name = (uint32_t)event->name,
					   .domain = event->value };

	if (torch->opens == OPEN_MAX)
		return;
	torch_fail(torch, export_grow(&torch->open, torch->opens, &torch->open_room, sizeof(*torch->open)));
	if (torch->error)
		return;
	torch->open[torch->opens++] = range;
	add_range(torch, &range, TORCH_RANGE_START, event->time);
}

/* Closes the newest open range of the event's thread and domain. */
static void pop_range(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	size_t at = torch->opens;
	const struct torch_range *range;

	while (at--) {
		range = &torch->open[at];
		if (range->process != process || range->thread != event->thread || range->domain != event->value)
			continue;
		add_range(torch, range, TORCH_RANGE_END, event->time);
		torch->opens--;
		memmove(&torch->open[at], &torch->open[at + 1], (torch->opens - at) * sizeof(*torch->open));
		return;
	}
}

/* Adds an entry for the mark "snapshot", which an import makes of a snapshot's entry of this name. */
static void add_mark(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	const struct analysis_process *from = &torch->run->analysis.process[process];
	const struct torch_record record = { .time = event->time, .process = process, .event = TORCH_MARK };
	struct torch_slot *slot = torch_slot_any(torch, process);

	if (slot && from->info->snapshot && !strcmp(mt_defs_string(from->defs, (uint32_t)event->name), "snapshot"))
		torch_log_add(torch, &slot->log, &record);
}

static int named(void *context, uint32_t process, const struct mt_event *event)
{
	struct torch *torch = context;
	int64_t time = run_time(torch, process, event->time);

	if (time < torch->range.first || time > torch->range.last)
		return 0;
	if (event->kind == MT_RANGE_PUSH)
		push_range(torch, process, event);
	else if (event->kind == MT_RANGE_POP)
		pop_range(torch, process, event);
	else
		add_mark(torch, process, event);
	return torch->error;
}

struct analysis_sink torch_sink(struct torch *torch)
{
	return (struct analysis_sink){
		.context = torch, .born = born, .gone = gone, .unmapped = unmapped, .reached = reached, .named = named
	};
}
