/*
 * makers.h - who had something made: of what is alive at a moment, the function further out that tells things apart.
 *
 * Weights are allocated by a few functions that everybody calls: the constructor of a buffer, a loader, a copy. The
 * callers of these tell a second model from the first. Stacks of what a process made in init are a tree, from main
 * inwards; where it parts into branches that each have a good part of the bytes, the function at which a branch
 * begins is the maker of all in it:
 *
 *     Worker.__init__ --------------------------------------- 7 GiB       Worker.__init__
 *          setup_reference_model_state - get_model - alloc - 75 GiB       setup_reference_model_state
 *
 * For later memory the phase tells its owner. There a function of which the name tells nothing (step, backward,
 * __init__) is named with the next one further out that does.
 */
#ifndef MEMANA_MAKERS_H
#define MEMANA_MAKERS_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "query/callstack.h"

#define MAKERS_MAX 128  /* the largest stacks; what the rest has is small */
#define MAKERS_DEPTH 48 /* deeper frames tell nothing apart any more */

struct maker {
	int64_t process; /* id */
	char category[32], phase[24];
	char function[256], place[256];     /* callsite; "": unknown */
	uint64_t bytes, count, least, most; /* alive there; of one allocation */
	struct callstack stack;
	size_t path[MAKERS_DEPTH], depth; /* frames that tell something, from outside down to the callsite */
	char by[256], by_place[256];      /* the caller that had it made; "": the callsite says it all */
	int branch;                       /* 1: `by`, or where it is "" the callsite, begins a branch of init */
};

struct makers {
	struct maker *maker; /* largest first */
	size_t count;
};

/* On a device at the request `oom` (id), 0: at its peak. 0 or -MT_E_x. Release in any case. */
int makers_load(struct makers *makers, struct db *db, int64_t device, int64_t oom);
void makers_release(struct makers *makers);

/* The largest of that place; NULL: it is none of the largest. `process` 0: of any. */
const struct maker *makers_at(const struct makers *makers, int64_t process, const char *function, const char *place);

/*
 * Weights of a process that were made by several: of which one of them, and not the one with most of the others, made `bytes` of `all`.
 * One function that makes all of a model, called from two lines of another, is two makers, too: these lines.
 */
struct maker_copy {
	const struct maker *maker, *first; /* the largest of its branch, and of the other one that has most */
	const struct callstack_frame *line,
		*first_line; /* the lines, of their stacks; NULL: the makers' functions say it */
	uint64_t bytes, all;
	int alike; /* 1: as much in as many as large allocations as the other: a copy */
};

/* The weights of `process` (0: of the one with most) that came second. 1: they are a good part, 0. */
int makers_second_weights(const struct makers *makers, int64_t process, struct maker_copy *copy);

/* The maker of the copy, function and place, and `first`: the maker of the other, with its line if both are one
 * function. */
void maker_copy_names(const struct maker_copy *copy, char function[256], char place[256], char first[256]);

/* "f (x.py:1)": the maker, or the callsite where that says it all. */
const char *maker_function(const struct maker *maker);
const char *maker_place(const struct maker *maker);

/* `by` for who reads it: where that is PyTorch's, who called it. "": the callsite says it all. */
void maker_caller_names(const struct maker *maker, char function[256], char place[256]);

/* Whether a stack has the function that begins the maker's branch. */
int maker_is_on(const struct maker *maker, const struct callstack *stack);

/* The next one further out of the callsite of `node`, in another file: "" without one. 0 or -MT_E_x. */
int maker_caller(struct db *db, int64_t node, char function[256], char place[256]);

/*
 * The caller behind the callsite of `node`, if that is PyTorch's: the first one further out that is not, and has a
 * name of its own. "": the callsite says it all, or nobody is. 0 or -MT_E_x.
 */
int maker_behind(struct db *db, int64_t node, char function[256], char place[256]);

#endif
