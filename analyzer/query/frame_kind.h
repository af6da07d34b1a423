/*
 * frame_kind.h - whose code a frame is, and whether it tells things apart. For callstack.c.
 *
 *     sft.py:19 <module>                         the user's: he can change that line
 *     trl/trainer/sft_trainer.py:900 compute     a library's: it tells what under the user's line this is
 *     torch/nn/functional.py:1841 softmax        a layer's, of PyTorch: it names the work, and no place
 *     torch/nn/modules/module.py _call_impl      plumbing: on every stack, and says nothing of any
 *     /tmp/torchinductor_me/ab/cab...py call     compiled: made from code further out
 *
 * One list of what is plumbing, in frame_kind.c.
 */
#ifndef MEMANA_FRAME_KIND_H
#define MEMANA_FRAME_KIND_H

#include <stddef.h>
#include "callstack.h"

enum frame_kind { FRAME_PLUMBING, FRAME_LAYER, FRAME_COMPILED, FRAME_LIBRARY, FRAME_USER };

/* A native frame is never FRAME_LIBRARY or FRAME_LAYER: which of its libraries tell something is left to callstack.c. */
enum frame_kind frame_kind(const struct callstack_frame *frame);

/* Native functions and modules that pass on the request of their caller: allocator, dispatcher, engine, interpreter. */
int frame_is_native_plumbing(const struct callstack_frame *frame);

/* A native module that is the C library's, the interpreter's, PyTorch's, or the driver's. */
int frame_is_nameless_module(const struct callstack_frame *frame);

/* A Python frame of the standard library, of the interpreter or of autograd: it names nothing, whatever else there is. */
int frame_is_nameless(const struct callstack_frame *frame);

/*
 * The file as a person calls it: "trl/trainer/sft_trainer.py" below site-packages, "torch/optim/adam.py" of PyTorch wherever
 * it lies; "cell 3105878423" and "In [12]" of notebooks; else the part after the last '/'. Deep paths are shortened in
 * the middle.
 */
char *frame_file_name(char *out, size_t size, const char *file);

#endif
