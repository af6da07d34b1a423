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

/* Strings are never NULL; "" and 0: unknown. Owned by the stack. */
struct callstack_frame {
	const char *function, *file, *module;
	unsigned line;
	uint64_t offset; /* in the module; native frames only */
	int native;
	int elided;  /* frames were left out here */
	char *texts; /* what the strings point into */
};

struct callstack {
	struct callstack_frame *frame; /* innermost first */
	size_t count, room;
};

#define CALLSTACK_NO_FRAME ((size_t)-1)

/*
 * Loads the stack of `node` (0: empty) of the database; `symbols` NULL: with the names that are there. Release in any case.
 * 0 or -MT_E_x.
 */
int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols);
void callstack_release(struct callstack *stack);

/*
 * The innermost frame of the user's own code; else of Python; else the node of autograd that runs; else what is no
 * plumbing of PyTorch; else outside the driver; CALLSTACK_NO_FRAME: none at all.
 */
size_t callstack_user_frame(const struct callstack *stack);

/* Whether the frame is the user's own code: no library, no package, not the interpreter. */
int callstack_is_user(const struct callstack_frame *frame);

/* The part of a path after the last '/'. */
const char *callstack_base_name(const char *path);

/* The name a person knows the frame's function by: of a node of PyTorch's autograd the node, "MmBackward0". */
const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame);

/* "rl_step.c:211", "libfoo.so+0x1234", "autograd", "..." */
const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame);

#endif
