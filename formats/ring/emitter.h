/*
 * emitter.h - the writing side of folding: numbers and labels events, counts steps, writes, and sums up figures. It
 * adds the events that no hook sends (STEP, LOST, SOURCE, samples, END).
 *
 * Numbers. A trace's seq must rise. After a crash it must show which ring events are in the file. So ring event n gets
 * seq 64 * n, and the events that the emitter adds after it get the numbers behind:
 *
 *     seq   64*n        64*n + 1 ...  64*n + 62    64*n + 63    64*(n+1)
 *           ring n      STEP, LOST, SOURCE         END          ring n+1
 *                       and samples, up to + 40
 *
 * A LOST event for ring numbers up to n has a seq above 64 * n, so resuming does not count them again. When the 62
 * numbers are used up, the emitter's own events wait for the next ring event.
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
 * Creates a trace, or continues one. To continue, the events of the trace are read again for steps, ranges, live set
 * and figures. *emitter is NULL on error; errors of mt_writer_open, mt_writer_reopen, mt_reader_open. `rules` must
 * outlive *emitter.
 */
int mt_emitter_create(struct mt_emitter **emitter, const char *path, const struct mt_process *process,
		      const struct mt_rules *rules, const struct mt_fold_options *options);
int mt_emitter_resume(struct mt_emitter **emitter, const char *path, const struct mt_rules *rules,
		      const struct mt_fold_options *options);

struct mt_defs *mt_emitter_defs(struct mt_emitter *emitter);

/* The newest number of the ring that is in the trace, reported lost or left out on purpose. */
uint64_t mt_emitter_number(const struct mt_emitter *emitter);

/*
 * 1: from now on events change the live set alone. 0: they are written to the trace. Only for a trace without events.
 */
void mt_emitter_wait(struct mt_emitter *emitter, int waits);

/* While the emitter waits: ring event `number` is a birth from before the recording. As mt_emitter_event. */
int mt_emitter_told(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/* Marks ring event `number` as done without writing it. */
void mt_emitter_pass(struct mt_emitter *emitter, uint64_t number);

/* Returns the number of steps that have ended since the recording began. */
uint64_t mt_emitter_steps(const struct mt_emitter *emitter);

/* Makes the running step the last one. END gets `why`. */
void mt_emitter_end_with_step(struct mt_emitter *emitter, enum mt_end why);

/* 1: nothing more is written, because all wanted steps are recorded or the trace has its END. */
int mt_emitter_done(const struct mt_emitter *emitter);

/*
 * Writes ring event `number`, which must be above all before, and sets its seq. Returns 0 or the result of
 * mt_writer_event; after an error the writer has the event as well. The first event after the last wanted step is left
 * out (mt_emitter_done).
 */
int mt_emitter_event(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/*
 * Adds an allocation from before the recording, in the form of its birth. It becomes no event, but part of the live set
 * at the trace's beginning. Call before the first mt_emitter_event.
 */
int mt_emitter_before(struct mt_emitter *emitter, uint64_t number, struct mt_event *event);

/* Ring numbers up to `number` will not come any more; `lost` of them have to be reported, for `reason`. */
int mt_emitter_gap(struct mt_emitter *emitter, uint64_t number, uint64_t lost, enum mt_loss reason);

/*
 * Sets the number of records lost for `reason` since the beginning. A number below the known one changes nothing.
 * Writes the unreported part as soon as possible. mt_emitter_lost_count returns the known number.
 */
int mt_emitter_lost(struct mt_emitter *emitter, enum mt_loss reason, uint64_t count);
uint64_t mt_emitter_lost_count(const struct mt_emitter *emitter, enum mt_loss reason);

/* Sets a source's state. Writes an event if the trace has another state. */
int mt_emitter_source(struct mt_emitter *emitter, enum mt_source source, uint32_t state, const char *why);

/*
 * Adds a GPU_SAMPLE (`device` is an id) or HOST_SAMPLE. Its time may be a little before that of the newest event.
 * Samples use only a part of the numbers, so that other events find one. Without a free number, the newest sample of
 * each device waits for the next ring event and replaces an older one. 1: left out, because the trace takes no samples
 * now.
 */
int mt_emitter_sample(struct mt_emitter *emitter, const struct mt_event *sample);

/*
 * Adds a mark that a user set from outside, after the newest event, without a thread. `time`: CLOCK_MONOTONIC. 1: no
 * number is free before the next ring event, call again; else as mt_emitter_event.
 */
int mt_emitter_mark(struct mt_emitter *emitter, const char *name, uint64_t time);

/* Events in the trace. */
uint64_t mt_emitter_events(const struct mt_emitter *emitter);

/* Returns the bytes that the ledger holds on a device (id). */
uint64_t mt_emitter_held(const struct mt_emitter *emitter, uint32_t device);

/* Everything handed in is in the file after 0. */
int mt_emitter_flush(struct mt_emitter *emitter);

/* Returns the number of events that wait for the next flush. */
uint64_t mt_emitter_pending(const struct mt_emitter *emitter);

/* The process was alive at `time` (CLOCK_MONOTONIC, ns), so END gets no earlier time. */
void mt_emitter_alive(struct mt_emitter *emitter, uint64_t time);

/*
 * Writes the END event. After 0 all events are in the file. Definitions of names of native frames may follow when the
 * trace is closed.
 */
int mt_emitter_end(struct mt_emitter *emitter, enum mt_end why);

/* As mt_writer_facts. */
void mt_emitter_facts(struct mt_emitter *emitter, const struct mt_facts_maker *maker);

/* Ends the trace in order, if mt_emitter_end has not, and frees. `summary` may be NULL; filled in also on error. */
int mt_emitter_close(struct mt_emitter *emitter, enum mt_end why, struct mt_fold_summary *summary);

#endif
