/*
 * runs.h - groups traces into runs, by their words about the run (trace-v1.md, "Runs") and by their times.
 *
 *     trace           says             recorded
 *     rank0.zst       launch=a1        ──────
 *     rank1.zst       launch=a1            ───        of the same run: a worker that was restarted
 *     old.rank1.zst   launch=07    ──                 of an earlier one
 *     before.zst      nothing            ────         overlaps the first: of its run
 */
#ifndef MEMANA_RUNS_H
#define MEMANA_RUNS_H

#include <stdint.h>

struct runs_trace {
	const char *run;     /* words about its run; "": none */
	int64_t first, last; /* times of the recording, ns since 1970; `last` 0: unknown */
	uint32_t of;         /* filled in: the run's number, from 0 */
	int any;             /* set by runs_find: no words and no time; it may be of any run */
	const char *host;    /* name of the machine; NULL: unknown */
};

/*
 * Sets the runs of `count` traces. *newest: the run that began last. *runs: number of runs. Returns 0 or -MT_E_MEMORY.
 */
int runs_find(struct runs_trace *trace, uint32_t count, uint32_t *newest, uint32_t *runs);

#endif
