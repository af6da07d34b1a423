/*
 * callstack.h - one call stack, ready to be shown: native frames have names, and the frame that a person would call
 * "mine" is known.
 */
#ifndef MEMANA_CALLSTACK_H
#define MEMANA_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>
#include "base/symbol.h"
#include "database/db.h"

/* Strings are never NULL; "" and 0: unknown. The maker of a frame owns its strings. */
struct callstack_frame {
	const char *function, *file, *module;
	unsigned line;
	uint64_t offset; /* offset in the module; native frames only */
	int native;
	int elided;            /* 1: frames were left out here */
	unsigned learned;      /* set by callstack_learn; 0: not yet */
	const char *submodule; /* module that the frame is the forward of, layers.*.fc1; NULL: none */
};

struct callstack {
	const struct callstack_frame **frame; /* innermost first; several stacks share frames */
	size_t count, room;
	struct stack_tree *tree; /* the stack's own tree; NULL: the frames belong to another object */
};

#define CALLSTACK_NO_FRAME ((size_t)-1)
#define CALLSTACK_PLACE_MAX 256 /* bytes of a place with NUL; longer places are cut */

/*
 * Loads the stack of `node` (0: empty) from the database. `symbols` NULL: uses the names in the database. Returns 0 or
 * -MT_E_x. The caller releases the stack in any case. Both functions are in stack_tree.c; a caller with many stacks
 * makes a tree of its own.
 */
int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols);
void callstack_release(struct callstack *stack);

/* Adds one frame. The frame stays its owner's. Returns 0 or -MT_E_MEMORY. */
int callstack_append(struct callstack *stack, const struct callstack_frame *frame);

/* Stores in the frame the answers that the questions below need from its names: names are long, and often needed. */
void callstack_learn(struct callstack_frame *frame);

/*
 * The frame to look at first: the innermost of the user's own code. Without user code, in this order: a distinctive
 * library (frame_kind.h); a node of autograd; Python; a frame that is no plumbing of PyTorch; the called operation; a
 * frame outside the driver. CALLSTACK_NO_FRAME: an empty stack.
 */
size_t callstack_user_frame(const struct callstack *stack);

/*
 * The innermost frame of the program, further out than the driver, the recorder and PyTorch's allocator. 0: there is no
 * such frame.
 */
size_t callstack_first_frame(const struct callstack *stack);

/* Inside of the user's frame: the innermost frame of a distinctive library, or a node of autograd; else `user`. */
size_t callstack_inner_frame(const struct callstack *stack, size_t user);

/*
 * Writes the places of both frames: "sft.py:19 > trl/kernels/chunked_logprob.py:413"; and the function of the inner
 * one. Compiled code is named by its source: "model.py:30 > compiled code:213".
 */
const char *callstack_place_of(char *out, size_t size, const struct callstack *stack, size_t user);
const char *callstack_function_of(char *out, size_t size, const struct callstack *stack, size_t user);

/*
 * Writes the function that asked for the memory inside of the user's frame: the innermost frame of a layer ("softmax",
 * "Linear.forward"). Without a layer: the PyTorch operation that Python called ("addmm"), or callstack_function_of.
 * Returns `out`.
 */
const char *callstack_work(char *out, size_t size, const struct callstack *stack, size_t user);

/* The frames that decide the words of callstack_place_of and callstack_function_of. Equal parts have equal words. */
struct callstack_parts {
	const struct callstack_frame *user, *inner;
	const struct callstack_frame
		*from; /* frame of the source that `inner` was compiled from; NULL: unknown, or not compiled */
	int in_user;   /* 1: from is the user's frame */
};

struct callstack_parts callstack_parts_of(const struct callstack *stack, size_t user);

/* Whether the frame is the user's own code: no library, no package, not the interpreter. */
int callstack_is_user(const struct callstack_frame *frame);

/* Whether the module is known and is no plumbing, and the function is unknown: "libfoo.so+0x1234". */
int callstack_is_nameless(const struct callstack_frame *frame);

/* Whether the frame belongs to a distinctive library, or is compiled code. */
int callstack_is_library(const struct callstack_frame *frame);

/*
 * Whether the frame is on the stacks of many places and distinguishes none: interpreter, C library, allocator, driver,
 * autograd, and code that passes on the calls of modules. Not plumbing are: user code, a library (Python, or native
 * with a name), a layer, a node of autograd, and a mark for missing frames.
 */
int callstack_is_plumbing(const struct callstack_frame *frame);

/* Writes the function's name for a person; for a node of PyTorch's autograd the node, "MmBackward0". */
const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame);

/*
 * The name, inside of the parent module, of the module that the frame is the forward of: "self_attn", "layers.*"; NULL:
 * none.
 */
const char *callstack_submodule(const struct callstack_frame *frame);

/*
 * Writes the place of the frame alone: "rl_step.c:211", "trl/trainer/utils.py:30", "cell 310587:21",
 * "libfoo.so+0x1234", "autograd", "..."
 */
const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame);

#endif
