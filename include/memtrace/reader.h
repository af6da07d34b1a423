/*
 * reader.h - reads a trace of any origin. The file may be hostile: the reader checks every size and id before use, and
 * takes no word of the index on trust.
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
 * The budget of a chunk against bombs: bytes and events that a byte in the file may stand for, and bytes that each
 * chunk gets on top. Recordings stay far below.
 */
#define MT_CHUNK_FRAME_BYTES 16u
#define MT_CHUNK_DENSITY_MAX 64u
#define MT_CHUNK_DENSITY_EVENTS_MAX 2u

enum mt_chunk_kind {
	MT_CHUNK_PROCESS = 1, /* first in every trace */
	MT_CHUNK_DEFS = 2,
	MT_CHUNK_EVENTS = 3,
	MT_CHUNK_CHECKPOINT = 4, /* LIVE events: the whole live set at this point of the file */
	MT_CHUNK_SUMMARIES = 5,  /* records of memtrace/summary.h */
	MT_CHUNK_FACTS = 6,      /* memtrace/facts.h */
};

#define MT_CHUNK_HAS_CENSUS (1u << 31) /* bit in mt_chunk_info.phases */

/* One chunk, as the index has it. Fields that do not apply are 0. */
struct mt_chunk_info {
	uint32_t kind; /* enum mt_chunk_kind, or unknown: skip */
	uint32_t events;
	uint64_t offset, size; /* the zstd frame in the file, bytes */
	uint64_t first_seq, last_seq;
	uint64_t first_time, last_time;
	uint64_t live_start, live_max; /* bytes of all devices together: see ledger.h "held" */
	uint32_t phases;               /* bit per enum mt_phase that allocated in it, and MT_CHUNK_HAS_CENSUS */
	uint32_t good;                 /* with `error`: number of readable events */
	int error; /* 0, or -MT_E_x: the chunk cannot be read; `kind` is then 0 where it is unknown */
};

/* The kinds of a batch of mt_reader_next. */
enum mt_batch {
	MT_BATCH_EVENTS = 0,
	MT_BATCH_REPEAT = 1, /* a checkpoint that repeats the state after the events before it */
	MT_BATCH_ANEW = 2,   /* a checkpoint in place of missing events: replace the live set by this one */
};

/* The state of a trace file, for `memana verify`. */
struct mt_trace_state {
	int complete; /* 1: closed in order, with an index that agrees with the chunks */
	int error; /* 0, or -MT_E_x of the first damage. -MT_E_TRUNCATED: the file ends too early, and is good up to there */
	uint64_t error_offset; /* bytes from the start of the file */
	uint64_t file_bytes;
	uint64_t events;  /* in chunks that were read to their ends */
	uint64_t lost;    /* sum of LOST records, those that stand for damage included */
	uint64_t missed;  /* the part of `lost` that is due to damage of the file */
	uint32_t chunks;  /* damaged stretches included */
	uint32_t damaged; /* chunks that cannot be read to their ends */
};

struct mt_reader;

/*
 * Opens a trace and finds its chunks by the index, or by scanning if the index is missing or wrong. On error *reader is
 * NULL. A damaged tail is no error (see mt_reader_state). A trace without a readable process chunk is one: -MT_E_MAGIC,
 * -MT_E_VERSION, -MT_E_TRUNCATED, -MT_E_CHECKSUM, -MT_E_CORRUPT.
 */
int mt_reader_open(struct mt_reader **reader, const char *path);
void mt_reader_free(struct mt_reader *reader);

const struct mt_process *mt_reader_process(const struct mt_reader *reader);
const struct mt_defs *mt_reader_defs(const struct mt_reader *reader);
/* The state found up to now; complete after mt_reader_next has returned 0 events. */
const struct mt_trace_state *mt_reader_state(const struct mt_reader *reader);

/* The chunks in file order; read-only, lives as long as the reader. */
const struct mt_chunk_info *mt_reader_chunks(const struct mt_reader *reader, uint32_t *count);

/*
 * The next *count events in file order, all of one chunk. *events is valid until the next call. *checkpoint is an enum
 * mt_batch. *count 0: the end. Events of unknown kinds are left out. A checkpoint comes in one piece. An MT_BATCH_ANEW
 * of an empty live set is one LIVE event of value 0 and kind 0.
 *
 * After a chunk that cannot be read or is missing, reading goes on with the next checkpoint. A LOST event of reason
 * DAMAGED says how many events are missing, and the checkpoint is an MT_BATCH_ANEW. Without a later checkpoint the LOST
 * event is the last one. mt_reader_state has all damage. Returns 0, -MT_E_MEMORY or -MT_E_SYSTEM.
 */
int mt_reader_next(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint);

/*
 * Finds new chunks of a trace that is still being written. Call at the end (mt_reader_next gave 0 events). Writes and
 * locks nothing. An incomplete last chunk waits for the next call. 1: there are new events; 0: none; -MT_E_BUSY: the
 * path has another file now (--keep and memrec recover replace it), so open it again, after mt_reader_rest as well;
 * -MT_E_MEMORY; -MT_E_SYSTEM.
 */
int mt_reader_more(struct mt_reader *reader);

/*
 * Closes the file of a finished trace. From then on the reader opens `path` for each chunk, so thousands of traces need
 * one descriptor. `path` must outlive the reader. Another file of the same name is -MT_E_SYSTEM (ESTALE).
 */
void mt_reader_rest(struct mt_reader *reader, const char *path);

/* Starts again with the first event. Definitions stay. */
void mt_reader_rewind(struct mt_reader *reader);

#endif
