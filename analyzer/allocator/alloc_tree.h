/*
 * alloc_tree.h - an ordered set of nodes that lie inside of other structs, by (key, addr). A treap: what it looks like
 * follows from its own random numbers, not from the keys, so sizes and addresses out of a file cannot make it deep.
 */
#ifndef MEMANA_ALLOC_TREE_H
#define MEMANA_ALLOC_TREE_H

#include <stdint.h>

struct alloc_node {
	struct alloc_node *left, *right;
	uint64_t key, addr; /* no two nodes of a tree have both the same; they must not change inside */
	uint32_t weight;    /* the tree's */
};

/* All zero is an empty tree. Nodes belong to the caller. */
struct alloc_tree {
	struct alloc_node *root;
	uint32_t dice;
};

void alloc_tree_add(struct alloc_tree *tree, struct alloc_node *node);
void alloc_tree_remove(struct alloc_tree *tree, struct alloc_node *node);

/* The first that is not before (key, addr), and the last that is not behind it; NULL: none. */
struct alloc_node *alloc_tree_from(const struct alloc_tree *tree, uint64_t key, uint64_t addr);
struct alloc_node *alloc_tree_upto(const struct alloc_tree *tree, uint64_t key, uint64_t addr);

/* The one behind `node`, which is or was in the tree; NULL: it was the last. */
static inline struct alloc_node *alloc_tree_next(const struct alloc_tree *tree, const struct alloc_node *node)
{
	return node->addr == UINT64_MAX ? alloc_tree_from(tree, node->key + 1, 0)
					: alloc_tree_from(tree, node->key, node->addr + 1);
}

#endif
