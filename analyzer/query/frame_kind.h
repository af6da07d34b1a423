/*
 * frame_kind.h - the owner of a frame's code, and whether the frame distinguishes its stack from other stacks. For callstack.c.
 *
 *     sft.py:19 <module>                         user: the user can change this line
 *     trl/trainer/sft_trainer.py:900 compute     library: the frame tells which work of the user's line this is
 *     torch/nn/functional.py:1841 softmax        layer, in PyTorch: the frame names the work, and no place
 *     torch/nn/modules/module.py _call_impl      plumbing: the frame is on all stacks
 *     /tmp/torchinductor_me/ab/cab...py call     compiled: made from code of an outer frame
 *
 * The list of plumbing is in frame_kind.c.
 */
#ifndef MEMANA_FRAME_KIND_H
#define MEMANA_FRAME_KIND_H

#include <stddef.h>
#include "callstack.h"

enum frame_kind { FRAME_PLUMBING, FRAME_LAYER, FRAME_COMPILED, FRAME_LIBRARY, FRAME_USER };

/* Returns the kind of a frame. For native frames never FRAME_LIBRARY or FRAME_LAYER: callstack.c decides about native libraries. */
enum frame_kind frame_kind(const struct callstack_frame *frame);

/* Whether the native function or module only passes on requests of its caller: allocator, dispatcher, engine, interpreter. */
int frame_is_native_plumbing(const struct callstack_frame *frame);

/* Whether the native module is of the C library, the interpreter, PyTorch or the driver. */
int frame_is_nameless_module(const struct callstack_frame *frame);

/* Whether the Python frame distinguishes nothing: standard library, interpreter or autograd. */
int frame_is_nameless(const struct callstack_frame *frame);

/*
 * Writes the name of a file for a page: below site-packages "trl/trainer/sft_trainer.py"; in PyTorch, at any path, "torch/optim/adam.py"; in
 * notebooks "cell 3105878423" and "In [12]". Other files lose their folders. A deep path loses its middle.
 */
char *frame_file_name(char *out, size_t size, const char *file);

#endif
