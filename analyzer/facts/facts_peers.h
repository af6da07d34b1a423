/*
 * facts_peers.h - makes the moment of memana oom (rows/kept.h) for many processes with facts that share no device.
 *
 *     facts of all processes ──> the process that reached the moment, and the ranks to compare with
 *     events of these        ──> the moment ──> the moment in numbers and times of the run
 *
 * The answer needs no other process: none of them has memory on the device.
 */
#ifndef MEMANA_FACTS_PEERS_H
#define MEMANA_FACTS_PEERS_H

#include "engine/analysis.h"
#include "rows/kept.h"

/*
 * `run`: with the facts of all traces of `input`. The readers are at their ends before and after the call. 1: *moment is set, and the caller releases
 * it; 0: all events must be read; -MT_E_MEMORY or an error of a reader.
 */
int facts_peers(const struct analysis *run, const struct analysis_input *input, struct kept_moment *moment);

#endif
