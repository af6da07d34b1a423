#include "alloc_tree.h"

#include <stddef.h>

static int before(const struct alloc_node *node, uint64_t key, uint64_t addr)
{
	return node->key != key ? node->key < key : node->addr < addr;
}

static uint32_t throw_dice(struct alloc_tree *tree)
{
	tree->dice = tree->dice ? tree->dice : 2463534242u;
	tree->dice ^= tree->dice << 13;
	tree->dice ^= tree->dice >> 17;
	tree->dice ^= tree->dice << 5;
	return tree->dice;
}

/* The nodes of `from` before `node` become its left ones, the others its right ones. */
static void split_around(struct alloc_node *from, struct alloc_node *node)
{
	struct alloc_node **left = &node->left, **right = &node->right;

	while (from) {
		if (before(from, node->key, node->addr)) {
			*left = from;
			left = &from->right;
			from = from->right;
		} else {
			*right = from;
			right = &from->left;
			from = from->left;
		}
	}
	*left = *right = NULL;
}

void alloc_tree_add(struct alloc_tree *tree, struct alloc_node *node)
{
	struct alloc_node **link = &tree->root;

	node->weight = throw_dice(tree);
	while (*link && (*link)->weight >= node->weight)
		link = before(*link, node->key, node->addr) ? &(*link)->right : &(*link)->left;
	split_around(*link, node);
	*link = node;
}

void alloc_tree_remove(struct alloc_tree *tree, struct alloc_node *node)
{
	struct alloc_node **link = &tree->root, *left = node->left, *right = node->right;

	while (*link != node)
		link = before(*link, node->key, node->addr) ? &(*link)->right : &(*link)->left;
	while (left && right) {
		if (left->weight >= right->weight) {
			*link = left;
			link = &left->right;
			left = left->right;
		} else {
			*link = right;
			link = &right->left;
			right = right->left;
		}
	}
	*link = left ? left : right;
}

struct alloc_node *alloc_tree_from(const struct alloc_tree *tree, uint64_t key, uint64_t addr)
{
	struct alloc_node *node = tree->root, *found = NULL;

	while (node) {
		if (before(node, key, addr)) {
			node = node->right;
		} else {
			found = node;
			node = node->left;
		}
	}
	return found;
}

struct alloc_node *alloc_tree_upto(const struct alloc_tree *tree, uint64_t key, uint64_t addr)
{
	struct alloc_node *node = tree->root, *found = NULL;

	while (node) {
		if (before(node, key, addr) || (node->key == key && node->addr == addr)) {
			found = node;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return found;
}
