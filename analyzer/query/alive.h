/*
 * alive.h - the definition of "alive at a moment" for all reports, the database's views and the timeline.
 *
 * Memory that a process never freed ends with the process: 1 ns after the newest event of the process (stream_over.c). Such memory has no free of its
 * own (until_seq is null), and counts as having outlived its step and phase.
 *
 * Events may be missing: dropped chunks (--keep), damaged chunks, a full disk. A checkpoint follows such a gap. Memory that was alive before the gap
 * and is not in the checkpoint ends where the gap begins: 1 ns after the newest event before the gap. The trace does not have the real time; this is
 * the earliest moment that agrees with the trace (stream_gap.c).
 *
 * All events of a run have one order: by time, then by process number, then by their order in the process. The time of a process never goes back: a
 * late event of another thread gets the time of the event before it. An allocation of a checkpoint is alive from its birth on. A moment is a position
 * in this order: after one event; or, if only a time is known, after the last event up to this time.
 *
 *     time        10          20                20              30
 *     process     1           1                 2               1
 *              alloc A     out of memory     alloc B          free A
 *                               ^ A is alive at this error, B is not; both are at "20 ns"
 *
 *     alive      born at or before the moment, and not gone at the moment
 *     resident   the bytes of live memory that have pages: a sleeping pool has none
 *     in use     resident bytes with a purpose: tensors, and driver memory that the framework's allocator does not cut into
 *                tensors. Host memory, and memory of other processes, is not part of the device's bytes
 *     slack      resident bytes in segments of that allocator, outside of tensors. Slack in a segment with tensors lies in
 *                holes; a hole is one stretch of free bytes in one segment
 *     held       in use + slack: all bytes from the driver. A peak is the largest number of held bytes
 *
 * The analysis keeps these sums while it reads the events (ledger.h). The timeline's tape has each change of these sums (tape.h). The database has
 * the views allocation_span, in_use_span, reserved_range and live_at.
 */
#ifndef MEMANA_ALIVE_H
#define MEMANA_ALIVE_H

#include <stdint.h>

/* process and seq of a moment of which only the time is known */
#define ALIVE_BY_TIME INT64_MAX

struct alive_moment {
	int64_t time, process, seq; /* process: id in the database */
};

/* Whether memory that process `owner` (an id) never freed is alive at a moment: the process has not ended then. */
#define ALIVE_KEPT(owner, time, process_id, seq)                                          \
	"ifnull((SELECT (over_time, gone.id, over_seq) > (" time ", " process_id ", " seq \
	") FROM main.process AS gone "                                                    \
	"WHERE gone.id = " owner "), 1)"

/* Whether a row with until_ columns is not gone at a moment. The moment's parts are SQL expressions. */
#define ALIVE_UNTIL(owner, time, process_id, seq)                                                            \
	"CASE WHEN until_seq IS NULL THEN " ALIVE_KEPT(owner, time, process_id, seq) " ELSE "                \
										     "(until_time, " owner   \
										     ", until_seq) > (" time \
										     ", " process_id ", " seq ") END"

/* Whether a row with since_ and until_ columns is alive at a moment (allocation_span, in_use_span, reserved_range). */
#define ALIVE_AT(time, process_id, seq)                                       \
	"(since_time, process, since_seq) <= (" time ", " process_id ", " seq \
	") AND " ALIVE_UNTIL("process", time, process_id, seq)

/*
 * As ALIVE_AT, for rows of allocation_span and in_use_span. A span lies within the life of its allocation. SQLite tests the times of the life first:
 * most rows fail this test, and their sites and spans are not read.
 */
#define ALIVE_SPAN_AT(time, process_id, seq) \
	"alloc_time <= " time " AND (free_time IS NULL OR free_time >= " time ") AND " ALIVE_AT(time, process_id, seq)

#endif
