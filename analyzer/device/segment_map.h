/*
 * segment_map.h - where tensors lie in the memory of a caching allocator, and the holes between them. Pure arithmetic
 * on addresses, tested on its own.
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

/* Memory that is there. */
struct segment_piece {
	int64_t process; /* addresses are those of a process */
	uint64_t address, bytes;
	int mapped;       /* virtual memory management: joins a piece of the same size that it lies right behind */
	int tensors_seen; /* it once had a tensor */
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
	size_t blocks, first_block; /* tensors that begin or go on in it: `blocks` from this one in the sorted array */
	size_t pieces;
	int mapped, tensors_seen;
	uint64_t piece_bytes; /* bytes of its first piece */
};

struct segment_map {
	struct segment *segment; /* by process and address */
	size_t count;
	uint64_t bytes, used; /* sums over all segments */
	uint64_t largest_hole;
	uint64_t free_pieces; /* bytes of pieces without any tensor: what emptying the cache gives back */
	uint64_t absent;      /* bytes of tensors with no memory behind them */
};

/*
 * Sorts both arrays and fills in `map`. Mapped runs that never had a tensor are somebody else's and left out. Bytes
 * that overlap (a damaged trace) count once. 0 or -MT_E_MEMORY; release in any case.
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

/* Goes through a segment, by address; the one meaning of a hole. */
struct segment_walk {
	uint64_t at, end; /* private */
	const struct segment_block *block, *last;
};

/* `block`: the sorted array that the map was built of. */
struct segment_walk segment_walk_begin(const struct segment *segment, const struct segment_block *block);

/* 1: *part is the next stretch, never an empty one; 0: that was all. */
int segment_walk_next(struct segment_walk *walk, struct segment_part *part);

#endif
