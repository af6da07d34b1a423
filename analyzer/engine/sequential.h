/*
 * sequential.h - processes that share no device may be read one after the other instead of event by event: what each of them
 * holds when does not depend on the others. Then they are read in long turns (merge.h), and what is numbered in the order
 * in which it appears - sites, devices, owners, out-of-memory errors - gets the numbers afterwards that it would have had.
 *
 * Which devices a process uses shows only when it does. So this is tried, and where two processes use one device after
 * all, the analysis is `entangled`: it is thrown away and made by time.
 */
#ifndef MEMANA_SEQUENTIAL_H
#define MEMANA_SEQUENTIAL_H

#include "analysis.h"

/* Whether it may be tried: a sink sees events in order. */
int sequential_possible(const struct analysis *analysis, const struct analysis_sink *sink);

/* After the end: everything gets the number that it has when events are merged by time. 0 or -MT_E_MEMORY. */
int sequential_number(struct analysis *analysis);

#endif
