/*
 * emitter.h - the trace's side of folding: numbers and labels events, counts steps, writes, and keeps the figures of
 * the summary. It adds the events that no hook sends (STEP, LOST, SOURCE, samples, END).
 *
 * Numbers. A trace's seq has to rise, and to say after a crash which ring events are in the file already. So ring
 * event n gets seq 64 * n, and what the emitter adds after it takes the numbers behind:
 *
 *     seq   64*n        64*n + 1 ...  64*n + 62    64*n + 63    64*(n+1)
 *           ring n      STEP, LOST, SOURCE         END          ring n+1
 *                       and samples, up to + 40
 *
 * The report that ring numbers up to n were lost counts as ring event n: its seq is above 64 * n, and resuming does
 * not find them missing again. When the 62 are used up, the emitter's own events wait for the next ring event.
 */
#ifndef FORMATS_EMITTER_H
#define FORMATS_EMITTER_H

#include <stdint.h>
#include "memtrace/fold.h"
#include "memtrace/phase.h"
#include "memtrace/writer.h"

#define MT_EMITTER_SHIFT 6 /* seq = number in the ring << MT_EMITTER_SHIFT */

struct mt_emitter;

/*
 * A new trace, or the end of one that is there: its events are read again, so that steps, ranges, live set and figures
 * go on where they were. *emitter is NULL on error; errors of mt_writer_open, mt_writer_reopen, mt_reader_open. `rules`
 * must outlive it.
 */
int mt_emitter_create(struct mt_emitter **emitter, const char *path, const struct mt_process *process,
		      const struct mt_rules *rules, const struct mt_fold_options *options);
int mt_emitter_resume(struct mt_emitter **emitter, const char *path, const struct mt_rules *rules,
		      const struct mt_fold_options *options);

struct mt_defs *mt_emitter_defs(struct mt_emitter *emitter);

/* The newest number of the ring that is in the trace, reported lost or left out on purpose. */
uint64_t mt_emitter_number(const struct mt_emitter *emitter);

/* 1: from now on events are in the live set alone, 0: they are in the trace. Not for a trace that has events. */
void mt_emitter_wait(struct mt_emitter *emitter, int waits);

/* While the emitter waits: ring event `number` is a birth from before the recording. As mt_emitter_event. */
int mt_emitter_told(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/* Ring event `number` is nothing for the trace. */
void mt_emitter_pass(struct mt_emitter *emitter, uint64_t number);

/* Steps that have ended since the recording began. */
uint64_t mt_emitter_steps(const struct mt_emitter *emitter);

/* The step that runs now is the last one: END says `why`. */
void mt_emitter_end_with_step(struct mt_emitter *emitter, enum mt_end why);

/* 1: the steps asked for are recorded, or the trace has its END: nothing more is written. */
int mt_emitter_done(const struct mt_emitter *emitter);

/*
 * Writes ring event `number` (above all before); sets its seq. 0, or what mt_writer_event returned: the writer has
 * the event all the same. When it is the first event after the last step asked for, it is left out (mt_emitter_done).
 */
int mt_emitter_event(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/*
 * Something that was alive when the recording began, as it was born: no event of the trace, but part of the live set it
 * begins with. Before the first mt_emitter_event.
 */
int mt_emitter_before(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/* Ring numbers up to `number` will not come any more; `lost` of them have to be reported, for `reason`. */
int mt_emitter_gap(struct mt_emitter *emitter, uint64_t number, uint64_t lost, enum mt_loss reason);

/*
 * The number of records lost for `reason` since the beginning (fewer than known: no news): writes the part that the
 * trace does not tell yet, as soon as it can. mt_emitter_lost_count: what is known.
 */
int mt_emitter_lost(struct mt_emitter *emitter, enum mt_loss reason, uint64_t count);
uint64_t mt_emitter_lost_count(const struct mt_emitter *emitter, enum mt_loss reason);

/* A source's state; written when the trace says otherwise. */
int mt_emitter_source(struct mt_emitter *emitter, enum mt_source source, uint32_t state, const char *why);

/*
 * A GPU_SAMPLE (`device` is an id) or HOST_SAMPLE with its own time, which may be a little before that of the newest
 * event. Samples leave numbers for events that must not be missing. When their numbers are used up, the newest sample
 * of each device waits for the next ring event, and the one it replaces is not written. 1: left out, the trace takes
 * none now.
 */
int mt_emitter_sample(struct mt_emitter *emitter, const struct mt_event *sample);

/*
 * A mark that a user set from outside, at CLOCK_MONOTONIC `time`: after the newest event, of no thread. 1: there is no number for it before the
 * next ring event, ask again; else as mt_emitter_event.
 */
int mt_emitter_mark(struct mt_emitter *emitter, const char *name, uint64_t time);

/* Events in the trace. */
uint64_t mt_emitter_events(const struct mt_emitter *emitter);

/* Bytes that the ledger holds on a device (id) now. */
uint64_t mt_emitter_held(const struct mt_emitter *emitter, uint32_t device);

/* Everything handed in is in the file after 0. */
int mt_emitter_flush(struct mt_emitter *emitter);

/* Events that wait for the next flush. */
uint64_t mt_emitter_pending(const struct mt_emitter *emitter);

/* The process was there at `time` (CLOCK_MONOTONIC, ns), and held what it held: it ends after that. */
void mt_emitter_alive(struct mt_emitter *emitter, uint64_t time);

/*
 * Writes the END event: everything that was recorded is in the file after 0. Later definitions, names of
 * native frames, go behind it when the trace is closed.
 */
int mt_emitter_end(struct mt_emitter *emitter, enum mt_end why);

/* As mt_writer_facts. */
void mt_emitter_facts(struct mt_emitter *emitter, const struct mt_facts_maker *maker);

/* Ends the trace in order, if mt_emitter_end has not, and frees. `summary` may be NULL; filled in also on error. */
int mt_emitter_close(struct mt_emitter *emitter, enum mt_end why, struct mt_fold_summary *summary);

#endif
