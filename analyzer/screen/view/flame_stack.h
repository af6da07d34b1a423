/*
 * flame_stack.h - the rows of a place's stack in the flame; private to view_flame.c and place_stacks.c.
 *
 * By default plumbing (callstack_is_plumbing) is left out. The innermost plumbing, most of a stack of PyTorch, is one
 * row:
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
	8192u /* most frames of a stack, enough for every recorded one; further inner frames are left out */
#define FLAME_STACK_MAX (FLAME_FRAMES_MAX + 3u)

/* Stand-ins for missing frames, recognized by their addresses. */
extern const struct callstack_frame flame_no_stack, flame_no_names, flame_slack, flame_plumbing;

/*
 * Writes the rows of a site into `frame`, outermost first, with room for FLAME_STACK_MAX. Returns their number. They
 * live as long as the model's names. `slack` 1: below a row of its own; `all` 1: with all plumbing.
 */
size_t flame_stack(const struct callstack_frame **frame, const struct model_site *site, int slack, int all);

#endif
