/*
 * import_impl.h - declarations shared by the parts of the snapshot import; for formats/import*.c only.
 *
 *     pickle ──import_entries──> entries by time ──import_start──> what was alive before the first
 *                                       │                                   │
 *                                       └──────────────> import.c <─────────┘ ──emitter──> trace
 */
#ifndef FORMATS_IMPORT_IMPL_H
#define FORMATS_IMPORT_IMPL_H

#include "memtrace/defs.h"
#include "pickle.h"

#define IMPORT_DEVICES 64u
#define IMPORT_PIECE (2ull << 20) /* the smallest part of an expandable segment, bytes */

/* The kinds of an entry in a device's trace. X(NAME, word in the snapshot) */
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

enum import_action {
#define IMPORT_ACTION_ENUM(name, word) IMPORT_##name,
	IMPORT_ACTION_LIST(IMPORT_ACTION_ENUM)
#undef IMPORT_ACTION_ENUM
		IMPORT_ACTIONS,
	IMPORT_HOST_ALLOC, /* pinned memory of the host: entries of host_traces */
	IMPORT_HOST_FREE
};

struct import_entry {
	uint64_t addr, size; /* out of memory: free bytes, requested bytes */
	uint64_t time;       /* ns since 1970; 0: the snapshot has no times */
	uint64_t block;      /* for an allocation that is alive at the end: bytes of its block; 0: unknown */
	uint32_t order;      /* in the file */
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

/* All entries of all devices, and the ranges, by time. 0, -MT_E_MEMORY, -MT_E_CORRUPT (no snapshot). Release it in any case. */
int import_entries_read(struct import_entries *entries, const struct pickle *pickle);
void import_entries_release(struct import_entries *entries);

enum import_thing_kind { IMPORT_SEGMENT, IMPORT_PIECE_OF_SEGMENT, IMPORT_BLOCK, IMPORT_HOST, IMPORT_THING_KINDS };

/* Something alive before the first entry. */
struct import_thing {
	uint64_t addr, size;
	uint64_t block;   /* the block's bytes, with `size` bytes asked for; 0: not known */
	pickle_id frames; /* stack of the allocation; 0: unknown */
	uint8_t device, kind;
	uint8_t gone; /* 1: not alive at the beginning; the place is free */
};

struct import_start {
	struct import_thing *thing; /* segments, pieces, blocks, pinned memory; each by device and address */
	size_t count, room;
	int cut; /* 1: the snapshot holds a recorded allocation that its history lacks */
};

/*
 * Finds the live set before the first entry, and fills in `block` of the entries. 0, -MT_E_MEMORY, -MT_E_LIMIT. The
 * caller releases *start in any case.
 */
int import_start_find(struct import_start *start, const struct pickle *pickle, struct import_entries *entries);
void import_start_release(struct import_start *start);

/* Returns the end of the piece at `addr`, at most `end`. */
uint64_t import_piece_end(uint64_t addr, uint64_t end);

/* From stack frames of the snapshot to definitions; each list of frames is looked at once, and so is each frame. */
struct import_stacks {
	const struct pickle *pickle;
	struct mt_defs *defs;
	struct import_stack {
		uint32_t node; /* plus 1; 0: not looked at */
		uint8_t autograd;
	} * known; /* by number of the value */
	struct import_frame {
		uint32_t id; /* definition, plus 1; 0: not looked at */
		uint8_t autograd;
	} * frame; /* by number of the value: lists share their frames */
	size_t values;
	uint32_t main, autograd; /* threads (definitions) */
};

int import_stacks_init(struct import_stacks *stacks, const struct pickle *pickle, struct mt_defs *defs);
void import_stacks_release(struct import_stacks *stacks);

/* Stack node and thread of a list of frames. */
void import_stacks_look(struct import_stacks *stacks, pickle_id frames, uint32_t *node, uint32_t *thread);

#endif
