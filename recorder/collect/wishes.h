/*
 * wishes.h - the collector's side of a page of wishes (shared/control.h). It ends the recording when that is wished, and puts
 * the user's marks into the trace. It says how many events there are, and waits for the next recording in the same ring.
 *
 * A wish to end waits for the end of the running step. Before the first step has ended, a program may be without steps: then the
 * recording ends after WISHES_STEP_NS.
 */
#ifndef MEMREC_WISHES_H
#define MEMREC_WISHES_H

#include <signal.h>
#include <stdint.h>
#include "memtrace/fold.h"
#include "run/target.h"
#include "shared/control.h"

#define WISHES_STEP_NS 10000000000ull

struct wishes {
	struct control *page; /* NULL: the process is not under --paused */
	const char *ring_path;
	uint32_t wish;   /* the one that this recording is for */
	uint64_t since;  /* ns; when the wish to end was seen, 0: not yet */
	uint64_t before; /* events below this number were in the ring then */
	int last;        /* 1: they are in the trace, and the running step is the last */
};

/* For the recording that runs in the ring at `ring_path`, which is kept. */
void wishes_begin(struct wishes *wishes, const struct ring_header *header, const char *ring_path);

/* The trace of the recording has this name. */
void wishes_trace(struct wishes *wishes, const char *trace);

/* Marks and figures; `now`: CLOCK_MONOTONIC, ns. 1: the recording is to end at once. */
int wishes_tick(struct wishes *wishes, struct mt_fold *fold, uint64_t now);

/* The recording is over. */
void wishes_end(struct wishes *wishes, uint64_t events, uint64_t steps);

/*
 * The newest recording of the ring is whole, and its result written. 1: another one has begun; 0: there will be none, for the
 * process has ended or *told is set.
 */
int wishes_wait(const char *ring_path, volatile sig_atomic_t *told);

#endif
