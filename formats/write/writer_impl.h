/* writer_impl.h - the inside of a writer, for writer.c, reopen.c and keep_rotate.c. */
#ifndef FORMATS_WRITER_IMPL_H
#define FORMATS_WRITER_IMPL_H

#include <stdint.h>
#include "base/buffer.h"
#include "keep.h"
#include "memtrace/facts.h"
#include "memtrace/ledger.h"
#include "memtrace/writer.h"
#include "summary/history.h"
#include "summary/tally.h"
#include "trace/chunk.h"
#include "trace/chunk_list.h"
#include "trace/codec.h"
#include "trace/defs.h"

struct mt_writer {
	int fd;
	uint64_t end; /* end of the last whole chunk */
	struct mt_writer_options options;
	struct mt_packer *packer;
	struct mt_chunk_list list; /* chunks in the file */
	uint64_t needed_end;       /* the end of the last chunk but definitions that no event in the file needs */
	uint32_t needed;           /* chunks up to there */
	struct mt_buffer payload, out;

	struct mt_defs *defs;
	uint32_t defs_done[MT_DEF_END]; /* in the file */

	struct mt_encoder encoder; /* events that wait */
	int error;                 /* error of the newest attempt to write them */
	uint64_t events;           /* handed in, those of a reopened file included */
	uint64_t seq, time;        /* the newest event's */

	struct mt_ledger *ledger;
	uint64_t held; /* bytes, all devices together */
	int unsound;   /* it misses an event */

	struct mt_buffer checkpoint;          /* packed, before the events that wait; empty: none */
	struct mt_chunk_info checkpoint_info; /* the checkpoint's entry in the index */
	uint64_t since_checkpoint;            /* events */
	int skipped;                          /* events were left out since the last one written */
	uint64_t untold;                      /* see mt_writer_untold */
	int sealed; /* and these stand behind the events that wait, which are no more to become more */

	struct tally *tally;                /* NULL: there are no summaries any more */
	struct history records;             /* those to be written */
	struct history told;                /* with `keep`: those that are in the file */
	uint64_t since_record;              /* events since the newest record, */
	uint64_t record_time;               /* its time, */
	uint64_t since_records;             /* and events since records were written */
	int closing;                        /* nothing waits any longer */
	const struct mt_facts_maker *facts; /* NULL: nobody makes facts */
	uint32_t step;                      /* the newest that has ended */
	struct keep *keep;                  /* NULL: all is kept */
	char *path;                         /* with `keep` */
};

/* All but the file and the definitions; `options` may be NULL. NULL: out of memory. */
struct mt_writer *writer_new(const char *path, const struct mt_writer_options *options);

/* Also on error, and for writers that are only half there. */
void writer_free(struct mt_writer *writer);

/* The live set after one more event. *born: 1 when that is an allocation. 0 or -MT_E_MEMORY. */
int writer_feed(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step, int *born);

/* After an event that is in the file, or will be: makes the record that is due, if one is (writer_summary.c). */
void writer_summarise(struct mt_writer *writer, const struct mt_event *event);

/* The same after an event that is in the file of a writer that goes on: its record, if any, is there. */
void writer_replayed(struct mt_writer *writer, const struct mt_event *event);

/* Whether the records that wait are to be written: small chunks are poor ones. */
int writer_records_due(const struct mt_writer *writer);

/* Packs the records that wait behind what `out` has. 0 or -MT_E_x. They wait until writer_records_written. */
int writer_pack_records(struct mt_writer *writer, struct mt_chunk_info *info);
void writer_records_written(struct mt_writer *writer);

/* With `keep`: a record that is in the file, which is to be written again when events are let go. 0 or -MT_E_MEMORY. */
int writer_remember(struct mt_writer *writer, const struct mt_summary *record);

/* The live set was cleared: it is added up anew from what comes, and the next record tells all of it. */
void writer_recount(struct mt_writer *writer);

/* With `keep`: the payload of all records, thinned out to fit; 0: there are none. */
int writer_history_payload(struct mt_writer *writer);

/* The payload of the facts of the file as it is; 0: there are none. */
int writer_facts_payload(struct mt_writer *writer);

/* The index at the end is for all chunks that are in the file now. */
static inline void writer_needs_all(struct mt_writer *writer)
{
	writer->needed_end = writer->end;
	writer->needed = writer->list.count;
}

/* Has the file grown so much that something of it should go? */
int writer_is_large(const struct mt_writer *writer);

/* Lets it go, if it can: see mt_writer_trim. */
void writer_rotate(struct mt_writer *writer);

#endif
