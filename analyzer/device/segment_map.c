#include "segment_map.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
	return address + bytes < address ? UINT64_MAX : address + bytes;
}

static int compare(int64_t process_a, uint64_t address_a, int64_t process_b, uint64_t address_b)
{
	if (process_a != process_b)
		return process_a < process_b ? -1 : 1;
	return (address_a > address_b) - (address_a < address_b);
}

static int by_piece(const void *a, const void *b)
{
	const struct segment_piece *one = a, *two = b;

	return compare(one->process, one->address, two->process, two->address);
}

static int by_block(const void *a, const void *b)
{
	const struct segment_block *one = a, *two = b;

	return compare(one->process, one->address, two->process, two->address);
}

/* ---- segments of pieces ---- */

static int joins(const struct segment *segment, const struct segment_piece *piece)
{
	return segment->mapped && piece->mapped && segment->process == piece->process &&
	       segment->piece_bytes == piece->bytes && piece->address <= end_of(segment->address, segment->bytes);
}

/* Cuts off the overlap with the segment before. A piece without remaining bytes makes no segment. */
static void add_piece(struct segment_map *map, const struct segment_piece *piece)
{
	struct segment *last = map->count ? &map->segment[map->count - 1] : NULL;
	uint64_t start = piece->address, end = end_of(piece->address, piece->bytes), last_end = 0;

	if (last && last->process == piece->process)
		last_end = end_of(last->address, last->bytes);
	if (last && joins(last, piece)) {
		last->bytes = (end > last_end ? end : last_end) - last->address;
		last->tensors_seen |= piece->tensors_seen;
		last->pieces++;
		return;
	}
	start = start < last_end ? last_end : start;
	if (start >= end)
		return;
	map->segment[map->count++] = (struct segment){ .process = piece->process,
						       .address = start,
						       .bytes = end - start,
						       .pieces = 1,
						       .piece_bytes = piece->bytes,
						       .mapped = piece->mapped,
						       .tensors_seen = piece->tensors_seen };
}

/* ---- tensors in segments ---- */

struct segment_walk segment_walk_begin(const struct segment *segment, const struct segment_block *block)
{
	const struct segment_block *first = segment->blocks ? block + segment->first_block : NULL;

	return (struct segment_walk){ .at = segment->address,
				      .end = end_of(segment->address, segment->bytes),
				      .block = first,
				      .last = first ? first + segment->blocks : NULL };
}

int segment_walk_next(struct segment_walk *walk, struct segment_part *part)
{
	const struct segment_block *block = walk->block;
	uint64_t to = 0;

	for (; block != walk->last; block++) { /* bytes that earlier tensors cover belong to them */
		to = end_of(block->address, block->bytes);
		to = to > walk->end ? walk->end : to;
		if (to > walk->at)
			break;
	}
	walk->block = block;
	if (walk->at >= walk->end)
		return 0;
	part->from = walk->at;
	part->block = block != walk->last && block->address <= walk->at ? block : NULL;
	part->to = part->block ? to : block != walk->last ? block->address : walk->end;
	walk->at = part->to;
	walk->block += part->block != NULL;
	return 1;
}

/* Finds the blocks that lie in one segment. `next` is the first candidate. */
static void fill(struct segment *segment, const struct segment_block *block, size_t blocks, size_t *next)
{
	uint64_t end = end_of(segment->address, segment->bytes);
	struct segment_walk walk;
	struct segment_part part;
	size_t i;

	while (*next < blocks && compare(block[*next].process, end_of(block[*next].address, block[*next].bytes),
					 segment->process, segment->address + 1) < 0)
		++*next;
	segment->first_block = *next;
	for (i = *next; i < blocks && compare(block[i].process, block[i].address, segment->process, end) < 0; i++)
		segment->blocks++;
	for (walk = segment_walk_begin(segment, block); segment_walk_next(&walk, &part);)
		if (part.block)
			segment->used += part.to - part.from;
		else if (part.to - part.from > segment->largest_hole)
			segment->largest_hole = part.to - part.from;
}

/* Bytes of tensors in each piece: one walk over both sorted arrays. */
static void use_pieces(struct segment_piece *piece, size_t pieces, const struct segment_block *block, size_t blocks)
{
	struct segment part;
	size_t i, next = 0;

	for (i = 0; i < pieces; i++) {
		part = (struct segment){ .process = piece[i].process,
					 .address = piece[i].address,
					 .bytes = piece[i].bytes };
		fill(&part, block, blocks, &next);
		piece[i].used = part.used;
	}
}

/* Keeps segments that hold or held tensors. Other segments are not the allocator's. */
static void keep_own(struct segment_map *map)
{
	size_t i, kept = 0;

	for (i = 0; i < map->count; i++)
		if (!map->segment[i].mapped || map->segment[i].used || map->segment[i].tensors_seen)
			map->segment[kept++] = map->segment[i];
	map->count = kept;
}

static void add_up(struct segment_map *map, const struct segment_piece *piece, size_t pieces,
		   const struct segment_block *block, size_t blocks)
{
	const struct segment *segment;
	size_t i, at = 0;

	for (i = 0; i < map->count; i++) {
		segment = &map->segment[i];
		map->bytes += segment->bytes;
		map->used += segment->used;
		if (segment->largest_hole > map->largest_hole)
			map->largest_hole = segment->largest_hole;
	}
	for (i = 0; i < pieces; i++) {
		while (at < map->count &&
		       compare(map->segment[at].process, end_of(map->segment[at].address, map->segment[at].bytes),
			       piece[i].process, piece[i].address + 1) < 0)
			at++;
		if (!piece[i].used && at < map->count && map->segment[at].process == piece[i].process &&
		    map->segment[at].address <= piece[i].address)
			map->free_pieces += piece[i].bytes;
	}
	for (i = 0; i < blocks; i++)
		map->absent += block[i].bytes;
	map->absent -= map->used < map->absent ? map->used : map->absent;
}

int segment_map_build(struct segment_map *map, struct segment_piece *piece, size_t pieces, struct segment_block *block,
		      size_t blocks)
{
	size_t i, next = 0;

	memset(map, 0, sizeof(*map));
	map->segment = calloc(pieces + 1, sizeof(*map->segment));
	if (!map->segment)
		return -MT_E_MEMORY;
	if (pieces)
		qsort(piece, pieces, sizeof(*piece), by_piece);
	if (blocks)
		qsort(block, blocks, sizeof(*block), by_block);
	for (i = 0; i < pieces; i++)
		add_piece(map, &piece[i]);
	for (i = 0; i < map->count; i++)
		fill(&map->segment[i], block, blocks, &next);
	use_pieces(piece, pieces, block, blocks);
	keep_own(map);
	add_up(map, piece, pieces, block, blocks);
	return 0;
}

void segment_map_release(struct segment_map *map)
{
	free(map->segment);
	memset(map, 0, sizeof(*map));
}
