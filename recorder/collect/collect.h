/*
 * collect.h - the collector: `memrec --collect RING`, started by the agent, one for each recorded process.
 *
 *   agent ──fork, exec──> memrec --collect RING
 *                           opens and locks the ring
 *                           fork ─────────────────────> own session, no inherited descriptors, signals reset
 *                           _exit(0)                    ring ──fold──> trace, until the target ends, or stops,
 *   agent goes on  <──────────┘                         or the steps are recorded, or SIGTERM comes
 *                                                       result written, ring removed
 */
#ifndef MEMREC_COLLECT_H
#define MEMREC_COLLECT_H

#include "run/rundir.h"

/*
 * The program `memrec --collect RING`. Returns the exit status. In the parent, 0 means that a daemon holds the lock of
 * the ring. Prints nothing.
 */
int collect_main(const char *ring_path);

/*
 * Collects one recording from a ring until its target has ended. The caller has locked the ring. `ring_path` is
 * absolute. Returns 0 and the result, whose `error` says whether events could not be written. Returns an error if it
 * could not begin: the ring cannot be read, no rules, no memory.
 */
int collect_ring(const char *ring_path, struct run_result *result);

#endif
