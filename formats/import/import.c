#include "memtrace/import.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/addrmap.h"
#include "import_impl.h"
#include "memtrace/error.h"
#include "ring/emitter.h"

#define BLOCK_MIN 512u           /* bytes: the size of a PyTorch block is a multiple of this */
#define RANGES_MAX 256u          /* largest number of open ranges */
#define SETTINGS_MAX 4096u       /* bytes of the allocator's settings */
#define NO_TIME_STEP 1000u       /* ns between two events of a snapshot without times */
#define ENTRY_cuMemAlloc_v2 243u /* id of the call in CUPTI's callbacks for the driver */
#define ENTRY_cuMemFree_v2 245u
#define ENTRY_cuMemCreate 549u
#define ENTRY_cuMemGetInfo_v2 242u
#define ENTRY_cuMemFreeHost 38u
#define ENTRY_cuMemHostAlloc 39u

/* An address at which an unmapped range begins or ends. */
struct cut {
	uint64_t addr;
	uint8_t device;
};

struct import {
	const struct pickle *pickle;
	struct mt_emitter *emitter;
	struct import_stacks stacks;
	struct mt_import_summary *summary;
	uint32_t device[IMPORT_DEVICES]; /* definitions; 0: not made yet */
	uint64_t number;                 /* number of the newest event */
	uint64_t time;
	uint64_t handles;         /* number of handles given to pieces of expandable segments */
	struct import_device {    /* one for each device of PyTorch's allocator */
		uint64_t bytes;   /* bytes of the device's blocks in use */
		uint64_t rounded; /* number of blocks whose size is a lower bound */
	} blocks[IMPORT_DEVICES];
	struct addrmap block; /* blocks in use, by device and address: bytes * 2, plus 1 if the size is a lower bound */
	int before;           /* 1: the current blocks are from before the snapshot's history */
	pickle_id range[RANGES_MAX]; /* names of the open ranges */
	uint32_t ranges;
	struct cut *cut; /* sorted by device and address */
	size_t cuts;
};

/* ---- events --------------------------------------------------------------------------------------------------- */

static uint32_t device_id(struct import *import, uint32_t index)
{
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .index = index };

	if (!import->device[index])
		import->device[index] = mt_defs_add_device(mt_emitter_defs(import->emitter), &device);
	return import->device[index];
}

static int emit(struct import *import, struct mt_event *event)
{
	event->time = import->time;
	import->number++;
	if (import->before)
		return mt_emitter_before(import->emitter, import->number, event);
	return mt_emitter_event(import->emitter, import->number, event);
}

/* Makes a memory event with the stack of `frames`. */
static struct mt_event about(struct import *import, enum mt_kind kind, uint32_t device, pickle_id frames)
{
	struct mt_event event = { .kind = kind };
	uint32_t node, thread;

	import_stacks_look(&import->stacks, frames, &node, &thread);
	event.stack = node;
	event.thread = thread;
	event.device = device_id(import, device);
	return event;
}

static uint64_t block_key(uint32_t device, uint64_t addr)
{
	return (uint64_t)device << 58 ^ addr;
}

static void give_back(struct import *import, uint32_t device, uint64_t addr)
{
	uintptr_t known = (uintptr_t)addrmap_remove(&import->block, block_key(device, addr));

	import->blocks[device].bytes -= known / 2;
	import->blocks[device].rounded -= known & 1;
}

/*
 * Adds the bytes of a block. PyTorch rounds sizes up to 512 bytes or more (roundup_power2_divisions), and keeps a rest that is too small to split
 * off. If the snapshot does not have the block, the rounded size is a lower bound.
 */
static int take_block(struct import *import, const struct import_thing *block)
{
	uint64_t rounded = block->size > UINT64_MAX / 4 ? block->size
							: (block->size + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN;
	uint64_t bytes = block->block ? block->block : rounded;

	if (bytes > UINT64_MAX / 4)
		return -MT_E_LIMIT;
	if (addrmap_reserve(&import->block))
		return -MT_E_MEMORY;
	give_back(import, block->device,
		  block->addr); /* the snapshot lacks the free of an older block at this address */
	addrmap_put(&import->block, block_key(block->device, block->addr),
		    (void *)(uintptr_t)(bytes * 2 + !block->block));
	import->blocks[block->device].bytes += bytes;
	import->blocks[block->device].rounded += !block->block;
	return 0;
}

static void set_blocks(const struct import *import, struct mt_event *event, uint32_t device)
{
	event->total = import->blocks[device].bytes;
	event->flags = MT_FLAG_NO_TOTAL | MT_FLAG_REQUESTED | (import->blocks[device].rounded ? MT_FLAG_AT_LEAST : 0u);
}

static int emit_block(struct import *import, const struct import_thing *block)
{
	struct mt_event event = about(import, MT_TENSOR_ALLOC, block->device, block->frames);
	uint64_t bytes = import->blocks[block->device].bytes;
	int error = take_block(import, block);

	if (error)
		return error;
	event.addr = block->addr;
	event.size = block->size;
	set_blocks(import, &event, block->device);
	if (import->before)
		event.handle = import->blocks[block->device].bytes - bytes;
	return emit(import, &event);
}

static int emit_segment(struct import *import, const struct import_thing *segment)
{
	struct mt_event event = about(import, MT_DRIVER_ALLOC, segment->device, segment->frames);

	event.addr = segment->addr;
	event.size = segment->size;
	event.reserved = 1; /* memory of the caching allocator, also if no tensor was in it */
	event.entry = ENTRY_cuMemAlloc_v2;
	event.flags = MT_SPACE_DEVICE;
	return emit(import, &event);
}

/* Emits pinned memory. It belongs to no device. */
static int emit_host(struct import *import, const struct import_thing *memory, int is_gone)
{
	struct mt_event event = { .kind = is_gone ? MT_DRIVER_FREE : MT_DRIVER_ALLOC,
				  .addr = memory->addr,
				  .entry = is_gone ? ENTRY_cuMemFreeHost : ENTRY_cuMemHostAlloc };
	uint32_t node, thread;

	if (!memory->addr || (!memory->size && !is_gone))
		return 0;
	import_stacks_look(&import->stacks, memory->frames, &node, &thread);
	event.stack = node;
	event.thread = thread;
	if (!is_gone) {
		event.size = memory->size;
		event.flags = MT_SPACE_PINNED;
	}
	return emit(import, &event);
}

/* Emits a piece: physical memory that only its mapping keeps. The end of the mapping frees the piece. */
static int emit_piece(struct import *import, const struct import_thing *piece)
{
	struct mt_event create = about(import, MT_VMM_CREATE, piece->device, piece->frames), map = create, release;
	int error;

	create.handle = map.handle = ++import->handles;
	create.size = map.size = piece->size;
	create.reserved = 1; /* as in emit_segment */
	create.entry = ENTRY_cuMemCreate;
	create.flags = MT_SPACE_DEVICE;
	map.kind = MT_VMM_MAP;
	map.addr = piece->addr;
	map.device = 0;
	release = (struct mt_event){
		.kind = MT_VMM_RELEASE, .thread = create.thread, .stack = create.stack, .handle = create.handle
	};
	error = emit(import, &create);
	if (!error)
		error = emit(import, &map);
	return error ? error : emit(import, &release);
}

static int by_address(const void *a, const void *b)
{
	const struct cut *one = a, *two = b;

	if (one->device != two->device)
		return one->device < two->device ? -1 : 1;
	return (one->addr > two->addr) - (one->addr < two->addr);
}

/* Finds the begin and the end of each unmapped range. These cut mapped memory into pieces. Returns 0 or -MT_E_MEMORY. */
static int find_cuts(struct import *import, const struct import_entries *entries)
{
	const struct import_entry *entry;
	size_t i, count = 0;

	for (i = 0; i < entries->count; i++)
		count += entries->entry[i].action == IMPORT_SEGMENT_UNMAP;
	import->cut = malloc((count ? 2 * count : 1) * sizeof(*import->cut));
	if (!import->cut)
		return -MT_E_MEMORY;
	for (i = 0; i < entries->count; i++) {
		entry = &entries->entry[i];
		if (entry->action != IMPORT_SEGMENT_UNMAP)
			continue;
		import->cut[import->cuts++] = (struct cut){ entry->addr, entry->device };
		import->cut[import->cuts++] = (struct cut){ entry->addr + entry->size, entry->device };
	}
	qsort(import->cut, import->cuts, sizeof(*import->cut), by_address);
	return 0;
}

/* Returns the first cut after `addr`, but at most `end`. */
static uint64_t next_cut(const struct import *import, uint8_t device, uint64_t addr, uint64_t end)
{
	const struct cut after = { addr, device };
	size_t low = 0, high = import->cuts, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (by_address(&import->cut[middle], &after) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < import->cuts && import->cut[low].device == device && import->cut[low].addr < end
		       ? import->cut[low].addr
		       : end;
}

static int emit_pieces(struct import *import, const struct import_thing *range)
{
	uint64_t end = range->addr + range->size < range->addr ? UINT64_MAX : range->addr + range->size;
	struct import_thing piece = *range;
	int error = 0;

	for (; piece.addr < end && !error; piece.addr += piece.size) {
		piece.size = next_cut(import, piece.device, piece.addr, end) - piece.addr;
		error = emit_piece(import, &piece);
	}
	return error;
}

static int emit_gone(struct import *import, enum mt_kind kind, const struct import_entry *entry)
{
	struct mt_event event = about(import, kind, entry->device, entry->frames);

	event.addr = entry->addr;
	if (kind != MT_DRIVER_FREE)
		event.size = entry->size;
	if (kind != MT_TENSOR_FREE)
		event.device = 0;
	if (kind == MT_DRIVER_FREE)
		event.entry = ENTRY_cuMemFree_v2;
	if (kind == MT_TENSOR_FREE) {
		give_back(import, entry->device, entry->addr);
		set_blocks(import, &event, entry->device);
	}
	return emit(import, &event);
}

/* Emits the driver's answer to PyTorch (free bytes), then PyTorch's failure. */
static int emit_oom(struct import *import, const struct import_entry *entry)
{
	struct mt_event asked = about(import, MT_DRIVER_NOTE, entry->device, entry->frames);
	struct mt_event event = about(import, MT_TENSOR_OOM, entry->device, entry->frames);
	int error;

	asked.entry = ENTRY_cuMemGetInfo_v2;
	asked.value = entry->addr;
	event.size = entry->size;
	error = emit(import, &asked);
	return error ? error : emit(import, &event);
}

/* ---- ranges --------------------------------------------------------------------------------------------------- */

static int emit_range(struct import *import, enum mt_kind kind, pickle_id name)
{
	struct mt_event event = { .kind = kind, .thread = import->stacks.main };
	size_t size;
	const char *text = pickle_text(import->pickle, name, &size);

	if (kind == MT_RANGE_PUSH)
		event.name = mt_defs_add_string(mt_emitter_defs(import->emitter), text, size);
	return emit(import, &event);
}

static int same_text(const struct pickle *pickle, pickle_id a, pickle_id b)
{
	size_t a_size, b_size;
	const char *one = pickle_text(pickle, a, &a_size), *two = pickle_text(pickle, b, &b_size);

	return a_size == b_size && !memcmp(one, two, a_size);
}

static int push_range(struct import *import, pickle_id name)
{
	if (import->ranges == RANGES_MAX)
		return 0;
	import->range[import->ranges++] = name;
	return emit_range(import, MT_RANGE_PUSH, name);
}

/* Closes the newest range with this name, and all ranges inside of it that were not closed. */
static int pop_range(struct import *import, pickle_id name)
{
	uint32_t at = import->ranges;
	int error = 0;

	while (at && !same_text(import->pickle, import->range[at - 1], name))
		at--;
	while (at && import->ranges >= at && !error) {
		import->ranges--;
		error = emit_range(import, MT_RANGE_POP, name);
	}
	return error;
}

/* ---- the snapshot --------------------------------------------------------------------------------------------- */

static int take_thing(struct import *import, const struct import_thing *thing)
{
	switch (thing->kind) {
	case IMPORT_SEGMENT:
		return emit_segment(import, thing);
	case IMPORT_PIECE_OF_SEGMENT:
		return emit_piece(import, thing);
	case IMPORT_HOST:
		return emit_host(import, thing, 0);
	default:
		import->summary->alive_before++;
		return emit_block(import, thing);
	}
}

static int take_entry(struct import *import, const struct import_entry *entry)
{
	struct import_thing thing = {
		.addr = entry->addr,
		.size = entry->size,
		.block = entry->block,
		.frames = entry->frames,
		.device = entry->device,
		.kind = IMPORT_BLOCK,
	};
	struct mt_event mark = { .kind = MT_MARK, .thread = import->stacks.main };

	switch ((enum import_action)entry->action) {
	case IMPORT_ALLOC:
		import->summary->allocations++;
		return thing.addr && thing.size ? emit_block(import, &thing) : 0;
	case IMPORT_FREE_COMPLETED:
		import->summary->frees++;
		return emit_gone(import, MT_TENSOR_FREE, entry);
	case IMPORT_SEGMENT_ALLOC:
		return thing.addr && thing.size ? emit_segment(import, &thing) : 0;
	case IMPORT_SEGMENT_FREE:
		return emit_gone(import, MT_DRIVER_FREE, entry);
	case IMPORT_SEGMENT_MAP:
		return emit_pieces(import, &thing);
	case IMPORT_SEGMENT_UNMAP:
		return emit_gone(import, MT_VMM_UNMAP, entry);
	case IMPORT_SNAPSHOT:
		mark.name = mt_defs_add_string(mt_emitter_defs(import->emitter), "snapshot", 8);
		return emit(import, &mark);
	case IMPORT_OOM:
		return emit_oom(import, entry);
	case IMPORT_HOST_ALLOC:
	case IMPORT_HOST_FREE:
		return emit_host(import, &thing, entry->action == IMPORT_HOST_FREE);
	case IMPORT_RANGE_START:
		return push_range(import, entry->name);
	case IMPORT_RANGE_END:
		return pop_range(import, entry->name);
	case IMPORT_FREE_REQUESTED: /* the block lives until the streams that use it have finished */
	case IMPORT_ACTIONS:
		return 0;
	}
	return 0;
}

static int write_events(struct import *import, const struct import_entries *entries, const struct import_start *start)
{
	uint64_t beginning = import->time;
	size_t i;
	int error = find_cuts(import, entries);

	import->before = 1;
	for (i = 0; i < start->count && !error; i++)
		error = take_thing(import, &start->thing[i]);
	import->before = 0;
	for (i = 0; i < entries->count && !error; i++) {
		import->time = entries->has_times ? entries->entry[i].time : beginning + (i + 1) * NO_TIME_STEP;
		if (import->time < beginning)
			import->time = beginning;
		error = take_entry(import, &entries->entry[i]);
	}
	return error;
}

/* Returns the rank in a file name such as "...rank3..." or "...rank_3..."; -1: no rank. */
static int32_t rank_in_name(const char *path)
{
	const char *name = strrchr(path, '/'), *at;

	for (at = strcasestr(name ? name : path, "rank"); at; at = strcasestr(at + 1, "rank")) {
		at += 4;
		if (*at == '_' || *at == '-' || *at == '.')
			at++;
		if (isdigit((unsigned char)*at))
			return (int32_t)strtol(at, NULL, 10);
	}
	return -1;
}

/* Returns the time of the first entry. Times of a snapshot are times of the wall clock. */
static uint64_t first_time(const struct import_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		if (entries->entry[i].time)
			return entries->entry[i].time;
	return 0;
}

static uint32_t kind_of_snapshot(const struct import_entries *entries, const struct import_start *start)
{
	if (!entries->count)
		return MT_SNAPSHOT | MT_SNAPSHOT_NO_HISTORY | MT_SNAPSHOT_NO_TIMES;
	return MT_SNAPSHOT | (entries->has_times ? 0 : MT_SNAPSHOT_NO_TIMES) | (start->cut ? MT_SNAPSHOT_CUT : 0);
}

static void count_host(struct mt_import_summary *summary, const struct pickle *pickle)
{
	pickle_id segments = pickle_get(pickle, pickle_root(pickle), "host_segments");
	uint32_t i;

	summary->host_segments = pickle_count(pickle, segments);
	for (i = 0; i < summary->host_segments; i++)
		summary->host_bytes += (uint64_t)
			pickle_int(pickle, pickle_get(pickle, pickle_item(pickle, segments, i), "total_size"), 0);
}

/* Writes the snapshot's path, and before it the allocator's settings as a command line has them. A setting beyond SETTINGS_MAX is not known. */
static void say_command(char command[MT_STRING_MAX], const struct pickle *pickle, const char *snapshot_path)
{
	static const char name[] = "PYTORCH_CUDA_ALLOC_CONF";
	pickle_id settings = pickle_get(pickle, pickle_root(pickle), "allocator_settings");
	size_t size;
	const char *words = pickle_text(pickle, pickle_get(pickle, settings, name), &size);
	int known = size && size <= SETTINGS_MAX && !memchr(words, '\0', size);

	snprintf(command, MT_STRING_MAX, "%s%s%.*s%s%s", known ? name : "", known ? "=" : "", known ? (int)size : 0,
		 words, known ? " " : "", snapshot_path);
}

static int create_trace(struct import *import, const char *snapshot_path, const char *trace_path,
			const struct mt_rules *rules)
{
	static const struct mt_fold_options everything;
	char command[MT_STRING_MAX];
	struct mt_process process = {
		.rank = rank_in_name(snapshot_path),
		.depth = MT_STACK_DEPTH_MAX,
		.start_monotonic = import->time,
		.start_realtime = import->time,
		.command = command,
		.options = "PyTorch memory snapshot",
		.snapshot = import->summary->snapshot,
	};

	say_command(command, import->pickle, snapshot_path);
	return mt_emitter_create(&import->emitter, trace_path, &process, rules, &everything);
}

static int write_trace(struct import *import, const char *trace_path, const struct import_entries *entries,
		       const struct import_start *start)
{
	int closed, error = import_stacks_init(&import->stacks, import->pickle, mt_emitter_defs(import->emitter));

	if (!error)
		error = write_events(import, entries, start);
	import_stacks_release(&import->stacks);
	closed = mt_emitter_close(import->emitter, MT_END_EXIT, &import->summary->trace);
	if (!error)
		error = closed;
	if (error)
		unlink(trace_path);
	return error;
}

int mt_import_snapshot(const char *snapshot_path, const char *trace_path, const struct mt_rules *rules,
		       struct mt_import_summary *summary)
{
	struct import *import = calloc(1, sizeof(*import));
	struct import_entries entries = { 0 };
	struct import_start start = { 0 };
	struct pickle *pickle = NULL;
	int error;

	memset(summary, 0, sizeof(*summary));
	if (!import)
		return -MT_E_MEMORY;
	error = pickle_open(&pickle, snapshot_path, &summary->damage, &summary->damage_offset);
	if (!error)
		error = import_entries_read(&entries, pickle);
	if (!error)
		error = import_start_find(&start, pickle, &entries);
	if (!error) {
		summary->unknown = entries.unknown;
		count_host(summary, pickle);
		summary->snapshot = kind_of_snapshot(&entries, &start);
		import->pickle = pickle;
		import->summary = summary;
		import->time = first_time(&entries);
		error = create_trace(import, snapshot_path, trace_path, rules);
	}
	if (!error)
		error = write_trace(import, trace_path, &entries, &start);
	import_start_release(&start);
	import_entries_release(&entries);
	pickle_free(pickle);
	addrmap_release(&import->block);
	free(import->cut);
	free(import);
	return error;
}
