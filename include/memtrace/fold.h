/*
 * fold.h - turns a ring into a trace: merges the slots by sequence number, interns the log's definitions, decodes
 * Python lines, labels phases, counts steps, and writes. Only then it gives ring space back.
 *
 * The collector does it while the target runs; `memrec recover` and memana do it with a ring that was left over.
 */
#ifndef MEMTRACE_FOLD_H
#define MEMTRACE_FOLD_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/ring.h"

struct mt_fold;

struct mt_fold_options {
	uint32_t steps;        /* stop after this number, 0: never */
	uint32_t skip;         /* let this number pass first: their events are not written, their live set is */
	const char *step_mark; /* see mt_tracker_step_mark; NULL: auto */
	uint64_t keep;         /* flight recorder: bytes of trace to keep, the newest; 0: everything */
	uint32_t patience_ms;  /* wait so long for a writer that holds a number back, 0: default 2000 */
};

/* The result, for the summary line. */
struct mt_fold_summary {
	uint64_t events, steps, lost, bytes;
	uint64_t peak_bytes, peak_time; /* largest "held" of one device (ledger.h) */
	uint32_t peak_device;           /* device id, 0: none */
	uint64_t ooms;                  /* failed requests for memory, and ... */
	uint64_t survived;              /* ... refusals that were none, see refusals.h */
	uint64_t cut;                   /* events among them that were let go (--keep) */
	int keep_error;                 /* 0, or -MT_E_x: why the file is larger than it was to be (--keep) */
};

/* Maps the ring read-write. `options` NULL: as the ring's header says. *fold NULL on error: -MT_E_SYSTEM, -MT_E_MAGIC, -MT_E_VERSION, -MT_E_CORRUPT, -MT_E_TRUNCATED. `rules` must outlive it. */
int mt_fold_open(struct mt_fold **fold, const char *ring_path, const struct mt_rules *rules,
		 const struct mt_fold_options *options);

/* The mapped header. Valid until mt_fold_close. */
struct ring_header *mt_fold_header(struct mt_fold *fold);

/* The destination: a new trace, or the end of one that the dead collector left. Exactly one of them, once. */
int mt_fold_create(struct mt_fold *fold, const char *trace_path);
int mt_fold_resume(struct mt_fold *fold, const char *trace_path);

/*
 * Devices the caller knows more of (NVML): name, uuid and total bytes for CUDA device `index`. Before the first event of
 * the device: `name_devices` is called once, before the first event of any CUDA device gets into the trace.
 */
void mt_fold_names(struct mt_fold *fold, void (*name_devices)(void *context), void *context);
void mt_fold_device(struct mt_fold *fold, uint32_t index, const char *name, const char *uuid, uint64_t total);

/*
 * A figure that the caller measured: a GPU_SAMPLE (`device`: CUDA index, as in mt_fold_device) or HOST_SAMPLE, with its
 * time. Follows the newest event that was folded. 1: left out, because the steps to be skipped pass, or those asked
 * for are over, or there is no such device. Errors as mt_fold_run.
 */
int mt_fold_sample(struct mt_fold *fold, const struct mt_event *sample);

/*
 * For whoever samples. notable: how many events were folded after which bytes outside the ledger may be others:
 * out-of-memory errors, contexts, code, graphs. held: what the ledger holds on CUDA device `index` after the newest
 * event; -1: nothing in the trace is about that device.
 */
uint64_t mt_fold_notable(const struct mt_fold *fold);
int64_t mt_fold_held(const struct mt_fold *fold, uint32_t index);

/*
 * Folds what is ready. `final` 1: the target is gone, gaps will not be filled any more. Writes chunks as they get full
 * and when a slot is more than half full. *folded: number of events taken. 1: the steps asked for are recorded, the
 * rest is ignored; 0: go on; or an error of the writer (go on too: the events stay in the ring while there is room).
 */
int mt_fold_run(struct mt_fold *fold, int final, uint64_t *folded);

/*
 * A mark that a user set from outside, at `time` (CLOCK_MONOTONIC): follows the newest event that was folded. 1: not now, ask again when more is folded. Errors as
 * mt_fold_run.
 */
int mt_fold_mark(struct mt_fold *fold, const char *name, uint64_t time);

/* The newest number of the ring that is in the trace, or will not come; 0 before there is a trace. */
uint64_t mt_fold_number(const struct mt_fold *fold);

/* Events in the trace so far; 0 also where there is none yet. */
uint64_t mt_fold_events(const struct mt_fold *fold);

/* Writes out everything and gives the space back. */
int mt_fold_flush(struct mt_fold *fold);

/* Steps that have ended since the recording began; 0 also where there is no trace yet. */
uint64_t mt_fold_steps(const struct mt_fold *fold);

/* The trace is there: the step that runs now is its last one. END says `why`. */
void mt_fold_end_with_step(struct mt_fold *fold, enum mt_end why);

/* The process was seen at `time` (CLOCK_MONOTONIC, ns): END is not before that. Without this call END is at the newest event. */
void mt_fold_alive(struct mt_fold *fold, uint64_t time);

/* As mt_writer_facts. The trace is there (mt_fold_create, mt_fold_resume). */
struct mt_facts_maker;
void mt_fold_facts(struct mt_fold *fold, const struct mt_facts_maker *maker);

/* Ends the trace in order (END event, index) and frees. `summary` may be NULL; filled in also on error. */
int mt_fold_close(struct mt_fold *fold, enum mt_end why, struct mt_fold_summary *summary);

/*
 * Left-overs: copies `trace_path` (NULL: no trace was begun) to `out_path` and folds `ring_path` into the copy. The
 * originals stay untouched.
 */
int mt_fold_recover(const char *trace_path, const char *ring_path, const struct mt_rules *rules, const char *out_path,
		    struct mt_fold_summary *summary);

#endif
