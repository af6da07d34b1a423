/*
 * flame_stack.h - the rows that the stack of a place is in the flame; private to view_flame.c and place_stacks.c.
 *
 * By default what tells nothing apart (callstack_is_plumbing) is left out, and what is innermost of it, which is most of a
 * stack of PyTorch, is one row for all of it:
 *
 *     _start                        train.py:61 <module>
 *     Py_BytesMain                  train.py:38 train_step
 *     _PyEval_EvalFrameDefault      model.py:12 forward
 *     train.py:61 <module>          plumbing
 *     _PyEval_EvalFrameDefault
 *     ...
 */
#ifndef MEMANA_TUI_FLAME_STACK_H
#define MEMANA_TUI_FLAME_STACK_H

#include <stddef.h>
#include "timeline/model.h"

#define FLAME_FRAMES_MAX \
	8192u /* most frames of a stack; those further in are left out, which no recorded stack needs */
#define FLAME_STACK_MAX (FLAME_FRAMES_MAX + 3u)

/* Stand-ins for frames that are missing; told by their addresses. */
extern const struct callstack_frame flame_no_stack, flame_no_names, flame_slack, flame_plumbing;

/*
 * The rows of a site, outermost first, into `frame`, which has room for FLAME_STACK_MAX; how many. They live as long as the
 * model's names do. `slack` 1: below a row of its own; `all` 1: plumbing is not folded.
 */
size_t flame_stack(const struct callstack_frame **frame, const struct model_site *site, int slack, int all);

#endif
