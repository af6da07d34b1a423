/*
 * rangemap.h - a B+ tree of address ranges that do not overlap, each with a pointer.
 *
 *                  ┌────────┬────────┐                  inner nodes: the lowest address of each child but the first
 *                  │   0    │  0x60  │
 *                  └───┬────┴───┬────┘
 *     ┌────────────────┘        └───────────────┐
 *     │ [0x10,0x20) a  [0x20,0x50) b │<───────> │ [0x60,0x61) c  [0x90,0xa0) d │   leaves, chained
 *
 * A full node splits, and an empty node is removed; other nodes stay as they are. So each leaf has at least one range.
 * Memory is proportional to the ranges, and the height to the logarithm of the ranges ever added.
 */
#ifndef FORMATS_RANGEMAP_H
#define FORMATS_RANGEMAP_H

#include <stddef.h>
#include <stdint.h>
#include "base/pool.h"

struct rangemap_node;

struct rangemap {
	struct rangemap_node *root; /* NULL: empty */
	uint32_t height;            /* number of levels, the leaves included */
	size_t count;               /* ranges */
	struct {
		uint64_t addr;
		struct rangemap_node *leaf; /* NULL: the map has changed since */
		uint32_t rank;
	} newest; /* path of the newest rangemap_seek */
	struct pool pool;
};

void rangemap_init(struct rangemap *map);    /* before the first use: an empty map, without memory */
void rangemap_release(struct rangemap *map); /* leaves an empty map */

/* After 0 the next rangemap_insert succeeds. -MT_E_MEMORY. */
int rangemap_reserve(struct rangemap *map);

/* Needs room that rangemap_reserve made, addr < end, a value, and no other range in [addr, end). */
void rangemap_insert(struct rangemap *map, uint64_t addr, uint64_t end, void *value);

/* Removes the range that begins at `addr`. Returns its value, or NULL. */
void *rangemap_remove(struct rangemap *map, uint64_t addr);

/* Returns the value of the lowest range that overlaps [addr, end), or NULL. addr < end. */
void *rangemap_first(const struct rangemap *map, uint64_t addr, uint64_t end);

/* As rangemap_first, and remembers the place: an insertion or removal at `addr` right after it needs no search. */
void *rangemap_seek(struct rangemap *map, uint64_t addr, uint64_t end);

#endif
