#include "analysis.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "owner.h"
#include "stream.h"

int64_t analysis_time(const struct analysis_process *process, uint64_t event_time)
{
	return (int64_t)(event_time - (uint64_t)process->origin);
}

int64_t analysis_peak_time(const struct analysis_device *device, uint32_t peak)
{
	if (!peak)
		return device->peak.time;
	return device->phase_peak[peak - 1].ran ? device->phase_peak[peak - 1].time : INT64_MAX;
}

/* ---- clocks ---- */

static int same_boot(const struct analysis_process *one, const struct analysis_process *two)
{
	return one == two || (*one->info->boot_id && !strcmp(one->info->boot_id, two->info->boot_id));
}

/* The run begins with its first process; everybody else's clock is set against that one's. */
static void join_clocks(struct analysis *analysis)
{
	struct analysis_process *first = &analysis->process[0], *process;
	uint64_t origin;
	uint32_t i;

	for (i = 1; i < analysis->processes; i++)
		if (analysis->process[i].info->start_realtime < first->info->start_realtime)
			first = &analysis->process[i];
	origin = first->info->start_monotonic;
	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		if (same_boot(first, process) && process->info->start_monotonic < origin)
			origin = process->info->start_monotonic;
	}
	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		process->origin = (int64_t)origin;
		if (!same_boot(first, process))
			process->origin = (int64_t)(process->info->start_monotonic -
						    (process->info->start_realtime - first->info->start_realtime) -
						    (first->info->start_monotonic - origin));
	}
}

/* ---- merging ---- */

/* When the next event counts; the time of a process never goes back. */
static int64_t next_time(const struct stream *stream)
{
	int64_t time = analysis_time(&stream->analysis->process[stream->process], stream->event[stream->next].time);

	return stream->started && time < stream->time ? stream->time : time;
}

/* Takes events of `stream` while they are not later than `until`. 1: more to come, 0: the end, or an error. */
static int take_until(struct stream *stream, int64_t until)
{
	int ready = 1, error;

	while (ready > 0 && next_time(stream) <= until) {
		error = stream_take(stream);
		if (error)
			return error;
		ready = stream_ready(stream);
	}
	return ready;
}

/* Whether the next event of `one` has its turn before that of `two`; at the same time in the order of the traces. */
static int goes_first(const struct stream *one, const struct stream *two)
{
	int64_t first = next_time(one), second = next_time(two);

	return first != second ? first < second : one->process < two->process;
}

/* The streams that have events are a heap: each goes before the two at twice its index plus 1 and 2. */
static void sift(struct stream **open, uint32_t count, uint32_t at)
{
	struct stream *stream = open[at];
	uint32_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && goes_first(open[child + 1], open[child]))
			child++;
		if (!goes_first(open[child], stream))
			break;
		open[at] = open[child];
		at = child;
	}
	open[at] = stream;
}

/* How long the first stream may go on before one of the others has its turn. */
static int64_t turn_of_first(struct stream **open, uint32_t count)
{
	const struct stream *second;

	if (count < 2)
		return INT64_MAX;
	second = open[count > 2 && goes_first(open[2], open[1]) ? 2 : 1];
	return next_time(second) - (second->process < open[0]->process);
}

static int merge(struct stream **open, uint32_t count)
{
	uint32_t i;
	int ready;

	for (i = count / 2; i > 0; i--)
		sift(open, count, i - 1);
	while (count) {
		ready = take_until(open[0], turn_of_first(open, count));
		if (ready < 0)
			return ready;
		if (!ready)
			open[0] = open[--count];
		if (count)
			sift(open, count, 0);
	}
	return 0;
}

/* ---- the run ---- */

static void init_process(struct analysis_process *process, const struct analysis_input *input)
{
	process->file = input->file;
	process->info = mt_reader_process(input->reader);
	process->defs = mt_reader_defs(input->reader);
	process->state = mt_reader_state(input->reader);
	process->next_step = 1;
}

/* Where no sample was made at or after a peak, the last one before it has to do. */
static void use_earlier_samples(struct analysis *analysis, struct analysis_device *device)
{
	struct analysis_whole *whole;
	uint32_t user, peak;
	int64_t time;

	for (user = 0; user < device->users; user++) {
		for (peak = 0; peak < ANALYSIS_PEAKS; peak++) {
			whole = &device->whole[user * ANALYSIS_PEAKS + peak];
			time = analysis_peak_time(device, peak);
			if (!whole->known || whole->peak_time == time)
				continue;
			whole->peak_time = time;
			if (analysis->process[device->user[user]].last_time < time)
				whole->known = 0; /* it had ended by then */
		}
	}
}

static int run_streams(struct stream *stream, struct stream **open, uint32_t count)
{
	uint32_t i, ready = 0;
	int error = 0;

	for (i = 0; i < count && error >= 0; i++) {
		error = stream_ready(&stream[i]);
		if (error > 0)
			open[ready++] = &stream[i];
	}
	if (error >= 0)
		error = merge(open, ready);
	for (i = 0; i < count && !error; i++)
		error = stream_finish(&stream[i]);
	return error;
}

/* Threads read ahead until this ends. */
static int read_ahead(struct analysis *analysis, const struct analysis_input *input, FILE *progress)
{
	struct mt_reader **reader = calloc(analysis->processes, sizeof(struct mt_reader *));
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; reader && i < analysis->processes; i++) {
		reader[i] = input[i].reader;
		bytes += mt_reader_state(reader[i])->file_bytes;
	}
	progress_init(&analysis->progress, progress, analysis->processes > 1 ? "all traces" : input[0].file, bytes,
		      progress_now());
	analysis->ahead = reader ? mt_ahead_new(reader, analysis->processes) : NULL;
	free(reader);
	return analysis->ahead ? 0 : -MT_E_MEMORY;
}

static int run(struct analysis *analysis, const struct analysis_input *input, const struct mt_rules *rules,
	       const struct analysis_sink *sink)
{
	struct stream *stream = calloc(analysis->processes, sizeof(*stream));
	struct stream **open = calloc(analysis->processes, sizeof(*open));
	int error = stream && open ? read_ahead(analysis, input, sink->batch ? NULL : stderr) : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < analysis->processes && !error; i++) {
		stream[i].analysis = analysis;
		stream[i].sink = sink;
		stream[i].process = i;
		error = stream_init(&stream[i], rules);
	}
	if (!error)
		error = run_streams(stream, open, analysis->processes);
	progress_release(&analysis->progress);
	mt_ahead_free(analysis->ahead);
	analysis->ahead = NULL;
	for (i = 0; i < analysis->devices && !error; i++)
		use_earlier_samples(analysis, &analysis->device[i]);
	if (!error)
		categories_settle(analysis);
	for (i = 0; analysis->moment.kind == MOMENT_OOM && i < analysis->devices; i++)
		analysis->device[i].used &= analysis->device[i].at_moment;
	for (i = 0; stream && i < analysis->processes; i++)
		stream_release(&stream[i]);
	free(stream);
	free(open);
	return error;
}

int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink)
{
	static const struct moment peak = { .kind = MOMENT_PEAK };

	return analysis_run_at(analysis, input, inputs, rules, sink, &peak);
}

int analysis_run_at(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		    const struct mt_rules *rules, const struct analysis_sink *sink, const struct moment *moment)
{
	static const struct analysis_sink nobody;
	uint32_t i;
	int error;

	memset(analysis, 0, sizeof(*analysis));
	analysis->rules = rules;
	analysis->moment = *moment;
	error = attribution_init(&analysis->attribution);
	analysis->process = calloc(inputs ? inputs : 1, sizeof(*analysis->process));
	analysis->owner = calloc(1, sizeof(*analysis->owner));
	if (error || !analysis->process || !analysis->owner)
		return -MT_E_MEMORY;
	mt_copy_text(analysis->owner[analysis->owners++], OWNER_NAME_MAX, OWNER_PYTORCH);
	for (i = 0; i < inputs; i++)
		init_process(&analysis->process[i], &input[i]);
	analysis->processes = inputs;
	if (!inputs)
		return 0;
	join_clocks(analysis);
	return run(analysis, input, rules, sink ? sink : &nobody);
}

void analysis_release(struct analysis *analysis)
{
	uint32_t i;

	for (i = 0; i < analysis->devices; i++) {
		free(analysis->device[i].user);
		free(analysis->device[i].whole);
		free(analysis->device[i].step_peak);
	}
	attribution_release(&analysis->attribution);
	categories_release(&analysis->categories);
	free(analysis->process);
	free(analysis->device);
	free(analysis->oom);
	free(analysis->oom_holder);
	free(analysis->owner);
	memset(analysis, 0, sizeof(*analysis));
}

int analysis_damage(const struct analysis *analysis, const struct analysis_process **where)
{
	uint32_t i;
	int error;

	for (i = 0; i < analysis->processes; i++) {
		error = analysis->process[i].state->error;
		if (error && error != -MT_E_TRUNCATED) {
			*where = &analysis->process[i];
			return error;
		}
	}
	return 0;
}
