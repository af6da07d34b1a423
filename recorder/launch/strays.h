/*
 * strays.h - what a run has left where its folder does not tell: found by what it says of itself.
 *
 * The folder of a run (rundir.h) lies where the launcher found room. A process with a /dev/shm of its own, one that has
 * another user by now, one for whose result there was no room: none of them can write there. But every trace names the
 * run that it belongs to, in the options that it was recorded with, and so does the environment of every process.
 */
#ifndef MEMREC_STRAYS_H
#define MEMREC_STRAYS_H

#include <time.h>
#include "run/rundir.h"

/* One trace. */
struct stray {
	struct run_result result; /* filled in from the trace; pid is the one that it saw, maybe another namespace's */
	int is_written;           /* somebody is still writing it: `result` has its pid and its path alone */
};

/*
 * Calls `visit` with each trace of the run `run_dir` that has changed since `since`, in the folder that `pattern` (of -o)
 * names, unless its name depends on the process, and in those where collectors go when they cannot write there
 * (output_fallback). `stray` is the function's until it returns. Files that are no traces are passed over.
 */
void strays_each(const char *pattern, const char *run_dir, time_t since,
		 void (*visit)(void *context, const struct stray *stray), void *context);

/* How many collectors of the run are at work on rings that are not in its folder. */
size_t strays_collectors(const char *run_dir);

/*
 * Calls `visit` with each process, of those whose environment can be read, that has been started for the run and goes on.
 * `name`: its command.
 */
void strays_processes(const char *run_dir, void (*visit)(void *context, long pid, const char *name), void *context);

#endif
