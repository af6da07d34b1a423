/*
 * writer.h - write a trace, streaming. One writer, one thread, one file.
 *
 *     mt_writer_open -> (mt_defs_add_*, mt_writer_event)* -> mt_writer_flush* -> mt_writer_close
 *
 * After every mt_writer_flush the file is a readable trace (without index: readers scan). Memory: one chunk of
 * events, the definitions, and the live set.
 */
#ifndef MEMTRACE_WRITER_H
#define MEMTRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"

/* The recorded process: the first chunk of a trace. Strings are copied by mt_writer_open, owned by a reader. NULL:
 * "". */
/* The origin of a trace that is a PyTorch memory snapshot. Its pid, host and boot_id are not known. */
enum mt_snapshot {
	MT_SNAPSHOT = 1,
	MT_SNAPSHOT_NO_HISTORY = 2, /* only what was there when it was taken */
	MT_SNAPSHOT_NO_TIMES = 4,   /* the times of its events only order them */
	MT_SNAPSHOT_CUT = 8,        /* events at the beginning of its history are gone (max_entries) */
};

struct mt_process {
	uint32_t pid, ppid;
	int32_t rank;             /* RANK of the environment, -1: none */
	uint32_t depth;           /* --depth */
	uint32_t python_version;  /* PY_VERSION_HEX, 0: no Python */
	uint32_t tool_version;    /* 0x00MMmmpp */
	uint64_t start_monotonic; /* ns; together with start_realtime the clock record: */
	uint64_t start_realtime;  /* ns since 1970 at the instant start_monotonic */
	uint64_t clock_error;     /* ns: the two clocks were read at most this far apart */
	const char *host;
	const char *boot_id;   /* joins clocks of processes on one machine */
	const char *command;   /* argv joined by blanks, at most MT_STRING_MAX */
	const char *options;   /* the recorder's option string */
	const char *ring_path; /* the shared ring, as long as it may hold events that are not in the file */
	uint32_t snapshot;     /* enum mt_snapshot; 0: memrec recorded it */
	const char *run;       /* which run it is of: words of memtrace/runs.h; NULL or "": not known */
};

struct mt_writer;

/* A caller that goes on with a trace and wants to know its contents. Errors end mt_writer_reopen. */
struct mt_writer_watch {
	void *context;
	/* Before anything else: the definitions will be those of mt_writer_defs. 0 or -MT_E_x. */
	int (*begin)(void *context, struct mt_writer *writer, const struct mt_process *process,
		     const struct mt_defs *defs);
	/* After each event that is in the file: mt_writer_held tells of then. */
	void (*event)(void *context, const struct mt_event *event);
	/* The live set after a gap. */
	void (*anew)(void *context, const struct mt_event *events, size_t count);
};

struct mt_writer_options {
	int level;                  /* zstd level, 0: default 3 */
	uint32_t chunk_events;      /* events per chunk, 0: default 65536 */
	uint32_t checkpoint_events; /* most events between two checkpoints, 0: default 1 << 20 */
	uint64_t keep; /* flight recorder: bytes of file that are wanted, the newest; 0: all. See mt_writer_trim */
	const struct mt_writer_watch *watch; /* NULL: nobody; mt_writer_reopen only */
};

#define MT_KEEP_MIN (1u << 20) /* smallest `keep` that makes sense */
#define MT_KEEP_SUFFIX ".keep" /* suffix of the new file, as long as it is being made */

/*
 * Creates `path` (O_EXCL is the caller's business: an existing file is truncated) and writes the process chunk.
 * *writer is NULL on error. Errors: -MT_E_SYSTEM (errno), -MT_E_SPACE, -MT_E_MEMORY.
 */
int mt_writer_open(struct mt_writer **writer, const char *path, const struct mt_process *process,
		   const struct mt_writer_options *options);

/*
 * Opens an existing trace to go on writing at its end: drops the index and a torn last chunk, takes over definitions
 * and live set. *last_seq: sequence number of the last event that is in the file, or was left out before its newest
 * checkpoint. A file whose end cannot be read, or for which a checkpoint after damage is missing, is left as it is; errors
 * as of mt_reader_open and mt_reader_state. `options` may be NULL.
 * Events do not tell the phase they were born in: in later checkpoints it is that of the newest checkpoint, or other.
 */
int mt_writer_reopen(struct mt_writer **writer, const char *path, const struct mt_writer_options *options,
		     uint64_t *last_seq);

/* The definitions of this trace: intern into it, then use the ids in events. Owned by the writer. */
struct mt_defs *mt_writer_defs(struct mt_writer *writer);

/*
 * Appends one event: seq above the one before, ids defined. Buffered; a full chunk is written at once. `phase` and
 * `step` are kept for the index and for checkpoints, they are not part of the event. -MT_E_SPACE, -MT_E_SYSTEM: the
 * chunk could not be written, and the file was cut back to the last whole chunk. The writer keeps the chunk, this
 * event in it, and tries again at the next flush. It goes on taking events until the chunk is as large as the format
 * allows: -MT_E_LIMIT. With that, -MT_E_ARGUMENT and -MT_E_MEMORY the event is not taken.
 */
int mt_writer_event(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/*
 * Feeds the live set without writing the event (`--skip`): the next written event is preceded by a checkpoint. Events
 * that wait are written first; on any error this one is not taken.
 */
int mt_writer_skip(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/* No peak of a record to come is from before now: what happened so far was left out. */
void mt_writer_begin_peaks(struct mt_writer *writer);

/*
 * mt_writer_skip for an event that mt_writer_event did not take: what waits goes on waiting, and takes no more. If this or
 * mt_writer_skip fails for want of memory, the live set is wrong from then on: there are no more checkpoints.
 */
int mt_writer_drop(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/*
 * The number of allocations, since the last call, that were alive after skipped events and that the file lacks: more than a
 * checkpoint holds.
 */
uint64_t mt_writer_untold(struct mt_writer *writer);

/*
 * With `keep`, when the file has come near that size: makes a new file of the definitions, the newest chunks (about
 * half as much), and those around out-of-memory errors. The new file takes the place of the old one. Cheap when
 * nothing is to be done. Names of events (mt_defs_add_name) may be forgotten: use them before. A failure leaves the
 * old file as it is and is tried again later: mt_writer_trim_error, 0 or -MT_E_x, of the newest attempt.
 */
void mt_writer_trim(struct mt_writer *writer);
int mt_writer_trim_error(const struct mt_writer *writer);

/* Events that were let go, by this writer and those before it. */
uint64_t mt_writer_cut(const struct mt_writer *writer);

/* Writes what is buffered: after 0 every event handed in so far is in the file (page cache, not synced). */
int mt_writer_flush(struct mt_writer *writer);

/* Events handed in so far and events that wait for the next flush; bytes of the file. */
uint64_t mt_writer_events(const struct mt_writer *writer);
uint64_t mt_writer_pending(const struct mt_writer *writer);
uint64_t mt_writer_bytes(const struct mt_writer *writer);

/* Bytes that `device` (id) holds after the newest event, skipped and dropped ones included: see mt_ledger_held. */
uint64_t mt_writer_held(const struct mt_writer *writer, uint32_t device);

/* Facts (memtrace/facts.h) are made and written when the trace is closed. `maker` outlives the writer. */
struct mt_facts_maker;
void mt_writer_facts(struct mt_writer *writer, const struct mt_facts_maker *maker);

/* Flushes, writes the index, closes, frees (also on error, and NULL is fine). `complete` 0 leaves the index away. */
int mt_writer_close(struct mt_writer *writer, int complete);

#endif
