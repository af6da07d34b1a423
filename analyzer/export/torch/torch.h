/*
 * torch.h - a run as a memory snapshot of PyTorch: what the files of this room share.
 *
 *     to_torch.c       the passes over the traces, the order of the file
 *     torch_list.c     lists, words and texts
 *     torch_slot.c     devices
 *     torch_event.c    births, deaths, failed requests and ranges as entries
 *     torch_stack.c    frames and stacks
 *     torch_state.c    what is alive at the end: segments with their blocks
 *     torch_pickle.c   the bytes
 *
 * Categories are known at the end of a pass alone, so the traces are read twice. A snapshot has a list of entries for each device. A
 * device of a process is a list here: a temporary file, until all lists are put into the output. Memory grows with what is alive, and
 * with the stacks.
 */
#ifndef MEMANA_TORCH_H
#define MEMANA_TORCH_H

#include <stdint.h>
#include "base/tuple.h"
#include "export/export.h"
#include "export/export_names.h"
#include "torch_pickle.h"

/* The words of a snapshot. X(NAME, word) */
#define TORCH_WORD_LIST(X)                      \
	X(ACTION, "action")                     \
	X(ADDR, "addr")                         \
	X(SIZE, "size")                         \
	X(STREAM, "stream")                     \
	X(TIME, "time_us")                      \
	X(FRAMES, "frames")                     \
	X(CATEGORY, "category")                 \
	X(METADATA, "user_metadata")            \
	X(DEVICE_FREE, "device_free")           \
	X(ALLOC, "alloc")                       \
	X(FREE_REQUESTED, "free_requested")     \
	X(FREE_COMPLETED, "free_completed")     \
	X(SEGMENT_ALLOC, "segment_alloc")       \
	X(SEGMENT_FREE, "segment_free")         \
	X(SEGMENT_MAP, "segment_map")           \
	X(SEGMENT_UNMAP, "segment_unmap")       \
	X(OOM, "oom")                           \
	X(SNAPSHOT, "snapshot")                 \
	X(UNKNOWN, "unknown")                   \
	X(NAME, "name")                         \
	X(FILENAME, "filename")                 \
	X(LINE, "line")                         \
	X(STAGE, "stage")                       \
	X(START, "START")                       \
	X(END, "END")                           \
	X(DEVICE, "device")                     \
	X(ADDRESS, "address")                   \
	X(TOTAL_SIZE, "total_size")             \
	X(ALLOCATED_SIZE, "allocated_size")     \
	X(ACTIVE_SIZE, "active_size")           \
	X(REQUESTED_SIZE, "requested_size")     \
	X(SEGMENT_TYPE, "segment_type")         \
	X(LARGE, "large")                       \
	X(SMALL, "small")                       \
	X(SEGMENT_POOL_ID, "segment_pool_id")   \
	X(IS_EXPANDABLE, "is_expandable")       \
	X(BLOCKS, "blocks")                     \
	X(STATE, "state")                       \
	X(ACTIVE_ALLOCATED, "active_allocated") \
	X(INACTIVE, "inactive")

enum torch_word {
#define TORCH_WORD(name, word) TORCH_##name,
	TORCH_WORD_LIST(TORCH_WORD)
#undef TORCH_WORD
		TORCH_WORDS
};

/* A part of the file with its own numbers of the pickle's memo, from 0: a later part takes the same numbers for other values. */
struct torch_list {
	uint32_t next_number;
	struct export_out *out;
	int file; /* the temporary one */
	uint32_t items;
	int has_category, has_unknown; /* an entry has a category; one has "unknown" */
	uint32_t word[TORCH_WORDS];    /* numbers, plus 1; 0: not written yet */
	uint32_t process;              /* owner of the stacks and frames */
	uint32_t *stack;               /* by node of the process: the same */
	uint32_t *frame;               /* by frame of the process: the same */
	uint32_t stacks, frames;
	struct export_names texts; /* file names, categories, metadata; and their numbers */
	uint32_t *text;
	uint32_t text_room;
};

/* A device of a process. */
struct torch_slot {
	struct torch_list list;
	uint32_t process, device; /* device: id of the process */
	uint32_t run_device;      /* index of the run; UINT32_MAX: not known yet */
	uint32_t index;           /* in the snapshot */
	int is_bare;              /* no driver memory was recorded: each tensor is a segment of its own */
	uint64_t blocks;          /* bytes that the allocator's blocks have, by the newest event */
};

/* Something alive at the end of the range. */
struct torch_thing {
	uint64_t addr, size, block; /* block: bytes of a tensor's block, 0: not known */
	uint32_t slot, process, stack, thread, site;
	uint8_t is_tensor, is_mapped, is_filled, is_host; /* is_host: pinned memory, of no slot */
};

/* A handle of physical memory. */
struct torch_handle {
	uint64_t handle;
	uint32_t process;
	uint32_t device, site; /* the device of the process; site 0: a free place */
};

struct torch_range {
	uint32_t process, thread, name; /* name: string of the process */
	uint64_t domain;
};

struct torch {
	struct export_run *run;
	struct export_out *out;
	struct export_range range;
	struct analysis second;
	uint8_t *category,
		*is_cut; /* by site, from the first pass: enum mt_category; tensors are cut from its memory */
	uint32_t sites;
	uint8_t *driver; /* by process: bit 0, driver memory for the CPU; bit 1, for GPUs */
	struct torch_slot *slot;
	size_t slots, slot_room;
	struct tuple_table known; /* process and device: slot */
	struct torch_list ranges;
	struct torch_list host;   /* pinned memory */
	struct torch_range *open; /* ranges that are open, the newest last */
	size_t opens, open_room;
	struct torch_thing *thing;
	size_t things, thing_room;
	struct torch_handle *handle; /* a hash table */
	size_t handles, handle_room;
	struct tuple_table
		block; /* process, address, birth: bytes of blocks whose sizes differ from what was asked for */
	uint64_t *block_bytes;
	size_t blocks, block_room;
	int gpus_only;       /* 1: memory of the CPU is left out */
	int has_tensor_ooms; /* the driver's refusals are not told beside them */
	int error;
};

void torch_fail(struct torch *torch, int error);

/* Room for one more item. 0 or -MT_E_MEMORY. */
int torch_grow(void *array, size_t count, size_t *room, size_t size);

/* ---- lists (torch_list.c) ---- */

int torch_list_open(struct torch_list *list); /* 0, -MT_E_MEMORY, -MT_E_SYSTEM */
void torch_list_release(struct torch_list *list);
void torch_word(struct torch_list *list, enum torch_word word);
void torch_text(struct torch *torch, struct torch_list *list, const char *text);

/* Words of one key and its value. */
void torch_key_word(struct torch_list *list, enum torch_word key, enum torch_word value);
void torch_key_int(struct torch_list *list, enum torch_word key, int64_t value);

/* The whole list into the output. 0 or -MT_E_x. */
int torch_list_copy(struct torch *torch, struct torch_list *list);

/* ---- devices (torch_slot.c) ---- */

/* The slot of a device; NULL: nothing of it is told, or an error. */
struct torch_slot *torch_slot_of(struct torch *torch, uint32_t process, uint32_t device);

/* The slot of a device of the run; NULL: there is none yet. */
struct torch_slot *torch_slot_run(struct torch *torch, uint32_t process, uint32_t device);

/* Any slot of the process; NULL: there is none yet. */
struct torch_slot *torch_slot_any(struct torch *torch, uint32_t process);

/* Sets `index` of each, and how many devices the snapshot has. 0 or -MT_E_MEMORY. */
int torch_number_slots(struct torch *torch, uint32_t *devices);

/* ---- stacks (torch_stack.c) ---- */

/* The frames of a node, innermost first, as a list. */
void torch_stack(struct torch *torch, struct torch_list *list, uint32_t process, uint32_t node);

/* ---- entries (torch_event.c) ---- */

struct analysis_sink torch_sink(struct torch *torch);

/* Microseconds since 1970. */
int64_t torch_time(const struct torch *torch, uint32_t process, uint64_t event_time);

/* One more entry of the category "unknown", where all have others: the viewer needs one. */
void torch_slot_end(struct torch *torch, struct torch_slot *slot);

/* ---- the end (torch_state.c) ---- */

/* The lists of segments, and of pinned memory. */
void torch_segments(struct torch *torch, struct torch_list *list);
void torch_host_segments(struct torch *torch, struct torch_list *list);

#endif
