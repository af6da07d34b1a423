/*
 * export_moment.h - the sites that held the bytes at a moment, as `memana top` has them, and their stacks as the rows of a
 * flame graph. For the formats that show one moment.
 */
#ifndef MEMANA_EXPORT_MOMENT_H
#define MEMANA_EXPORT_MOMENT_H

#include <stddef.h>
#include <stdint.h>
#include "export.h"
#include "export_frames.h"
#include "query/query.h"
#include "store/load.h"

/*
 * Makes run->db answer the questions of query.h for a moment. A moment costs a pass over the traces. A step, or an out-of-memory
 * error, of traces without facts costs one more. 0 or an error of export_function.
 */
int export_moment(struct export_run *run, const struct moment *moment);

/* Makes run->db a database in memory with all sites and what they held at the peak, as memana top does. Not for a database. 0 or -MT_E_x. */
int export_load_peak(struct export_run *run);

/* The same of run->analysis, after a pass. */
int export_store_peak(struct export_run *run);

/* Makes run->db a database with the lives at some instants (load.h), for top_at at these times. A pass. 0 or -MT_E_x. */
int export_load_at(struct export_run *run, const int64_t *times, size_t count);

/* Makes run->db a database with at least these parts (load.h). 0 or -MT_E_x. */
int export_load(struct export_run *run, enum load_parts parts);

/* A stack, or a module, with its bytes at the moment. Everything lives until the next one. */
struct export_stack {
	const struct query_device *device;
	const struct query_site *site; /* NULL: a module */
	const char *phase, *category;
	const char *place;     /* as in memana top: "model.py:12"; "": none, a module, or left out (--confidential) */
	int64_t pid, rank;     /* rank -1: none */
	uint64_t bytes, count; /* count: allocations */
	const struct export_frame
		*frame;       /* outermost first: device and process where there are several, slack, then the code */
	size_t frames;        /* at least 1 */
	size_t device_frames; /* 1: the first frame is the device; 0: there is only one */
};

/*
 * Calls `each` for everything that held bytes at the moment that the options ask for: by device, and there by site, or by module
 * with --by module. With a range (export_has_range) for what has grown from its begin to its end. A result other than 0 ends it. 0,
 * that result, or an error of export_function.
 */
int export_stacks(struct export_run *run, int (*each)(void *context, const struct export_stack *stack), void *context);

/* "peak", "step 3", "12.5 s", "growth from 1.0 s to 3.0 s": the moment or the range of export_stacks. Returns `out`. */
const char *export_moment_words(char *out, size_t size, const struct export_run *run);

#endif
