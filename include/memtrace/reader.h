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

/* Limits: one chunk, decompressed (bytes) and counted (events). */
#define MT_CHUNK_BYTES_MAX (64u << 20)
#define MT_CHUNK_EVENTS_MAX (1u << 20)

enum mt_chunk_kind {
	MT_CHUNK_PROCESS = 1,	 /* first in every trace */
	MT_CHUNK_DEFS = 2,
	MT_CHUNK_EVENTS = 3,
	MT_CHUNK_CHECKPOINT = 4, /* LIVE events: the whole live set between the event chunks around it */
};

/* What the index knows of one chunk; all 0 where it does not apply. */
struct mt_chunk_info {
	uint32_t kind;		      /* enum mt_chunk_kind, or unknown: skip */
	uint32_t events;
	uint64_t offset, size;	      /* of the zstd frame in the file, bytes */
	uint64_t first_seq, last_seq;
	uint64_t first_time, last_time;
	uint64_t live_start, live_max; /* bytes of all devices together: see ledger.h "held" */
	uint32_t phases;	       /* bit per enum mt_phase that allocated in it */
};

/* One line of `memana verify`: what is wrong where. */
struct mt_trace_state {
	int complete;		   /* closed in order: index there, and it agrees with the chunks */
	int error;		   /* 0, or -MT_E_x that ended reading: everything before is good */
	uint64_t error_offset;	   /* bytes from the start of the file */
	uint64_t file_bytes;
	uint64_t events;	   /* in whole chunks */
	uint64_t lost;		   /* sum of LOST records */
	uint32_t chunks;
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
 * The next events in file order: *events points to *count of them (all of one chunk, valid until the next call),
 * *checkpoint says whether they are LIVE events of a checkpoint. *count 0: the end. Unknown kinds are left out.
 * A checkpoint comes in one piece. An error inside a chunk ends the reading like the end of the file does;
 * mt_reader_state has it. Returned are -MT_E_MEMORY and -MT_E_SYSTEM only.
 */
int mt_reader_next(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint);

/* Starts again with the first event. Definitions stay. */
void mt_reader_rewind(struct mt_reader *reader);

#endif
