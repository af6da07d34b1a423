/*
 * alloc_tree.h - an ordered set of nodes that are members of other structs, by (key, addr). The tree is a treap: random
 * numbers, not keys, decide its shape. Hostile sizes and addresses cannot make it deep.
 */
#ifndef MEMANA_ALLOC_TREE_H
#define MEMANA_ALLOC_TREE_H

#include <stdint.h>

struct alloc_node {
	struct alloc_node *left, *right;
	uint64_t key, addr; /* unique as a pair within a tree; must not change while in the tree */
	uint32_t weight;    /* the tree's */
};

/* All zero is an empty tree. Nodes belong to the caller. */
struct alloc_tree {
	struct alloc_node *root;
	uint32_t dice;
};

void alloc_tree_add(struct alloc_tree *tree, struct alloc_node *node);
void alloc_tree_remove(struct alloc_tree *tree, struct alloc_node *node);

/* The first node that is not before (key, addr); the last that is not after. NULL: none. */
struct alloc_node *alloc_tree_from(const struct alloc_tree *tree, uint64_t key, uint64_t addr);
struct alloc_node *alloc_tree_upto(const struct alloc_tree *tree, uint64_t key, uint64_t addr);

/* The node after `node` (in the tree now or before); NULL: none. */
static inline struct alloc_node *alloc_tree_next(const struct alloc_tree *tree, const struct alloc_node *node)
{
	return node->addr == UINT64_MAX ? alloc_tree_from(tree, node->key + 1, 0)
					: alloc_tree_from(tree, node->key, node->addr + 1);
}

#endif
