/*
 * follow.c - taking in events of traces that are still being written.
 *
 * The pass goes on where it stopped, chunk by chunk: one second of a recording costs the same whether it runs for a
 * minute or a day. Results that need the end (stream_finish, categories) are left out. The caller reads the complete
 * traces once more for these.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "memtrace/error.h"
#include "merge.h"

/* ns. An event of this age is in the file: a collector writes its events after half a second. */
#define WRITTEN_AFTER 700000000

static int64_t now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int is_this_boot(const char *boot_id)
{
	char text[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return *text && !strcmp(text, boot_id);
}

/* The time now, in ns since the run began, by the clock of the process's machine or the best estimate of this clock. */
static int64_t now_of_run(const struct stream *stream)
{
	const struct analysis_process *process = stream_process(stream);
	const struct mt_process *info = process->info;

	if (is_this_boot(info->boot_id))
		return analysis_time(process, (uint64_t)now_of(CLOCK_MONOTONIC));
	return analysis_time(process, info->start_monotonic + (uint64_t)now_of(CLOCK_REALTIME) - info->start_realtime);
}

/* The streams that have a next event. */
struct turn {
	struct stream *first; /* the stream with the earliest event, NULL: none has one */
	int64_t until;        /* `first` may go on to this time before another stream comes first */
	int asleep;           /* 1: other streams exist, with no event in the file */
};

static int find_turn(struct turn *turn, struct stream *stream, uint32_t count)
{
	int64_t time;
	uint32_t i;
	int ready;

	*turn = (struct turn){ .until = INT64_MAX };
	for (i = 0; i < count; i++) {
		ready = stream_ready(&stream[i]);
		if (ready < 0)
			return ready;
		turn->asleep |= !ready;
		if (!ready)
			continue;
		time = stream_next_time(&stream[i]);
		if (!turn->first || time < stream_next_time(turn->first)) {
			turn->until = turn->first ? stream_next_time(turn->first) : INT64_MAX;
			turn->first = &stream[i];
		} else if (time < turn->until) {
			turn->until = time;
		}
	}
	return 0;
}

/* Takes the events that are in the files, in order of time. `last`: no more events will come. */
static int take_all(struct stream *stream, uint32_t count, int last)
{
	struct turn turn;
	int64_t written;
	int error;

	while (!(error = find_turn(&turn, stream, count)) && turn.first) {
		if (turn.asleep && !last) {
			written = now_of_run(turn.first) - WRITTEN_AFTER;
			if (stream_next_time(turn.first) > written)
				break;
			turn.until = written < turn.until ? written : turn.until;
		}
		error = stream_take(turn.first, turn.until, UINT32_MAX);
		if (error < 0)
			return error;
	}
	return error;
}

static int tell_spans(const struct stream *stream, uint32_t count)
{
	const struct analysis_sink *sink = stream->sink;
	const struct stream_span *span;
	uint32_t i;
	int error = 0;

	for (i = 0; i < count && !error && sink->span_now; i++) {
		span = &stream[i].span;
		if (span->open)
			error = sink->span_now(sink->context, stream[i].process, span->phase, span->step, &span->first,
					       &span->last);
	}
	return error;
}

int merge_following(struct stream *stream, uint32_t count)
{
	const struct analysis_sink *sink = stream->sink;
	struct analysis *analysis = stream->analysis;
	int goes_on = 1, more = 1, error;

	analysis->followed = 1;
	while (goes_on || more) {
		error = take_all(stream, count, !goes_on);
		if (!error)
			error = tell_spans(stream, count);
		if (error)
			return error;
		if (goes_on)
			goes_on = sink->idle(sink->context);
		if (goes_on < 0)
			return goes_on;
		more = mt_ahead_more(analysis->ahead);
		if (more < 0)
			return more;
	}
	analysis->followed = 0;
	return take_all(stream, count, 1);
}
