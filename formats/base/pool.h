/*
 * pool.h - equal-sized items in slabs: one malloc for many, the newest given back is the next handed out.
 *
 * Not zeroed. Slabs are returned to libc by pool_release only.
 */
#ifndef FORMATS_POOL_H
#define FORMATS_POOL_H

#include <stddef.h>

struct pool_item;

struct pool {
	size_t item_bytes;
	size_t available;        /* items on the free list */
	struct pool_item *items; /* the free list */
	struct pool_item *slabs; /* every slab, chained through its first word */
};

/* `item_bytes` at least a pointer. */
void pool_init(struct pool *pool, size_t item_bytes);
void pool_release(struct pool *pool);

/* After 0 the next `count` pool_take calls succeed. -MT_E_MEMORY. */
int pool_reserve(struct pool *pool, size_t count);

/* Needs room that pool_reserve made. */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *item);

#endif
