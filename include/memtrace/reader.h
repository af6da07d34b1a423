/*
 * reader.h - read a trace of any origin. The file is hostile until shown otherwise: every size and id is checked
 * before use, nothing is believed because the index says so.
 *
 *     mt_reader_open -> mt_reader_next* -> mt_reader_free
 *
 * Definitions appear before the first event that names them. Memory: the definitions and one chunk of events.
 */
#ifndef MEMTRACE_READER_H
#define MEMTRACE_READER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/writer.h"

/* Limits of one chunk, decompressed (bytes) and counted (events). */
#define MT_CHUNK_BYTES_MAX (64u << 20)
#define MT_CHUNK_EVENTS_MAX (1u << 20)

/*
 * The budget: what a byte of a chunk in the file may stand for, in bytes and in events; and the bytes that each chunk is
 * given. Recordings stay far below.
 */
#define MT_CHUNK_FRAME_BYTES 16u
#define MT_CHUNK_DENSITY_MAX 64u
#define MT_CHUNK_DENSITY_EVENTS_MAX 2u

enum mt_chunk_kind {
	MT_CHUNK_PROCESS = 1, /* first in every trace */
	MT_CHUNK_DEFS = 2,
	MT_CHUNK_EVENTS = 3,
	MT_CHUNK_CHECKPOINT = 4, /* LIVE events: the whole live set between the event chunks around it */
	MT_CHUNK_SUMMARIES = 5,  /* records of memtrace/summary.h */
	MT_CHUNK_FACTS = 6,      /* memtrace/facts.h */
};

#define MT_CHUNK_HAS_CENSUS (1u << 31) /* bit in mt_chunk_info.phases */

/* The index's entry of one chunk; fields that do not apply are 0. */
struct mt_chunk_info {
	uint32_t kind; /* enum mt_chunk_kind, or unknown: skip */
	uint32_t events;
	uint64_t offset, size; /* the zstd frame in the file, bytes */
	uint64_t first_seq, last_seq;
	uint64_t first_time, last_time;
	uint64_t live_start, live_max; /* bytes of all devices together: see ledger.h "held" */
	uint32_t phases;               /* bit per enum mt_phase that allocated in it, and MT_CHUNK_HAS_CENSUS */
	uint32_t good;                 /* with `error`: number of its events that can be read */
	int error;                     /* 0, or -MT_E_x: it cannot be read; `kind` 0 then: its kind is unknown */
};

/* The things that mt_reader_next hands out. */
enum mt_batch {
	MT_BATCH_EVENTS = 0,
	MT_BATCH_REPEAT = 1, /* a checkpoint that says what the events before it have said */
	MT_BATCH_ANEW = 2, /* a checkpoint that stands for events that are missing: forget what was alive, take this */
};

/* One line of `memana verify`: what is wrong where. */
struct mt_trace_state {
	int complete;          /* closed in order: index there, and it agrees with the chunks */
	int error;             /* 0, or -MT_E_x of the first damage. -MT_E_TRUNCATED: the file only ends too early */
	uint64_t error_offset; /* bytes from the start of the file */
	uint64_t file_bytes;
	uint64_t events;  /* in chunks that were read to their ends */
	uint64_t lost;    /* sum of LOST records, those that stand for damage included */
	uint64_t missed;  /* the part of `lost` that damage of the file has taken */
	uint32_t chunks;  /* damaged stretches included */
	uint32_t damaged; /* chunks among these that cannot be read, or not to their ends */
};

struct mt_reader;

/*
 * Opens and finds the chunks: by the index, or by scanning when it is missing or wrong. *reader is NULL on error.
 * A damaged tail is no error here (see mt_reader_state); no readable process chunk is: -MT_E_MAGIC, -MT_E_VERSION,
 * -MT_E_TRUNCATED, -MT_E_CHECKSUM, -MT_E_CORRUPT.
 */
int mt_reader_open(struct mt_reader **reader, const char *path);
void mt_reader_free(struct mt_reader *reader);

const struct mt_process *mt_reader_process(const struct mt_reader *reader);
const struct mt_defs *mt_reader_defs(const struct mt_reader *reader);
/* Valid after mt_reader_next returned 0 events; before, what is known so far. */
const struct mt_trace_state *mt_reader_state(const struct mt_reader *reader);

/* The chunks in file order; read-only, lives as long as the reader. */
const struct mt_chunk_info *mt_reader_chunks(const struct mt_reader *reader, uint32_t *count);

/*
 * The next events in file order. *events points to *count of them (all of one chunk, valid until the next call).
 * *checkpoint (enum mt_batch) says whether they are LIVE events of a checkpoint. *count 0: the end. Unknown kinds are
 * left out. A checkpoint comes in one piece; MT_BATCH_ANEW of nothing alive is one LIVE event of value 0, born as
 * nothing.
 *
 * After a chunk that cannot be read or is missing, reading goes on with the next checkpoint. A LOST event of reason
 * DAMAGED says how many events are missing, and the checkpoint is an MT_BATCH_ANEW. Without a later checkpoint the LOST
 * event is the last one.
 * mt_reader_state tells of all damage. Returned are -MT_E_MEMORY and -MT_E_SYSTEM only.
 */
int mt_reader_next(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint);

/*
 * For a trace that is still being written, at its end (mt_reader_next gave 0 events): looks at what has come since.
 * Nothing is written or locked; a last chunk that is not all there yet is left for the next time. 1: there is more to
 * read; 0: nothing new; -MT_E_BUSY: it is another file by now (--keep and memrec recover put a new one in its place), to
 * be opened again (after mt_reader_rest, too); -MT_E_MEMORY, -MT_E_SYSTEM.
 */
int mt_reader_more(struct mt_reader *reader);

/*
 * Closes the file of a trace that is whole. The file is open only while a chunk is read from then on, by `path`, which lives as long
 * as the reader: thousands of traces need one descriptor. Another file of that name is -MT_E_SYSTEM (ESTALE).
 */
void mt_reader_rest(struct mt_reader *reader, const char *path);

/* Starts again with the first event. Definitions stay. */
void mt_reader_rewind(struct mt_reader *reader);

#endif
