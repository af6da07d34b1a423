/*
 * torch.h - a run as a memory snapshot of PyTorch: what the files of this room share.
 *
 *     traces ── one pass ──> torch_event.c ──> a log for each device (torch_log.c) ── after the end ──> torch_entry.c ──> the file
 *                                └── things alive at the end ────────────────────────────────────────> torch_state.c ──┘
 *
 *     to_torch.c       the pass over the traces, the order of the file
 *     torch_slot.c     devices
 *     torch_memo.c     words and texts, each written once
 *     torch_stack.c    frames and stacks, the same
 *     torch_pickle.c   the bytes
 *
 * The pass knows the categories at its end alone. So events wait in logs, which are temporary files. A log keeps the newest events, as
 * PyTorch does with max_entries. Memory grows with what is alive, and with the stacks.
 */
#ifndef MEMANA_TORCH_H
#define MEMANA_TORCH_H

#include <stdint.h>
#include "base/tuple.h"
#include "export/export.h"
#include "export/export_names.h"
#include "torch_pickle.h"

#define TORCH_SHOWN 600000u /* entries of a device that PyTorch's viewer takes */

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

/* Values that are in the file, and are named by their numbers in the pickle's memo from there on. Numbers are plus 1; 0: not in it yet. */
struct torch_memo {
	uint32_t next_number;
	uint32_t word[TORCH_WORDS];
	struct torch_memo_process {
		uint32_t *stack, *frame; /* by node and by frame of the process */
		uint32_t stacks, frames;
	} * process;
	struct export_names texts; /* file names, categories, metadata; and their numbers, without 1 more */
	uint32_t *text;
	uint32_t text_room;
	int has_category, has_unknown; /* an entry has a category; one has "unknown" */
};

enum torch_event {
	TORCH_BIRTH,
	TORCH_DEATH,
	TORCH_FAILED, /* a request */
	TORCH_MARK,
	TORCH_RANGE_START,
	TORCH_RANGE_END
};

/* An event that is one entry of the snapshot, or a few. */
struct torch_record {
	uint64_t addr, size, time; /* time: the event's */
	uint32_t process, stack, thread, step;
	uint32_t site; /* TORCH_FAILED: index of the run; ranges: a string of the process */
	uint8_t event; /* enum torch_event */
	uint8_t phase, is_tensor, is_mapped;
};

#define TORCH_LOG_BLOCK 1024u /* records */

/* Events in their order: a temporary file, and in memory the newest block. All zeros: empty. */
struct torch_log {
	int file; /* 0: none yet */
	struct torch_record *block;
	uint64_t records; /* all there were */
	uint64_t room;    /* blocks of the file, a ring; 0: all are kept */
};

/* A device of a process. */
struct torch_slot {
	struct torch_log log;
	uint32_t process, device; /* device: id of the process */
	uint32_t run_device;      /* index of the run; UINT32_MAX: not known yet */
	uint32_t index;           /* in the snapshot; UINT32_MAX: it is left out */
	uint64_t blocks;          /* bytes that the allocator's blocks have, by the newest event */
	int is_mapping;           /* no memory was asked for since the newest piece was mapped */
};

/* Something alive at the end of the range. */
struct torch_thing {
	uint64_t addr, size, block; /* block: bytes of a tensor's block, 0: not known */
	uint32_t slot, process, stack, thread, site;
	uint8_t is_tensor, is_mapped, is_host; /* is_host: pinned memory, of no slot */
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

/* The block of the newest tensor at an address: its size is not what the tensor's tells. */
struct torch_block {
	uint64_t birth, bytes;
};

struct torch {
	struct export_run *run;
	struct export_out *out;
	struct export_range range;
	uint8_t *category, *is_cut; /* after the pass, by site: enum mt_category; tensors are cut from its memory */
	uint8_t *driver;            /* the same, by process: bit 0, driver memory for the CPU; bit 1, for GPUs */
	uint32_t sites;
	struct torch_memo memo;
	struct torch_slot *slot;
	size_t slots, slot_room;
	struct tuple_table known; /* process and device: slot */
	struct torch_log ranges;
	struct torch_log host;    /* pinned memory */
	struct torch_range *open; /* ranges that are open, the newest last */
	size_t opens, open_room;
	struct torch_thing *thing;
	size_t things, thing_room;
	struct torch_handle *handle; /* a hash table */
	size_t handles, handle_room;
	struct tuple_table block; /* process and address: number of the block */
	struct torch_block *blocks;
	size_t block_count, block_room;
	int gpus_only;       /* 1: memory of the CPU is left out */
	int has_tensor_ooms; /* the driver's refusals are not told beside them */
	int error;
};

void torch_fail(struct torch *torch, int error);

/* ---- words and texts (torch_memo.c) ---- */

void torch_memo_release(struct torch *torch);
void torch_word(struct torch *torch, enum torch_word word);
void torch_text(struct torch *torch, const char *text);

/* Words of one key and its value. */
void torch_key_word(struct torch *torch, enum torch_word key, enum torch_word value);
void torch_key_int(struct torch *torch, enum torch_word key, int64_t value);

/* ---- logs (torch_log.c) ---- */

/* Appends, or joins to the newest record what the allocator did in one call: pieces of mapped memory side by side. */
void torch_log_add(struct torch *torch, struct torch_log *log, const struct torch_record *record);
void torch_log_join(struct torch *torch, struct torch_log *log, const struct torch_record *record);

/* Calls `each` for all records that are kept, the oldest first, until it or a failure sets torch->error. How many are not kept. */
uint64_t torch_log_each(struct torch *torch, struct torch_log *log,
			void (*each)(struct torch *torch, const struct torch_record *record, void *context),
			void *context);
void torch_log_release(struct torch_log *log);

/* ---- devices (torch_slot.c) ---- */

/* The slot of a device; NULL: nothing is known of it, or an error. */
struct torch_slot *torch_slot_of(struct torch *torch, uint32_t process, uint32_t device);

/* The slot of a device of the run; NULL: there is none yet. */
struct torch_slot *torch_slot_run(struct torch *torch, uint32_t process, uint32_t device);

/* Any slot of the process; NULL: there is none yet. */
struct torch_slot *torch_slot_any(struct torch *torch, uint32_t process);

/* 1: no driver memory was recorded for it: each tensor is a segment of its own. After the pass. */
int torch_slot_is_bare(const struct torch *torch, const struct torch_slot *slot);

/* After the pass: sets `index` of each. *devices: how many the snapshot has. 0 or -MT_E_MEMORY. */
int torch_number_slots(struct torch *torch, uint32_t *devices);

/* ---- stacks (torch_stack.c) ---- */

/* The frames of a node, innermost first, as a list. */
void torch_stack(struct torch *torch, uint32_t process, uint32_t node);

/* ---- the pass (torch_event.c) ---- */

struct analysis_sink torch_sink(struct torch *torch);

/* ---- entries (torch_entry.c) ---- */

/* All entries of a device (NULL: pinned memory), as a list; the list of ranges. `is_last`: no device comes after it. */
void torch_entries(struct torch *torch, struct torch_slot *slot, int is_last);
void torch_range_entries(struct torch *torch);

/* ---- the end (torch_state.c) ---- */

/* 1: memory that is one block as a whole: no tensors are cut from it. After the pass. */
int torch_is_filled(const struct torch *torch, int is_tensor, uint32_t site);

/* The lists of segments, and of pinned memory. */
void torch_segments(struct torch *torch);
void torch_host_segments(struct torch *torch);

#endif
