/*
 * facts_peers.h - the moment of memana oom (rows/kept.h) in a run of many processes that have facts, of which no two share a device.
 *
 *     facts of all processes ──> the process that reached the moment, and the ranks that it is compared with
 *     events of these        ──> their moment ──> the same moment, in numbers and times of the run
 *
 * Other processes have nothing on the device, and their lives count nowhere.
 */
#ifndef MEMANA_FACTS_PEERS_H
#define MEMANA_FACTS_PEERS_H

#include "engine/analysis.h"
#include "rows/kept.h"

/*
 * `run`: all its facts are joined, and the readers are those of `input`. The readers are at their ends before and after. 1: *moment, which the
 * caller releases; 0: all events must be read; -MT_E_MEMORY or an error of a reader.
 */
int facts_peers(const struct analysis *run, const struct analysis_input *input, struct kept_moment *moment);

#endif
