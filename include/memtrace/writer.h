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

/* The origin of a trace that is a PyTorch memory snapshot. Its pid, host and boot_id are not known. */
enum mt_snapshot {
	MT_SNAPSHOT = 1,
	MT_SNAPSHOT_NO_HISTORY = 2, /* live set of one moment, without events */
	MT_SNAPSHOT_NO_TIMES = 4,   /* its times order the events and are no clock */
	MT_SNAPSHOT_CUT = 8,        /* events at the beginning of its history are gone (max_entries) */
};

/*
 * The recorded process: the first chunk of a trace. mt_writer_open copies the strings; a reader owns its own. NULL: "".
 */
struct mt_process {
	uint32_t pid, ppid;
	int32_t rank;             /* RANK of the environment, -1: none */
	uint32_t depth;           /* --depth */
	uint32_t python_version;  /* PY_VERSION_HEX, 0: no Python */
	uint32_t tool_version;    /* 0x00MMmmpp */
	uint64_t start_monotonic; /* ns; with start_realtime: one instant on both clocks */
	uint64_t start_realtime;  /* ns since 1970 at the instant start_monotonic */
	uint64_t clock_error;     /* ns: longest time between reading the two clocks */
	const char *host;
	const char *boot_id;   /* equal for processes that share a monotonic clock */
	const char *command;   /* argv joined by blanks, at most MT_STRING_MAX */
	const char *options;   /* the recorder's option string */
	const char *ring_path; /* the ring file, while it can hold events that the trace lacks */
	uint32_t snapshot;     /* enum mt_snapshot; 0: memrec recorded it */
	const char *run;       /* the run of the process, in words of memtrace/runs.h; NULL or "": unknown */
};

struct mt_writer;

/* Callbacks for a caller that continues a trace and needs its contents. An error ends mt_writer_reopen. */
struct mt_writer_watch {
	void *context;
	/* Comes first. `defs` stay those of mt_writer_defs. 0 or -MT_E_x. */
	int (*begin)(void *context, struct mt_writer *writer, const struct mt_process *process,
		     const struct mt_defs *defs);
	/* After each event of the file. mt_writer_held is that of this moment. */
	void (*event)(void *context, const struct mt_event *event);
	/* The live set after a gap. */
	void (*anew)(void *context, const struct mt_event *events, size_t count);
};

struct mt_writer_options {
	int level;                  /* zstd level, 0: default 3 */
	uint32_t chunk_events;      /* events per chunk, 0: default 65536 */
	uint32_t checkpoint_events; /* most events between two checkpoints, 0: default 1 << 20 */
	uint64_t keep;              /* flight recorder: bytes of the newest part to keep; 0: all. See mt_writer_trim */
	const struct mt_writer_watch *watch; /* for mt_writer_reopen; may be NULL */
};

#define MT_KEEP_MIN (1u << 20) /* bytes: the smallest `keep`, some chunks */
#define MT_KEEP_SUFFIX ".keep" /* suffix of the new file until it is complete */

/*
 * Creates `path`, or truncates a file that is there, and writes the process chunk. On error *writer is NULL:
 * -MT_E_SYSTEM (errno), -MT_E_SPACE, -MT_E_MEMORY.
 */
int mt_writer_open(struct mt_writer **writer, const char *path, const struct mt_process *process,
		   const struct mt_writer_options *options);

/*
 * Opens an existing trace to write on at its end. Drops the index and a torn last chunk; takes over definitions and
 * live set. *last_seq: number of the last event in the file, or of the last one left out before its newest checkpoint.
 * A file with an unreadable end, or with damage and no checkpoint after the damage, stays as it is. Errors as of
 * mt_reader_open and mt_reader_state. `options` may be NULL.
 *
 * Events lack the phase of their birth. Later checkpoints have the phase of the newest checkpoint, or other.
 */
int mt_writer_reopen(struct mt_writer **writer, const char *path, const struct mt_writer_options *options,
		     uint64_t *last_seq);

/* The definitions of this trace: intern into it, then use the ids in events. Owned by the writer. */
struct mt_defs *mt_writer_defs(struct mt_writer *writer);

/*
 * Appends one event. Its seq is above the one before, and its ids are defined. The writer buffers events and writes a
 * full chunk at once. `phase` and `step` go into the index and into checkpoints.
 *
 * -MT_E_SPACE, -MT_E_SYSTEM: the chunk could not be written, and the file was cut back to the last whole chunk. The
 * writer has taken the event, keeps the chunk, and tries again at the next flush. -MT_E_LIMIT: the kept chunk is as
 * large as the format allows. After -MT_E_LIMIT, -MT_E_ARGUMENT and -MT_E_MEMORY the event is not taken.
 */
int mt_writer_event(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/*
 * Applies an event to the live set without writing the event (`--skip`). A checkpoint precedes the next written event.
 * Waiting events are written first. On any error the event is not taken.
 */
int mt_writer_skip(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/* Begins the peaks of the next record here: the trace lacks the events before. */
void mt_writer_begin_peaks(struct mt_writer *writer);

/*
 * mt_writer_skip for an event that mt_writer_event did not take. Waiting events go on waiting, and no event joins them.
 * If mt_writer_drop or mt_writer_skip runs out of memory, the live set is wrong, and the writer makes no more
 * checkpoints.
 */
int mt_writer_drop(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step);

/*
 * The number of allocations since the last call that were alive after skipped events and found no room in a checkpoint.
 * The file lacks them.
 */
uint64_t mt_writer_untold(struct mt_writer *writer);

/*
 * With `keep`: when the file comes near that size, makes a new file of the definitions, the newest chunks (about half
 * of `keep`), and the chunks around out-of-memory errors. The new file replaces the old one. Otherwise cheap. Forgets
 * names of events (mt_defs_add_name): use these ids before. A failure leaves the old file as it is, and a later call
 * tries again. mt_writer_trim_error: 0 or -MT_E_x of the newest attempt.
 */
void mt_writer_trim(struct mt_writer *writer);
int mt_writer_trim_error(const struct mt_writer *writer);

/* Events that mt_writer_trim removed, by this writer and the writers before it. */
uint64_t mt_writer_cut(const struct mt_writer *writer);

/* Writes the buffer. After 0 the file has all events up to now (in the page cache, not synced). */
int mt_writer_flush(struct mt_writer *writer);

/* events: number handed in; pending: number that waits for the next flush; bytes: size of the file. */
uint64_t mt_writer_events(const struct mt_writer *writer);
uint64_t mt_writer_pending(const struct mt_writer *writer);
uint64_t mt_writer_bytes(const struct mt_writer *writer);

/* Bytes that `device` (id) holds after the newest event, skipped and dropped ones included: see mt_ledger_held. */
uint64_t mt_writer_held(const struct mt_writer *writer, uint32_t device);

/* Lets mt_writer_close make and write facts (memtrace/facts.h). `maker` must outlive the writer. */
struct mt_facts_maker;
void mt_writer_facts(struct mt_writer *writer, const struct mt_facts_maker *maker);

/* Flushes, writes the index, closes, and frees, also on error. NULL is fine. `complete` 0: without the index. */
int mt_writer_close(struct mt_writer *writer, int complete);

#endif
