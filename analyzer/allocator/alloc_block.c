#include "alloc_impl.h"

#include <stdlib.h>

#define ADDR_FIRST (1ull << 40) /* first address for segments without their own */
#define SEGMENT_ALIGN (2 * ALLOC_MIB)

/* ---- blocks ---- */

static struct alloc_tree *tree_of(const struct alloc_block *block)
{
	return block->mapped ? &block->pool->free : &block->pool->unmapped;
}

void alloc_block_pages(const struct alloc_block *block, uint64_t *from, uint64_t *end)
{
	uint64_t base = block->segment->place.addr, page = block->segment->page;

	*from = (block->node.addr - base + page - 1) / page * page;
	*end = (block->node.addr - base + block->bytes) / page * page;
}

/* Whether the driver can get memory of the block back: a whole segment, or whole pages. */
static int can_go_back(const struct alloc_block *block)
{
	uint64_t from, end;

	if (!block->mapped || !block->segment->page)
		return block->mapped && !alloc_block_is_split(block);
	alloc_block_pages(block, &from, &end);
	return from < end;
}

void alloc_block_insert(struct alloc_model *model, struct alloc_block *block)
{
	struct alloc_pool *pool = block->pool;

	block->born = model->searches;
	block->node.key = block->mapped ? block->bytes : 0;
	alloc_tree_add(tree_of(block), &block->node);
	block->is_spare = (uint8_t)can_go_back(block);
	if (!block->is_spare)
		return;
	block->spare.key = block->born;
	block->spare.addr = block->node.addr;
	alloc_tree_add(&pool->spare, &block->spare);
	pool->spares++;
	pool->born += block->born;
}

void alloc_block_remove(struct alloc_block *block)
{
	struct alloc_pool *pool = block->pool;

	alloc_tree_remove(tree_of(block), &block->node);
	if (!block->is_spare)
		return;
	alloc_tree_remove(&pool->spare, &block->spare);
	block->is_spare = 0;
	pool->spares--;
	pool->born -= block->born;
}

static struct alloc_block *block_new(struct alloc_pool *pool, uint64_t addr, uint64_t bytes)
{
	struct alloc_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->node.addr = block->place.addr = addr;
	block->bytes = bytes;
	block->pool = pool;
	block->mapped = 1;
	return block;
}

struct alloc_block *alloc_block_split(struct alloc_block *block, uint64_t bytes)
{
	struct alloc_block *rest = block_new(block->pool, block->node.addr + bytes, block->bytes - bytes);

	if (!rest)
		return NULL;
	rest->segment = block->segment;
	rest->mapped = block->mapped;
	rest->prev = block;
	rest->next = block->next;
	if (rest->next)
		rest->next->prev = rest;
	block->next = rest;
	block->bytes = bytes;
	alloc_tree_add(&rest->segment->blocks, &rest->place);
	return rest;
}

/* Joins two blocks into the left one: the first block of a segment stays the first. */
static struct alloc_block *absorb(struct alloc_block *left, struct alloc_block *right)
{
	left->bytes += right->bytes;
	left->next = right->next;
	if (left->next)
		left->next->prev = left;
	alloc_tree_remove(&right->segment->blocks, &right->place);
	free(right);
	return left;
}

static int joins(const struct alloc_block *block, const struct alloc_block *neighbour)
{
	return neighbour && !neighbour->allocated && neighbour->mapped == block->mapped;
}

struct alloc_block *alloc_block_join(struct alloc_block *block)
{
	if (joins(block, block->next)) {
		alloc_block_remove(block->next);
		block = absorb(block, block->next);
	}
	if (!joins(block, block->prev))
		return block;
	alloc_block_remove(block->prev);
	return absorb(block->prev, block);
}

/* The size that the block could grow to. */
static uint64_t bytes_with_room(const struct alloc_block *block)
{
	return block->bytes + (block->next && !block->next->mapped ? block->next->bytes : 0);
}

/*
 * In expandable segments the size that a block could grow to counts. A larger block that cannot grow comes before a
 * smaller one that can.
 */
static struct alloc_block *best_of_expandable(const struct alloc_pool *pool, struct alloc_block *block)
{
	struct alloc_node *node;

	while ((node = alloc_tree_next(&pool->free, &block->node)) &&
	       bytes_with_room(alloc_block_of(node)) < bytes_with_room(block))
		block = alloc_block_of(node);
	return block;
}

struct alloc_block *alloc_block_best(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes)
{
	const struct alloc_config *config = &model->config;
	struct alloc_node *node = alloc_tree_from(&pool->free, bytes, 0);
	struct alloc_block *block;

	model->searches += !pool->is_small;
	if (!node)
		return NULL;
	block = alloc_block_of(node);
	if (block->segment->page)
		block = best_of_expandable(pool, block);
	if (bytes < config->max_split && block->bytes >= config->max_split)
		return NULL;
	if (bytes >= config->max_split && block->bytes - bytes >= config->max_rounding)
		return NULL;
	alloc_block_remove(block);
	return block;
}

/* ---- segments ---- */

struct alloc_block *alloc_segment_new(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes,
				      uint64_t page)
{
	struct alloc_segment *segment = calloc(1, sizeof(*segment));
	struct alloc_block *block = NULL;

	if (!model->next_addr)
		model->next_addr = ADDR_FIRST;
	if (!addr)
		addr = model->next_addr;
	if (segment)
		block = block_new(pool, addr, bytes);
	if (!block) {
		free(segment);
		return NULL;
	}
	*segment = (struct alloc_segment){ .place = { .addr = addr }, .bytes = bytes, .page = page, .first = block };
	alloc_tree_add(&model->segment, &segment->place);
	alloc_tree_add(&segment->blocks, &block->place);
	block->segment = segment;
	if (addr + bytes > model->next_addr)
		model->next_addr = (addr + bytes + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
	return block;
}

void alloc_segment_drop(struct alloc_model *model, struct alloc_block *block)
{
	alloc_tree_remove(&model->segment, &block->segment->place);
	free(block->segment);
	free(block);
}

struct alloc_segment *alloc_segment_at(const struct alloc_model *model, uint64_t addr)
{
	struct alloc_segment *segment = (struct alloc_segment *)alloc_tree_upto(&model->segment, 0, addr);

	return segment && addr - segment->place.addr < segment->bytes ? segment : NULL;
}

struct alloc_block *alloc_block_at(const struct alloc_model *model, uint64_t addr)
{
	const struct alloc_segment *segment = alloc_segment_at(model, addr);
	struct alloc_node *node = segment ? alloc_tree_upto(&segment->blocks, 0, addr) : NULL;

	return node ? (struct alloc_block *)((char *)node - offsetof(struct alloc_block, place)) : NULL;
}

int alloc_model_has_room(const struct alloc_model *model, uint64_t bytes)
{
	uint64_t limit = model->config.limit;

	return bytes <= ALLOC_BYTES_MAX && (!limit || model->state.reserved + model->beside + bytes <= limit);
}
