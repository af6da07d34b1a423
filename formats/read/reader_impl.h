/* reader_impl.h - what mt_writer_reopen needs of a reader beyond memtrace/reader.h. */
#ifndef FORMATS_READER_IMPL_H
#define FORMATS_READER_IMPL_H

#include "memtrace/reader.h"

/* Hands the definitions over to the caller; the reader is good for nothing but mt_reader_free afterwards. */
struct mt_defs *mt_reader_take_defs(struct mt_reader *reader);

/* The chunk that the newest events are from, an index into mt_reader_chunks. Not of those that stand for a gap. */
uint32_t mt_reader_chunk(const struct mt_reader *reader);

/*
 * After the last event: 0 when everything up to a torn end was read or a checkpoint has made up for what was not; else
 * the error that keeps a writer from going on.
 */
int mt_reader_ends_well(const struct mt_reader *reader);

/* Events of a batch, at most; a checkpoint is one batch, however big. */
#define MT_READER_BATCH 512u

/* Larger chunks are not read ahead. Those that memrec writes are smaller, but for a checkpoint of many tensors. */
#define MT_READER_LARGE_BYTES (4u << 20) /* in a payload, packed or not */
#define MT_READER_LARGE_LIVE 16384u      /* events of a checkpoint */

/*
 * Like mt_reader_next, but where `wait` is not NULL it stops before new definitions, and before and inside of a large
 * chunk: *count 0, *wait 1.
 */
int mt_reader_next_until(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint,
			 int *wait);

/*
 * Readers that are used together hold at most *budget bytes of large payloads, 64 MiB at least. One thread takes from
 * the budget in mt_reader_next_until without `wait`; any thread gives back. A chunk for which there is no room is
 * damaged: -MT_E_LIMIT. NULL, as at first: nobody counts. Not to be changed inside of a chunk, but to NULL.
 */
void mt_reader_share(struct mt_reader *reader, _Atomic uint64_t *budget);

/*
 * 1: takes the array (malloc) of *room events that the newest batch lies in, which is the caller's now, and leaves the
 * caller's, which may be NULL of room 0. 0: the batch is one event inside the reader, gone with the next call.
 */
int mt_reader_trade(struct mt_reader *reader, struct mt_event **events, size_t *room);

/* The file, open until mt_reader_sleep, which forgets what was unpacked. 0 or -MT_E_x. */
struct mt_unpacker;
int mt_reader_wake(struct mt_reader *reader, struct mt_unpacker **unpacker);
void mt_reader_sleep(struct mt_reader *reader);

/* File offset at which the newest chunk ends, bytes. */
uint64_t mt_reader_offset(const struct mt_reader *reader);

#endif
