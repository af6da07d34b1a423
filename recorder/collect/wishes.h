/*
 * wishes.h - the collector's side of a page of wishes (shared/control.h). The collector ends the recording when the
 * user wishes it, and writes the user's marks to the trace. It reports the number of events, and waits for the next
 * recording in the same ring.
 *
 * A wish to end waits for the end of the running step. If no step has ended, the program may have no steps: the
 * recording then ends WISHES_STEP_NS after the wish.
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
	uint32_t wish;   /* number of the wish that began this recording */
	uint64_t since;  /* ns; time when the collector saw the wish to end, 0: no such wish */
	uint64_t before; /* lowest event number that was free at that time */
	int last;        /* 1: all events below `before` are in the trace, and the running step is the last one */
};

/* Maps the page for the recording in the ring at `ring_path`. `ring_path` must outlive `wishes`. */
void wishes_begin(struct wishes *wishes, const struct ring_header *header, const char *ring_path);

/* Writes the name of the trace to the page. */
void wishes_trace(struct wishes *wishes, const char *trace);

/* Takes marks from the page and reports figures. `now`: CLOCK_MONOTONIC, ns. 1: the recording must end at once. */
int wishes_tick(struct wishes *wishes, struct mt_fold *fold, uint64_t now);

/* Reports the end of the recording and its figures, and unmaps the page. */
void wishes_end(struct wishes *wishes, uint64_t events, uint64_t steps);

/*
 * Tells the agent that the newest recording is complete, and waits for the next one. Call it after the result is
 * written. 1: another recording has begun. 0: the process has ended, *told is set, or the ring is gone.
 */
int wishes_wait(const char *ring_path, volatile sig_atomic_t *told);

#endif
