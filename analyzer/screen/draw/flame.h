/*
 * flame.h - bytes by call stack, as a tree and as boxes: an icicle, outermost frames on top. Pure.
 *
 *     all                               63.8 GiB
 *     main                    | pt_main_thread     each box is as wide as its bytes; children lie below their parent,
 *     train_step    | rollout | backward           the largest first. Children that would be narrower than a column
 *     forward |~    |generate | ...                are one box together: "~", the smaller ones.
 */
#ifndef MEMANA_TUI_FLAME_H
#define MEMANA_TUI_FLAME_H

#include <stddef.h>
#include <stdint.h>
#include "query/callstack.h"
#include "screen/data/series.h"

#define FLAME_ROOT 1u

struct flame_node {
	uint32_t parent, child, next;        /* 0: none; flame_finish sorts children, the largest first */
	const struct callstack_frame *frame; /* NULL: the root */
	uint64_t bytes, own;                 /* bytes with the nodes below; bytes of stacks that end here */
	uint64_t count;                      /* allocations, with what is below */
	uint64_t layer[SERIES_LAYERS_MAX];   /* bytes by layer */
	uint32_t site;                       /* site of the largest stack that ends here, 0: none */
	uint64_t site_bytes;
};

/* Zeroed is empty. */
struct flame {
	struct flame_node *node; /* node[0] is not used */
	uint32_t nodes, room;
	uint32_t *slot; /* hash table of node numbers, 0: free */
	uint32_t slots; /* a power of two */
};

/* A call stack with its bytes. */
struct flame_stack {
	const struct callstack_frame *const *frame; /* outermost first; they must live as long as the flame */
	size_t frames;
	uint64_t bytes, count;
	uint32_t layer, site;
};

/* Forgets all; the root is there. 0 or -MT_E_MEMORY. */
int flame_begin(struct flame *flame);

/* Adds a stack. Frames with equal function and place are one. Returns 0 or -MT_E_MEMORY. */
int flame_add(struct flame *flame, const struct flame_stack *stack);

/* Sorts children. The functions below need it. */
void flame_finish(struct flame *flame);
void flame_release(struct flame *flame);

/* The layer that holds most of the node. */
uint32_t flame_layer(const struct flame_node *node);

/* A node, or the smaller children of a node. */
struct flame_part {
	uint32_t node; /* 0: nowhere */
	uint32_t rest; /* 0: the node itself; n: its children from the nth largest on */
};

/* The part of `flame` that corresponds to `part` of `old`, or the nearest part above it. */
struct flame_part flame_same_part(const struct flame *flame, const struct flame *old, struct flame_part part);

/* Bytes of the part, and the number of its smaller children (0 if rest is 0). */
uint64_t flame_bytes(const struct flame *flame, struct flame_part part, uint32_t *children);

struct flame_box {
	struct flame_part part;
	int x, width, depth;
	uint32_t above; /* index of the parent's box; the first box has its own index */
};

/* Boxes in order of depth, then from left to right. Zeroed is empty. */
struct flame_layout {
	struct flame_box *box;
	uint32_t boxes, room;
	int depth; /* rows */
};

/* Lays out the nodes below `top` over `width` columns (at least 1). Returns 0 or -MT_E_MEMORY. */
int flame_lay_out(struct flame_layout *layout, const struct flame *flame, struct flame_part top, int width);
void flame_layout_release(struct flame_layout *layout);

/* The box of the part, or of what is nearest above it. */
uint32_t flame_box_of(const struct flame_layout *layout, const struct flame *flame, struct flame_part part);

#endif
