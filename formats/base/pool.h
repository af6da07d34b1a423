/*
 * pool.h - allocates items of equal size in slabs: one malloc for many items. The item freed last is handed out first.
 *
 * Items are not zeroed. Each slab is twice as large as the slab before, up to 64 KiB, because many processes have small
 * pools. Only pool_release returns slabs to libc.
 */
#ifndef FORMATS_POOL_H
#define FORMATS_POOL_H

#include <stddef.h>

struct pool_item {
	struct pool_item *next;
};

struct pool {
	size_t item_bytes;
	size_t available;        /* items on the free list */
	size_t slab_items;       /* in the newest slab */
	struct pool_item *items; /* the free list */
	struct pool_item *slabs; /* every slab, chained through its first word */
};

/* `item_bytes` at least a pointer. */
void pool_init(struct pool *pool, size_t item_bytes);
void pool_release(struct pool *pool);

/* Makes items until there are `count`. 0 or -MT_E_MEMORY. */
int pool_grow(struct pool *pool, size_t count);

/* After 0 the next `count` pool_take calls succeed. -MT_E_MEMORY. */
static inline int pool_reserve(struct pool *pool, size_t count)
{
	return pool->available >= count ? 0 : pool_grow(pool, count);
}

/* Call after pool_reserve, which makes room. */
static inline void *pool_take(struct pool *pool)
{
	struct pool_item *item = pool->items;

	pool->items = item->next;
	pool->available--;
	return item;
}

static inline void pool_give(struct pool *pool, void *item)
{
	struct pool_item *head = item;

	head->next = pool->items;
	pool->items = head;
	pool->available++;
}

#endif
