/*
 * fold.h - turns a ring into a trace: merges the slots by sequence number, interns the log's definitions, decodes
 * Python lines, labels phases, counts steps, and writes. Only then it gives ring space back.
 *
 * The collector folds while the target runs. `memrec recover` and memana fold a ring whose process has ended.
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
	uint32_t skip;         /* number of first steps without events in the trace; their live set is written */
	const char *step_mark; /* see mt_tracker_step_mark; NULL: auto */
	uint64_t keep;         /* flight recorder: bytes of the newest part of the trace to keep; 0: everything */
	uint32_t patience_ms;  /* wait for a thread that has taken a number and not yet written its event; 0: 2000 */
};

/* The result, for the summary line. */
struct mt_fold_summary {
	uint64_t events, steps, lost, bytes;
	uint64_t peak_bytes, peak_time; /* largest "held" of one device (ledger.h) */
	uint32_t peak_device;           /* device id, 0: none */
	uint64_t ooms;                  /* failed requests for memory */
	uint64_t survived;              /* refused requests that succeeded within a second (refusals.h) */
	uint64_t cut;                   /* events that left the file again (--keep) */
	int keep_error;                 /* 0, or -MT_E_x: the reason for a file larger than asked for (--keep) */
};

/*
 * Maps the ring read-write. `options` NULL: the options of the ring's header. `rules` must outlive *fold. On error
 * *fold is NULL: -MT_E_SYSTEM, -MT_E_MAGIC, -MT_E_VERSION, -MT_E_CORRUPT, -MT_E_TRUNCATED.
 */
int mt_fold_open(struct mt_fold **fold, const char *ring_path, const struct mt_rules *rules,
		 const struct mt_fold_options *options);

/* The mapped header. Valid until mt_fold_close. */
struct ring_header *mt_fold_header(struct mt_fold *fold);

/* Sets the destination: a new trace, or the end of the trace of a collector that died. Call one of the two, once. */
int mt_fold_create(struct mt_fold *fold, const char *trace_path);
int mt_fold_resume(struct mt_fold *fold, const char *trace_path);

/*
 * Names devices by what the caller knows from NVML: name, uuid and total bytes of CUDA device `index`. mt_fold_run
 * calls `name_devices` once, before the first event of any CUDA device gets into the trace.
 */
void mt_fold_names(struct mt_fold *fold, void (*name_devices)(void *context), void *context);
void mt_fold_device(struct mt_fold *fold, uint32_t index, const char *name, const char *uuid, uint64_t total);

/*
 * Adds a sample of the caller behind the newest folded event: a GPU_SAMPLE (`device`: CUDA index) or a HOST_SAMPLE,
 * with its time. 1: the sample was left out, because no step is recorded now or the device is unknown. Errors as
 * mt_fold_run.
 */
int mt_fold_sample(struct mt_fold *fold, const struct mt_event *sample);

/*
 * Figures for the sampler. notable: number of folded events that can change bytes outside of the ledger (out-of-memory
 * errors, contexts, code, graphs). held: bytes that the ledger holds on CUDA device `index` after the newest event; -1:
 * the trace has no event of the device.
 */
uint64_t mt_fold_notable(const struct mt_fold *fold);
int64_t mt_fold_held(const struct mt_fold *fold, uint32_t index);

/*
 * Folds the events that are ready. `final` 1: the target is gone, and no gap will be filled. Writes a chunk when it is
 * full, and when a slot is more than half full. *folded: number of events taken. 1: the steps asked for are recorded,
 * and later events are ignored; 0: go on; or an error of the writer. After an error the events stay in the ring: call
 * again.
 */
int mt_fold_run(struct mt_fold *fold, int final, uint64_t *folded);

/*
 * Adds a mark of `memrec mark`, set at `time` (CLOCK_MONOTONIC, ns), behind the newest folded event. 1: not possible
 * yet, call again after more events were folded. Errors as mt_fold_run.
 */
int mt_fold_mark(struct mt_fold *fold, const char *name, uint64_t time);

/* The newest event number of the ring that is in the trace or is lost; 0: no trace yet. */
uint64_t mt_fold_number(const struct mt_fold *fold);

/* Number of events in the trace up to now; 0 without a trace. */
uint64_t mt_fold_events(const struct mt_fold *fold);

/* Writes all folded events and frees their space in the ring. */
int mt_fold_flush(struct mt_fold *fold);

/* Steps that have ended since the recording began; 0 also without a trace. */
uint64_t mt_fold_steps(const struct mt_fold *fold);

/* Makes the running step the last one of the trace. END says `why`. Call after mt_fold_create or mt_fold_resume. */
void mt_fold_end_with_step(struct mt_fold *fold, enum mt_end why);

/* The process was alive at `time` (CLOCK_MONOTONIC, ns): END has this time, or that of a newer event. */
void mt_fold_alive(struct mt_fold *fold, uint64_t time);

/* As mt_writer_facts. Call after mt_fold_create or mt_fold_resume. */
struct mt_facts_maker;
void mt_fold_facts(struct mt_fold *fold, const struct mt_facts_maker *maker);

/* Ends the trace in order (END event, index) and frees. `summary` may be NULL; filled in also on error. */
int mt_fold_close(struct mt_fold *fold, enum mt_end why, struct mt_fold_summary *summary);

/*
 * Recovers a recording without a collector: copies `trace_path` (NULL: the ring alone) to `out_path` and folds
 * `ring_path` into the copy. The originals stay untouched.
 */
int mt_fold_recover(const char *trace_path, const char *ring_path, const struct mt_rules *rules, const char *out_path,
		    struct mt_fold_summary *summary);

#endif
