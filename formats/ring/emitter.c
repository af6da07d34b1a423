/* emitter.c - numbers, labels, counts and writes events; see emitter.h. */
#include "emitter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/refusals.h"
#include "trace/defs.h"

#define OWN_NUMBERS (1u << MT_EMITTER_SHIFT)
#define END_NUMBER (OWN_NUMBERS - 1) /* kept free for END */
#define SAMPLE_NUMBERS 40u           /* samples use only numbers up to this one */
#define HOST_PLACE 0                 /* place of the host's sample in `waiting`, since no device has id 0 */

struct mt_emitter {
	char *path;
	struct mt_writer *writer; /* writer, whose live set is the one ledger of the process */
	struct mt_tracker *tracker;
	const struct mt_rules *rules;
	const struct mt_fold_options *options; /* while the trace is opened */
	int missed;                            /* 1: reading the live set after a gap; events before it are missing */
	uint32_t steps, skip;                  /* as in struct mt_fold_options */
	uint32_t step;                         /* the running step, from 1 */
	int recording;                         /* the steps to be skipped have passed */
	int waits;                             /* 1: memory from before the recording is listed; no event is written */
	enum mt_end done_why;                  /* reason for END after the last step */
	int done;
	uint64_t seq, time;                         /* the newest event's */
	uint64_t alive;                             /* time at which the process was last seen alive; 0: not checked */
	uint64_t missing[MT_LOSS_COUNT];            /* known losses */
	uint64_t lost[MT_LOSS_COUNT];               /* losses that the trace has */
	uint32_t source[MT_SOURCE_COUNT];           /* state + 1, 0: not in the trace */
	uint64_t source_why[MT_SOURCE_COUNT];       /* string id of the state's reason */
	struct mt_event waiting[MT_LEDGER_DEVICES]; /* waiting samples by device; kind 0: none */
	int samples_wait;
	struct mt_refusals refusals;
	struct mt_fold_summary summary;
};

static void emitter_free(struct mt_emitter *emitter)
{
	mt_tracker_free(emitter->tracker);
	free(emitter->path);
	free(emitter);
}

/* Everything but the writer and the tracker. */
static struct mt_emitter *emitter_new(const char *path, const struct mt_rules *rules,
				      const struct mt_fold_options *options)
{
	struct mt_emitter *emitter = calloc(1, sizeof(*emitter));

	if (!emitter)
		return NULL;
	emitter->path = strdup(path);
	if (!emitter->path) {
		emitter_free(emitter);
		return NULL;
	}
	emitter->rules = rules;
	emitter->options = options;
	emitter->steps = options->steps;
	emitter->skip = options->skip;
	emitter->recording = !emitter->skip;
	emitter->done_why = MT_END_STEPS;
	emitter->step = 1;
	return emitter;
}

/* Callback of mt_writer_watch: a trace begins, or its events will be read again. `context`: the emitter. */
static int begin(void *context, struct mt_writer *writer, const struct mt_process *process, const struct mt_defs *defs)
{
	struct mt_emitter *emitter = context;

	emitter->writer = writer;
	emitter->time = process->start_monotonic;
	emitter->tracker = mt_tracker_new(emitter->rules, defs);
	if (!emitter->tracker)
		return -MT_E_MEMORY;
	return mt_tracker_step_mark(emitter->tracker, emitter->options->step_mark);
}

int mt_emitter_create(struct mt_emitter **out, const char *path, const struct mt_process *process,
		      const struct mt_rules *rules, const struct mt_fold_options *options)
{
	struct mt_emitter *emitter = emitter_new(path, rules, options);
	int err;

	*out = NULL;
	if (!emitter)
		return -MT_E_MEMORY;
	err = mt_writer_open(&emitter->writer, path, process, &(struct mt_writer_options){ .keep = options->keep });
	if (!err)
		err = begin(emitter, emitter->writer, process, mt_writer_defs(emitter->writer));
	if (err) {
		mt_writer_close(emitter->writer, 0);
		emitter_free(emitter);
		return err;
	}
	*out = emitter;
	return 0;
}

struct mt_defs *mt_emitter_defs(struct mt_emitter *emitter)
{
	return mt_writer_defs(emitter->writer);
}

uint64_t mt_emitter_number(const struct mt_emitter *emitter)
{
	return emitter->seq >> MT_EMITTER_SHIFT;
}

uint64_t mt_emitter_steps(const struct mt_emitter *emitter)
{
	return emitter->recording ? emitter->step - 1 - emitter->skip : 0;
}

void mt_emitter_end_with_step(struct mt_emitter *emitter, enum mt_end why)
{
	emitter->steps = (uint32_t)mt_emitter_steps(emitter) + 1;
	emitter->done_why = why;
}

int mt_emitter_done(const struct mt_emitter *emitter)
{
	return emitter->done;
}

uint64_t mt_emitter_pending(const struct mt_emitter *emitter)
{
	return mt_writer_pending(emitter->writer);
}

int mt_emitter_flush(struct mt_emitter *emitter)
{
	int err = mt_writer_flush(emitter->writer);

	mt_writer_trim(emitter->writer);
	return err;
}

/* Events are written. */
static int is_recording(const struct mt_emitter *emitter)
{
	return emitter->recording && !emitter->waits;
}

/* ---- figures -------------------------------------------------------------------------------------------------- */

/* Only a birth on a device can make a new peak. */
static void note_peak(struct mt_emitter *emitter, const struct mt_event *event)
{
	uint64_t held;

	if (event->kind != MT_TENSOR_ALLOC && event->kind != MT_DRIVER_ALLOC && event->kind != MT_VMM_CREATE)
		return;
	held = mt_writer_held(emitter->writer, (uint32_t)event->device);
	if (held <= emitter->summary.peak_bytes)
		return;
	emitter->summary.peak_bytes = held;
	emitter->summary.peak_time = event->time;
	emitter->summary.peak_device = (uint32_t)event->device;
}

/* Updates the figures of the emitter after an event of the trace. */
static void note(struct mt_emitter *emitter, const struct mt_event *event)
{
	emitter->summary.events++;
	note_peak(emitter, event);
	mt_refusals_event(&emitter->refusals, event);
	switch (event->kind) {
	case MT_STEP:
		emitter->summary.steps = event->value > emitter->skip ? event->value - emitter->skip : 0;
		emitter->step = (uint32_t)event->value + 1;
		break;
	case MT_CUT:
		emitter->summary.events += event->value;
		break;
	case MT_LOST:
		emitter->summary.lost += event->value;
		if (event->flags >= MT_LOSS_COUNT)
			break;
		emitter->lost[event->flags] += event->value;
		if (emitter->missing[event->flags] < emitter->lost[event->flags])
			emitter->missing[event->flags] = emitter->lost[event->flags];
		break;
	case MT_SOURCE:
		if (event->flags < MT_SOURCE_COUNT)
			emitter->source[event->flags] = (uint32_t)event->value + 1;
		if (event->flags < MT_SOURCE_COUNT)
			emitter->source_why[event->flags] = event->name;
		break;
	}
}

/* ---- the emitter's own events ---------------------------------------------------------------------------------- */

static uint64_t string_id(struct mt_emitter *emitter, const char *text)
{
	return *text ? mt_defs_add_name(mt_writer_defs(emitter->writer), text, strlen(text)) : 0;
}

/* 1: a number is left for an event of the emitter. */
static int has_number(const struct mt_emitter *emitter)
{
	return (emitter->seq + 1) % OWN_NUMBERS < END_NUMBER && (emitter->seq + 1) % OWN_NUMBERS;
}

/* Writes an event to the trace. An event that the writer refuses is counted as lost, but stays in the live set. */
static int submit(struct mt_emitter *emitter, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	int err = mt_writer_event(emitter->writer, event, phase, step), dropped;

	if (err != -MT_E_LIMIT && err != -MT_E_MEMORY) {
		note(emitter, event);
		return err;
	}
	emitter->missing[MT_LOSS_DISK]++;
	dropped = mt_writer_drop(emitter->writer, event, phase, step);
	return dropped ? dropped : err;
}

static int write_own(struct mt_emitter *emitter, struct mt_event *event)
{
	event->seq = ++emitter->seq;
	event->time = emitter->time;
	return submit(emitter, event, MT_PHASE_OTHER, emitter->step);
}

int mt_emitter_lost(struct mt_emitter *emitter, enum mt_loss reason, uint64_t count)
{
	struct mt_event event = { .kind = MT_LOST, .flags = reason };

	if (count > emitter->missing[reason])
		emitter->missing[reason] = count;
	if (!is_recording(emitter) || emitter->done || !has_number(emitter))
		return 0;
	event.value = emitter->missing[reason] - emitter->lost[reason];
	return event.value ? write_own(emitter, &event) : 0;
}

uint64_t mt_emitter_lost_count(const struct mt_emitter *emitter, enum mt_loss reason)
{
	return emitter->missing[reason];
}

int mt_emitter_gap(struct mt_emitter *emitter, uint64_t number, uint64_t lost, enum mt_loss reason)
{
	if (emitter->done)
		return 0;
	if (number > mt_emitter_number(emitter))
		emitter->seq = number << MT_EMITTER_SHIFT;
	return mt_emitter_lost(emitter, reason, emitter->missing[reason] + lost);
}

int mt_emitter_source(struct mt_emitter *emitter, enum mt_source source, uint32_t state, const char *why)
{
	struct mt_event event = { .kind = MT_SOURCE, .flags = source, .value = state };

	if (!is_recording(emitter) || emitter->done || !has_number(emitter))
		return 0;
	event.name = string_id(emitter, why);
	if (emitter->source[source] == state + 1 && emitter->source_why[source] == event.name)
		return 0;
	return write_own(emitter, &event);
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

uint64_t mt_emitter_held(const struct mt_emitter *emitter, uint32_t device)
{
	return mt_writer_held(emitter->writer, device);
}

/* 1: a number below `limit` is left for a sample. */
static int has_sample_number(const struct mt_emitter *emitter, uint64_t limit)
{
	return has_number(emitter) && (emitter->seq + 1) % OWN_NUMBERS < limit;
}

static int write_sample(struct mt_emitter *emitter, const struct mt_event *sample)
{
	struct mt_event event = *sample;

	event.seq = ++emitter->seq;
	return submit(emitter, &event, MT_PHASE_OTHER, emitter->step);
}

/* Writes the waiting samples, as long as numbers below `limit` are free. */
static int write_waiting(struct mt_emitter *emitter, uint64_t limit)
{
	uint32_t i;
	int err = 0;

	if (!emitter->samples_wait)
		return 0;
	emitter->samples_wait = 0;
	for (i = 0; i < MT_LEDGER_DEVICES && !err; i++) {
		if (!emitter->waiting[i].kind)
			continue;
		if (has_sample_number(emitter, limit)) {
			err = write_sample(emitter, &emitter->waiting[i]);
			emitter->waiting[i].kind = 0;
		} else {
			emitter->samples_wait = 1;
		}
	}
	return err;
}

int mt_emitter_sample(struct mt_emitter *emitter, const struct mt_event *sample)
{
	uint64_t place = sample->kind == MT_GPU_SAMPLE ? sample->device : HOST_PLACE;

	if (!is_recording(emitter) || emitter->done || place >= MT_LEDGER_DEVICES)
		return 1;
	if (has_sample_number(emitter, SAMPLE_NUMBERS))
		return write_sample(emitter, sample);
	emitter->waiting[place] = *sample;
	emitter->samples_wait = 1;
	return 0;
}

int mt_emitter_mark(struct mt_emitter *emitter, const char *name, uint64_t time)
{
	struct mt_event event = { .kind = MT_MARK, .time = time > emitter->time ? time : emitter->time };

	if (!emitter->recording || emitter->done)
		return 0;
	if (!has_number(emitter))
		return 1;
	event.name = string_id(emitter, name);
	return write_sample(emitter, &event);
}

uint64_t mt_emitter_events(const struct mt_emitter *emitter)
{
	return emitter->summary.events;
}

static int is_last(const struct mt_emitter *emitter, uint32_t number)
{
	return emitter->steps && number >= emitter->skip && number - emitter->skip >= emitter->steps;
}

/* Step `number` has ended. Recording begins after the last step that is skipped and ends after the last asked for. */
static int step_ended(struct mt_emitter *emitter, uint32_t number)
{
	struct mt_event event = { .kind = MT_STEP, .value = number };
	int err = 0;

	emitter->step = number + 1;
	if (number < emitter->skip)
		return 0;
	emitter->recording = 1;
	if (!emitter->waits && has_number(emitter)) {
		event.name = string_id(emitter, mt_tracker_step_why(emitter->tracker));
		err = write_own(emitter, &event);
	}
	emitter->done = is_last(emitter, number);
	return err;
}

/* Live memory without a checkpoint is a loss. */
static int tell_untold(struct mt_emitter *emitter)
{
	uint64_t untold = mt_writer_untold(emitter->writer), missing = emitter->missing[MT_LOSS_ALIVE] + untold;

	return missing > emitter->lost[MT_LOSS_ALIVE] ? mt_emitter_lost(emitter, MT_LOSS_ALIVE, missing) : 0;
}

/* ---- events of the ring --------------------------------------------------------------------------------------- */

int mt_emitter_event(struct mt_emitter *emitter, uint64_t number, struct mt_event *event)
{
	struct mt_label label;
	int err = 0, written;

	event->seq = number << MT_EMITTER_SHIFT;
	mt_tracker_event(emitter->tracker, event, 1, &label);
	if (label.step_closed)
		err = step_ended(emitter, label.step - 1);
	if (emitter->done)
		return err;
	emitter->seq = event->seq;
	emitter->time = event->time;
	if (!is_recording(emitter))
		return mt_writer_skip(emitter->writer, event, label.phase, label.step);
	written = submit(emitter, event, label.phase, label.step);
	if (!err)
		err = tell_untold(emitter);
	if (!err)
		err = write_waiting(emitter, SAMPLE_NUMBERS);
	mt_writer_trim(emitter->writer);
	return written ? written : err;
}

int mt_emitter_before(struct mt_emitter *emitter, uint64_t number, struct mt_event *event)
{
	struct mt_label label;

	event->seq = emitter->seq = number << MT_EMITTER_SHIFT;
	mt_tracker_event(emitter->tracker, event, 0, &label);
	if (!label.rule_frame && (label.phase == MT_PHASE_INIT || label.phase == MT_PHASE_OTHER))
		label.phase = MT_PHASE_BEFORE;
	return mt_writer_skip(emitter->writer, event, label.phase, label.step);
}

void mt_emitter_wait(struct mt_emitter *emitter, int waits)
{
	if (emitter->waits && !waits)
		mt_writer_begin_peaks(emitter->writer);
	emitter->waits = waits;
}

int mt_emitter_told(struct mt_emitter *emitter, uint64_t number, struct mt_event *event)
{
	event->seq = emitter->seq = number << MT_EMITTER_SHIFT;
	return mt_writer_skip(emitter->writer, event, MT_PHASE_BEFORE, emitter->step);
}

void mt_emitter_pass(struct mt_emitter *emitter, uint64_t number)
{
	emitter->seq = number << MT_EMITTER_SHIFT;
}

/* ---- going on with a trace ------------------------------------------------------------------------------------ */

/* After missing events, passes the steps that ended meanwhile to the tracker. The live set shows them. */
static void catch_up(struct mt_emitter *emitter)
{
	struct mt_event step = { .kind = MT_STEP, .value = emitter->step - 1 };
	struct mt_label label;

	if (emitter->missed)
		mt_tracker_event(emitter->tracker, &step, 0, &label);
	emitter->missed = 0;
}

/* Ids of the event are valid, because the writer takes over definitions in the file's order. */
static void replay(void *context, const struct mt_event *event)
{
	struct mt_emitter *emitter = context;
	struct mt_label label;

	catch_up(emitter);
	mt_tracker_event(emitter->tracker, event, 0, &label);
	emitter->time = event->time;
	emitter->recording = 1;
	note(emitter, event);
	if (event->kind == MT_END || (event->kind == MT_STEP && is_last(emitter, (uint32_t)event->value)))
		emitter->done = 1;
}

static void replay_anew(void *context, const struct mt_event *events, size_t count)
{
	struct mt_emitter *emitter = context;
	size_t i;

	for (i = 0; i < count; i++)
		if (events[i].step > emitter->step)
			emitter->step = (uint32_t)events[i].step;
	emitter->missed = 1;
}

int mt_emitter_resume(struct mt_emitter **out, const char *path, const struct mt_rules *rules,
		      const struct mt_fold_options *options)
{
	struct mt_emitter *emitter = emitter_new(path, rules, options);
	const struct mt_writer_watch watch = {
		.context = emitter, .begin = begin, .event = replay, .anew = replay_anew
	};
	int err;

	*out = NULL;
	if (!emitter)
		return -MT_E_MEMORY;
	err = mt_writer_reopen(&emitter->writer, path,
			       &(struct mt_writer_options){ .keep = options->keep, .watch = &watch }, &emitter->seq);
	if (err) {
		emitter_free(emitter);
		return err;
	}
	catch_up(emitter);
	*out = emitter;
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

/* Writes END, after the rest: the writer retries failed writes at the end, and losses are then final. */
static void write_end(struct mt_emitter *emitter, enum mt_end why)
{
	struct mt_event event = { .kind = MT_END };

	if (emitter->seq % OWN_NUMBERS == END_NUMBER)
		return; /* the trace has its END */
	if (!emitter->done && mt_tracker_finish(emitter->tracker))
		step_ended(emitter, emitter->step);
	if (!emitter->done)
		tell_untold(emitter);
	if (!emitter->done)
		write_waiting(emitter, END_NUMBER);
	if (!emitter->done && emitter->alive > emitter->time)
		emitter->time = emitter->alive;
	event.value = emitter->done ? emitter->done_why : why;
	emitter->seq = (emitter->seq | END_NUMBER) - 1;
	write_own(emitter, &event);
}

int mt_emitter_end(struct mt_emitter *emitter, enum mt_end why)
{
	write_end(emitter, why);
	return mt_writer_flush(emitter->writer);
}

void mt_emitter_facts(struct mt_emitter *emitter, const struct mt_facts_maker *maker)
{
	mt_writer_facts(emitter->writer, maker);
}

void mt_emitter_alive(struct mt_emitter *emitter, uint64_t time)
{
	emitter->alive = time;
}

int mt_emitter_close(struct mt_emitter *emitter, enum mt_end why, struct mt_fold_summary *summary)
{
	struct stat st;
	int err;

	write_end(emitter, why);
	mt_emitter_flush(emitter); /* a flight recorder makes room for the names */
	emitter->summary.keep_error = mt_writer_trim_error(emitter->writer);
	emitter->summary.cut = mt_writer_cut(emitter->writer);
	err = mt_writer_close(emitter->writer, 1);
	mt_refusals_end(&emitter->refusals);
	emitter->summary.ooms = emitter->refusals.failed;
	emitter->summary.survived = emitter->refusals.survived;
	emitter->summary.bytes = stat(emitter->path, &st) ? 0 : (uint64_t)st.st_size;
	if (summary)
		*summary = emitter->summary;
	emitter_free(emitter);
	return err;
}
