/*
 * callstack.h - one call stack, ready to be shown: native frames have got their names, and the frame that a person
 * would call "mine" is found.
 */
#ifndef MEMANA_CALLSTACK_H
#define MEMANA_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>
#include "base/symbol.h"
#include "database/db.h"

/* Strings are never NULL; "" and 0: unknown. Whoever made the frame owns them. */
struct callstack_frame {
	const char *function, *file, *module;
	unsigned line;
	uint64_t offset; /* in the module; native frames only */
	int native;
	int elided;            /* frames were left out here */
	unsigned learned;      /* by callstack_learn; 0: nothing */
	const char *submodule; /* it is the forward of this module, layers.*.fc1; NULL: of none */
};

struct callstack {
	const struct callstack_frame **frame; /* innermost first; several stacks have the same ones */
	size_t count, room;
	struct stack_tree *tree; /* the stack's own tree; NULL: the frames belong to another object */
};

#define CALLSTACK_NO_FRAME ((size_t)-1)
#define CALLSTACK_PLACE_MAX 256 /* bytes of one place with NUL; longer ones are cut */

/*
 * Loads the stack of `node` (0: empty) of the database; `symbols` NULL: with the names that are there. Release in any case.
 * 0 or -MT_E_x. Both are in stack_tree.c; who wants many stacks takes a tree of his own.
 */
int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols);
void callstack_release(struct callstack *stack);

/* One more frame, which stays its owner's. 0 or -MT_E_MEMORY. */
int callstack_append(struct callstack *stack, const struct callstack_frame *frame);

/* Keeps in the frame what the questions below ask its names for: names are long, and asked for often. */
void callstack_learn(struct callstack_frame *frame);

/*
 * The frame that a person would look at first: the innermost of the user's own code. Else of a library that tells
 * things apart (frame_kind.h); else the node of autograd that runs; else of Python; else no plumbing of PyTorch; else
 * the operation that was called; else outside the driver; CALLSTACK_NO_FRAME: none at all.
 */
size_t callstack_user_frame(const struct callstack *stack);

/*
 * The innermost frame of the program: further out than the driver, the recorder and PyTorch's allocator. 0: all frames are of these.
 */
size_t callstack_first_frame(const struct callstack *stack);

/* Inside of the user's frame, the innermost of a library that tells things apart, or a node of autograd; else `user`. */
size_t callstack_inner_frame(const struct callstack *stack, size_t user);

/*
 * The place of both: "sft.py:19 > trl/kernels/chunked_logprob.py:413", and the function of the inner one. Code that was
 * compiled goes by what it was made from: "model.py:30 > compiled code:213".
 */
const char *callstack_place_of(char *out, size_t size, const struct callstack *stack, size_t user);
const char *callstack_function_of(char *out, size_t size, const struct callstack *stack, size_t user);

/*
 * The function that asked for the memory inside of the user's frame. The innermost frame of a layer or a library counts:
 * "softmax", "Linear.forward". Without one the operation of PyTorch that Python called counts ("addmm"), then
 * callstack_function_of. Returns `out`.
 */
const char *callstack_work(char *out, size_t size, const struct callstack *stack, size_t user);

/*
 * The words of both depend on these: of the same three frames and `in_user` the words are the same.
 */
struct callstack_parts {
	const struct callstack_frame *user, *inner;
	const struct callstack_frame
		*from; /* the source that `inner` was compiled from; NULL: that is not known, or it was not */
	int in_user;   /* 1: from is the user's frame */
};

struct callstack_parts callstack_parts_of(const struct callstack *stack, size_t user);

/* Whether the frame is the user's own code: no library, no package, not the interpreter. */
int callstack_is_user(const struct callstack_frame *frame);

/* Whether its module is known and its function is not, "libfoo.so+0x1234", and the module is no plumbing. */
int callstack_is_nameless(const struct callstack_frame *frame);

/* Whether it is of a library that tells things apart, or compiled code. */
int callstack_is_library(const struct callstack_frame *frame);

/*
 * Whether it is on the stacks of many places and tells none apart: interpreter, C library, allocator, driver, autograd, and what
 * passes on the calls of modules. Not the user's code, a library's (Python or a native one with a name), a layer's, a node of
 * autograd, and what says that frames are missing.
 */
int callstack_is_plumbing(const struct callstack_frame *frame);

/* The name a person knows the frame's function by: of a node of PyTorch's autograd the node, "MmBackward0". */
const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame);

/* The name of the module that the frame is the forward of, inside of the one around it: "self_attn", "layers.*"; NULL: none. */
const char *callstack_submodule(const struct callstack_frame *frame);

/* By the frame alone: "rl_step.c:211", "trl/trainer/utils.py:30", "cell 310587:21", "libfoo.so+0x1234", "autograd",
 * "..." */
const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame);

#endif
