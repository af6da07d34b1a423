/*
 * parameter_lives.h - the module of memory that the census names, and the times when that memory was alive.
 *
 * Weights, gradients and states of all layers come from a few stacks: a site (a stack, a phase, a category) holds those
 * of many modules. Sites are not split by module: a mixture of experts has 18 432 linear layers, and five sites each
 * would fill every list. The births and deaths that the census names are kept instead. They give the peak's bytes of
 * each module at the end: memory that was born before the peak and died after it.
 *
 * Cost: 96 bytes for each named birth; at its birth and death one look-up. Other allocations cost one comparison.
 *
 * Each step makes new gradients, and most peaks come after the census. Later births of the same stack and size belong
 * to the same modules, in the same order, as the backward pass is the same:
 *
 *     census, step 1    births  a  b  c       of layers.2, layers.1, layers.0
 *     step 2            births  d  x  e  f    x goes at home, in the phase that made it: d, e, f are of layers.2, .1, .0
 *     the peak                    ^           d is there: layers.2
 *
 * The order counts where three things hold. As many survive as there are names. One backward pass made all named ones. Each trained
 * parameter of the size has a gradient. Otherwise the bytes belong to the innermost module that all of them lie in. Cost: 48 bytes for each
 * birth of two steps.
 */
#ifndef MEMANA_PARAMETER_LIVES_H
#define MEMANA_PARAMETER_LIVES_H

#include <stddef.h>
#include <stdint.h>
#include "attribution.h"
#include "census.h"
#include "memtrace/ledger.h"
#include "module_tree.h"

/* A moment of a device, as a process sees it. */
struct parameter_moment {
	uint64_t epoch; /* number of the peak that stands; 0: none does */
	uint64_t seq;   /* event of this process that made the peak; 0: another process made it */
	int64_t time;   /* ns since the run began */
};

struct parameter_birth {
	uint64_t seq, died_seq; /* died_seq UINT64_MAX: still alive */
	int64_t time, died;     /* ns since the run began */
	uint32_t site;
	int home; /* it died in the phase and step in which it was born */
};

/* Births of one stack and size. */
struct parameter_group {
	struct parameter_birth *birth; /* births of the newest step that has any, and older ones that are alive */
	struct parameter_birth *saved; /* copy of `birth` at the end of the step with the peak */
	uint32_t births, room, saves, saved_room;
	uint32_t step, device;
	uint64_t saved_epoch;
	int is_lost; /* too many births, or births on two devices: none is kept */
};

/* The lives of one process. Zeroed: empty. */
struct parameter_lives {
	struct parameter_birth *known; /* by slot of the census's table; seq 0: not born yet */
	struct parameter_group *group; /* by slot of the census's other table */
	uint32_t groups;
};

/* Bytes of a site that belong to a module. */
struct parameter_bytes {
	uint32_t site, row; /* row of the module tree; 0: of none */
	uint64_t bytes, count;
	uint64_t birth; /* seq of the named birth; 0: a birth that is like a named one */
	int here;       /* alive at the peak */
};

/* A named birth: its bytes are item[first .. first + count) of the answer. */
struct parameter_member {
	size_t first;
	uint32_t count;
};

/* Modules, in order, for the births of one stack and size in a step. */
struct parameter_order {
	uint64_t like;  /* census_like() of them */
	size_t first;   /* if is_ordered and survivors == count: survivor i has the bytes of member first + i, */
	uint32_t count; /* otherwise each survivor belongs to row `common` */
	uint32_t common;
	int is_ordered;
};

struct parameter_answer {
	struct parameter_bytes *item;
	size_t count, room;
	struct parameter_order *order; /* by `like` */
	size_t orders;
	struct parameter_member *member;
	size_t members;
};

/* `census` is complete and does not change. Returns 0 or -MT_E_MEMORY; the caller releases `lives` in any case. */
int parameter_lives_init(struct parameter_lives *lives, const struct census *census);
void parameter_lives_release(struct parameter_lives *lives);

/*
 * Notes a birth at `time` on `device`. `live->tag` is the site. `peak` is the current peak of the device. Births of a
 * stack and size that the census does not know are ignored. Returns 0 or -MT_E_MEMORY.
 */
int parameter_lives_born(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			 int64_t time, uint32_t device, const struct parameter_moment *peak);

/* Notes the death at event `seq`. `home`: in the phase and step of the birth. */
void parameter_lives_died(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			  uint64_t seq, int64_t time, int home);

/* Gives sites new numbers: number[old] is the new one. */
void parameter_lives_reorder(struct parameter_lives *lives, const struct census *census, const uint32_t *number);

/*
 * Adds to the answer the module bytes of each named birth, and of births like them at the peak of their device. `peak`
 * is by device. Sets the orders. Makes rows in the tree. Returns 0 or -MT_E_MEMORY. The caller releases the answer in
 * any case.
 */
int parameter_lives_answer(struct parameter_answer *answer, const struct parameter_lives *lives,
			   const struct census *census, struct module_tree *tree, const struct attribution *attribution,
			   const struct parameter_moment *peak);
void parameter_answer_release(struct parameter_answer *answer);

/* The order of births of a stack and size. NULL: the census says nothing of them. */
const struct parameter_order *parameter_order_of(const struct parameter_answer *answer, uint64_t stack, uint64_t size);

#endif
