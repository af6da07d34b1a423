/*
 * ahead.h - reads traces ahead of their consumer: threads unpack, decode and label the next batches.
 *
 *     trace 1 ── reader ── tracker ──> batch batch batch ──┐
 *     trace 2 ── reader ── tracker ──> batch batch ────────┼──> mt_ahead_next
 *     trace 3 ── reader ── tracker ──> batch batch batch ──┘
 *            a thread or two serve all                     one thread
 *
 * Events, errors and their order are those of mt_reader_next. New definitions are read inside mt_ahead_next alone,
 * while no caller uses the old ones.
 *
 * Memory: a few batches for each trace, fewer for each of many traces. Chunks larger than memrec writes hold 256 MiB at
 * most in all traces together. A chunk beyond that bound counts as damaged: -MT_E_LIMIT.
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

/* One batch of mt_reader_next. */
struct mt_ahead_batch {
	const struct mt_event *events;
	const struct mt_label *labels; /* the tracker's label for each of them; NULL: there is no tracker */
	size_t count;
	int checkpoint;  /* enum mt_batch */
	uint64_t offset; /* bytes of the file read by then */
};

/*
 * Until mt_ahead_free the caller uses only definitions and process of the readers. The trackers, one for each reader,
 * belong to mt_ahead as well: each gets every event in order, without following steps. `trackers` may be NULL.
 * `threads` is the upper bound. With one processor, or if no thread starts, mt_ahead_next reads. NULL: out of memory.
 */
struct mt_ahead *mt_ahead_new(struct mt_reader *const *readers, struct mt_tracker *const *trackers, uint32_t count,
			      uint32_t threads);
void mt_ahead_free(struct mt_ahead *ahead); /* NULL is fine */

/*
 * The next events of reader number `which`. Checkpoints that repeat known events (MT_BATCH_REPEAT) are left out.
 * Returns what mt_reader_next returns. *batch is valid until the next call for the same reader.
 */
int mt_ahead_next(struct mt_ahead *ahead, uint32_t which, struct mt_ahead_batch *batch);

/*
 * Calls mt_reader_more for each reader that has reached its end. The caller uses no batch of these readers. 1: some of
 * them have more events; 0: none has; or the first error.
 */
int mt_ahead_more(struct mt_ahead *ahead);

#endif
