#include "allocator.h"

#include <stdlib.h>

struct block *block_new(struct pool *pool, int stream, uint64_t addr, uint64_t size)
{
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		abort();
	block->pool = pool;
	block->stream = stream;
	block->addr = addr;
	block->size = size;
	block->mapped = 1;
	return block;
}

int block_is_split(const struct block *block)
{
	return block->prev || block->next;
}

static struct block **list_of(const struct block *block)
{
	return block->mapped ? &block->pool->free : &block->pool->unmapped;
}

static int comes_before(const struct block *one, const struct block *two)
{
	if (one->stream != two->stream)
		return one->stream < two->stream;
	if (one->mapped && one->size != two->size)
		return one->size < two->size;
	return one->addr < two->addr;
}

void block_insert(struct block *block)
{
	struct block **link = list_of(block);

	while (*link && comes_before(*link, block))
		link = &(*link)->list_next;
	block->list_next = *link;
	*link = block;
}

void block_remove(struct block *block)
{
	struct block **link = list_of(block);

	while (*link != block)
		link = &(*link)->list_next;
	*link = block->list_next;
	block->list_next = NULL;
}

/* The size that the block could grow to. */
static uint64_t room(const struct block *block)
{
	return block->size + (block->next && !block->next->mapped ? block->next->size : 0);
}

/*
 * The smallest that fits, the lowest of several. At the growing end of an expandable range what counts is the size that
 * a block could grow to, so larger ones that are hemmed in come first.
 */
struct block *block_best(struct pool *pool, int stream, uint64_t size)
{
	struct block *block = pool->free, *next;

	while (block && (block->stream < stream || (block->stream == stream && block->size < size)))
		block = block->list_next;
	if (!block || block->stream != stream)
		return NULL;
	while (block->range && (next = block->list_next) && next->stream == stream && room(next) < room(block))
		block = next;
	block_remove(block);
	return block;
}

struct block *block_split(struct block *block, uint64_t size)
{
	struct block *rest = block_new(block->pool, block->stream, block->addr + size, block->size - size);

	rest->range = block->range;
	rest->mapped = block->mapped;
	rest->prev = block;
	rest->next = block->next;
	if (rest->next)
		rest->next->prev = rest;
	block->next = rest;
	block->size = size;
	return rest;
}

static void swallow(struct block *block, struct block *other)
{
	if (!other || other->allocated || other->uses || other->mapped != block->mapped)
		return;
	block_remove(other);
	block->size += other->size;
	if (other == block->prev) {
		block->addr = other->addr;
		block->prev = other->prev;
		if (block->prev)
			block->prev->next = block;
	} else {
		block->next = other->next;
		if (block->next)
			block->next->prev = block;
	}
	free(other);
}

void block_merge(struct block *block)
{
	swallow(block, block->prev);
	swallow(block, block->next);
}
