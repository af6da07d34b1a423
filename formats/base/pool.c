#include "pool.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define POOL_SLAB_BYTES (64u << 10) /* at most */
#define POOL_FIRST_ITEMS 8u

void pool_init(struct pool *pool, size_t item_bytes)
{
	*pool = (struct pool){ .item_bytes = (item_bytes + 15) & ~(size_t)15 };
}

void pool_release(struct pool *pool)
{
	struct pool_item *slab = pool->slabs, *next;

	for (; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	pool_init(pool, pool->item_bytes);
}

static int add_slab(struct pool *pool)
{
	size_t header = 16, most = (POOL_SLAB_BYTES - header) / pool->item_bytes;
	size_t count = pool->slab_items ? pool->slab_items * 2 : POOL_FIRST_ITEMS;
	struct pool_item *slab;
	char *items;

	if (count > most)
		count = most;
	slab = malloc(header + count * pool->item_bytes);
	if (!slab)
		return -MT_E_MEMORY;
	pool->slab_items = count;
	items = (char *)slab + header;
	slab->next = pool->slabs;
	pool->slabs = slab;
	while (count)
		pool_give(pool, items + --count * pool->item_bytes);
	return 0;
}

int pool_grow(struct pool *pool, size_t count)
{
	while (pool->available < count)
		if (add_slab(pool))
			return -MT_E_MEMORY;
	return 0;
}
