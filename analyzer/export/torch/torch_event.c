/* Births, deaths, failed requests and ranges of the program as the entries of a snapshot. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "torch.h"

#define BLOCK_MIN 512u /* bytes: PyTorch's blocks are a multiple */
#define OPEN_MAX 4096u /* ranges at once */

int64_t torch_time(const struct torch *torch, uint32_t process, uint64_t event_time)
{
	const struct mt_process *info = torch->run->analysis.process[process].info;

	return (int64_t)(info->start_realtime + (event_time - info->start_monotonic)) / 1000;
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

/* The fields of an entry. */
struct entry {
	enum torch_word action;
	uint64_t addr, size, time; /* time: the event's */
	uint32_t stack, thread;
	const struct mt_live *live; /* with its phase and step; NULL: none, */
	uint32_t site;              /* and its category */
};

static int is_autograd(const struct mt_defs *defs, uint32_t id)
{
	const struct mt_thread *thread = mt_defs_thread(defs, id);

	return thread && thread->flags & MT_THREAD_AUTOGRAD;
}

/* A recording of Python's frames finds none on autograd's threads: the list is empty there, and not absent. */
static void put_frames(struct torch *torch, struct torch_list *list, uint32_t process, const struct entry *entry)
{
	if (!entry->stack && !is_autograd(torch->run->analysis.process[process].defs, entry->thread))
		return;
	torch_word(list, TORCH_FRAMES);
	torch_stack(torch, list, process, entry->stack);
}

static void put_meaning(struct torch *torch, struct torch_list *list, const struct mt_live *live, uint32_t site)
{
	uint8_t category = site < torch->sites ? torch->category[site] : MT_CATEGORY_OTHER;
	char text[96];

	torch_word(list, TORCH_CATEGORY);
	if (category == MT_CATEGORY_OTHER)
		torch_word(list, TORCH_UNKNOWN);
	else
		torch_text(torch, list, mt_category_name(category));
	list->has_category = 1;
	list->has_unknown |= category == MT_CATEGORY_OTHER;
	snprintf(text, sizeof(text), "phase %s, step %" PRIu32, mt_phase_name(live->phase), live->step);
	torch_word(list, TORCH_METADATA);
	torch_text(torch, list, text);
}

static void put_entry(struct torch *torch, struct torch_list *list, uint32_t process, const struct entry *entry)
{
	const struct mt_process *info = torch->run->analysis.process[process].info;

	torch_write_item(list->out, &list->items);
	torch_write_dict(list->out);
	torch_key_word(list, TORCH_ACTION, entry->action);
	torch_key_int(list, entry->action == TORCH_OOM ? TORCH_DEVICE_FREE : TORCH_ADDR, (int64_t)entry->addr);
	torch_key_int(list, TORCH_SIZE, (int64_t)entry->size);
	torch_key_int(list, TORCH_STREAM, 0);
	if (!(info->snapshot & MT_SNAPSHOT_NO_TIMES))
		torch_key_int(list, TORCH_TIME, torch_time(torch, process, entry->time));
	put_frames(torch, list, process, entry);
	if (entry->live)
		put_meaning(torch, list, entry->live, entry->site);
	torch_write_dict_end(list->out);
	torch->run->written++;
}

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

/* Those behind it move up, so that no place of theirs is passed over. */
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

static int is_cut(const struct torch *torch, uint64_t site)
{
	return site < torch->sites && torch->is_cut[site];
}

/* A live thing in words of a snapshot. 0: snapshots have no such things. */
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
	thing->is_filled = !thing->is_tensor && !live->tensors_seen && !is_cut(torch, site);
	slot = torch_slot_of(torch, process, device);
	if (slot && site && site < torch->second.attribution.sites)
		slot->run_device = torch->second.attribution.site[site].key.device;
	thing->slot = slot ? (uint32_t)(slot - torch->slot) : 0;
	return slot != NULL;
}

/* Bytes of the block of a tensor whose size is that asked for; 0: not known. */
static void note_block(struct torch *torch, uint32_t process, const struct mt_live *live, uint64_t bytes)
{
	const struct tuple key = { { process, live->addr, live->seq } };

	if (bytes <= live->size || bytes == (live->size + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN)
		return;
	if (tuple_find(&torch->block, &key) != TUPLE_NONE)
		return;
	torch_fail(torch, torch_grow(&torch->block_bytes, torch->blocks, &torch->block_room, sizeof(uint64_t)));
	if (!torch->error)
		torch_fail(torch, tuple_add(&torch->block, &key, (uint32_t)torch->blocks));
	if (!torch->error)
		torch->block_bytes[torch->blocks++] = bytes;
}

static uint64_t block_of(const struct torch *torch, uint32_t process, const struct mt_live *live)
{
	const struct tuple key = { { process, live->addr, live->seq } };
	uint32_t number = tuple_find(&torch->block, &key);

	return number == TUPLE_NONE ? 0 : torch->block_bytes[number];
}

/* The sum of the blocks, as the newest event has it, tells the block of a tensor. */
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
	return analysis_time(&torch->second.process[process], time);
}

/* ---- births and deaths ------------------------------------------------------------------------------------------- */

static void put_birth(struct torch *torch, const struct torch_thing *thing, const struct mt_live *live)
{
	const struct torch_slot *slot = thing->is_host ? NULL : &torch->slot[thing->slot];
	struct torch_list *list = thing->is_host ? &torch->host : &torch->slot[thing->slot].list;
	struct entry entry = { .action = thing->is_mapped ? TORCH_SEGMENT_MAP : TORCH_SEGMENT_ALLOC,
			       .addr = thing->addr,
			       .size = thing->size,
			       .time = live->time,
			       .stack = thing->stack,
			       .thread = thing->thread };

	if (!thing->is_tensor || (slot && slot->is_bare))
		put_entry(torch, list, thing->process, &entry);
	entry.action = TORCH_ALLOC;
	entry.live = live;
	entry.site = thing->site;
	if (thing->is_tensor || thing->is_filled)
		put_entry(torch, list, thing->process, &entry);
}

/* Memory out of a checkpoint came before: a snapshot has no entry for its birth. */
static int born(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	struct torch *torch = context;
	struct torch_thing thing;
	int64_t time = run_time(torch, process, live->time);

	if (live->kind == MT_VMM_CREATE)
		add_handle(torch, process, live);
	if (live->kind == MT_TENSOR_ALLOC)
		follow_blocks(torch, process, live, event);
	if (event->kind == MT_LIVE || time < torch->range.first || time > torch->range.last)
		return torch->error;
	if (describe(torch, process, live, &thing))
		put_birth(torch, &thing, live);
	return torch->error ? torch->error : export_out_failed(torch->out) ? -MT_E_SYSTEM : 0;
}

/* The stack is the free's where the event is one. */
static void put_death(struct torch *torch, const struct torch_thing *thing, const struct mt_event *event)
{
	const struct torch_slot *slot = thing->is_host ? NULL : &torch->slot[thing->slot];
	struct torch_list *list = thing->is_host ? &torch->host : &torch->slot[thing->slot].list;
	int is_free = event->kind == MT_TENSOR_FREE || event->kind == MT_DRIVER_FREE || event->kind == MT_VMM_UNMAP;
	struct entry entry = { .action = TORCH_FREE_REQUESTED,
			       .addr = thing->addr,
			       .size = thing->size,
			       .time = event->time,
			       .stack = is_free && event->stack <= UINT32_MAX ? (uint32_t)event->stack : 0,
			       .thread = event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0 };

	if (thing->is_tensor || thing->is_filled) {
		put_entry(torch, list, thing->process, &entry);
		entry.action = TORCH_FREE_COMPLETED;
		put_entry(torch, list, thing->process, &entry);
	}
	entry.action = thing->is_mapped ? TORCH_SEGMENT_UNMAP : TORCH_SEGMENT_FREE;
	if (!thing->is_tensor || (slot && slot->is_bare))
		put_entry(torch, list, thing->process, &entry);
}

static void keep_thing(struct torch *torch, uint32_t process, const struct mt_live *live, struct torch_thing *thing)
{
	thing->block = thing->is_tensor ? block_of(torch, process, live) : 0;
	torch_fail(torch, torch_grow(&torch->thing, torch->things, &torch->thing_room, sizeof(*torch->thing)));
	if (!torch->error)
		torch->thing[torch->things++] = *thing;
}

/* Things that live beyond the range are its end. */
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
			put_death(torch, &thing, event);
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
	const struct analysis *first = &torch->run->analysis; /* knows what was free: samples come later */
	uint32_t number = torch->second.ooms;
	const struct analysis_oom *it = oom && number && number <= first->ooms ? &first->oom[number - 1] : NULL;
	struct torch_slot *slot;
	struct entry entry;

	if (!it || torch->second.oom_count != torch->second.ooms || it->device != device ||
	    it->time < torch->range.first || it->time > torch->range.last ||
	    (it->kind != MT_TENSOR_OOM && torch->has_tensor_ooms))
		return;
	slot = torch_slot_run(torch, it->process, device);
	entry = (struct entry){ .action = TORCH_OOM,
				.addr = it->free > 0 ? (uint64_t)it->free : 0,
				.size = it->requested,
				.time = (uint64_t)(it->time + torch->second.process[it->process].origin),
				.stack = it->stack };
	if (slot)
		put_entry(torch, &slot->list, slot->process, &entry);
}

/* ---- ranges and marks -------------------------------------------------------------------------------------------- */

static void put_range(struct torch *torch, const struct torch_range *range, enum torch_word stage, uint64_t time)
{
	const struct analysis_process *process = &torch->run->analysis.process[range->process];
	struct torch_list *list = &torch->ranges;

	if (process->info->snapshot & MT_SNAPSHOT_NO_TIMES)
		return;
	torch_write_item(list->out, &list->items);
	torch_write_dict(list->out);
	torch_key_word(list, TORCH_STAGE, stage);
	torch_word(list, TORCH_NAME);
	torch_text(torch, list, mt_defs_string(process->defs, range->name));
	torch_key_int(list, TORCH_DEVICE, 0);
	torch_key_int(list, TORCH_TIME, torch_time(torch, range->process, time));
	torch_write_dict_end(list->out);
}

static void push_range(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	const struct torch_range range = { .process = process,
					   .thread = (uint32_t)event->thread,
					   .name = (uint32_t)event->name,
					   .domain = event->value };

	if (torch->opens == OPEN_MAX)
		return;
	torch_fail(torch, torch_grow(&torch->open, torch->opens, &torch->open_room, sizeof(*torch->open)));
	if (torch->error)
		return;
	torch->open[torch->opens++] = range;
	put_range(torch, &range, TORCH_START, event->time);
}

/* The newest range of the thread and the domain. */
static void pop_range(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	size_t at = torch->opens;
	const struct torch_range *range;

	while (at--) {
		range = &torch->open[at];
		if (range->process != process || range->thread != event->thread || range->domain != event->value)
			continue;
		put_range(torch, range, TORCH_END, event->time);
		torch->opens--;
		memmove(&torch->open[at], &torch->open[at + 1], (torch->opens - at) * sizeof(*torch->open));
		return;
	}
}

/* "snapshot": what an imported snapshot's entry of that name has become. */
static void put_mark(struct torch *torch, uint32_t process, const struct mt_event *event)
{
	const struct analysis_process *from = &torch->run->analysis.process[process];
	struct entry entry = { .action = TORCH_SNAPSHOT, .time = event->time };
	struct torch_slot *slot = torch_slot_any(torch, process);

	if (slot && from->info->snapshot && !strcmp(mt_defs_string(from->defs, (uint32_t)event->name), "snapshot"))
		put_entry(torch, &slot->list, slot->process, &entry);
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
		put_mark(torch, process, event);
	return torch->error;
}

void torch_slot_end(struct torch *torch, struct torch_slot *slot)
{
	struct torch_list *list = &slot->list;
	size_t i;

	for (i = 0; i < torch->slots && !torch->slot[i].list.has_category; i++)
		;
	if (i == torch->slots)
		return;
	for (i = 0; i < torch->slots; i++)
		if (torch->slot[i].list.has_unknown)
			return;
	torch_write_item(list->out, &list->items);
	torch_write_dict(list->out);
	torch_key_word(list, TORCH_ACTION, TORCH_SNAPSHOT);
	torch_key_int(list, TORCH_ADDR, 0);
	torch_key_int(list, TORCH_SIZE, 0);
	torch_key_int(list, TORCH_STREAM, 0);
	torch_key_word(list, TORCH_CATEGORY, TORCH_UNKNOWN);
	torch_write_dict_end(list->out);
}

struct analysis_sink torch_sink(struct torch *torch)
{
	return (struct analysis_sink){
		.context = torch, .born = born, .gone = gone, .unmapped = unmapped, .reached = reached, .named = named
	};
}
