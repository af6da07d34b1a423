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
	uint64_t needed_end;       /* end of the file without definitions that no event needs */
	uint32_t needed;           /* chunks up to there */
	struct mt_buffer payload, out;

	struct mt_defs *defs;
	uint32_t defs_done[MT_DEF_END]; /* in the file */

	struct mt_encoder encoder; /* events that wait */
	int error;                 /* error of the newest attempt to write */
	uint64_t events;           /* number of events so far, those of a reopened file included */
	uint64_t seq, time;        /* the newest event's */

	struct mt_ledger *ledger;
	uint64_t held; /* bytes, all devices together */
	int unsound;   /* 1: the ledger lacks an event */

	struct mt_buffer checkpoint;          /* packed checkpoint before the waiting events; empty: none */
	struct mt_chunk_info checkpoint_info; /* the checkpoint's entry in the index */
	uint64_t since_checkpoint;            /* events */
	int skipped;                          /* 1: events were left out since the newest written event */
	uint64_t untold;                      /* see mt_writer_untold */
	int sealed; /* 1: left-out events follow the waiting ones, so no event may be added to these */

	struct tally *tally;                /* NULL: there are no summaries any more */
	struct history records;             /* records that wait */
	struct history told;                /* with `keep`: records in the file */
	uint64_t since_record;              /* events since the newest record, */
	uint64_t record_time;               /* its time, */
	uint64_t since_records;             /* and events since records were written */
	int closing;                        /* 1: all waiting data is written at once */
	const struct mt_facts_maker *facts; /* NULL: no facts are written */
	uint32_t step;                      /* newest step that has ended */
	struct keep *keep;                  /* NULL: all is kept */
	char *path;                         /* with `keep` */
};

/* All but the file and the definitions; `options` may be NULL. NULL: out of memory. */
struct mt_writer *writer_new(const char *path, const struct mt_writer_options *options);

/* Frees a writer, also a half-built one. */
void writer_free(struct mt_writer *writer);

/* Updates the live set with one more event. *born: 1 if it is an allocation. 0 or -MT_E_MEMORY. */
int writer_feed(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step, int *born);

/* Call after each event that is or will be in the file. Makes a record if one is due (writer_summary.c). */
void writer_summarise(struct mt_writer *writer, const struct mt_event *event);

/* The same for an event that a continued file has. The file also has its record, if any. */
void writer_replayed(struct mt_writer *writer, const struct mt_event *event);

/* 1: the waiting records are enough for a chunk, or must be written now. */
int writer_records_due(const struct mt_writer *writer);

/* Packs the waiting records behind the content of `out`. 0 or -MT_E_x. They wait until writer_records_written. */
int writer_pack_records(struct mt_writer *writer, struct mt_chunk_info *info);
void writer_records_written(struct mt_writer *writer);

/* With `keep`: stores a record of the file, to write it again at a rotation. 0 or -MT_E_MEMORY. */
int writer_remember(struct mt_writer *writer, const struct mt_summary *record);

/* The live set was cleared and builds up again; the next record has all of it. */
void writer_recount(struct mt_writer *writer);

/* With `keep`: makes the payload of all records, thinned out to fit. 0: there are none. */
int writer_history_payload(struct mt_writer *writer);

/* Makes the payload of the facts of the file. 0: there are none. */
int writer_facts_payload(struct mt_writer *writer);

/* From now on the index at the end must list all chunks of the file. */
static inline void writer_needs_all(struct mt_writer *writer)
{
	writer->needed_end = writer->end;
	writer->needed = writer->list.count;
}

/* 1: the file is large enough to drop old chunks. */
int writer_is_large(const struct mt_writer *writer);

/* Drops old chunks if possible: see mt_writer_trim. */
void writer_rotate(struct mt_writer *writer);

#endif
