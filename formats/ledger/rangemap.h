/*
 * rangemap.h - address ranges that do not overlap, in order, each with a pointer: a B+ tree.
 *
 *                  ┌────────┬────────┐                  inner nodes: the lowest address of each child but the first
 *                  │   0    │  0x60  │
 *                  └───┬────┴───┬────┘
 *     ┌────────────────┘        └───────────────┐
 *     │ [0x10,0x20) a  [0x20,0x50) b │<───────> │ [0x60,0x61) c  [0x90,0xa0) d │   leaves, chained
 *
 * Nodes split when they are full and go when they are empty; what is left of others stays as it is. So every leaf holds
 * something, memory is proportional to the ranges, and the height to the logarithm of how many were ever put in.
 */
#ifndef FORMATS_RANGEMAP_H
#define FORMATS_RANGEMAP_H

#include <stddef.h>
#include <stdint.h>
#include "base/pool.h"

struct rangemap_node;

struct rangemap {
	struct rangemap_node *root; /* NULL: empty */
	uint32_t height;            /* nodes on the way to a leaf, with it */
	size_t count;               /* ranges */
	struct {
		uint64_t addr;
		struct rangemap_node *leaf; /* NULL: the map has changed since */
		uint32_t rank;
	} newest; /* the way rangemap_seek went */
	struct pool pool;
};

void rangemap_init(struct rangemap *map);    /* before the first use: an empty map, without memory */
void rangemap_release(struct rangemap *map); /* leaves an empty map */

/* After 0 the next rangemap_insert succeeds. -MT_E_MEMORY. */
int rangemap_reserve(struct rangemap *map);

/* Needs room that rangemap_reserve made, addr < end, a value, and no other range in [addr, end). */
void rangemap_insert(struct rangemap *map, uint64_t addr, uint64_t end, void *value);

/* Takes out the range that begins at `addr`. Its value, or NULL: there is none. */
void *rangemap_remove(struct rangemap *map, uint64_t addr);

/* The value of the lowest range that overlaps [addr, end), addr < end; or NULL. */
void *rangemap_first(const struct rangemap *map, uint64_t addr, uint64_t end);

/* The same, by somebody who may put in or take out at `addr` next: that does not look for the place again. */
void *rangemap_seek(struct rangemap *map, uint64_t addr, uint64_t end);

#endif
