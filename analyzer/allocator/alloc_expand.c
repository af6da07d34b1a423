/* alloc_expand.c - expandable segments: ranges of addresses whose pages come and go. */
#include "alloc_impl.h"

#include "memtrace/error.h"

#define RANGE_BYTES (1ull << 40) /* for a device of unknown size */

static uint64_t page_of(const struct alloc_model *model, const struct alloc_pool *pool)
{
	return pool->is_small ? ALLOC_SMALL_SEGMENT : model->config.large_segment;
}

/* PyTorch reserves the addresses of the whole device, and an eighth more. */
static struct alloc_block *range_new(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr)
{
	uint64_t page = page_of(model, pool), device = model->config.device_bytes;
	uint64_t bytes = device ? device + device / 8 : RANGE_BYTES;
	struct alloc_block *block;

	block = alloc_segment_new(model, pool, addr, (bytes + page - 1) / page * page, page);
	if (!block)
		return NULL;
	block->mapped = 0;
	alloc_block_insert(model, block);
	return block;
}

/* Maps as many pages of an unmapped block as `bytes` need. They become free memory, joined with their neighbours. */
static int map(struct alloc_model *model, struct alloc_block **block, uint64_t bytes)
{
	struct alloc_block *mapped = *block, *rest;
	uint64_t page = mapped->segment->page;

	bytes = (bytes + page - 1) / page * page;
	if (!alloc_model_has_room(model, bytes))
		return ALLOC_MODEL_REFUSED;
	alloc_block_remove(mapped);
	if (bytes < mapped->bytes) {
		rest = alloc_block_split(mapped, bytes);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, rest);
	}
	model->state.reserved += mapped->bytes;
	mapped->mapped = 1;
	*block = alloc_block_join(mapped);
	alloc_block_insert(model, *block);
	return 0;
}

/*
 * Whether the block, with the blocks behind it, has addresses for `bytes`. If not, `end` is the address behind the last
 * block that was tried.
 */
static int can_grow(struct alloc_model *model, const struct alloc_block *block, uint64_t bytes, uint64_t *end)
{
	uint64_t room = 0;

	for (; block && room < bytes && !block->allocated; block = block->next) {
		model->looked++;
		room += block->bytes;
		*end = block->node.addr + block->bytes;
	}
	return room >= bytes;
}

/* The lowest place with addresses for `bytes`: an unmapped block, or a free block followed by unmapped ones. */
static struct alloc_block *find_place(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes)
{
	struct alloc_node *node = alloc_tree_from(&pool->unmapped, 0, 0);
	struct alloc_block *start;
	uint64_t end = 0;

	/* A run of blocks that is too small has no place inside it either. */
	for (; node; node = alloc_tree_from(&pool->unmapped, 0, end)) {
		start = alloc_block_of(node);
		if (start->prev && !start->prev->allocated)
			start = start->prev;
		if (can_grow(model, start, bytes, &end))
			return start;
	}
	return range_new(model, pool, 0);
}

static uint64_t lower(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

int alloc_expand(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes, struct alloc_block **found)
{
	struct alloc_block *block = find_place(model, pool, bytes), *next;
	int error = 0;

	if (!block)
		return -MT_E_MEMORY;
	if (block->bytes < bytes && !block->next) /* the device has no more addresses */
		return ALLOC_MODEL_REFUSED;
	if (!block->mapped)
		error = map(model, &block, lower(block->bytes, bytes));
	while (!error && block->bytes < bytes) {
		next = block->next;
		error = map(model, &next, lower(bytes - block->bytes, next->bytes));
		if (!error)
			block = next;
	}
	if (error)
		return error;
	alloc_block_remove(block);
	*found = block;
	return 0;
}

/* ---- giving pages back ---- */

/* Unmaps the whole pages of a free block. The rests at its ends stay free. */
static int unmap(struct alloc_model *model, struct alloc_block *block)
{
	uint64_t base = block->segment->place.addr, from, end;
	struct alloc_block *rest;

	alloc_block_pages(block, &from, &end);
	alloc_block_remove(block);
	if (base + from > block->node.addr) {
		rest = alloc_block_split(block, base + from - block->node.addr);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, block);
		block = rest;
	}
	if (end - from < block->bytes) {
		rest = alloc_block_split(block, end - from);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, rest);
	}
	model->state.reserved -= block->bytes;
	block->mapped = 0;
	block = alloc_block_join(block);
	if (alloc_block_is_split(block))
		alloc_block_insert(model, block);
	else
		alloc_segment_drop(model, block);
	return 0;
}

int alloc_expand_release(struct alloc_model *model, struct alloc_pool *pool)
{
	struct alloc_node *node;
	int error = 0;

	/* The rest after unmapping is less than a page, and is not spare. */
	while (!error && (node = alloc_tree_from(&pool->spare, 0, 0))) {
		model->looked++;
		error = unmap(model, alloc_block_of_spare(node));
	}
	return error;
}

/* ---- a beginning ---- */

/* The unmapped block that has the address. */
static struct alloc_block *unmapped_at(const struct alloc_pool *pool, uint64_t addr)
{
	struct alloc_node *node = alloc_tree_upto(&pool->unmapped, 0, addr);
	struct alloc_block *block = node ? alloc_block_of(node) : NULL;

	return block && addr - node->addr < block->bytes ? block : NULL;
}

int alloc_expand_begin(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes)
{
	struct alloc_block *block = unmapped_at(pool, addr), *rest;

	if (!block && (alloc_segment_at(model, addr) || alloc_segment_at(model, addr + bytes - 1)))
		return 0;
	if (!block)
		block = range_new(model, pool, addr);
	if (!block)
		return -MT_E_MEMORY;
	if (addr > block->node.addr) {
		alloc_block_remove(block);
		rest = alloc_block_split(block, addr - block->node.addr);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, block);
		alloc_block_insert(model, rest);
		block = rest;
	}
	return map(model, &block, lower(bytes, block->bytes));
}
