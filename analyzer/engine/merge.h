/*
 * merge.h - the order in which the events of several processes are read.
 *
 * Events are read by time; events of one time are read in the order of the traces. At each switch of the process, the
 * other process's tracker, ledger and tables are no longer in the processor's cache. With many traces these switches
 * take most of the time. Processes that share no device are therefore read in long turns (sequential.c).
 */
#ifndef MEMANA_MERGE_H
#define MEMANA_MERGE_H

#include "analysis.h"
#include "stream.h"

/*
 * Takes the events of `count` streams to their ends. Each stream has a next event (stream_ready). Returns 0 or an
 * error.
 */
int merge_by_time(struct stream **open, uint32_t count);

/*
 * The same, group by group in turns (sequential_group). If the analysis becomes entangled, the merge ends early with a
 * meaningless result, and the groups have grown.
 */
int merge_by_turns(struct stream **open, uint32_t count);

/*
 * The same for traces that are still being written. Takes the events that are there, calls sink->idle, and goes on. A
 * process without events delays the others only for as long as its collector may take to write (follow.c). Returns 0 at
 * the end, or an error.
 */
int merge_following(struct stream *stream, uint32_t count);

/*
 * Processes that share no device may be read one after the other, and not event by event: the memory of each does not
 * depend on the others. They are then read in long turns. Sites, devices, owners and out-of-memory errors are numbered
 * as they appear, and get the numbers of a merge by time afterwards.
 *
 *     GPU 0   trainer 0, engine 0   a group: merged by time
 *     GPU 1   trainer 1, engine 1   a group
 *
 * Only the events tell which devices a process uses. Reading in turns is therefore a try, at first with a group for
 * each process. If processes of two groups use one device, the groups become one, and the analysis is `entangled`: the
 * caller throws the analysis away. The next try has fewer groups; the last merges all processes by time. A sink takes
 * part in this if it can begin anew.
 */

/* The group of a process, by the number of one of its processes. */
uint32_t sequential_group(const struct analysis *analysis, uint32_t process);

/* Two processes use one device. 1: they are of one group; 0: their groups are one from now on. */
int sequential_meet(struct analysis *analysis, uint32_t one, uint32_t other);

#endif
