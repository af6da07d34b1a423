/*
 * runs.h - which traces are of one run, by what they say of it (trace-v1.md, "Runs") and by when they were recorded.
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
	const char *run;     /* its words; "": none */
	int64_t first, last; /* when it was recorded, ns since 1970; `last` 0: not known */
	uint32_t of;         /* filled in: the run's number, from 0 */
	int any;             /* filled in: it says nothing and has no time, and may be of any run */
	const char *host;    /* name of the machine; NULL: not known */
};

/*
 * Fills in the runs of `count` traces. The newest run is the one that began last: *newest; *runs: how many there are.
 * 0 or -MT_E_MEMORY.
 */
int runs_find(struct runs_trace *trace, uint32_t count, uint32_t *newest, uint32_t *runs);

#endif
