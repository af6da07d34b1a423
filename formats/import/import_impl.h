/*
 * import_impl.h - declarations that the parts of the snapshot import share; for formats/import*.c only.
 *
 *     pickle ──import_entries──> entries by time ──import_start──> memory that was alive before the first entry
 *                                      │                                    │
 *                                      └──────────────> import.c <──────────┘ ──emitter──> trace
 */
#ifndef FORMATS_IMPORT_IMPL_H
#define FORMATS_IMPORT_IMPL_H

#include "memtrace/defs.h"
#include "pickle.h"

#define IMPORT_DEVICES 64u
#define IMPORT_PIECE (2ull << 20) /* bytes: the smallest part of an expandable segment */

/* The kinds of entries in a device's trace. X(NAME, word in the snapshot) */
#define IMPORT_ACTION_LIST(X)               \
	X(ALLOC, "alloc")                   \
	X(FREE_REQUESTED, "free_requested") \
	X(FREE_COMPLETED, "free_completed") \
	X(SEGMENT_ALLOC, "segment_alloc")   \
	X(SEGMENT_FREE, "segment_free")     \
	X(SEGMENT_MAP, "segment_map")       \
	X(SEGMENT_UNMAP, "segment_unmap")   \
	X(SNAPSHOT, "snapshot")             \
	X(OOM, "oom")                       \
	X(RANGE_START, "START")             \
	X(RANGE_END, "END")

/*
 * Counts the steps of a walk through the snapshot: values that contain one another can be visited more often than the file has bytes. *steps is 0 at
 * first. Adds one step and the items of the value. Returns 0, or -MT_E_LIMIT for more steps than a snapshot of PyTorch takes.
 */
int import_visit(const struct pickle *pickle, pickle_id value, uint64_t *steps);

enum import_action {
#define IMPORT_ACTION_ENUM(name, word) IMPORT_##name,
	IMPORT_ACTION_LIST(IMPORT_ACTION_ENUM)
#undef IMPORT_ACTION_ENUM
		IMPORT_ACTIONS,
	IMPORT_HOST_ALLOC, /* pinned memory of the host, from entries of host_traces */
	IMPORT_HOST_FREE
};

struct import_entry {
	uint64_t addr, size; /* for out of memory: free bytes, requested bytes */
	uint64_t time;       /* ns since 1970; 0: the snapshot has no times */
	uint64_t block;      /* bytes of the block of an allocation that is alive at the end; 0: unknown */
	uint32_t order;      /* position in the file */
	pickle_id frames, name;
	uint8_t action; /* enum import_action */
	uint8_t device;
};

struct import_entries {
	struct import_entry *entry;
	size_t count, room;
	uint64_t unknown;
	int has_times;
};

/*
 * Reads all entries of all devices, and the ranges, by time. Returns 0, -MT_E_MEMORY, -MT_E_LIMIT or -MT_E_CORRUPT (no snapshot). Release after an
 * error, too.
 */
int import_entries_read(struct import_entries *entries, const struct pickle *pickle);
void import_entries_release(struct import_entries *entries);

enum import_thing_kind { IMPORT_SEGMENT, IMPORT_PIECE_OF_SEGMENT, IMPORT_BLOCK, IMPORT_HOST, IMPORT_THING_KINDS };

/* Memory that was alive before the first entry. */
struct import_thing {
	uint64_t addr, size;
	uint64_t block;   /* bytes of the block, of which the program asked for `size`; 0: unknown */
	pickle_id frames; /* stack of the allocation; 0: unknown */
	uint8_t device, kind;
	uint8_t gone; /* 1: not alive at the beginning; the place can be used again */
};

struct import_start {
	struct import_thing *thing; /* segments, pieces, blocks, pinned memory; each kind by device and address */
	size_t count, room;
	int cut; /* 1: the snapshot has a recorded allocation that its history does not have */
};

/*
 * Finds the memory that was alive before the first entry, and fills in `block` of the entries. Returns 0, -MT_E_MEMORY or -MT_E_LIMIT. The caller
 * releases *start, also after an error.
 */
int import_start_find(struct import_start *start, const struct pickle *pickle, struct import_entries *entries);
void import_start_release(struct import_start *start);

/* Converts stack frames of the snapshot to definitions. Each list of frames, and each frame, is read once. */
struct import_stacks {
	const struct pickle *pickle;
	struct mt_defs *defs;
	struct import_stack {
		uint32_t node; /* node + 1; 0: not read yet */
		uint8_t autograd;
	} * known; /* index: number of the list's value */
	struct import_frame {
		uint32_t id; /* definition + 1; 0: not read yet */
		uint8_t autograd;
	} * frame; /* index: number of the frame's value; lists share frames */
	size_t values;
	uint32_t main, autograd; /* threads (definitions) */
};

int import_stacks_init(struct import_stacks *stacks, const struct pickle *pickle, struct mt_defs *defs);
void import_stacks_release(struct import_stacks *stacks);

/* Finds stack node and thread of a list of frames. */
void import_stacks_look(struct import_stacks *stacks, pickle_id frames, uint32_t *node, uint32_t *thread);

#endif
