/*
 * own_pass.h - the collector's own pass over the trace that it writes (memtrace/facts.h), in a thread that reads the
 * file. The ring is emptied as fast as without the pass. The thread has a lower priority than the collector, but for a pass that is a million
 * events behind. When a flight recorder lets go of the older half of its file, the pass begins anew.
 */
#ifndef RECORDER_OWN_PASS_H
#define RECORDER_OWN_PASS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include "memtrace/facts.h"
#include "memtrace/fold.h"

/* Zeroed: there is none. */
struct own_pass {
	const char *trace;
	struct stat file; /* the thread's, as `facts`: the file that is read */
	int keeps;        /* a flight recorder: the file is replaced now and then */
	int began;        /* the thread was started, or could not be */
	int threaded;
	pthread_t thread;
	_Atomic int stop;
	_Atomic int behind;     /* the thread has ended, for one that hastens */
	int hastens;            /* the thread's: it has the collector's priority until it has caught up */
	uint64_t run;           /* the thread's: events since it had caught up */
	int hurry;              /* the caller's: the end is not to wait */
	struct mt_rules *rules; /* the thread's, as `facts`, until it was joined */
	struct mt_facts *facts; /* NULL: given up */
	struct mt_facts_maker maker;
};

/* The trace is there; `trace`, its path, outlives the pass. `keep`: as in the ring. The pass outlives the fold. */
void own_pass_begin(struct own_pass *pass, struct mt_fold *fold, const char *trace, uint64_t keep);

/* `events`: of the ring until now. Short traces have no pass. */
void own_pass_tick(struct own_pass *pass, uint64_t events);

/* After mt_fold_close. */
void own_pass_end(struct own_pass *pass);

#endif
