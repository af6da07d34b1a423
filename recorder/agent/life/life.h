/*
 * life.h - whether this process is recorded just now, and what was wished for: what the files of the agent's life share.
 *
 *     asleep ──options──> armed ──first memory event──> starting ──> on ──> off
 *                           ^                                              │
 *                           └────────────── memrec attach ─────────────────┘
 *
 * Under `memrec --paused` it is paused instead of armed, and instead of off (pause.c).
 */
#ifndef RECORDER_LIFE_H
#define RECORDER_LIFE_H

#include <stdatomic.h>
#include <stdint.h>
#include "memtrace/ring.h"
#include "shared/control.h"
#include "shared/options.h"

/* From ARMED on, hooks hand events over. */
enum life_state { LIFE_ASLEEP = 0, LIFE_OFF, LIFE_PAUSED, LIFE_ARMED, LIFE_STARTING, LIFE_ON };

#define LIFE_STATE_BITS 3
#define LIFE_STATE_MASK ((1u << LIFE_STATE_BITS) - 1)

#define LIFE_LINE_BITS 6

/* A part of the number of threads that are inside of hooks: a line of the cache, so that threads do not wait for each other. */
struct life_line {
	_Atomic int32_t threads;
} __attribute__((aligned(64)));

/*
 * On pages that the kernel wipes in forked children, so a child that shares the parent's memory image, and its mapped
 * ring, is asleep from its first instruction on.
 */
struct life {
	_Atomic uint32_t word;  /* enum life_state; in the bits above it a number that changes with each recording */
	_Atomic uint64_t epoch; /* ns; when this life began; per-thread data of another life is not believed. 0: none */
	_Atomic uint32_t recordings;  /* number of them in this life, all in one ring */
	struct control *_Atomic page; /* wishes (pause.c); NULL: not opened */
	_Atomic uint32_t meeting;     /* 1: a thread is acting on a wish */
	_Atomic uint32_t opened;      /* 1: it has been tried */
	_Atomic uint32_t seen;        /* newest wish that was looked at */
	_Atomic uint32_t steps;       /* number of steps that it asks for; 0: no limit */
	_Atomic uint32_t asked; /* wish that Python's main thread was asked to begin with, until it is met; 0: none */
	_Atomic uint64_t asked_at; /* ns */
	_Atomic uint32_t answers;  /* 1: the asked thread begins the recording now */
	_Atomic uint32_t tells;    /* 1: the next start begins with a telling of what was there before */
	struct life_line inside[1 << LIFE_LINE_BITS];
};

/* Never NULL. It is asleep until a page of life_new() takes its place, which happens once, in the constructor. */
extern struct life *life;

/* Constant once agent_options() gives them out. */
extern struct memrec_options life_options;

static inline uint32_t life_state(void)
{
	return atomic_load_explicit(&life->word, memory_order_acquire) & LIFE_STATE_MASK;
}

/* By the one thread that has the say: it starts the recording, or the process has just begun or forked. */
static inline void life_set(enum life_state state)
{
	atomic_store(&life->word, (atomic_load(&life->word) & ~LIFE_STATE_MASK) | (uint32_t)state);
}

/* From state `from` to `to`, of one life: that of `word`, as it was read. 1: done. */
static inline int life_change(uint32_t word, enum life_state from, enum life_state to)
{
	uint32_t before = (word & ~LIFE_STATE_MASK) | (uint32_t)from;

	return atomic_compare_exchange_strong(&life->word, &before, (word & ~LIFE_STATE_MASK) | (uint32_t)to);
}

/* Counts the calling thread as inside, before it looks at the state. `own`: an address of its own memory. For life_leave. */
static inline struct life_line *life_enter(const void *own)
{
	uint64_t line = ((uint64_t)(uintptr_t)own * 0x9e3779b97f4a7c15u) >> (64 - LIFE_LINE_BITS);

	atomic_fetch_add(&life->inside[line].threads, 1);
	return &life->inside[line];
}

static inline void life_leave(struct life_line *line)
{
	atomic_fetch_sub_explicit(&line->threads, 1, memory_order_release);
}

/* 1: no thread is inside. Threads that come later find the state that was set before this call. */
int life_is_empty(void);

/* In the child of a fork: the other threads are not there. */
void life_forked(void);

/* Pages for a life, asleep; never freed. NULL: no memory. */
struct life *life_new(void);

/* 1: `life` is such a page. */
int life_has_begun(void);

/*
 * pause.c: 1: a recording is wished for, and the life is ARMED or beyond. Cheap while nothing has changed. `opens` 1: the
 * process takes memory, so its page is made if there is none. errno is kept.
 */
int pause_is_over(int opens);

/* 1, once: the recording that starts begins with a telling of what was there before. */
int pause_tells(void);

/* Fills in the page's name, and the steps that it asks for, in a header that no collector sees yet; and the ring in the page. */
void pause_tell(struct ring_header *header, const char *ring_path);

/* The recording could not begin: says so in the page. */
void pause_failed(void);

/* A life begins, and knows of no page yet. */
void pause_arm(void);

/* The state after a recording: PAUSED where a page can begin another one. */
enum life_state pause_or_off(void);

/* The process ends in order: a page outside the folder of a run goes with it. */
void pause_end(void);

/* life_options is complete: from now on agent_options() gives it out. */
void life_options_are_there(void);

#endif
