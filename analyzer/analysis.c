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

/* The open stream whose next event comes first; *until: how long it may go on before the others have their turn. */
static struct stream *earliest(struct stream **open, uint32_t count, int64_t *until)
{
	struct stream *first = open[0], *second = NULL, *other;
	uint32_t i;

	for (i = 1; i < count; i++) {
		other = open[i];
		if (goes_first(other, first)) {
			other = first;
			first = open[i];
		}
		if (!second || goes_first(other, second))
			second = other;
	}
	*until = INT64_MAX;
	if (second)
		*until = next_time(second) - (second->process < first->process);
	return first;
}

static uint32_t drop(struct stream **open, uint32_t count, const struct stream *stream)
{
	uint32_t i, kept = 0;

	for (i = 0; i < count; i++)
		if (open[i] != stream)
			open[kept++] = open[i];
	return kept;
}

static int merge(struct stream **open, uint32_t count)
{
	struct stream *stream;
	int64_t until;
	int ready;

	while (count) {
		stream = earliest(open, count, &until);
		ready = take_until(stream, until);
		if (ready < 0)
			return ready;
		if (!ready)
			count = drop(open, count, stream);
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

static int run(struct analysis *analysis, const struct analysis_input *input, const struct mt_rules *rules,
	       const struct analysis_sink *sink)
{
	struct stream *stream = calloc(analysis->processes, sizeof(*stream));
	struct stream **open = calloc(analysis->processes, sizeof(*open));
	int error = stream && open ? 0 : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < analysis->processes && !error; i++) {
		stream[i].analysis = analysis;
		stream[i].sink = sink;
		stream[i].process = i;
		stream[i].reader = input[i].reader;
		error = stream_init(&stream[i], rules);
	}
	if (!error)
		error = run_streams(stream, open, analysis->processes);
	for (i = 0; stream && i < analysis->processes; i++)
		stream_release(&stream[i]);
	free(stream);
	free(open);
	return error;
}

int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink)
{
	static const struct analysis_sink nobody;
	uint32_t i;
	int error;

	memset(analysis, 0, sizeof(*analysis));
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

	for (i = 0; i < analysis->devices; i++)
		free(analysis->device[i].user);
	attribution_release(&analysis->attribution);
	free(analysis->process);
	free(analysis->device);
	free(analysis->oom);
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
