/*
 * stack_tree.h - call stacks of a database, read once: stacks share their outer frames, and frames their names, however many
 * stacks there are. For callstack.c, and for who looks at many stacks.
 *
 * Its cost is in proportion to the nodes and frames that were asked for, not to stacks times their depth.
 */
#ifndef MEMANA_STACK_TREE_H
#define MEMANA_STACK_TREE_H

#include <stdint.h>
#include "base/symbol.h"
#include "callstack.h"
#include "database/db.h"

struct stack_tree;

/*
 * `symbols` NULL: native frames have the names that are in the database. Both outlive stack_tree_load. NULL: out of
 * memory.
 */
struct stack_tree *stack_tree_new(struct db *db, struct symbols *symbols);

/*
 * The origin of stacks, if that is not the database. node: *parent 0: the outermost. frame: 1, and the content of its row, with texts that
 * live as long as the context; 0: its row is asked for.
 */
struct stack_tree_source {
	void (*node)(const void *context, int64_t node, int64_t *parent, int64_t *frame);
	int (*frame)(const void *context, int64_t id, struct callstack_frame *frame);
};
void stack_tree_read(struct stack_tree *tree, const struct stack_tree_source *source, const void *context);

void stack_tree_free(struct stack_tree *tree); /* with all frames; NULL is fine */

/*
 * The stack of `node` (0: empty) into `stack`, which is all zeros or a stack of this tree before: its room is used again. Its
 * frames live as long as the tree. Release in any case. 0 or -MT_E_x.
 */
int stack_tree_load(struct stack_tree *tree, int64_t node, struct callstack *stack);

/* Lets go of the database: nothing is loaded from here on. Frames stay. */
void stack_tree_close(struct stack_tree *tree);

#endif
