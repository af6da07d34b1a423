/*
 * merge.h - in which order the events of several processes are taken.
 *
 * By time, and at the same time in the order of the traces. Each switch from one process to another finds tracker,
 * ledger and tables of the other one gone from the processor's cache: with many traces that is most of the time spent.
 * Processes that have nothing to do with each other may as well be read in long turns (sequential.h).
 */
#ifndef MEMANA_MERGE_H
#define MEMANA_MERGE_H

#include "stream.h"

/* Takes the events of `count` streams to their ends; each has a next one (stream_ready). 0 or an error. */
int merge_by_time(struct stream **open, uint32_t count);

/* The same, in turns. Ends early, with any result, where the analysis is entangled. Changes the order of `open`. */
int merge_by_turns(struct stream **open, uint32_t count);

#endif
