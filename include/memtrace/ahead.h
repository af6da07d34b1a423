/*
 * ahead.h - reads traces ahead of whoever uses their events: threads unpack and decode the next batches meanwhile.
 *
 *     trace 1 ── reader ──> batch batch batch ──┐
 *     trace 2 ── reader ──> batch batch ────────┼──> mt_ahead_next
 *     trace 3 ── reader ──> batch batch batch ──┘
 *          a thread or two serve all            one thread
 *
 * Events, errors and their order are those of mt_reader_next. New definitions are read only while nobody uses the old
 * ones: inside mt_ahead_next. Memory: a few batches for each trace, fewer where there are many traces.
 */
#ifndef MEMTRACE_AHEAD_H
#define MEMTRACE_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include "event.h"
#include "reader.h"

struct mt_ahead;

/*
 * The readers are not to be touched until mt_ahead_free, but for their definitions and process. Where there is one
 * processor, or no thread can be had, all is read in mt_ahead_next. NULL: out of memory.
 */
struct mt_ahead *mt_ahead_new(struct mt_reader *const *readers, uint32_t count);
void mt_ahead_free(struct mt_ahead *ahead); /* NULL is fine */

/*
 * The next events of reader number `which`, as mt_reader_next tells them, without checkpoints that only repeat what is
 * known (MT_BATCH_REPEAT). Valid until the next call for the same reader. *offset: bytes of the file read by then.
 */
int mt_ahead_next(struct mt_ahead *ahead, uint32_t which, const struct mt_event **events, size_t *count,
		  int *checkpoint, uint64_t *offset);

#endif
