/*
 * unwalked.h - forwards that keep all that a backward would need, one after the other, while no backward comes.
 *
 *     def evaluate():                       goes around where its line is further up again: what each time has made
 *         for batch in batches:             is there still when the next begins
 *             inputs = batch.cuda()
 *             total += loss(model(inputs))
 *
 * An evaluation does so that adds up tensors, and has not said torch.no_grad(). A training that has one backward for several forwards, and a
 * pipeline, do so, too: what came from these stacks before has gone in a backward, and as many were there before it.
 */
#ifndef MEMANA_UNWALKED_H
#define MEMANA_UNWALKED_H

#include <stdint.h>
#include "database/db.h"

struct unwalked_question {
	int64_t process, device, seq; /* ids; up to this event */
	uint64_t least;               /* bytes that are worth an answer */
};

struct unwalked {
	uint64_t forwards;     /* forwards that are over, and alike, two at least; 0: there are none */
	uint64_t bytes, count; /* there of these */
	int64_t node;          /* a stack that has most */
	int evaluates; /* 1: a function that calls the model is called so, no optimizer runs below it, and no backward has walked these stacks */
	int unusual;   /* 1: until now a backward always came sooner, and what was made is the same each time */
};

/* 0 or -MT_E_x. */
int unwalked_find(struct unwalked *unwalked, struct db *db, const struct unwalked_question *question);

#endif
