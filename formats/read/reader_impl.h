/* reader_impl.h - functions of a reader for other files of formats/, beyond memtrace/reader.h. */
#ifndef FORMATS_READER_IMPL_H
#define FORMATS_READER_IMPL_H

#include "memtrace/reader.h"

/* Gives the definitions to the caller. Afterwards the reader is only good for mt_reader_free. */
struct mt_defs *mt_reader_take_defs(struct mt_reader *reader);

/* Returns the chunk of the newest events, an index into mt_reader_chunks. Not for events that stand for a gap. */
uint32_t mt_reader_chunk(const struct mt_reader *reader);

/*
 * Call after the last event. 0: all was read up to a torn end, or a checkpoint replaces the missing events. Else the
 * error that keeps a writer from continuing the trace.
 */
int mt_reader_ends_well(const struct mt_reader *reader);

/* Most events of a batch: 19 KiB, which stay in a core's first cache from column to column. A checkpoint of any size is one batch. */
#define MT_READER_BATCH 128u

/* Larger chunks are not read ahead. memrec writes smaller ones, except checkpoints of many tensors. */
#define MT_READER_LARGE_BYTES (4u << 20) /* in a payload, packed or not */
#define MT_READER_LARGE_LIVE 16384u      /* events of a checkpoint */

/*
 * Like mt_reader_next. With `wait` not NULL, reading stops before new definitions, and before and inside of a large
 * chunk: *count 0, *wait 1.
 */
int mt_reader_next_until(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint,
			 int *wait);

/*
 * Sets the budget for readers that are used together: large payloads of all take at most *budget bytes, at least 64
 * MiB. One thread takes from the budget, in mt_reader_next_until without `wait`; any thread gives back. A chunk beyond
 * the budget counts as damaged: -MT_E_LIMIT. NULL, the default: no budget. Inside of a chunk, only NULL may be set.
 */
void mt_reader_share(struct mt_reader *reader, _Atomic uint64_t *budget);

/*
 * Exchanges the array of the newest batch (malloc, *room events) with the caller's array, which may be NULL with room
 * 0. 1: exchanged. 0: the batch is one event inside the reader, valid until the next call.
 */
int mt_reader_trade(struct mt_reader *reader, struct mt_event **events, size_t *room);

/* Opens the file until mt_reader_sleep, which drops unpacked data. 0 or -MT_E_x. */
struct mt_unpacker;
int mt_reader_wake(struct mt_reader *reader, struct mt_unpacker **unpacker);
void mt_reader_sleep(struct mt_reader *reader);

/* File offset at which the newest chunk ends, bytes. */
uint64_t mt_reader_offset(const struct mt_reader *reader);

#endif
