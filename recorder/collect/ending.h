/*
 * ending.h - a recording that ends before its process does: memrec detach asks the collector by a signal, --duration by the time.
 */
#ifndef MEMREC_ENDING_H
#define MEMREC_ENDING_H

#include <signal.h>
#include <stdint.h>
#include "memtrace/fold.h"

#define ENDING_SIGNAL SIGUSR1 /* end with the running step; a second one: at once */

struct ending {
	uint64_t deadline;  /* ns of CLOCK_MONOTONIC; 0: none */
	uint64_t last_step; /* when the last step ended, ns; 0: none has */
	uint64_t step_ns;   /* how long that step took */
	uint64_t steps;     /* steps that have ended */
	uint64_t asked;     /* ns; when memrec detach asked; 0: not yet */
};

/* By the options in the header of the ring. */
void ending_begin(struct ending *ending, const struct ring_header *header);

/*
 * Between two folds. `asked`: number of signals so far. 1: the recording ends now. Until then the fold knows which step is the
 * last. A step is waited for twice as long as the one before took; without a step before, or a trace, the end is at once.
 */
int ending_is_due(struct ending *ending, struct mt_fold *fold, int asked, uint64_t now);

#endif
