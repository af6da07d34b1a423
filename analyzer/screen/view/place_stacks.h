/*
 * place_stacks.h - all stacks of a place as the rows of a tree, innermost frames first; private to view_place.c.
 *
 *     121.7 MiB  empty_strided          rows of one branch have the indent of its first row, which has the bytes;
 *                linear                 the callers of a frame lie below the frame, the largest first
 *      77.9 MiB    attention
 *                  block
 *      43.8 MiB    mlp
 */
#ifndef MEMANA_TUI_PLACE_STACKS_H
#define MEMANA_TUI_PLACE_STACKS_H

#include "app.h"
#include "screen/draw/flame.h"

struct place_stacks_row {
	uint32_t node; /* in the tree */
	uint32_t indent;
	int has_bytes; /* 1: its bytes differ from those of the row above */
};

/* Zeroed is empty. */
struct place_stacks {
	struct flame tree;
	struct place_stacks_row *row;
	uint32_t rows, room;
	uint32_t stacks;
	int is_alive;     /* 1: bytes at the cursor; 0: no memory is alive, and bytes are the most of each stack */
	int is_named;     /* 1: the worker has looked up all of them */
	uint64_t made_of; /* private: what the tree shows; 0: nothing yet */
};

/*
 * Updates the stacks for the live set. `mine[cell]` 1: the cell belongs to the place. Call it under the model's lock.
 * Returns 0 or -MT_E_MEMORY.
 */
int place_stacks_make(struct place_stacks *stacks, const struct app *app, const uint8_t *mine, uint32_t cells);
void place_stacks_release(struct place_stacks *stacks);

static inline const struct callstack_frame *place_stacks_frame(const struct place_stacks *stacks, uint32_t row)
{
	return stacks->tree.node[stacks->row[row].node].frame;
}

#endif
