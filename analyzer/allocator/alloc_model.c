#include "alloc_impl.h"

#include <stdlib.h>
#include "memtrace/error.h"

struct alloc_model *alloc_model_new(const struct alloc_config *config)
{
	struct alloc_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->config = *config;
	return model;
}

static void drop_all(struct alloc_model *model, struct alloc_segment *segment)
{
	struct alloc_block *block, *next;

	for (block = segment->first; block; block = next) {
		next = block->next;
		free(block);
	}
	alloc_tree_remove(&model->segment, &segment->place);
	free(segment);
}

void alloc_model_free(struct alloc_model *model)
{
	struct alloc_segment *segment;
	uint32_t i;

	if (!model)
		return;
	for (i = 0; i < model->pools; i++) {
		free(model->pool[0][i]);
		free(model->pool[1][i]);
	}
	while ((segment = (struct alloc_segment *)model->segment.root))
		drop_all(model, segment);
	free(model);
}

const struct alloc_state *alloc_model_state(const struct alloc_model *model)
{
	return &model->state;
}

void alloc_model_beside(struct alloc_model *model, uint64_t bytes)
{
	model->beside = bytes;
}

void alloc_model_limit(struct alloc_model *model, uint64_t bytes)
{
	model->config.limit = bytes;
}

struct alloc_pool *alloc_pool_at(struct alloc_model *model, uint32_t number, int is_small)
{
	struct alloc_pool **pool;

	if (number >= ALLOC_MODEL_POOLS)
		return NULL;
	pool = &model->pool[!!is_small][number];
	if (!*pool) {
		*pool = calloc(1, sizeof(**pool));
		if (!*pool)
			return NULL;
		(*pool)->is_small = !!is_small;
		if (model->pools <= number)
			model->pools = number + 1;
	}
	return *pool;
}

void alloc_model_keep(struct alloc_model *model, uint32_t number, int kept)
{
	int is_small;

	for (is_small = 0; is_small < 2 && number < ALLOC_MODEL_POOLS; is_small++)
		if (model->pool[is_small][number])
			model->pool[is_small][number]->kept = kept;
}

/* ---- the driver ---- */

static uint64_t segment_bytes(const struct alloc_config *config, uint64_t bytes)
{
	if (bytes <= ALLOC_SMALL_MAX)
		return ALLOC_SMALL_SEGMENT;
	if (bytes < ALLOC_LARGE_MIN)
		return config->large_segment;
	return (bytes + ALLOC_LARGE_ROUND - 1) / ALLOC_LARGE_ROUND * ALLOC_LARGE_ROUND;
}

/* Gets new memory with room for `bytes`. Returns 0, ALLOC_MODEL_REFUSED or -MT_E_MEMORY. */
static int obtain(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes, struct alloc_block **block)
{
	uint64_t segment = segment_bytes(&model->config, bytes);

	if (bytes > ALLOC_BYTES_MAX || model->state.reserved + segment > alloc_config_allowed(&model->config))
		return ALLOC_MODEL_REFUSED;
	if (model->config.expandable)
		return alloc_expand(model, pool, bytes, block);
	if (!alloc_model_has_room(model, segment))
		return ALLOC_MODEL_REFUSED;
	*block = alloc_segment_new(model, pool, 0, segment, 0);
	if (!*block)
		return -MT_E_MEMORY;
	model->state.reserved += segment;
	return 0;
}

/* Gives back a free block that is a whole segment. */
static void release(struct alloc_model *model, struct alloc_block *block)
{
	alloc_block_remove(block);
	model->state.reserved -= block->bytes;
	alloc_segment_drop(model, block);
}

/* ---- giving memory back ---- */

static int is_whole(const struct alloc_block *block)
{
	return !block->segment->page && !alloc_block_is_split(block);
}

static int release_pool(struct alloc_model *model, struct alloc_pool *pool)
{
	struct alloc_node *node;

	if (model->config.expandable)
		return alloc_expand_release(model, pool);
	while ((node = alloc_tree_from(&pool->spare, 0, 0))) {
		model->looked++;
		release(model, alloc_block_of_spare(node));
	}
	return 0;
}

int alloc_model_empty_cache(struct alloc_model *model)
{
	struct alloc_pool *pool;
	uint32_t i;
	int error = 0;

	for (i = 0; i < 2 * model->pools && !error; i++) {
		pool = model->pool[i % 2][i / 2];
		if (pool && !pool->kept)
			error = release_pool(model, pool);
	}
	return error;
}

/* With max_split_size_mb: gives back unsplittable blocks, the largest first, until there are enough bytes. */
static int release_oversize(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes)
{
	uint64_t least = model->config.max_split, key = bytes > least ? bytes : least, released = 0;
	struct alloc_node *node = alloc_tree_from(&pool->free, key, 0);

	if (least == UINT64_MAX)
		return 0;
	if (!node)
		node = alloc_tree_upto(&pool->free, UINT64_MAX, UINT64_MAX);
	while (node && released < key && node->key >= least && is_whole(alloc_block_of(node))) {
		released += node->key;
		release(model, alloc_block_of(node));
		node = alloc_tree_upto(&pool->free, UINT64_MAX, UINT64_MAX);
	}
	return released >= key;
}

/* Whole segments of large pools: their number, and the searches since they became free. */
struct age {
	uint64_t total, count;
};

static struct alloc_pool *collectable(const struct alloc_model *model, uint32_t number)
{
	struct alloc_pool *pool = model->pool[0][number];

	return pool && !pool->kept ? pool : NULL;
}

static struct age ages(const struct alloc_model *model)
{
	struct age age = { 0 };
	const struct alloc_pool *pool;
	uint32_t i;

	for (i = 0; i < model->pools; i++) {
		pool = collectable(model, i);
		if (!pool)
			continue;
		age.count += pool->spares;
		age.total += pool->spares * model->searches - pool->born;
	}
	return age;
}

/* Gives back segments at least as old as `oldest`. Returns their bytes. */
static uint64_t release_old(struct alloc_model *model, double oldest)
{
	struct alloc_pool *pool;
	struct alloc_node *node;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < model->pools; i++) {
		pool = collectable(model, i);
		while (pool && (node = alloc_tree_from(&pool->spare, 0, 0)) &&
		       (double)(model->searches - node->key) >= oldest) {
			model->looked++;
			bytes += alloc_block_of_spare(node)->bytes;
			release(model, alloc_block_of_spare(node));
		}
	}
	return bytes;
}

/* With garbage_collection_threshold: gives back cached segments that have been free for longer than the average. */
static void collect_garbage(struct alloc_model *model)
{
	const struct alloc_config *config = &model->config;
	uint64_t allowed = alloc_config_allowed(config), threshold, freed = 0, more = 1;
	struct age age;

	if (!config->gc_threshold || allowed == UINT64_MAX || config->expandable)
		return;
	threshold = (uint64_t)(config->gc_threshold * (double)allowed);
	if (model->state.reserved <= threshold)
		return;
	threshold = model->state.reserved - threshold;
	for (age = ages(model); freed < threshold && more && age.count; age = ages(model)) {
		more = release_old(model, (double)age.total / (double)age.count);
		freed += more;
	}
}

/* ---- requests ---- */

/* NULL: no block has the id. */
static struct alloc_block *named(const struct alloc_model *model, uint64_t id)
{
	struct alloc_node *node = alloc_tree_from(&model->block, id, 0);

	if (!node || node->key != id)
		return NULL;
	return (struct alloc_block *)((char *)node - offsetof(struct alloc_block, name));
}

static int is_worth_splitting(const struct alloc_model *model, const struct alloc_block *block, uint64_t bytes)
{
	uint64_t rest = block->bytes - bytes;

	if (block->pool->is_small || model->config.expandable)
		return rest >= ALLOC_BLOCK_BYTES;
	return bytes < model->config.max_split && rest > ALLOC_SMALL_MAX;
}

/* 0, ALLOC_MODEL_REFUSED or -MT_E_MEMORY. */
static int find(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes, struct alloc_block **block)
{
	int error;

	*block = alloc_block_best(model, pool, bytes);
	if (*block)
		return 0;
	collect_garbage(model);
	error = obtain(model, pool, bytes, block);
	if (error == ALLOC_MODEL_REFUSED && release_oversize(model, pool, bytes))
		error = obtain(model, pool, bytes, block);
	if (error != ALLOC_MODEL_REFUSED)
		return error;
	model->state.retries++;
	error = alloc_model_empty_cache(model);
	return error ? error : obtain(model, pool, bytes, block);
}

static int hand_out(struct alloc_model *model, struct alloc_block *block, uint64_t id, uint64_t bytes)
{
	struct alloc_block *rest;

	if (is_worth_splitting(model, block, bytes)) {
		rest = alloc_block_split(block, bytes);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, rest);
	}
	block->allocated = 1;
	model->state.allocated += block->bytes;
	block->name.key = id;
	alloc_tree_add(&model->block, &block->name);
	return 0;
}

int alloc_model_take(struct alloc_model *model, uint64_t id, uint64_t bytes, uint32_t number)
{
	uint64_t rounded = bytes > ALLOC_BYTES_MAX ? bytes : alloc_config_round(&model->config, bytes);
	struct alloc_pool *pool = alloc_pool_at(model, number, rounded <= ALLOC_SMALL_MAX);
	struct alloc_block *block;
	int error;

	if (!pool)
		return number >= ALLOC_MODEL_POOLS ? -MT_E_ARGUMENT : -MT_E_MEMORY;
	model->state.requests++;
	alloc_model_give(model, id);
	error = find(model, pool, rounded, &block);
	model->state.failed += error == ALLOC_MODEL_REFUSED;
	return error ? error : hand_out(model, block, id, rounded);
}

void alloc_model_give(struct alloc_model *model, uint64_t id)
{
	struct alloc_block *block = named(model, id);

	if (!block)
		return;
	alloc_tree_remove(&model->block, &block->name);
	block->allocated = 0;
	model->state.allocated -= block->bytes;
	alloc_block_insert(model, alloc_block_join(block));
}

/* ---- a beginning ---- */

int alloc_model_begin_segment(struct alloc_model *model, uint64_t addr, uint64_t bytes, uint32_t number, int is_small)
{
	struct alloc_pool *pool = alloc_pool_at(model, number, is_small);
	struct alloc_segment *below = (struct alloc_segment *)alloc_tree_upto(&model->segment, 0, addr + bytes - 1);
	struct alloc_block *block;

	if (!bytes || bytes > ALLOC_BYTES_MAX || addr > UINT64_MAX / 2 || number >= ALLOC_MODEL_POOLS)
		return 0;
	if (!pool)
		return -MT_E_MEMORY;
	if (model->config.expandable)
		return alloc_expand_begin(model, pool, addr, bytes);
	if (below && below->place.addr + below->bytes > addr)
		return 0;
	block = alloc_segment_new(model, pool, addr, bytes, 0);
	if (!block)
		return -MT_E_MEMORY;
	model->state.reserved += bytes;
	alloc_block_insert(model, block);
	return 0;
}

static struct alloc_block *free_at(const struct alloc_model *model, uint64_t addr)
{
	struct alloc_block *block = alloc_block_at(model, addr);

	return block && block->mapped && !block->allocated ? block : NULL;
}

/* The rest of a block that PyTorch would not have split off belongs to the tensor. */
static uint64_t bytes_there(const struct alloc_model *model, const struct alloc_block *block, uint64_t bytes)
{
	bytes = alloc_config_round(&model->config, bytes);
	return bytes > block->bytes ? block->bytes : bytes;
}

int alloc_model_begin_block(struct alloc_model *model, uint64_t id, uint64_t addr, uint64_t bytes)
{
	struct alloc_block *block = bytes > ALLOC_BYTES_MAX ? NULL : free_at(model, addr), *rest;

	if (!block || named(model, id))
		return 1;
	alloc_block_remove(block);
	if (addr > block->node.addr) {
		rest = alloc_block_split(block, addr - block->node.addr);
		if (!rest)
			return -MT_E_MEMORY;
		alloc_block_insert(model, block);
		block = rest;
	}
	return hand_out(model, block, id, bytes_there(model, block, bytes));
}
