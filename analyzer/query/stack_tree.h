/*
 * stack_tree.h - the call stacks of a database. Each node and each frame is read once: stacks share outer frames, and frames share names. For
 * callstack.c, and for callers with many stacks. The cost grows with the nodes and frames that are read, and not with stacks times depth.
 */
#ifndef MEMANA_STACK_TREE_H
#define MEMANA_STACK_TREE_H

#include <stdint.h>
#include "base/symbol.h"
#include "callstack.h"
#include "database/db.h"

struct stack_tree;

/*
 * Makes an empty tree. `symbols` NULL: native frames have the names of the database. `db` and `symbols` must live until the last stack_tree_load. The
 * caller frees the tree. NULL: out of memory.
 */
struct stack_tree *stack_tree_new(struct db *db, struct symbols *symbols);

/*
 * A source of stacks other than the database. `node` sets *parent (0: the node is outermost). `frame` returns 1 and fills in the frame, with texts
 * that live as long as the context; or 0: the tree then reads the frame's row.
 */
struct stack_tree_source {
	void (*node)(const void *context, int64_t node, int64_t *parent, int64_t *frame);
	int (*frame)(const void *context, int64_t id, struct callstack_frame *frame);
};
void stack_tree_read(struct stack_tree *tree, const struct stack_tree_source *source, const void *context);

/* The next stacks are of another process: forgets the nodes if they are many. Frames stay. */
void stack_tree_trim(struct stack_tree *tree);

void stack_tree_free(struct stack_tree *tree); /* frees all frames, too; NULL is allowed */

/*
 * Loads the stack of `node` (0: empty) into `stack`. `stack` is zeroed or has a stack of this tree: its room is used again. The frames live as long
 * as the tree. Returns 0 or -MT_E_x. The caller releases the stack, also after an error.
 */
int stack_tree_load(struct stack_tree *tree, int64_t node, struct callstack *stack);

/* Closes the statements. Nothing can be loaded afterwards; the frames stay. */
void stack_tree_close(struct stack_tree *tree);

#endif
