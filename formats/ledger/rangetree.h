/*
 * rangetree.h - a tree of address ranges, embedded in the structs that have them. It allocates no memory; O(log n).
 *
 * A treap. Each node has the largest end below it, so a search skips subtrees that end before the query:
 *
 *                 [40,60) max 90
 *                ╱              ╲
 *        [10,30) max 35      [70,90) max 90        who overlaps [32,45)?  [25,35), [40,60)
 *              ╲
 *           [25,35) max 35
 *
 * Start addresses are unique in a tree; ranges may overlap.
 */
#ifndef FORMATS_RANGETREE_H
#define FORMATS_RANGETREE_H

#include <stdint.h>

struct range {
	uint64_t addr, end; /* [addr, end); set before rangetree_insert */
	uint64_t max_end;
	struct range *left, *right;
	uint32_t priority;
};

/* All zero is an empty tree. */
struct rangetree {
	struct range *root;
	uint32_t random;
};

void rangetree_insert(struct rangetree *tree, struct range *range);
void rangetree_remove(struct rangetree *tree, struct range *range);

/* Calls `visit` for each range that overlaps [addr, end), lowest first. `visit` must not change the tree. */
void rangetree_each(const struct rangetree *tree, uint64_t addr, uint64_t end,
		    void (*visit)(void *context, struct range *range), void *context);

#endif
