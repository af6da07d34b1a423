/*
 * frame_kind.h - the owner of a frame's code, and whether the frame is distinctive. For callstack.c.
 *
 *     sft.py:19 <module>                         the user's: he can change that line
 *     trl/trainer/sft_trainer.py:900 compute     a library's: it tells what under the user's line this is
 *     torch/nn/functional.py:1841 softmax        a layer's, of PyTorch: it names the work, and no place
 *     torch/nn/modules/module.py _call_impl      plumbing: on every stack, and says nothing of any
 *     /tmp/torchinductor_me/ab/cab...py call     compiled: made from code further out
 *
 * The list of plumbing is in frame_kind.c.
 */
#ifndef MEMANA_FRAME_KIND_H
#define MEMANA_FRAME_KIND_H

#include <stddef.h>
#include "callstack.h"

enum frame_kind { FRAME_PLUMBING, FRAME_LAYER, FRAME_COMPILED, FRAME_LIBRARY, FRAME_USER };

/* Never FRAME_LIBRARY or FRAME_LAYER for a native frame: callstack.c decides about native libraries. */
enum frame_kind frame_kind(const struct callstack_frame *frame);

/*
 * Whether native functions and modules pass on the request of their caller: allocator, dispatcher, engine, interpreter.
 */
int frame_is_native_plumbing(const struct callstack_frame *frame);

/* Whether a native module is the C library's, the interpreter's, PyTorch's, or the driver's. */
int frame_is_nameless_module(const struct callstack_frame *frame);

/* Whether a Python frame names nothing: standard library, interpreter or autograd. */
int frame_is_nameless(const struct callstack_frame *frame);

/*
 * Writes the file's name for a person. "trl/trainer/sft_trainer.py" is below site-packages, "torch/optim/adam.py" in
 * PyTorch anywhere. Notebooks have "cell 3105878423" and "In [12]". Other files lose their folders. Deep paths are
 * shortened in the middle.
 */
char *frame_file_name(char *out, size_t size, const char *file);

#endif
