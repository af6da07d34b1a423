/*
 * ending.h - ends a recording before its process: after the signal of memrec detach, or after the time of --duration.
 */
#ifndef MEMREC_ENDING_H
#define MEMREC_ENDING_H

#include <signal.h>
#include <stdint.h>
#include "memtrace/fold.h"

#define ENDING_SIGNAL SIGUSR1 /* first signal: end with the running step; second signal: end at once */

struct ending {
	uint64_t deadline;  /* ns of CLOCK_MONOTONIC; 0: no deadline */
	uint64_t last_step; /* ns of CLOCK_MONOTONIC; end of the newest step; 0: no step has ended */
	uint64_t step_ns;   /* duration of the newest step; 0: the newest step is the first one */
	uint64_t steps;     /* number of steps that have ended */
	uint64_t asked;     /* ns of CLOCK_MONOTONIC; first signal of memrec detach; 0: no signal yet */
};

/* Reads --duration from the options in the header of the ring. */
void ending_begin(struct ending *ending, const struct ring_header *header);

/*
 * 1: the recording ends now. Call it between two folds. `asked`: number of signals so far; `now`: CLOCK_MONOTONIC, ns.
 * After the first signal, the running step becomes the last one of the trace (mt_fold_end_with_step). The wait for its
 * end is twice the duration of the step before, and at least one second. If no step has ended, the recording ends at
 * once.
 */
int ending_is_due(struct ending *ending, struct mt_fold *fold, int asked, uint64_t now);

#endif
