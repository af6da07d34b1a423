/*
 * gather.h - after the command: wait for the collectors of the run, take their results, look after what they left.
 */
#ifndef MEMREC_GATHER_H
#define MEMREC_GATHER_H

#include <signal.h>
#include "run/rundir.h"

struct gathered {
	struct run_result *results; /* by rank, then pid */
	size_t count;
	size_t running; /* traces that are still being written */
	char **written; /* their paths, as far as they are known */
	size_t written_count;
	size_t failed; /* processes of which a line has said why they were not recorded */
};

/*
 * Waits until the collectors whose process has ended have closed their traces: as long as they get on, and until one
 * of `signals` (blocked by the caller) says to stop waiting. Then folds in what dead collectors left, looks for traces
 * that did not come by the folder of the run (strays.h; `pattern`: of -o, `since`: when the command began), and says a
 * line for each ring that stays, for each process that could not be recorded, and, when nothing was, for each that goes
 * on.
 */
void gather(struct gathered *gathered, const char *run_dir, const char *pattern, time_t since, const sigset_t *signals);
void gather_release(struct gathered *gathered);

/* How many traces there are, those that are still being written among them. */
size_t gather_traces(const struct gathered *gathered);

/* Where several traces were written, the one with the plain name gets one of its own. `pattern`: of -o. */
void gather_rename(struct gathered *gathered, const char *pattern, const char *run_dir);

#endif
