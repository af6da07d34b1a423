#include "rangemap.h"

#include <string.h>
#include "memtrace/error.h"

#define WIDTH 64u
#define BLOCK 8u           /* addresses of a node between two fences */
#define HEIGHT_MAX 20u     /* a node splits into halves: more than 16 levels would take 2^64 ranges */
#define NOWHERE UINT64_MAX /* address at which no range begins, because its end could not be larger */

struct rangemap_node {
	uint32_t count;
	/*
	 * Ascending, then NOWHERE. The first child of an inner node has 0, because a new range can be below all others.
	 */
	uint64_t addr[WIDTH];
	uint64_t fence[WIDTH / BLOCK]; /* the last address of each block */
	union {
		struct rangemap_node *child[WIDTH];
		struct {
			struct {
				void *value;
				uint64_t end;
			} range[WIDTH];
			struct rangemap_node *prev, *next;
		} leaf;
	};
};

void rangemap_init(struct rangemap *map)
{
	*map = (struct rangemap){ 0 };
	pool_init(&map->pool, sizeof(struct rangemap_node));
}

void rangemap_release(struct rangemap *map)
{
	pool_release(&map->pool);
	rangemap_init(map);
}

/* Makes room: each node on the way may split, and the root may get a new parent. */
int rangemap_reserve(struct rangemap *map)
{
	return pool_reserve(&map->pool, (size_t)map->height + 1);
}

/* How many of the addresses of a block, or of the fences, are not above `addr`. No branch, which could not be guessed. */
static inline uint32_t rank_in(const uint64_t *block, uint64_t addr)
{
	return (uint32_t)(block[0] <= addr) + (block[1] <= addr) + (block[2] <= addr) + (block[3] <= addr) +
	       (block[4] <= addr) + (block[5] <= addr) + (block[6] <= addr) + (block[7] <= addr);
}
_Static_assert(BLOCK == 8 && WIDTH == BLOCK * BLOCK, "rank_in has the 8 of a block, and as many fences");

/*
 * Number of the node's addresses up to `addr`. Reads two cache lines; a binary search reads four, one after the other.
 */
static inline uint32_t rank(const struct rangemap_node *node, uint64_t addr)
{
	uint32_t blocks = rank_in(node->fence, addr);

	blocks -= blocks == WIDTH / BLOCK;
	return blocks * BLOCK + rank_in(node->addr + blocks * BLOCK, addr);
}

/* Addresses from number `from` to number `to` have changed. */
static inline void set_fences(struct rangemap_node *node, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from / BLOCK; i <= to / BLOCK; i++)
		node->fence[i] = node->addr[i * BLOCK + BLOCK - 1];
}

/* The child of an inner node that `addr` belongs to. */
static inline uint32_t child_of(const struct rangemap_node *node, uint64_t addr)
{
	uint32_t i = rank(node, addr);

	return i ? i - 1 : 0;
}

static struct rangemap_node *leaf_of(const struct rangemap *map, uint64_t addr)
{
	struct rangemap_node *node = map->root;
	uint32_t level;

	for (level = 1; level < map->height; level++)
		node = node->child[child_of(node, addr)];
	return node;
}

/* ---- looking ---- */

/* The lowest range that overlaps [addr, end). `i`: rank of `addr` in its leaf. */
static void *overlapping(const struct rangemap_node *leaf, uint32_t i, uint64_t addr, uint64_t end)
{
	const struct rangemap_node *before = i ? leaf : leaf->leaf.prev; /* leaf of the range before */
	uint32_t last = (i ? i : before ? before->count : 0) - 1;

	if (before && before->leaf.range[last].end > addr)
		return before->leaf.range[last].value;
	if (i == leaf->count) {
		leaf = leaf->leaf.next;
		i = 0;
	}
	return leaf && leaf->addr[i] < end ? leaf->leaf.range[i].value : NULL;
}

void *rangemap_first(const struct rangemap *map, uint64_t addr, uint64_t end)
{
	const struct rangemap_node *leaf = map->root ? leaf_of(map, addr) : NULL;

	return leaf ? overlapping(leaf, rank(leaf, addr), addr, end) : NULL;
}

void *rangemap_seek(struct rangemap *map, uint64_t addr, uint64_t end)
{
	if (!map->root)
		return NULL;
	map->newest.addr = addr;
	map->newest.leaf = leaf_of(map, addr);
	map->newest.rank = rank(map->newest.leaf, addr);
	return overlapping(map->newest.leaf, map->newest.rank, addr, end);
}

/* 1: the newest rangemap_seek was for `addr`; its leaf and rank are valid until the map changes. */
static int was_sought(const struct rangemap *map, uint64_t addr)
{
	return map->newest.leaf && map->newest.addr == addr;
}

/* ---- putting in ---- */

static struct rangemap_node *new_node(struct rangemap *map)
{
	struct rangemap_node *node = pool_take(&map->pool);

	node->count = 0;
	memset(node->addr, 0xff, sizeof(node->addr)); /* NOWHERE */
	set_fences(node, 0, WIDTH - 1);
	node->leaf.prev = node->leaf.next = NULL;
	return node;
}

/* Makes place `at` of an array of `count` items of `size` bytes free. */
static void shift(void *items, uint32_t at, uint32_t count, size_t size)
{
	memmove((char *)items + (at + 1) * size, (char *)items + at * size, (count - at) * size);
}

static void insert_child(struct rangemap_node *node, uint32_t at, struct rangemap_node *child)
{
	shift(node->addr, at, node->count, sizeof(node->addr[0]));
	shift(node->child, at, node->count, sizeof(node->child[0]));
	node->addr[at] = child->addr[0];
	set_fences(node, at, node->count);
	node->child[at] = child;
	node->count++;
}

static void link_after(struct rangemap_node *leaf, struct rangemap_node *right)
{
	right->leaf.prev = leaf;
	right->leaf.next = leaf->leaf.next;
	if (right->leaf.next)
		right->leaf.next->leaf.prev = right;
	leaf->leaf.next = right;
}

/* Splits the full child number `at`: its upper half becomes the next child. */
static void split(struct rangemap *map, struct rangemap_node *parent, uint32_t at, int is_leaf)
{
	struct rangemap_node *left = parent->child[at], *right = new_node(map);
	uint32_t half = WIDTH / 2;

	right->count = WIDTH - half;
	left->count = half;
	memcpy(right->addr, left->addr + half, right->count * sizeof(right->addr[0]));
	memset(left->addr + half, 0xff, right->count * sizeof(left->addr[0])); /* NOWHERE */
	set_fences(left, 0, WIDTH - 1);
	set_fences(right, 0, WIDTH - 1);
	if (is_leaf) {
		memcpy(right->leaf.range, left->leaf.range + half, right->count * sizeof(right->leaf.range[0]));
		link_after(left, right);
	} else {
		memcpy(right->child, left->child + half, right->count * sizeof(right->child[0]));
	}
	insert_child(parent, at + 1, right);
	if (!is_leaf)
		right->addr[0] = 0;
}

/* Adds a root above the root, so that the old root can split. */
static void grow(struct rangemap *map)
{
	struct rangemap_node *root = new_node(map);

	if (map->root) {
		root->count = 1;
		root->addr[0] = 0;
		root->child[0] = map->root;
	}
	map->root = root;
	map->height++;
}

/* Returns the leaf for `addr`, with room. Full nodes are split on the way down, so each parent has room. */
static struct rangemap_node *leaf_with_room(struct rangemap *map, uint64_t addr)
{
	struct rangemap_node *node;
	uint32_t level, i;

	if (!map->root || map->root->count == WIDTH)
		grow(map);
	node = map->root;
	for (level = 1; level < map->height; level++) {
		i = child_of(node, addr);
		if (node->child[i]->count == WIDTH) {
			split(map, node, i, level + 1 == map->height);
			i = child_of(node, addr);
		}
		node = node->child[i];
	}
	return node;
}

void rangemap_insert(struct rangemap *map, uint64_t addr, uint64_t end, void *value)
{
	struct rangemap_node *leaf = map->newest.leaf;
	uint32_t i = map->newest.rank;

	if (!was_sought(map, addr) || leaf->count == WIDTH) {
		leaf = leaf_with_room(map, addr);
		i = rank(leaf, addr);
	}
	shift(leaf->addr, i, leaf->count, sizeof(leaf->addr[0]));
	shift(leaf->leaf.range, i, leaf->count, sizeof(leaf->leaf.range[0]));
	leaf->addr[i] = addr;
	set_fences(leaf, i, leaf->count);
	leaf->leaf.range[i].end = end;
	leaf->leaf.range[i].value = value;
	leaf->count++;
	map->count++;
	map->newest.leaf = NULL;
}

/* ---- taking out ---- */

/* Removes place `at` of an array with `count` items after the removal. */
static void unshift(void *items, uint32_t at, uint32_t count, size_t size)
{
	memmove((char *)items + at * size, (char *)items + (at + 1) * size, (count - at) * size);
}

static void unlink_leaf(struct rangemap_node *leaf)
{
	if (leaf->leaf.prev)
		leaf->leaf.prev->leaf.next = leaf->leaf.next;
	if (leaf->leaf.next)
		leaf->leaf.next->leaf.prev = leaf->leaf.prev;
}

static void remove_child(struct rangemap_node *node, uint32_t at)
{
	node->count--;
	unshift(node->addr, at, node->count, sizeof(node->addr[0]));
	node->addr[node->count] = NOWHERE;
	set_fences(node, at, node->count);
	unshift(node->child, at, node->count, sizeof(node->child[0]));
	node->addr[0] = 0;
}

/* Removes a root with at most one child. */
static void shrink(struct rangemap *map)
{
	struct rangemap_node *root = map->root;

	while (map->height > 1 && root->count == 1) {
		map->root = root->child[0];
		map->height--;
		pool_give(&map->pool, root);
		root = map->root;
	}
	if (root->count)
		return;
	pool_give(&map->pool, root);
	map->root = NULL;
	map->height = 0;
}

/* `path`, `place`: the inner nodes above the empty leaf, and which child was gone to. The root is not taken out. */
static void drop_empty(struct rangemap *map, struct rangemap_node *leaf, struct rangemap_node *const *path,
		       const uint32_t *place)
{
	struct rangemap_node *empty = leaf;
	uint32_t level = map->height - 1;

	if (level)
		unlink_leaf(leaf);
	while (level && !empty->count) {
		level--;
		remove_child(path[level], place[level]);
		pool_give(&map->pool, empty);
		empty = path[level];
	}
	shrink(map);
}

/* Removes range number `i` of the leaf. Returns its value. */
static void *take_out(struct rangemap *map, struct rangemap_node *leaf, uint32_t i)
{
	void *value = leaf->leaf.range[i].value;

	leaf->count--;
	map->count--;
	unshift(leaf->addr, i, leaf->count, sizeof(leaf->addr[0]));
	leaf->addr[leaf->count] = NOWHERE;
	set_fences(leaf, i, leaf->count);
	unshift(leaf->leaf.range, i, leaf->count, sizeof(leaf->leaf.range[0]));
	map->newest.leaf = NULL;
	return value;
}

void *rangemap_remove(struct rangemap *map, uint64_t addr)
{
	struct rangemap_node *path[HEIGHT_MAX], *node = map->newest.leaf;
	uint32_t place[HEIGHT_MAX], level, i;
	void *value;

	i = map->newest.rank;
	if (was_sought(map, addr) && node->count > 1 && i && node->addr[i - 1] == addr)
		return take_out(map, node, i - 1);
	node = map->root;
	if (!node)
		return NULL;
	for (level = 0; level + 1 < map->height; level++) {
		path[level] = node;
		place[level] = child_of(node, addr);
		node = node->child[place[level]];
	}
	i = rank(node, addr);
	if (!i || node->addr[i - 1] != addr)
		return NULL;
	value = take_out(map, node, i - 1);
	if (!node->count)
		drop_empty(map, node, path, place);
	return value;
}
