/*
 * reader_struct.h - the reader of memtrace/reader.h from within: reader_open.c opens and closes it and knows the file,
 * reader.c goes from chunk to chunk.
 */
#ifndef FORMATS_READER_STRUCT_H
#define FORMATS_READER_STRUCT_H

#include "memtrace/reader.h"
#include "reader_file.h"
#include "trace/chunk_list.h"
#include "trace/codec.h"
#include "trace/process.h"

/* Chunks whose events are unreadable, or useless without the events before. A checkpoint ends a gap. */
struct gap {
	int open;
	int untold;      /* 1: chunks were passed since the newest LOST event for the gap */
	int uncounted;   /* 1: a chunk with an unknown number of events was passed */
	uint64_t missed; /* events in chunks with a known number */
	uint64_t seq;    /* largest known seq of the chunks */
};

struct mt_reader {
	struct reader_file file;
	struct mt_process process;
	struct mt_defs *defs;
	struct mt_chunk_list list;
	struct mt_chunk_info *disproved; /* list of an index that proved wrong; kept, because callers may hold it */
	uint32_t vouched;                /* number of chunks in front that match the disproved index */
	uint32_t at;                     /* chunk to begin next */
	uint32_t defs_done;              /* number of chunks whose definitions are in `defs` */
	uint64_t seq;                    /* seq of the newest event, missing events included */
	int begun;                       /* there were events */
	int cut;                         /* 1: a CUT has come, and no checkpoint since */
	struct gap gap;
	int decoding; /* decoder is inside chunk at - 1 */
	struct mt_event *events;
	size_t events_room;
	_Atomic uint64_t *budget; /* see mt_reader_share */
	uint64_t large;           /* bytes taken from the budget for the current chunk */
	struct mt_event lost;     /* LOST event for a gap */
	int told;                 /* 1: `lost` is the newest batch */
	uint64_t time;            /* the newest event's */
	size_t held;              /* events of a checkpoint to hand out after `lost` */
	struct mt_trace_state state;
	struct mt_decoder decoder; /* last, because its addresses are not cleared: see reader_open.c */
};

/* Sets the trace's state from the chunk list. */
void reader_take_over(struct mt_reader *reader);

#endif
