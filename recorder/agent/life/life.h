/*
 * life.h - the state of the recording in this process, and its options, shared by the files of agent/life.
 *
 *     asleep ──options──> armed ──first memory event──> starting ──> on ──> off
 *                           ^                                              │
 *                           └────────────── memrec attach ─────────────────┘
 *
 * Under `memrec --paused` the state is paused in place of armed and of off (pause.c).
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

/* A part of the count of threads inside hooks, on a cache line of its own, so threads do not slow each other down. */
struct life_line {
	_Atomic int32_t threads;
} __attribute__((aligned(64)));

/*
 * On pages that the kernel wipes in forked children. So a child, which has a copy of the parent's memory and its mapped
 * ring, is asleep from its first instruction.
 */
struct life {
	_Atomic uint32_t word;  /* enum life_state; above it a number that changes with each recording */
	_Atomic uint64_t epoch; /* ns at which this life began; data of threads from another life is ignored. 0: none */
	_Atomic uint32_t recordings;  /* number of recordings in this life, all in one ring */
	struct control *_Atomic page; /* wishes (pause.c); NULL: not opened */
	_Atomic uint32_t meeting;     /* 1: a thread is acting on a wish */
	_Atomic uint32_t opened;      /* 1: opening was tried */
	_Atomic uint32_t seen;        /* newest wish that was handled */
	_Atomic uint32_t steps;       /* number of steps that the wish asks for; 0: no limit */
	_Atomic uint32_t asked; /* wish that Python's main thread was asked to begin with, until it is met; 0: none */
	_Atomic uint64_t asked_at; /* ns */
	_Atomic uint32_t answers;  /* 1: the asked thread begins the recording now */
	_Atomic uint32_t tells;    /* 1: the next start lists the memory from before */
	struct life_line inside[1 << LIFE_LINE_BITS];
};

/* Never NULL. Asleep until the constructor puts a page of life_new() in place, once. */
extern struct life *life;

/* Constant after agent_options() has returned it. */
extern struct memrec_options life_options;

static inline uint32_t life_state(void)
{
	return atomic_load_explicit(&life->word, memory_order_acquire) & LIFE_STATE_MASK;
}

/* Sets the state. Only for the thread that starts the recording, or of a process that has just begun or forked. */
static inline void life_set(enum life_state state)
{
	atomic_store(&life->word, (atomic_load(&life->word) & ~LIFE_STATE_MASK) | (uint32_t)state);
}

/* Changes the state `from` to `to`, if `word` is still the same life. 1: done. */
static inline int life_change(uint32_t word, enum life_state from, enum life_state to)
{
	uint32_t before = (word & ~LIFE_STATE_MASK) | (uint32_t)from;

	return atomic_compare_exchange_strong(&life->word, &before, (word & ~LIFE_STATE_MASK) | (uint32_t)to);
}

/*
 * Counts the calling thread as inside, before it reads the state. `own`: any address of its own memory. Returns the
 * argument of life_leave.
 */
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

/* 1: no thread is inside. A thread that enters later sees the state that was set before this call. */
int life_is_empty(void);

/* In the child of a fork: the other threads are not there. */
void life_forked(void);

/* Pages for a life, asleep; never freed. NULL: no memory. */
struct life *life_new(void);

/* 1: `life` is such a page. */
int life_has_begun(void);

/*
 * pause.c: 1: a recording is wanted, and the state is ARMED or beyond. Cheap if nothing has changed. `opens` 1: the
 * process takes memory, so its page is made if missing. Keeps errno.
 */
int pause_is_over(int opens);

/* 1, once: the starting recording lists the memory from before. */
int pause_tells(void);

/*
 * Sets the page's name and the number of steps in a header that no collector sees yet, and the ring's path in the page.
 */
void pause_tell(struct ring_header *header, const char *ring_path);

/* Notes in the page that the recording could not begin. */
void pause_failed(void);

/* A life begins, and knows of no page yet. */
void pause_arm(void);

/* Returns the state after a recording: PAUSED if a page can begin another one, else OFF. */
enum life_state pause_or_off(void);

/* The process exits. Removes a page outside the folder of a run. */
void pause_end(void);

/* life_options is complete: agent_options() returns it from now on. */
void life_options_are_there(void);

#endif
