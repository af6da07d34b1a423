/*
 * agent_impl.h - what agent.c and agent_start.c share: the recording of this process.
 */
#ifndef RECORDER_AGENT_IMPL_H
#define RECORDER_AGENT_IMPL_H

#include <stdint.h>
#include "agent.h"
#include "agent/ring/ring.h"
#include "agent/stacks/stack.h"

struct agent {
	_Atomic int cuda;         /* cuInit has run */
	_Atomic int started;      /* a recording was started here, or in the process that forked this one */
	_Atomic uint32_t threads; /* number of serials given to threads */
	_Atomic uint64_t looked;  /* ns: time of the last look after the collector */
	_Atomic uint32_t calls;   /* calls of look_after_collector since then */
	_Atomic uint32_t looking; /* 1: a thread looks after the collector now, or no collector has been started yet */
	_Atomic uint32_t replaced;
	_Atomic int mapped;     /* ring and stacks of the newest recording are mapped */
	_Atomic int letting_go; /* a thread unmaps ring and stacks */
	struct ring ring;
	struct stacks stacks;
	_Atomic uint64_t lost[RING_LOSSES]; /* while there is no ring */
};

extern struct agent agent;

/* ---- agent.c ---- */

/* Counts an event that is lost: in the ring while the recording runs, else for the next one. */
void agent_count_lost(enum mt_loss loss);

/* 1: the recording runs. The collector may end it at any time; a thread that is late with that does not end the next one. */
int agent_is_on(void);

/* Before all events: until the telling ends, the collector begins no trace. For the thread that starts the recording. */
void agent_begin_telling(void);

/* The marks of the buffer go into the ring, and the buffer is closed. For the thread that starts the recording. */
void agent_replay_marks(void);

/* ---- agent_start.c ---- */

/* Looks for Python, and says what came of it. */
void agent_find_python(void);

/* Looks for libunwind, and says what came of it. For the constructor, which may call the loader. */
void agent_find_unwinder(void);

/* On a thread that is inside (enter in agent.c). Starts the recording, or waits as below. 1: it runs. */
int agent_start_or_wait(void);

/* Waits at most 2 s for the thread that starts the recording. 1: it runs. */
int agent_wait_for_start(void);

#endif
