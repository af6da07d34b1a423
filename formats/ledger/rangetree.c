#include "rangetree.h"

#include <stddef.h>

static struct range *update(struct range *node)
{
	node->max_end = node->end;
	if (node->left && node->left->max_end > node->max_end)
		node->max_end = node->left->max_end;
	if (node->right && node->right->max_end > node->max_end)
		node->max_end = node->right->max_end;
	return node;
}

/* Splits `node` into ranges that start before `addr` and the rest. */
static void split(struct range *node, uint64_t addr, struct range **before, struct range **after)
{
	if (!node) {
		*before = *after = NULL;
	} else if (node->addr < addr) {
		split(node->right, addr, &node->right, after);
		*before = update(node);
	} else {
		split(node->left, addr, before, &node->left);
		*after = update(node);
	}
}

static struct range *merge(struct range *before, struct range *after)
{
	if (!before || !after)
		return before ? before : after;
	if (before->priority > after->priority) {
		before->right = merge(before->right, after);
		return update(before);
	}
	after->left = merge(before, after->left);
	return update(after);
}

static struct range *insert(struct range *node, struct range *range)
{
	if (!node || range->priority > node->priority) {
		split(node, range->addr, &range->left, &range->right);
		return update(range);
	}
	if (range->addr < node->addr)
		node->left = insert(node->left, range);
	else
		node->right = insert(node->right, range);
	return update(node);
}

/* Priorities do not come from addresses, so the depth is that of a random tree for all addresses. */
void rangetree_insert(struct rangetree *tree, struct range *range)
{
	tree->random = tree->random * 1664525u + 1013904223u;
	range->priority = (tree->random ^ tree->random >> 16) * 0x45d9f3bu;
	tree->root = insert(tree->root, range);
}

static struct range *without(struct range *node, const struct range *range)
{
	if (node == range)
		return merge(node->left, node->right);
	if (range->addr < node->addr)
		node->left = without(node->left, range);
	else
		node->right = without(node->right, range);
	return update(node);
}

void rangetree_remove(struct rangetree *tree, struct range *range)
{
	tree->root = without(tree->root, range);
}

static void each(struct range *node, uint64_t addr, uint64_t end, void (*visit)(void *context, struct range *range),
		 void *context)
{
	for (; node && node->max_end > addr; node = node->right) {
		each(node->left, addr, end, visit, context);
		if (node->addr >= end)
			return;
		if (node->end > addr)
			visit(context, node);
	}
}

void rangetree_each(const struct rangetree *tree, uint64_t addr, uint64_t end,
		    void (*visit)(void *context, struct range *range), void *context)
{
	each(tree->root, addr, end, visit, context);
}
