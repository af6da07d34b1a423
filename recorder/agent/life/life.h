/*
 * life.h - whether this process is recorded just now, and what was wished for: what the files of the agent's life share.
 *
 *     asleep ──options──> armed ──first memory event──> starting ──> on ──> off
 */
#ifndef RECORDER_LIFE_H
#define RECORDER_LIFE_H

#include <stdatomic.h>
#include <stdint.h>
#include "shared/options.h"

enum life_state { LIFE_ASLEEP = 0, LIFE_ARMED, LIFE_STARTING, LIFE_ON, LIFE_OFF };

/*
 * On a page that the kernel wipes in forked children, so a child that shares the parent's memory image, and its mapped
 * ring, is asleep from its first instruction on.
 */
struct life {
	_Atomic uint32_t state; /* enum life_state */
	_Atomic uint64_t epoch; /* ns; when this life began; per-thread data of another life is not believed. 0: none */
};

/* Never NULL. It is asleep until a page of life_new() takes its place, which happens once, in the constructor. */
extern struct life *life;

/* Constant once agent_options() gives them out. */
extern struct memrec_options life_options;

static inline uint32_t life_state(void)
{
	return atomic_load_explicit(&life->state, memory_order_acquire);
}

/* A page for a life, asleep; never freed. NULL: no memory. */
struct life *life_new(void);

/* 1: `life` is such a page. */
int life_has_begun(void);

/* life_options is complete: from now on agent_options() gives it out. */
void life_options_are_there(void);

#endif
