/*
 * export_moment.h - finds the sites that held the bytes at a moment, as in `memana top`, and the rows of their stacks
 * for a flame graph. The formats that show one moment use it.
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
 * Makes run->db answer the questions of query.h for a moment. This takes a pass over the traces, and one more for a
 * step or an out-of-memory error of traces without facts. Returns 0 or an error of export_function.
 */
int export_moment(struct export_run *run, const struct moment *moment);

/*
 * Makes run->db a database in memory with all sites and their bytes at the peak, as memana top does, from run->analysis after a pass. Returns 0 or
 * -MT_E_x.
 */
int export_store_peak(struct export_run *run);

/* Makes run->db a database for top_at at `count` times (load.h). This takes a pass. Returns 0 or -MT_E_x. */
int export_load_at(struct export_run *run, const int64_t *times, size_t count);

/* Makes run->db a database with these parts or more (load.h). Returns 0 or -MT_E_x. */
int export_load(struct export_run *run, enum load_parts parts);

/* A stack or a module with its bytes at the moment. Valid until the next call of `each`. */
struct export_stack {
	const struct query_device *device;
	const struct query_site *site; /* NULL: a module */
	const char *phase, *category;
	const char *place;     /* as in memana top: "model.py:12"; "": none, a module, or left out (--confidential) */
	int64_t pid, rank;     /* rank -1: none */
	uint64_t bytes, count; /* count: number of allocations */
	const struct export_frame
		*frame;       /* outermost first: device if several, process if several, slack, then the code */
	size_t frames;        /* at least 1 */
	size_t device_frames; /* 1: the first frame is the device; 0: the run has one device */
};

/*
 * Calls `each` for each site (with --by module: for each module) that held bytes at the moment of the options, device
 * by device. With a range (export_has_range): for each one with more bytes at the end of the range than at its
 * beginning. Stops when `each` returns a value other than 0. Returns 0, this value, or an error of export_function.
 */
int export_stacks(struct export_run *run, int (*each)(void *context, const struct export_stack *stack), void *context);

/* Names the moment or the range of export_stacks: "peak of step 3", "growth from 1.0 s to 3.0 s". Returns `out`. */
const char *export_moment_words(char *out, size_t size, const struct export_run *run);

#endif
