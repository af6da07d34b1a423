#include "alloc_recorded.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define MOVES_MAX 8              /* most moves of a segment to another pool */
#define RANGE_BYTES (1ull << 40) /* as in alloc_expand.c */

struct recorded_piece {
	struct alloc_node node; /* by address; key 0 */
	uint64_t bytes;
	size_t number;        /* entries of alloc_recorded.pool_of */
	uint32_t pool;        /* pool number, or ALLOC_RECORDED_BESIDE */
	uint32_t uses, moves; /* tensors that were put into it */
};

int alloc_recorded_init(struct alloc_recorded *recorded, const struct alloc_config *config)
{
	uint64_t device = config->device_bytes;

	memset(recorded, 0, sizeof(*recorded));
	recorded->range_bytes = device ? device + device / 8 : RANGE_BYTES;
	recorded->pools = config->expandable ? 0 : 1;
	if (config->expandable)
		return 0;
	recorded->layout = alloc_model_new(config);
	return recorded->layout ? 0 : -MT_E_MEMORY;
}

void alloc_recorded_release(struct alloc_recorded *recorded)
{
	struct recorded_piece *piece;

	alloc_model_free(recorded->layout);
	while ((piece = (struct recorded_piece *)recorded->piece.root)) {
		alloc_tree_remove(&recorded->piece, &piece->node);
		free(piece);
	}
	free(recorded->pool_of);
	memset(recorded, 0, sizeof(*recorded));
}

int alloc_recorded_again(struct alloc_recorded *recorded, const struct alloc_config *config)
{
	uint8_t *pool_of = recorded->pool_of;
	size_t room = recorded->room;
	uint32_t pools = recorded->pools;
	int error;

	recorded->pool_of = NULL;
	alloc_recorded_release(recorded);
	error = alloc_recorded_init(recorded, config);
	recorded->pool_of = pool_of;
	recorded->room = room;
	recorded->has_learned = recorded->layout != NULL;
	if (recorded->has_learned)
		recorded->pools = pools;
	return error;
}

static struct recorded_piece *piece_at(const struct alloc_recorded *recorded, uint64_t addr)
{
	struct recorded_piece *piece = (struct recorded_piece *)alloc_tree_upto(&recorded->piece, 0, addr);

	return piece && addr - piece->node.addr < piece->bytes ? piece : NULL;
}

uint32_t alloc_recorded_pool(const struct alloc_recorded *recorded, uint64_t addr)
{
	const struct recorded_piece *piece = piece_at(recorded, addr);

	return piece ? piece->pool : 0;
}

/* ---- memory ---- */

/* The range that the pages belong to: one that begins below and reaches the address, else a new one. */
static uint32_t range_of(struct alloc_recorded *recorded, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < recorded->pools; i++)
		if (addr >= recorded->base[i] && addr - recorded->base[i] < recorded->range_bytes)
			return i;
	if (recorded->pools == ALLOC_RECORDED_POOLS)
		return ALLOC_RECORDED_POOLS - 1;
	recorded->base[recorded->pools] = addr;
	return recorded->pools++;
}

/* Makes room for one more entry of pool_of. */
static int count_segment(struct alloc_recorded *recorded, struct recorded_piece *piece)
{
	size_t room = recorded->room ? 2 * recorded->room : 1024;
	uint8_t *larger;

	if (recorded->number == recorded->room) {
		larger = realloc(recorded->pool_of, room);
		if (!larger)
			return -MT_E_MEMORY;
		recorded->pool_of = larger;
		recorded->room = room;
	}
	piece->number = recorded->number++;
	if (!recorded->has_learned)
		recorded->pool_of[piece->number] = 0;
	piece->pool = recorded->pool_of[piece->number];
	return 0;
}

static int begin_segment(struct alloc_recorded *recorded, const struct recorded_piece *piece)
{
	return alloc_model_begin_segment(recorded->layout, piece->node.addr, piece->bytes, piece->pool,
					 piece->bytes <= ALLOC_SMALL_SEGMENT);
}

int alloc_recorded_piece(struct alloc_recorded *recorded, const struct alloc_piece *from)
{
	struct recorded_piece *piece = malloc(sizeof(*piece));
	int error;

	if (!piece)
		return -MT_E_MEMORY;
	alloc_recorded_piece_gone(recorded, from->addr); /* the recording lacks its end */
	*piece = (struct recorded_piece){ .node = { .addr = from->addr }, .bytes = from->bytes };
	alloc_tree_add(&recorded->piece, &piece->node);
	if (from->is_beside) {
		piece->pool = ALLOC_RECORDED_BESIDE;
		recorded->beside += piece->bytes;
		return 0;
	}
	recorded->reserved += piece->bytes;
	if (!recorded->layout) {
		piece->pool = range_of(recorded, from->addr);
		return 0;
	}
	error = count_segment(recorded, piece);
	return error ? error : begin_segment(recorded, piece);
}

/* Drops a segment with all of its tensors: the recording may lack their frees. */
static void drop_segment(struct alloc_model *layout, uint64_t addr)
{
	struct alloc_segment *segment = alloc_segment_at(layout, addr);
	struct alloc_block *block = segment ? segment->first : NULL;

	if (!segment || segment->place.addr != addr)
		return;
	for (; block; block = block->next)
		if (block->allocated)
			return;
	block = segment->first;
	alloc_block_remove(block);
	layout->state.reserved -= block->bytes;
	alloc_segment_drop(layout, block);
}

void alloc_recorded_piece_gone(struct alloc_recorded *recorded, uint64_t addr)
{
	struct recorded_piece *piece = (struct recorded_piece *)alloc_tree_upto(&recorded->piece, 0, addr);

	if (!piece || piece->node.addr != addr)
		return;
	if (piece->pool == ALLOC_RECORDED_BESIDE) {
		recorded->beside -= piece->bytes;
	} else {
		recorded->reserved -= piece->bytes;
		recorded->released[piece->pool] = 1;
		if (recorded->layout)
			drop_segment(recorded->layout, addr);
	}
	alloc_tree_remove(&recorded->piece, &piece->node);
	free(piece);
}

/* ---- learning pools ---- */

static struct alloc_block *free_block_at(const struct alloc_recorded *recorded, uint64_t addr)
{
	struct alloc_block *block = alloc_block_at(recorded->layout, addr);

	return block && !block->allocated ? block : NULL;
}

/* The block that a request in a pool would get; NULL: none. */
static struct alloc_block *best_of(const struct alloc_recorded *recorded, uint32_t number, int is_small, uint64_t bytes)
{
	const struct alloc_pool *pool = recorded->layout->pool[is_small][number];
	struct alloc_node *node = pool ? alloc_tree_from(&pool->free, bytes, 0) : NULL;

	return node ? alloc_block_of(node) : NULL;
}

static int comes_before(const struct alloc_block *one, const struct alloc_block *two)
{
	return one->bytes != two->bytes ? one->bytes < two->bytes : one->node.addr < two->node.addr;
}

/*
 * Another pool in which this block would have been the best for the tensor. Without such a pool: returns the segment's
 * own.
 */
static uint32_t other_pool(struct alloc_recorded *recorded, const struct alloc_block *block, uint32_t own,
			   uint64_t bytes)
{
	const struct alloc_block *best;
	uint32_t i;

	for (i = 0; i < recorded->pools; i++) {
		best = i == own ? NULL : best_of(recorded, i, block->pool->is_small, bytes);
		if (i != own && (!best || comes_before(block, best)))
			return i;
	}
	return recorded->pools < ALLOC_RECORDED_POOLS ? recorded->pools++ : own;
}

static int move_segment(struct alloc_recorded *recorded, struct recorded_piece *piece, uint32_t number)
{
	struct alloc_segment *segment = alloc_segment_at(recorded->layout, piece->node.addr);
	struct alloc_block *block = segment ? segment->first : NULL;
	struct alloc_pool *pool;

	if (!block) /* the address belonged to a segment whose end is not recorded */
		return 0;
	pool = alloc_pool_at(recorded->layout, number, block->pool->is_small);
	if (!pool)
		return -MT_E_MEMORY;
	piece->pool = recorded->pool_of[piece->number] = (uint8_t)number;
	piece->moves++;
	for (; block; block = block->next) {
		if (!block->allocated)
			alloc_block_remove(block);
		block->pool = pool;
		if (!block->allocated)
			alloc_block_insert(recorded->layout, block);
	}
	return 0;
}

/*
 * A tensor of `bytes` goes into `block`. If another block of its pool would have been better, one of both segments
 * belongs to another pool: move the one with fewer tensors.
 */
static int compare_best(struct alloc_recorded *recorded, struct recorded_piece *piece, const struct alloc_block *block,
			uint64_t bytes)
{
	struct alloc_block *best = best_of(recorded, piece->pool, block->pool->is_small, bytes);
	struct recorded_piece *other;
	uint32_t number;

	if (!best || best->segment == block->segment || !comes_before(best, block))
		return 0;
	other = piece_at(recorded, best->node.addr);
	if (!other || (other->moves < MOVES_MAX && other->uses < piece->uses)) {
		number = other ? other_pool(recorded, best, piece->pool, best->bytes) : piece->pool;
		return number == piece->pool ? 0 : move_segment(recorded, other, number);
	}
	if (piece->moves == MOVES_MAX)
		return 0;
	number = other_pool(recorded, block, piece->pool, bytes);
	return number == piece->pool ? 0 : move_segment(recorded, piece, number);
}

int alloc_recorded_tensor(struct alloc_recorded *recorded, uint64_t id, uint64_t addr, uint64_t bytes, int begins,
			  uint32_t *pool)
{
	struct recorded_piece *piece = piece_at(recorded, addr);
	struct alloc_block *block;
	int error = 0;

	*pool = piece ? piece->pool : 0;
	if (!piece || *pool == ALLOC_RECORDED_BESIDE || !recorded->layout)
		return 0;
	block = free_block_at(recorded, addr);
	if (block && !begins && !recorded->has_learned)
		error = compare_best(recorded, piece, block, alloc_config_round(&recorded->layout->config, bytes));
	piece->uses++;
	*pool = piece->pool;
	if (!error)
		error = alloc_model_begin_block(recorded->layout, id, addr, bytes);
	return error < 0 ? error : 0;
}

void alloc_recorded_tensor_gone(struct alloc_recorded *recorded, uint64_t id)
{
	if (recorded->layout)
		alloc_model_give(recorded->layout, id);
}

/* ---- memory that was given back ---- */

/* The first completely free segment after `after`, in the order of the tree; NULL: none. */
static struct alloc_block *whole_segment(const struct alloc_pool *pool, const struct alloc_block *after)
{
	struct alloc_node *node;

	if (!pool)
		return NULL;
	node = after ? alloc_tree_next(&pool->free, &after->node) : alloc_tree_from(&pool->free, 0, 0);
	while (node && alloc_block_is_split(alloc_block_of(node)))
		node = alloc_tree_next(&pool->free, node);
	return node ? alloc_block_of(node) : NULL;
}

static int has_whole_segment(const struct alloc_recorded *recorded, uint32_t number)
{
	const struct alloc_model *layout = recorded->layout;

	return whole_segment(layout->pool[0][number], NULL) || whole_segment(layout->pool[1][number], NULL);
}

/*
 * Whether a pool gives back all it can: the default pool always does, and so does a pool that has given something back.
 */
static int gives_all(const struct alloc_recorded *recorded, uint32_t number)
{
	return !number || recorded->released[number];
}

/* Finds the pool for a segment that could have been given back, and was not. */
static uint32_t pool_that_keeps(struct alloc_recorded *recorded)
{
	uint32_t i;

	for (i = 1; i < recorded->pools; i++)
		if (!gives_all(recorded, i) && has_whole_segment(recorded, i))
			return i;
	return recorded->pools < ALLOC_RECORDED_POOLS ? recorded->pools++ : 0;
}

static int move_those_kept(struct alloc_recorded *recorded, uint32_t number, int is_small)
{
	struct alloc_pool *pool = recorded->layout->pool[is_small][number];
	struct alloc_block *block, *next;
	struct recorded_piece *piece;
	uint32_t other;
	int error = 0;

	for (block = whole_segment(pool, NULL); block && !error; block = next) {
		next = whole_segment(pool, block);
		piece = piece_at(recorded, block->node.addr);
		other = piece && piece->moves < MOVES_MAX ? pool_that_keeps(recorded) : 0;
		if (other)
			error = move_segment(recorded, piece, other);
	}
	return error;
}

int alloc_recorded_flush(struct alloc_recorded *recorded)
{
	uint32_t i, before = recorded->pools;
	int error = 0;

	for (i = 0; i < 2 * before && recorded->layout && !recorded->has_learned && !error; i++)
		if (gives_all(recorded, i / 2))
			error = move_those_kept(recorded, i / 2, i % 2);
	for (i = 0; i < recorded->pools; i++)
		recorded->kept[i] = i && !recorded->released[i] &&
				    (!recorded->layout || has_whole_segment(recorded, i));
	memset(recorded->released, 0, sizeof(recorded->released));
	return error;
}
