/*
 * segment_map.h - the tensors and the holes in the memory of a caching allocator. Pure arithmetic on addresses, tested
 * on its own.
 *
 *   segment  |tensor|   hole   |tensor|tensor| hole |      used 3, largest hole: the first one
 *
 * A segment is one allocation of the driver, or a run of mappings one after the other: the pieces of an expandable
 * segment. A hole goes across the seams of pieces, never across segments.
 */
#ifndef MEMANA_SEGMENT_MAP_H
#define MEMANA_SEGMENT_MAP_H

#include <stddef.h>
#include <stdint.h>

/* A piece of existing memory. */
struct segment_piece {
	int64_t process; /* addresses are those of a process */
	uint64_t address, bytes;
	int mapped;       /* virtual memory management; joins the mapped piece of equal size just before it */
	int tensors_seen; /* 1: tensors have been in it */
	int64_t id;       /* the caller's */
	uint64_t used;    /* filled in: bytes of tensors */
};

/* A tensor. */
struct segment_block {
	int64_t process;
	uint64_t address, bytes;
	int64_t id; /* the caller's */
};

struct segment {
	int64_t process;
	uint64_t address, bytes, used, largest_hole;
	size_t blocks, first_block; /* tensors that overlap it: `blocks` of the sorted array, from first_block */
	size_t pieces;
	int mapped, tensors_seen;
	uint64_t piece_bytes; /* bytes of its first piece */
};

struct segment_map {
	struct segment *segment; /* by process and address */
	size_t count;
	uint64_t bytes, used; /* sums over all segments */
	uint64_t largest_hole;
	uint64_t free_pieces; /* bytes of pieces without tensors: emptying the cache gives them back */
	uint64_t absent;      /* bytes of tensors with no memory behind them */
};

/*
 * Sorts both arrays and fills in `map`. Mapped runs that never had a tensor belong to another owner, and are left out.
 * Overlapping bytes (a damaged trace) count once. Returns 0 or -MT_E_MEMORY; the caller releases `map` in any case.
 */
int segment_map_build(struct segment_map *map, struct segment_piece *piece, size_t pieces, struct segment_block *block,
		      size_t blocks);
void segment_map_release(struct segment_map *map);

/* A stretch of a segment: of one tensor, or a hole. Bytes of a tensor that another one overlaps belong to the first
 * one. */
struct segment_part {
	uint64_t from, to;                 /* addresses */
	const struct segment_block *block; /* NULL: a hole */
};

/* Walks through a segment by address. All code finds holes with it. */
struct segment_walk {
	uint64_t at, end; /* private */
	const struct segment_block *block, *last;
};

/* `block`: the sorted array that the map was built of. */
struct segment_walk segment_walk_begin(const struct segment *segment, const struct segment_block *block);

/* Returns 1 and the next stretch in *part (never empty); 0 at the end. */
int segment_walk_next(struct segment_walk *walk, struct segment_part *part);

#endif
