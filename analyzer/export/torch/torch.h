/*
 * torch.h - writes a run as a memory snapshot of PyTorch. Private to this folder.
 *
 *     traces ── one pass ──> torch_event.c ──> a log for each device (torch_log.c) ── after the end ──> torch_entry.c ──> the file
 *                                └── things alive at the end ────────────────────────────────────────> torch_state.c ──┘
 *
 *     to_torch.c       the pass over the traces, the order of the file
 *     torch_slot.c     devices
 *     torch_memo.c     words and texts, each written once
 *     torch_stack.c    frames and stacks, each written once
 *     torch_pickle.c   the bytes of the pickle
 *
 * Categories are known only at the end of the pass, so events wait in logs, which are temporary files. A log keeps the
 * newest events, as PyTorch does with max_entries. Memory grows with the live memory of the run, and with the stacks.
 */
#ifndef MEMANA_TORCH_H
#define MEMANA_TORCH_H

#include <stdint.h>
#include "base/tuple.h"
#include "export/export.h"
#include "export/export_names.h"
#include "torch_pickle.h"

#define TORCH_SHOWN 600000u /* largest number of entries of a device for PyTorch's viewer */

/* The words of a snapshot: X(NAME, word). */
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

/*
 * The values that the file has already. Later references use their numbers in the pickle's memo. The arrays have these
 * numbers plus 1; 0: the file does not have the value yet.
 */
struct torch_memo {
	uint32_t next_number;
	uint32_t word[TORCH_WORDS];
	struct torch_memo_process {
		uint32_t *stack, *frame; /* by node of the process; by frame of the process */
		uint32_t stacks, frames;
	} * process;
	struct export_names texts; /* file names, categories, metadata; `text` has their numbers, not plus 1 */
	uint32_t *text;
	uint32_t text_room;
	int has_category, has_unknown; /* 1: an entry has a category; 1: an entry has the category "unknown" */
};

enum torch_event {
	TORCH_BIRTH,
	TORCH_DEATH,
	TORCH_FAILED, /* a failed request */
	TORCH_MARK,
	TORCH_RANGE_START,
	TORCH_RANGE_END
};

/* An event that becomes one or a few entries of the snapshot. */
struct torch_record {
	uint64_t addr, size, time; /* time: of the event, in the clock of its process */
	uint32_t process, stack, thread, step;
	uint32_t site; /* TORCH_FAILED: index in analysis->oom; ranges: string of the process */
	uint8_t event; /* enum torch_event */
	uint8_t phase, is_tensor, is_mapped;
};

#define TORCH_LOG_BLOCK 1024u /* number of records in a block */

/* Events in their order: older blocks in a temporary file, the newest block in memory. All zeros: empty. */
struct torch_log {
	int file; /* descriptor; 0: none yet */
	struct torch_record *block;
	uint64_t records; /* number of all records, dropped ones included */
	uint64_t room;    /* number of blocks in the file, which is a ring; 0: all blocks are kept */
};

/* A device of a process. */
struct torch_slot {
	struct torch_log log;
	uint32_t process, device; /* device: id of the device in the process */
	uint32_t run_device;      /* index of the device in the run; UINT32_MAX: not known yet */
	uint32_t index;           /* index in the snapshot; UINT32_MAX: left out */
	uint64_t blocks;          /* bytes of the allocator's blocks, by the newest event */
	int is_mapping;           /* 1: no memory was requested after the newest piece was mapped */
};

/* A tensor or a piece of memory that is alive at the end of the range. */
struct torch_thing {
	uint64_t addr, size, block; /* block: bytes of a tensor's block, 0: not known */
	uint32_t slot, process, stack, thread, site;
	uint8_t is_tensor, is_mapped, is_host; /* is_host 1: pinned memory, which has no slot */
};

/* A handle of physical memory. */
struct torch_handle {
	uint64_t handle;
	uint32_t process;
	uint32_t device, site; /* device: id in the process; site 0: a free slot of the table */
};

struct torch_range {
	uint32_t process, thread, name; /* name: number of a string of the process */
	uint64_t domain;
};

/* The block of the newest tensor at an address, if its size does not follow from the size of the tensor. */
struct torch_block {
	uint64_t birth, bytes;
};

struct torch {
	struct export_run *run;
	struct export_out *out;
	struct export_range range;
	uint8_t *category, *is_cut; /* after the pass, by site: enum mt_category; 1: tensors are cut from its memory */
	uint8_t *driver;            /* after the pass, by process: bit 0: driver memory for the CPU; bit 1: for GPUs */
	uint32_t sites;
	struct torch_memo memo;
	struct torch_slot *slot;
	size_t slots, slot_room;
	struct tuple_table known; /* index in `slot` by process and device */
	struct torch_log ranges;
	struct torch_log host;    /* pinned memory */
	struct torch_range *open; /* open ranges, the newest last */
	size_t opens, open_room;
	struct torch_thing *thing;
	size_t things, thing_room;
	struct torch_handle *handle; /* a hash table by process and handle */
	size_t handles, handle_room;
	struct tuple_table block; /* index in `blocks` by process and address */
	struct torch_block *blocks;
	size_t block_count, block_room;
	int gpus_only;       /* 1: memory of the CPU is left out */
	int has_tensor_ooms; /* 1: requests for tensors failed, and refusals of the driver get no entries */
	int error;
};

void torch_fail(struct torch *torch, int error);

/* ---- words and texts (torch_memo.c) ---- */

void torch_memo_release(struct torch *torch);
void torch_word(struct torch *torch, enum torch_word word);
void torch_text(struct torch *torch, const char *text);

/* Writes a key and its value. */
void torch_key_word(struct torch *torch, enum torch_word key, enum torch_word value);
void torch_key_int(struct torch *torch, enum torch_word key, int64_t value);

/* ---- logs (torch_log.c) ---- */

/*
 * Appends a record. Join: adds a mapped piece to the newest record if both are neighbours in one call of the allocator.
 */
void torch_log_add(struct torch *torch, struct torch_log *log, const struct torch_record *record);
void torch_log_join(struct torch *torch, struct torch_log *log, const struct torch_record *record);

/*
 * Calls `each` for all kept records, the oldest first. Stops when torch->error is set. Returns the number of records
 * that are not kept.
 */
uint64_t torch_log_each(struct torch *torch, struct torch_log *log,
			void (*each)(struct torch *torch, const struct torch_record *record, void *context),
			void *context);
void torch_log_release(struct torch_log *log);

/* ---- devices (torch_slot.c) ---- */

/* The slot of a device, which is added if it is new. NULL: the process does not define the device, or an error. */
struct torch_slot *torch_slot_of(struct torch *torch, uint32_t process, uint32_t device);

/* The slot of the process for a device of the run; NULL: none yet. */
struct torch_slot *torch_slot_run(struct torch *torch, uint32_t process, uint32_t device);

/* Any slot of the process; NULL: none yet. */
struct torch_slot *torch_slot_any(struct torch *torch, uint32_t process);

/*
 * 1: the process has no driver memory on GPUs (or CPU), so each tensor is a segment of its own. Call it after the pass.
 */
int torch_slot_is_bare(const struct torch *torch, const struct torch_slot *slot);

/* Sets `index` of each slot. *devices: number of devices in the snapshot. Call it after the pass. 0 or -MT_E_MEMORY. */
int torch_number_slots(struct torch *torch, uint32_t *devices);

/* ---- stacks (torch_stack.c) ---- */

/* Writes the frames of a node as a list, innermost first. */
void torch_stack(struct torch *torch, uint32_t process, uint32_t node);

/* ---- the pass (torch_event.c) ---- */

struct analysis_sink torch_sink(struct torch *torch);

/* ---- entries (torch_entry.c) ---- */

/*
 * Writes the list of entries of a device (NULL: of pinned memory). `is_last` 1: the last device. Then the list of
 * ranges.
 */
void torch_entries(struct torch *torch, struct torch_slot *slot, int is_last);
void torch_range_entries(struct torch *torch);

/* ---- the end (torch_state.c) ---- */

/* 1: the memory is one block, because no tensors are cut from it. Call it after the pass. */
int torch_is_filled(const struct torch *torch, int is_tensor, uint32_t site);

/* Writes the list of segments, and the list of pinned memory. */
void torch_segments(struct torch *torch);
void torch_host_segments(struct torch *torch);

#endif
