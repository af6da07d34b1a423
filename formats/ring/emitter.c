/* scribe.c - numbers, labels, counts and writes events; see scribe.h. */
#include "scribe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "trace/defs.h"

#define OWN_NUMBERS (1u << MT_SCRIBE_SHIFT)
#define END_NUMBER (OWN_NUMBERS - 1) /* kept free for END */
#define SAMPLE_NUMBERS 40u           /* of these, samples take so many */
#define HOST_PLACE 0                 /* of the host's sample among those of devices: 0 is no device's id */
#define CUDA_ERROR_OUT_OF_MEMORY 2u

struct mt_scribe {
	char *path;
	struct mt_writer *writer; /* whose live set is the one ledger of the process */
	struct mt_tracker *tracker;
	const struct mt_rules *rules;
	const struct mt_fold_options *options; /* while the trace is opened */
	int missed;                            /* what is read again: events were missing before this one */
	uint32_t steps, skip;                  /* as in struct mt_fold_options */
	uint32_t step;                         /* that is running, from 1 */
	int recording;                         /* the steps to be skipped have passed */
	int done;
	uint64_t seq, time;                         /* the newest ones */
	uint64_t missing[MT_LOSS_COUNT];            /* records that are lost; */
	uint64_t lost[MT_LOSS_COUNT];               /* of these the trace tells */
	uint32_t source[MT_SOURCE_COUNT];           /* state + 1, 0: not in the trace */
	uint64_t source_why[MT_SOURCE_COUNT];       /* string id to it */
	struct mt_event waiting[MT_LEDGER_DEVICES]; /* samples by device, kind 0: none waits */
	int samples_wait;
	struct mt_fold_summary summary;
};

static void scribe_free(struct mt_scribe *scribe)
{
	mt_tracker_free(scribe->tracker);
	free(scribe->path);
	free(scribe);
}

/* Everything but the writer and the tracker. */
static struct mt_scribe *scribe_new(const char *path, const struct mt_rules *rules,
				    const struct mt_fold_options *options)
{
	struct mt_scribe *scribe = calloc(1, sizeof(*scribe));

	if (!scribe)
		return NULL;
	scribe->path = strdup(path);
	if (!scribe->path) {
		scribe_free(scribe);
		return NULL;
	}
	scribe->rules = rules;
	scribe->options = options;
	scribe->steps = options->steps;
	scribe->skip = options->skip;
	scribe->recording = !scribe->skip;
	scribe->step = 1;
	return scribe;
}

/* `context`: the scribe. The trace begins, or what is in it is going to be read again: see mt_writer_watch. */
static int begin(void *context, struct mt_writer *writer, const struct mt_process *process, const struct mt_defs *defs)
{
	struct mt_scribe *scribe = context;

	scribe->writer = writer;
	scribe->time = process->start_monotonic;
	scribe->tracker = mt_tracker_new(scribe->rules, defs);
	if (!scribe->tracker)
		return -MT_E_MEMORY;
	return mt_tracker_step_mark(scribe->tracker, scribe->options->step_mark);
}

int mt_scribe_create(struct mt_scribe **out, const char *path, const struct mt_process *process,
		     const struct mt_rules *rules, const struct mt_fold_options *options)
{
	struct mt_scribe *scribe = scribe_new(path, rules, options);
	int err;

	*out = NULL;
	if (!scribe)
		return -MT_E_MEMORY;
	err = mt_writer_open(&scribe->writer, path, process, &(struct mt_writer_options){ .keep = options->keep });
	if (!err)
		err = begin(scribe, scribe->writer, process, mt_writer_defs(scribe->writer));
	if (err) {
		mt_writer_close(scribe->writer, 0);
		scribe_free(scribe);
		return err;
	}
	*out = scribe;
	return 0;
}

struct mt_defs *mt_scribe_defs(struct mt_scribe *scribe)
{
	return mt_writer_defs(scribe->writer);
}

uint64_t mt_scribe_number(const struct mt_scribe *scribe)
{
	return scribe->seq >> MT_SCRIBE_SHIFT;
}

int mt_scribe_done(const struct mt_scribe *scribe)
{
	return scribe->done;
}

uint64_t mt_scribe_pending(const struct mt_scribe *scribe)
{
	return mt_writer_pending(scribe->writer);
}

int mt_scribe_flush(struct mt_scribe *scribe)
{
	int err = mt_writer_flush(scribe->writer);

	mt_writer_trim(scribe->writer);
	return err;
}

/* ---- figures -------------------------------------------------------------------------------------------------- */

/* A device's peak is reached when something is born on it. */
static void note_peak(struct mt_scribe *scribe, const struct mt_event *event)
{
	uint64_t held;

	if (event->kind != MT_TENSOR_ALLOC && event->kind != MT_DRIVER_ALLOC && event->kind != MT_VMM_CREATE)
		return;
	held = mt_writer_held(scribe->writer, (uint32_t)event->device);
	if (held <= scribe->summary.peak_bytes)
		return;
	scribe->summary.peak_bytes = held;
	scribe->summary.peak_time = event->time;
	scribe->summary.peak_device = (uint32_t)event->device;
}

/* Everything that is to be remembered of an event that is in the trace. */
static void note(struct mt_scribe *scribe, const struct mt_event *event)
{
	scribe->summary.events++;
	note_peak(scribe, event);
	switch (event->kind) {
	case MT_TENSOR_OOM:
		scribe->summary.ooms++;
		break;
	case MT_DRIVER_FAIL:
		scribe->summary.ooms += event->result == CUDA_ERROR_OUT_OF_MEMORY;
		break;
	case MT_STEP:
		scribe->summary.steps = event->value > scribe->skip ? event->value - scribe->skip : 0;
		scribe->step = (uint32_t)event->value + 1;
		break;
	case MT_CUT:
		scribe->summary.events += event->value;
		break;
	case MT_LOST:
		scribe->summary.lost += event->value;
		if (event->flags >= MT_LOSS_COUNT)
			break;
		scribe->lost[event->flags] += event->value;
		if (scribe->missing[event->flags] < scribe->lost[event->flags])
			scribe->missing[event->flags] = scribe->lost[event->flags];
		break;
	case MT_SOURCE:
		if (event->flags < MT_SOURCE_COUNT)
			scribe->source[event->flags] = (uint32_t)event->value + 1;
		if (event->flags < MT_SOURCE_COUNT)
			scribe->source_why[event->flags] = event->name;
		break;
	}
}

/* ---- the scribe's own events ---------------------------------------------------------------------------------- */

static uint64_t string_id(struct mt_scribe *scribe, const char *text)
{
	return *text ? mt_defs_add_name(mt_writer_defs(scribe->writer), text, strlen(text)) : 0;
}

/* Is a number left for an event of the scribe's own? */
static int has_number(const struct mt_scribe *scribe)
{
	return (scribe->seq + 1) % OWN_NUMBERS < END_NUMBER && (scribe->seq + 1) % OWN_NUMBERS;
}

/* Into the trace. What the writer does not take is lost, and counted; the live set goes on with it all the same. */
static int submit(struct mt_scribe *scribe, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	int err = mt_writer_event(scribe->writer, event, phase, step), dropped;

	if (err != -MT_E_LIMIT && err != -MT_E_MEMORY) {
		note(scribe, event);
		return err;
	}
	scribe->missing[MT_LOSS_DISK]++;
	dropped = mt_writer_drop(scribe->writer, event, phase, step);
	return dropped ? dropped : err;
}

static int write_own(struct mt_scribe *scribe, struct mt_event *event)
{
	event->seq = ++scribe->seq;
	event->time = scribe->time;
	return submit(scribe, event, MT_PHASE_OTHER, scribe->step);
}

int mt_scribe_lost(struct mt_scribe *scribe, enum mt_loss reason, uint64_t count)
{
	struct mt_event event = { .kind = MT_LOST, .flags = reason };

	if (count > scribe->missing[reason])
		scribe->missing[reason] = count;
	if (!scribe->recording || scribe->done || !has_number(scribe))
		return 0;
	event.value = scribe->missing[reason] - scribe->lost[reason];
	return event.value ? write_own(scribe, &event) : 0;
}

uint64_t mt_scribe_lost_count(const struct mt_scribe *scribe, enum mt_loss reason)
{
	return scribe->missing[reason];
}

int mt_scribe_gap(struct mt_scribe *scribe, uint64_t number, uint64_t lost, enum mt_loss reason)
{
	if (scribe->done)
		return 0;
	if (number > mt_scribe_number(scribe))
		scribe->seq = number << MT_SCRIBE_SHIFT;
	return mt_scribe_lost(scribe, reason, scribe->missing[reason] + lost);
}

int mt_scribe_source(struct mt_scribe *scribe, enum mt_source source, uint32_t state, const char *why)
{
	struct mt_event event = { .kind = MT_SOURCE, .flags = source, .value = state };

	if (!scribe->recording || scribe->done || !has_number(scribe))
		return 0;
	event.name = string_id(scribe, why);
	if (scribe->source[source] == state + 1 && scribe->source_why[source] == event.name)
		return 0;
	return write_own(scribe, &event);
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

uint64_t mt_scribe_held(const struct mt_scribe *scribe, uint32_t device)
{
	return mt_writer_held(scribe->writer, device);
}

/* Is a number below `limit` left for a sample? */
static int has_sample_number(const struct mt_scribe *scribe, uint64_t limit)
{
	return has_number(scribe) && (scribe->seq + 1) % OWN_NUMBERS < limit;
}

static int write_sample(struct mt_scribe *scribe, const struct mt_event *sample)
{
	struct mt_event event = *sample;

	event.seq = ++scribe->seq;
	return submit(scribe, &event, MT_PHASE_OTHER, scribe->step);
}

/* Those that wait, as far as numbers below `limit` go. */
static int write_waiting(struct mt_scribe *scribe, uint64_t limit)
{
	uint32_t i;
	int err = 0;

	if (!scribe->samples_wait)
		return 0;
	scribe->samples_wait = 0;
	for (i = 0; i < MT_LEDGER_DEVICES && !err; i++) {
		if (!scribe->waiting[i].kind)
			continue;
		if (has_sample_number(scribe, limit)) {
			err = write_sample(scribe, &scribe->waiting[i]);
			scribe->waiting[i].kind = 0;
		} else {
			scribe->samples_wait = 1;
		}
	}
	return err;
}

int mt_scribe_sample(struct mt_scribe *scribe, const struct mt_event *sample)
{
	uint64_t place = sample->kind == MT_GPU_SAMPLE ? sample->device : HOST_PLACE;

	if (!scribe->recording || scribe->done || place >= MT_LEDGER_DEVICES)
		return 1;
	if (has_sample_number(scribe, SAMPLE_NUMBERS))
		return write_sample(scribe, sample);
	scribe->waiting[place] = *sample;
	scribe->samples_wait = 1;
	return 0;
}

static int is_last(const struct mt_scribe *scribe, uint32_t number)
{
	return scribe->steps && number >= scribe->skip && number - scribe->skip >= scribe->steps;
}

/* Step `number` has ended. Recording begins after the last step that is skipped and ends after the last asked for. */
static int step_ended(struct mt_scribe *scribe, uint32_t number)
{
	struct mt_event event = { .kind = MT_STEP, .value = number };
	int err = 0;

	scribe->step = number + 1;
	if (number < scribe->skip)
		return 0;
	scribe->recording = 1;
	if (has_number(scribe)) {
		event.name = string_id(scribe, mt_tracker_step_why(scribe->tracker));
		err = write_own(scribe, &event);
	}
	scribe->done = is_last(scribe, number);
	return err;
}

/* ---- events of the ring --------------------------------------------------------------------------------------- */

int mt_scribe_event(struct mt_scribe *scribe, uint64_t number, struct mt_event *event)
{
	struct mt_label label;
	int err = 0, written;

	event->seq = number << MT_SCRIBE_SHIFT;
	mt_tracker_event(scribe->tracker, event, 1, &label);
	if (label.step_closed)
		err = step_ended(scribe, label.step - 1);
	if (scribe->done)
		return err;
	scribe->seq = event->seq;
	scribe->time = event->time;
	if (!scribe->recording)
		return mt_writer_skip(scribe->writer, event, label.phase, label.step);
	written = submit(scribe, event, label.phase, label.step);
	if (!err)
		err = write_waiting(scribe, SAMPLE_NUMBERS);
	mt_writer_trim(scribe->writer);
	return written ? written : err;
}

int mt_scribe_before(struct mt_scribe *scribe, uint64_t number, struct mt_event *event)
{
	struct mt_label label;

	event->seq = scribe->seq = number << MT_SCRIBE_SHIFT;
	mt_tracker_event(scribe->tracker, event, 0, &label);
	return mt_writer_skip(scribe->writer, event, label.phase, label.step);
}

/* ---- going on with a trace ------------------------------------------------------------------------------------ */

/* What is alive after missing events tells of steps that have ended meanwhile. */
static void catch_up(struct mt_scribe *scribe)
{
	struct mt_event step = { .kind = MT_STEP, .value = scribe->step - 1 };
	struct mt_label label;

	if (scribe->missed)
		mt_tracker_event(scribe->tracker, &step, 0, &label);
	scribe->missed = 0;
}

/* The ids in the file are those of the writer's definitions: it takes them over in the same order. */
static void replay(void *context, const struct mt_event *event)
{
	struct mt_scribe *scribe = context;
	struct mt_label label;

	catch_up(scribe);
	mt_tracker_event(scribe->tracker, event, 0, &label);
	scribe->time = event->time;
	scribe->recording = 1;
	note(scribe, event);
	if (event->kind == MT_END || (event->kind == MT_STEP && is_last(scribe, (uint32_t)event->value)))
		scribe->done = 1;
}

static void replay_anew(void *context, const struct mt_event *events, size_t count)
{
	struct mt_scribe *scribe = context;
	size_t i;

	for (i = 0; i < count; i++)
		if (events[i].step > scribe->step)
			scribe->step = (uint32_t)events[i].step;
	scribe->missed = 1;
}

int mt_scribe_resume(struct mt_scribe **out, const char *path, const struct mt_rules *rules,
		     const struct mt_fold_options *options)
{
	struct mt_scribe *scribe = scribe_new(path, rules, options);
	const struct mt_writer_watch watch = { .context = scribe, .begin = begin, .event = replay, .anew = replay_anew };
	int err;

	*out = NULL;
	if (!scribe)
		return -MT_E_MEMORY;
	err = mt_writer_reopen(&scribe->writer, path,
			       &(struct mt_writer_options){ .keep = options->keep, .watch = &watch }, &scribe->seq);
	if (err) {
		scribe_free(scribe);
		return err;
	}
	catch_up(scribe);
	*out = scribe;
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

/* What the writer cannot write now it tries again when it is closed, and tells then. */
static void write_end(struct mt_scribe *scribe, enum mt_end why)
{
	struct mt_event event = { .kind = MT_END };

	if (scribe->seq % OWN_NUMBERS == END_NUMBER)
		return; /* it has one */
	if (!scribe->done && mt_tracker_finish(scribe->tracker))
		step_ended(scribe, scribe->step);
	if (!scribe->done)
		write_waiting(scribe, END_NUMBER);
	event.value = scribe->done ? MT_END_STEPS : why;
	scribe->seq = (scribe->seq | END_NUMBER) - 1;
	write_own(scribe, &event);
}

int mt_scribe_close(struct mt_scribe *scribe, enum mt_end why, struct mt_fold_summary *summary)
{
	struct stat st;
	int err;

	write_end(scribe, why);
	scribe->summary.keep_error = mt_writer_trim_error(scribe->writer);
	scribe->summary.cut = mt_writer_cut(scribe->writer);
	err = mt_writer_close(scribe->writer, 1);
	scribe->summary.bytes = stat(scribe->path, &st) ? 0 : (uint64_t)st.st_size;
	if (summary)
		*summary = scribe->summary;
	scribe_free(scribe);
	return err;
}
