/*
 * callers.h - places that hold memory at a moment, each with the caller that tells it from other places.
 *
 * A few functions that everybody calls allocate the weights: the constructor of a buffer, a loader, a copy. Their callers
 * tell a second model from the first. The stacks of init are a tree for each process, from main inwards. The tree parts into
 * branches that each have a good part of the bytes. The function at which a branch begins is the caller of all in the branch:
 *
 *     Worker.__init__ --------------------------------------- 7 GiB       Worker.__init__
 *          setup_reference_model_state - get_model - alloc - 75 GiB       setup_reference_model_state
 *
 * The phase tells the owner of later memory. There a function whose name tells nothing (step, backward, __init__) is named
 * with the next one further out that does.
 */
#ifndef MEMANA_CALLERS_H
#define MEMANA_CALLERS_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "query/callstack.h"

#define CALLERS_MAX 128  /* the largest stacks; what the rest has is small */
#define CALLERS_DEPTH 48 /* deeper frames tell nothing apart any more */

struct caller {
	int64_t process; /* id */
	char category[32], phase[24];
	char function[256], place[256];     /* "": unknown */
	uint64_t bytes, count, least, most; /* alive there; of one allocation */
	struct callstack stack;
	size_t path[CALLERS_DEPTH], depth; /* frames that tell something, from outside down to the place */
	char by[256], by_place[256];       /* the caller; "": the place says it all */
	int branch;                        /* 1: `by`, or the place where `by` is "", begins a branch of init */
};

struct callers {
	struct caller *caller; /* largest first */
	size_t count;
};

/* On a device at the request `oom` (id), 0: at its peak. 0 or -MT_E_x. Release in any case. */
int callers_load(struct callers *callers, struct db *db, int64_t device, int64_t oom);
void callers_release(struct callers *callers);

/* The largest of that place; NULL: it is none of the largest. `process` 0: of any. */
const struct caller *callers_at(const struct callers *callers, int64_t process, const char *function,
				const char *place);

/*
 * Weights of a process that several callers made: `caller` is one of them, but not the one with most. It made `bytes` of `all`.
 * One function that makes all of a model, called from two lines of another one, counts as two callers: the lines.
 */
struct caller_copy {
	const struct caller *caller, *first; /* the largest of its branch, and of the other one that has most */
	const struct callstack_frame *line,
		*first_line; /* the lines, of their stacks; NULL: the callers' functions say it */
	uint64_t bytes, all;
	int alike; /* 1: as much in as many as large allocations as the other: a copy */
};

/* The weights of `process` (0: of the one with most) that came second. 1: they are a good part, 0. */
int callers_second_weights(const struct callers *callers, int64_t process, struct caller_copy *copy);

/* The caller of the copy, function and place, and `first`: the caller of the other, with its line if both are one
 * function. */
void caller_copy_names(const struct caller_copy *copy, char function[256], char place[256], char first[256]);

/* "f (x.py:1)": the caller, or the place where the place says it all. */
const char *caller_function(const struct caller *caller);
const char *caller_place(const struct caller *caller);

/* `by` for a reader: of a function of PyTorch its caller. "": the place says it all. */
void caller_names(const struct caller *caller, char function[256], char place[256]);

/* Whether a stack has the function that begins the caller's branch. */
int caller_is_on(const struct caller *caller, const struct callstack *stack);

/* The next function further out than the place of `node`, in another file. "": none. 0 or -MT_E_x. */
int caller_outside(struct db *db, int64_t node, char function[256], char place[256]);

/*
 * The caller behind the place of `node`, where the place is PyTorch's: the first function further out that is the user's and has a
 * name of its own. "": the place says it all, or there is no such function. 0 or -MT_E_x.
 */
int caller_behind(struct db *db, int64_t node, char function[256], char place[256]);

#endif
