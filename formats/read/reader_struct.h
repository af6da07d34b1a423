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

/* Events cannot be read, or make no sense without those before; a checkpoint ends it. */
struct gap {
	int open;
	int untold;      /* since the newest LOST that stands for it, chunks were passed */
	int uncounted;   /* the number of events in one of the chunks is unknown */
	uint64_t missed; /* in the others */
	uint64_t seq;    /* the largest that one of the chunks has, as far as is known */
};

struct mt_reader {
	struct reader_file file;
	struct mt_process process;
	struct mt_defs *defs;
	struct mt_chunk_list list;
	struct mt_chunk_info *disproved; /* from an index: callers may still look at it */
	uint32_t vouched;                /* chunks before this one are as the disproved index has them */
	uint32_t at;                     /* chunk to begin next */
	uint32_t defs_done;              /* chunks whose definitions are in `defs` */
	uint64_t seq;                    /* the newest event's, missing ones included */
	int begun;                       /* there were events */
	int cut;                         /* one of them a CUT, and no checkpoint since */
	struct gap gap;
	int decoding; /* decoder is inside chunk at - 1 */
	struct mt_event *events;
	size_t events_room;
	_Atomic uint64_t *budget; /* see mt_reader_share */
	uint64_t large;           /* bytes taken off it for the chunk that is being read */
	struct mt_event lost;     /* stands for a gap, */
	int told;                 /* and is the newest batch */
	uint64_t time;            /* the newest event's */
	size_t held;              /* events of a checkpoint that come after `lost` */
	struct mt_trace_state state;
	struct mt_decoder decoder; /* last, for its addresses are not cleared: see reader_open.c */
};

/* The state of the trace is what the chunk list says of the file. */
void reader_take_over(struct mt_reader *reader);

#endif
