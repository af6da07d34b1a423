/*
 * merge.h - in which order the events of several processes are taken.
 *
 * By time, and at the same time in the order of the traces. Each switch from one process to another finds tracker,
 * ledger and tables of the other one gone from the processor's cache: with many traces that is most of the time spent.
 * Processes that have nothing to do with each other may as well be read in long turns (sequential.c).
 */
#ifndef MEMANA_MERGE_H
#define MEMANA_MERGE_H

#include "analysis.h"
#include "stream.h"

/* Takes the events of `count` streams to their ends; each has a next one (stream_ready). 0 or an error. */
int merge_by_time(struct stream **open, uint32_t count);

/* The same, in turns. Ends early, with any result, where the analysis is entangled. Changes the order of `open`. */
int merge_by_turns(struct stream **open, uint32_t count);

/*
 * The same of traces that are still being written: takes what there is, lets the sink wait, and goes on (sink->idle). A
 * process of which nothing is there for the moment holds the others back only until its collector would have written
 * what it did (follow.c). 0: it is over; or an error.
 */
int merge_following(struct stream *stream, uint32_t count);

/*
 * Processes that share no device may be read one after the other instead of event by event: what each of them holds
 * when does not depend on the others. Then they are read in long turns, and what is numbered in the order
 * in which it appears - sites, devices, owners, out-of-memory errors - gets the numbers afterwards that it would have had.
 *
 * Which devices a process uses shows only when it does. So this is tried, and where two processes use one device after
 * all, the analysis is `entangled`: it is thrown away and made by time.
 */

/* Whether it may be tried: a sink sees events in order. */
int sequential_possible(const struct analysis *analysis, const struct analysis_sink *sink);

#endif
