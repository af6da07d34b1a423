/*
 * parameter_lives.h - the module of each allocation that the census names, and the time in which the allocation was alive.
 *
 * Weights, gradients and states of all layers come from a few stacks: a site (a stack, a phase, a category) has those of many modules. Sites are not
 * split by module: a mixture of experts has 18 432 linear layers, and five sites for each would fill every list. Instead, the births and deaths of
 * named allocations are kept. At the end they give the bytes of each module at the peak: allocations that were born before the peak and died after
 * it.
 *
 * Cost: 96 bytes for each named birth, and one look-up at its birth and at its death. Other allocations cost one comparison.
 *
 * Each step makes new gradients, and most peaks come after the census. The backward pass is the same in each step: later births of the same stack and
 * size belong to the same modules, in the same order:
 *
 *     census, step 1    births  a  b  c       of layers.2, layers.1, layers.0
 *     step 2            births  d  x  e  f    x dies in its own phase; d, e, f are of layers.2, .1, .0
 *     the peak                    ^           d is alive: layers.2
 *
 * This order counts under three conditions. As many births survive as there are names. One backward pass made all named births. Each trained
 * parameter of this size has a gradient. Otherwise, the bytes belong to the innermost module that contains all named ones. Cost: 48 bytes for each
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

/* The peak of a device, for one process. */
struct parameter_moment {
	uint64_t epoch; /* number of the current peak; 0: no peak */
	uint64_t seq;   /* event of this process that made the peak; 0: another process made the peak */
	int64_t time;   /* ns since the run began */
};

struct parameter_birth {
	uint64_t seq, died_seq; /* died_seq UINT64_MAX: alive */
	int64_t time, died;     /* ns since the run began */
	uint32_t site;
	int home; /* 1: died in the phase and step of its birth */
};

/* Births of one stack and size. */
struct parameter_group {
	struct parameter_birth *birth; /* births of the newest step with births, and live births of earlier steps */
	struct parameter_birth *saved; /* copy of `birth` at the end of the step with the peak */
	uint32_t births, room, saves, saved_room;
	uint32_t step, device;
	uint64_t saved_epoch;
	int is_lost; /* 1: too many births, or births on two devices: no birth is kept */
};

/* The named births of one process. All zero: empty. */
struct parameter_lives {
	struct parameter_birth *known; /* by slot of census.known; seq 0: not born yet */
	struct parameter_group *group; /* by slot of census.alike */
	uint32_t groups;
};

/* Bytes of a site that belong to a module. */
struct parameter_bytes {
	uint32_t site, row; /* row of the module tree; 0: no module */
	uint64_t bytes, count;
	uint64_t birth; /* seq of the named birth; 0: the birth is like a named one */
	int here;       /* 1: alive at the peak */
};

/* A named birth. Its bytes are item[first .. first + count) of the answer. */
struct parameter_member {
	size_t first;
	uint32_t count;
};

/* The modules of the births of one stack and size in a step, in their order. */
struct parameter_order {
	uint64_t like;  /* key of the stack and size, from census_like() */
	size_t first;   /* if is_ordered and survivors == count: survivor i has the bytes of member first + i */
	uint32_t count; /* else: each survivor belongs to row `common` */
	uint32_t common;
	int is_ordered;
};

struct parameter_answer {
	struct parameter_bytes *item;
	size_t count, room;
	struct parameter_order *order; /* sorted by `like` */
	size_t orders;
	struct parameter_member *member;
	size_t members;
};

/* Makes empty lives. `census` must be complete and must not change. Returns 0 or -MT_E_MEMORY. The caller releases `lives`, also after an error. */
int parameter_lives_init(struct parameter_lives *lives, const struct census *census);
void parameter_lives_release(struct parameter_lives *lives);

/*
 * Notes a birth at `time` on `device`. `live->tag` is the site. `peak` is the current peak of the device. Births of a
 * stack and size that the census does not know are ignored. Returns 0 or -MT_E_MEMORY.
 */
int parameter_lives_born(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			 int64_t time, uint32_t device, const struct parameter_moment *peak);

/* Notes the death at event `seq`; `home`: in the phase and step of the birth. */
void parameter_lives_died(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			  uint64_t seq, int64_t time, int home);

/* Renumbers the sites: number[old] is the new number. */
void parameter_lives_reorder(struct parameter_lives *lives, const struct census *census, const uint32_t *number);

/*
 * Adds to the answer the module bytes of each named birth, and of births like these at the peak of their device (`peak`, by device). Sets the orders,
 * and adds rows to the tree. Returns 0 or -MT_E_MEMORY. The caller releases the answer, also after an error.
 */
int parameter_lives_answer(struct parameter_answer *answer, const struct parameter_lives *lives,
			   const struct census *census, struct module_tree *tree, const struct attribution *attribution,
			   const struct parameter_moment *peak);
void parameter_answer_release(struct parameter_answer *answer);

/* Returns the order of the births of a stack and size; NULL: the census names none of them. */
const struct parameter_order *parameter_order_of(const struct parameter_answer *answer, uint64_t stack, uint64_t size);

#endif
