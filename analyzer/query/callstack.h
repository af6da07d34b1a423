/* callstack.h - one call stack, ready for a page: native frames have names, and the frame of the user's own code is known. */
#ifndef MEMANA_CALLSTACK_H
#define MEMANA_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>
#include "base/symbol.h"
#include "base/tuple.h"
#include "database/db.h"

/* A frame. The maker of the frame owns its strings. Strings are never NULL; "" and 0: unknown. */
struct callstack_frame {
	const char *function, *file, *module;
	unsigned line;
	uint64_t offset; /* bytes from the begin of the module; native frames only */
	int native;
	int elided;            /* 1: frames were left out here */
	unsigned learned;      /* traits, set by callstack_learn; 0: not set yet */
	const char *submodule; /* module whose forward the frame is, layers.*.fc1; NULL: none */
};

struct callstack {
	const struct callstack_frame **frame; /* innermost first; several stacks share frames */
	size_t count, room;
	struct stack_tree *tree; /* the stack's own tree; NULL: another object owns the frames */
};

#define CALLSTACK_NO_FRAME ((size_t)-1)
#define CALLSTACK_PLACE_MAX 256 /* bytes of a place with NUL; longer places are cut */

/*
 * Loads the stack of `node` (0: empty) from the database. `symbols` NULL: uses the names in the database. Returns 0 or -MT_E_x. The caller releases
 * the stack, also after an error. These functions are in stack_tree.c. For many stacks, make one tree (stack_tree.h).
 */
int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols);
void callstack_release(struct callstack *stack);

/* Adds a frame. The frame stays its owner's. Returns 0 or -MT_E_MEMORY. */
int callstack_append(struct callstack *stack, const struct callstack_frame *frame);

/*
 * Frames with the same words are alike: callstack_learn gives them the same properties. The key is the same for frames that are alike, and rarely for
 * others.
 */
struct tuple callstack_key(const struct callstack_frame *frame);
int callstack_is_alike(const struct callstack_frame *one, const struct callstack_frame *two);

/* Stores the answers of the questions below in the frame: names are long, and the questions come often. */
void callstack_learn(struct callstack_frame *frame);

/*
 * Returns the frame to show first: the innermost frame of the user's own code. Without user code, the first that exists: a distinctive library
 * (frame_kind.h), a node of autograd, Python, native work, the called operation, a frame outside of the driver. CALLSTACK_NO_FRAME: the stack is
 * empty.
 */
size_t callstack_user_frame(const struct callstack *stack);

/* Returns the innermost frame outside of driver, recorder and PyTorch's allocator; without such a frame, 0. */
size_t callstack_first_frame(const struct callstack *stack);

/* Returns the innermost frame, inside of the user's, of a distinctive library or of a node of autograd; without such a frame, `user`. */
size_t callstack_inner_frame(const struct callstack *stack, size_t user);

/*
 * callstack_place_of writes the places of both frames: "sft.py:19 > trl/kernels/chunked_logprob.py:413". callstack_function_of writes the function of
 * the inner frame. Compiled code has the name of its source: "model.py:30 > compiled code:213".
 */
const char *callstack_place_of(char *out, size_t size, const struct callstack *stack, size_t user);
const char *callstack_function_of(char *out, size_t size, const struct callstack *stack, size_t user);

/*
 * Writes the function, inside of the user's frame, that asked for the memory. It is the innermost frame of a layer ("softmax", "Linear.forward"), or
 * the PyTorch operation that Python called ("addmm"). Otherwise as callstack_function_of. Returns `out`.
 */
const char *callstack_work(char *out, size_t size, const struct callstack *stack, size_t user);

/* The frames that decide the words of callstack_place_of and callstack_function_of. Stacks with equal parts have equal words. */
struct callstack_parts {
	const struct callstack_frame *user, *inner;
	const struct callstack_frame
		*from; /* frame of the source of compiled code; NULL: unknown, or `inner` is not compiled */
	int in_user;   /* 1: `from` is the user's frame */
};

struct callstack_parts callstack_parts_of(const struct callstack *stack, size_t user);

/* Whether the frame is the user's own code: not of a library, a package or the interpreter. */
int callstack_is_user(const struct callstack_frame *frame);

/* Whether the frame's module is known and is no plumbing, and its function is unknown: "libfoo.so+0x1234". */
int callstack_is_nameless(const struct callstack_frame *frame);

/* Whether the frame is of a distinctive library, or is compiled code. */
int callstack_is_library(const struct callstack_frame *frame);

/* Whether a compiler made the frame's code from code of an outer frame. */
int callstack_is_compiled(const struct callstack_frame *frame);

/*
 * Whether the frame is on the stacks of many places and distinguishes none: interpreter, C library, allocator, driver, autograd, and code that passes
 * on calls of modules. These are not plumbing: user code, a library (Python, or native with a name), a layer, a node of autograd, and a mark for
 * missing frames.
 */
int callstack_is_plumbing(const struct callstack_frame *frame);

/* Writes the function's name; for a node of PyTorch's autograd, the node: "MmBackward0". */
const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame);

/* Returns the name, in the parent module, of the module whose forward the frame is: "self_attn", "layers.*"; NULL: none. */
const char *callstack_submodule(const struct callstack_frame *frame);

/* Writes the place of one frame: "rl_step.c:211", "trl/trainer/utils.py:30", "cell 310587:21", "libfoo.so+0x1234", "autograd", "..." */
const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame);

#endif
