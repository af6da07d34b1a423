#include "rangemap.h"

#include <string.h>
#include "memtrace/error.h"

#define WIDTH 32u
#define HEIGHT_MAX 20u /* a node splits into halves: more than 16 levels would take 2^64 ranges */

struct rangemap_node {
	uint32_t count;
	uint64_t addr[WIDTH]; /* ascending; of an inner node's first child 0, for what comes may lie below all others */
	union {
		struct rangemap_node *child[WIDTH];
		struct {
			void *value[WIDTH];
			uint64_t end[WIDTH];
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

/* Every node on the way may split, and the root have one above it. */
int rangemap_reserve(struct rangemap *map)
{
	return pool_reserve(&map->pool, (size_t)map->height + 1);
}

/* How many of the node's addresses are not above `addr`. Halves without a branch: which one it is cannot be guessed. */
static inline uint32_t rank(const struct rangemap_node *node, uint64_t addr)
{
	uint32_t low = 0, left = node->count, half;

	while (left > 1) {
		half = left / 2;
		low += half & (0u - (uint32_t)(node->addr[low + half - 1] <= addr));
		left -= half;
	}
	return low + (left && node->addr[low] <= addr);
}

/* Which child of an inner node `addr` belongs to. */
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

void *rangemap_first(const struct rangemap *map, uint64_t addr, uint64_t end)
{
	const struct rangemap_node *leaf, *before;
	uint32_t i;

	if (!map->root)
		return NULL;
	leaf = leaf_of(map, addr);
	i = rank(leaf, addr);
	before = i ? leaf : leaf->leaf.prev; /* the range that begins at `addr` or below it */
	if (before && before->leaf.end[(i ? i : before->count) - 1] > addr)
		return before->leaf.value[(i ? i : before->count) - 1];
	if (i == leaf->count) {
		leaf = leaf->leaf.next;
		i = 0;
	}
	return leaf && leaf->addr[i] < end ? leaf->leaf.value[i] : NULL;
}

/* ---- putting in ---- */

static struct rangemap_node *new_node(struct rangemap *map)
{
	struct rangemap_node *node = pool_take(&map->pool);

	node->count = 0;
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

/* The upper half of child number `at`, which is full, becomes the next child. */
static void split(struct rangemap *map, struct rangemap_node *parent, uint32_t at, int is_leaf)
{
	struct rangemap_node *left = parent->child[at], *right = new_node(map);
	uint32_t half = WIDTH / 2;

	right->count = WIDTH - half;
	left->count = half;
	memcpy(right->addr, left->addr + half, right->count * sizeof(right->addr[0]));
	if (is_leaf) {
		memcpy(right->leaf.value, left->leaf.value + half, right->count * sizeof(right->leaf.value[0]));
		memcpy(right->leaf.end, left->leaf.end + half, right->count * sizeof(right->leaf.end[0]));
		link_after(left, right);
	} else {
		memcpy(right->child, left->child + half, right->count * sizeof(right->child[0]));
	}
	insert_child(parent, at + 1, right);
	if (!is_leaf)
		right->addr[0] = 0;
}

/* The root gets another one above it, so that it can split. */
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

/* Full nodes are split on the way down, so that there is room in the one above. */
void rangemap_insert(struct rangemap *map, uint64_t addr, uint64_t end, void *value)
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
	i = rank(node, addr);
	shift(node->addr, i, node->count, sizeof(node->addr[0]));
	shift(node->leaf.value, i, node->count, sizeof(node->leaf.value[0]));
	shift(node->leaf.end, i, node->count, sizeof(node->leaf.end[0]));
	node->addr[i] = addr;
	node->leaf.end[i] = end;
	node->leaf.value[i] = value;
	node->count++;
	map->count++;
}

/* ---- taking out ---- */

/* Closes place `at` of an array that has `count` items left. */
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
	unshift(node->child, at, node->count, sizeof(node->child[0]));
	node->addr[0] = 0;
}

/* A root with one child is not needed, and neither is one without. */
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

void *rangemap_remove(struct rangemap *map, uint64_t addr)
{
	struct rangemap_node *path[HEIGHT_MAX], *node = map->root;
	uint32_t place[HEIGHT_MAX], level, i;
	void *value;

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
	i--;
	value = node->leaf.value[i];
	node->count--;
	map->count--;
	unshift(node->addr, i, node->count, sizeof(node->addr[0]));
	unshift(node->leaf.value, i, node->count, sizeof(node->leaf.value[0]));
	unshift(node->leaf.end, i, node->count, sizeof(node->leaf.end[0]));
	if (!node->count)
		drop_empty(map, node, path, place);
	return value;
}
