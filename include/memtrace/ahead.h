/*
 * ahead.h - reads traces ahead of whoever uses their events: threads unpack, decode and label the next batches meanwhile.
 *
 *     trace 1 ── reader ── tracker ──> batch batch batch ──┐
 *     trace 2 ── reader ── tracker ──> batch batch ────────┼──> mt_ahead_next
 *     trace 3 ── reader ── tracker ──> batch batch batch ──┘
 *            a thread or two serve all                     one thread
 *
 * Events, errors and their order are those of mt_reader_next. New definitions are read only while no caller uses the old
 * ones: inside mt_ahead_next. Memory: a few batches for each trace, fewer where there are many traces. So are chunks that
 * are larger than memrec writes them; of these all traces together hold 256 MiB at most, and one for which there is no
 * room is damaged: -MT_E_LIMIT.
 */
#ifndef MEMTRACE_AHEAD_H
#define MEMTRACE_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include "event.h"
#include "phase.h"
#include "reader.h"

#define MT_AHEAD_THREADS 3u /* as many as are of use */

struct mt_ahead;

/* As mt_reader_next tells of it. */
struct mt_ahead_batch {
	const struct mt_event *events;
	const struct mt_label *labels; /* the tracker's label for each of them; NULL: there is no tracker */
	size_t count;
	int checkpoint;  /* enum mt_batch */
	uint64_t offset; /* bytes of the file read by then */
};

/*
 * Do not touch the readers until mt_ahead_free, but for their definitions and process. The same holds for the
 * trackers, one for each reader, which get every event in order without following steps. `trackers` may be NULL. `threads`: at
 * most; with one processor, or without a thread, all is read in mt_ahead_next. NULL: out of memory.
 */
struct mt_ahead *mt_ahead_new(struct mt_reader *const *readers, struct mt_tracker *const *trackers, uint32_t count,
			      uint32_t threads);
void mt_ahead_free(struct mt_ahead *ahead); /* NULL is fine */

/*
 * The next events of reader number `which`, without checkpoints that only repeat what is known (MT_BATCH_REPEAT), and
 * like mt_reader_next in what is returned. Valid until the next call for the same reader.
 */
int mt_ahead_next(struct mt_ahead *ahead, uint32_t which, struct mt_ahead_batch *batch);

/*
 * mt_reader_more for all readers of which mt_ahead_next has said the end; no batch of theirs is in use. 1: some of them
 * go on; 0; or the first error.
 */
int mt_ahead_more(struct mt_ahead *ahead);

#endif
