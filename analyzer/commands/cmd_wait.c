/*
 * memana wait - follows a recording until a given event, for scripts. Exit status: 0: the event came; 1: the recording ended without the event, or
 * the time was over (`end` of the JSON says which). A trace that does not exist yet is awaited, too.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "memtrace/error.h"
#include "report/command.h"
#include "report/command_option.h"
#include "source/live.h"

#define LOOK_MS 50
#define CUDA_ERROR_OUT_OF_MEMORY 2

enum { OPTION_UNTIL = COMMAND_OWN, OPTION_TIMEOUT };

static const struct command_option own_options[] = {
	{ OPTION_UNTIL, "until", "WHAT", "oom: an allocation fails for want of memory; step:N: step N ends",
	  "oom step:N" },
	{ OPTION_TIMEOUT, "timeout", "S", "wait S seconds at most (default: as long as it takes)" },
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

static const char notes[] =
	"Of several traces, until one of them has it. Exit status: 0 it came, 1 the recording ended without it, or the "
	"time was over.";

/* The event that is awaited. */
struct wish {
	int given, is_oom;
	long step;
	const char *words; /* as typed */
	long timeout;      /* s, 0: none */
	int json;
};

/* A trace that is followed. */
struct waited {
	const char *path;
	struct mt_reader *reader; /* NULL: the file does not exist yet */
	int has_tensors; /* 1: GPU tensors were seen: the framework's allocator reports refusals after a second try */
	int ended;
	uint64_t events;
	int64_t time; /* time of the newest event, ns since the process was first seen */
};

enum wait_end { WAIT_GOES_ON, WAIT_CAME, WAIT_ENDED, WAIT_OVER };

static const char *const end_words[] = { "", "came", "ended", "timeout" };

/* ---- events ---- */

/*
 * Whether the event is an out-of-memory error. A refusal of the driver is none if PyTorch runs: PyTorch empties its cache and asks again. If this
 * fails, too, PyTorch reports the request (TENSOR_OOM).
 */
static int is_oom(const struct waited *it, const struct mt_event *event)
{
	return event->kind == MT_TENSOR_OOM ||
	       (event->kind == MT_DRIVER_FAIL && event->result == CUDA_ERROR_OUT_OF_MEMORY && !it->has_tensors);
}

static int is_on_gpu(const struct waited *it, const struct mt_event *event)
{
	const struct mt_device *device;

	if (event->kind != MT_TENSOR_ALLOC || event->device > UINT32_MAX)
		return 0;
	device = mt_defs_device(mt_reader_defs(it->reader), (uint32_t)event->device);
	return device && device->kind == MT_DEVICE_CUDA;
}

static int has_come(struct waited *it, const struct wish *wish, const struct mt_event *event)
{
	uint64_t start = mt_reader_process(it->reader)->start_monotonic;

	it->events++;
	it->has_tensors |= is_on_gpu(it, event);
	if (event->time > start)
		it->time = (int64_t)(event->time - start);
	if (wish->is_oom)
		return is_oom(it, event);
	return event->kind == MT_STEP && event->value >= (uint64_t)wish->step;
}

/* Takes all events that the trace has now. Returns 1 with the event in *found; 0: it has not come yet; or an error. */
static int take_events(struct waited *it, const struct wish *wish, struct mt_event *found)
{
	const struct mt_event *events;
	size_t count, i;
	int error, checkpoint;

	while (!(error = mt_reader_next(it->reader, &events, &count, &checkpoint)) && count) {
		for (i = 0; i < count && checkpoint == MT_BATCH_EVENTS; i++)
			if (has_come(it, wish, &events[i])) {
				*found = events[i];
				return 1;
			}
	}
	return error;
}

/* ---- traces ---- */

static void close_trace(struct waited *it)
{
	mt_reader_free(it->reader);
	*it = (struct waited){ .path = it->path };
}

/* Opens the trace. A file without a beginning may get one. Returns 0, or an error that will not go away. */
static int open_trace(struct waited *it)
{
	struct stat status;
	int error;

	if (stat(it->path, &status))
		return errno == ENOENT ? 0 : -MT_E_SYSTEM;
	if (!S_ISREG(status.st_mode))
		return -MT_E_MAGIC;
	error = mt_reader_open(&it->reader, it->path);
	if ((error == -MT_E_TRUNCATED || !status.st_size) && time(NULL) - status.st_mtime <= LIVE_QUIET)
		return 0;
	return error;
}

/* Reads the new part of the trace. Returns 1: the event came; 0: it has not come yet, or the trace has ended; or an error. */
static int look(struct waited *it, const struct wish *wish, struct mt_event *found)
{
	int written, more, error;

	if (!it->reader && (error = open_trace(it)))
		return error;
	if (!it->reader || it->ended)
		return 0;
	written = live_is_written(it->path, mt_reader_process(it->reader), 1); /* ask this before the events are read */
	more = mt_reader_more(it->reader);
	if (more == -MT_E_BUSY) {
		close_trace(it);
		return 0;
	}
	error = more < 0 ? more : take_events(it, wish, found);
	it->ended = !error && !written;
	return error;
}

/* ---- the answer ---- */

/* The outcome of the wait. */
struct outcome {
	enum wait_end end;
	const struct waited *it; /* trace of the event */
	struct mt_event found;   /* the event that came */
};

static void say_outcome(struct sentence *sentence, const struct wish *wish, const struct outcome *outcome)
{
	char time[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	text_time(time, outcome->it->time);
	if (outcome->end == WAIT_OVER)
		sentence_say(sentence, "%s did not come within %ld s", wish->words, wish->timeout);
	else if (outcome->end == WAIT_ENDED)
		sentence_say(sentence, "the recording ended without %s", wish->words);
	else if (wish->is_oom)
		sentence_say(sentence, "out of memory at %s, when %s were asked for", time,
			     text_bytes(size, outcome->found.size));
	else
		sentence_say(sentence, "step %llu ended at %s", (unsigned long long)outcome->found.value, time);
}

static int print_json(const struct wish *wish, const struct outcome *outcome, const char *verdict)
{
	int came = outcome->end == WAIT_CAME, error;
	struct doc *doc = doc_new();

	if (!doc)
		return -MT_E_MEMORY;
	doc_answer(doc, "wait");
	doc_string(doc, "verdict", verdict);
	doc_string(doc, "until", wish->words);
	doc_string(doc, "end", end_words[outcome->end]);
	doc_string(doc, "trace", outcome->it->path);
	doc_int(doc, "events", (int64_t)outcome->it->events);
	doc_int(doc, "time_ns", outcome->it->time);
	if (came && wish->is_oom)
		doc_int(doc, "requested_bytes", (int64_t)outcome->found.size);
	else if (came)
		doc_int(doc, "step", (int64_t)outcome->found.value);
	doc_end(doc);
	doc_shape(doc, NULL, 0);
	error = doc_print(doc, stdout);
	doc_free(doc);
	return error;
}

static int print(const struct wish *wish, const struct outcome *outcome)
{
	static const int status[] = { 0, 0, EXIT_NO, EXIT_NO };
	struct sentence verdict = { 0 };
	char path[1024];
	int error = 0;

	say_outcome(&verdict, wish, outcome);
	if (wish->json)
		error = print_json(wish, outcome, verdict.text);
	else
		text_say("%s: %s\n", text_fit(path, sizeof(path), outcome->it->path, 200, 1), verdict.text);
	return error ? command_fail(mt_exit_code(error), "wait: %s", mt_strerror(error)) : status[outcome->end];
}

/* ---- waiting ---- */

/* Looks at all traces once. Returns 0 or the exit status. */
static int look_at_all(struct waited *all, uint32_t count, const struct wish *wish, struct outcome *outcome)
{
	uint32_t i, ended = 0;
	int got;

	for (i = 0; i < count && outcome->end == WAIT_GOES_ON; i++) {
		got = look(&all[i], wish, &outcome->found);
		if (got < 0)
			return command_fail(mt_exit_code(got), "%s: %s", all[i].path,
					    got == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(got));
		outcome->it = &all[i];
		if (got)
			outcome->end = WAIT_CAME;
		ended += all[i].ended != 0;
	}
	if (outcome->end == WAIT_GOES_ON && ended == count)
		outcome->end = WAIT_ENDED;
	return 0;
}

static int wait_for_wish(struct waited *all, uint32_t count, const struct wish *wish)
{
	struct outcome outcome = { WAIT_GOES_ON, all, { 0 } };
	int64_t until = progress_now() + (int64_t)wish->timeout * 1000000000;
	int status = 0;

	while (!status && outcome.end == WAIT_GOES_ON) {
		status = look_at_all(all, count, wish, &outcome);
		if (status || outcome.end != WAIT_GOES_ON)
			break;
		if (wish->timeout && progress_now() >= until)
			outcome.end = WAIT_OVER;
		else
			poll(NULL, 0, LOOK_MS);
	}
	return status ? status : print(wish, &outcome);
}

static int run(char *const *paths, uint32_t count, const struct wish *wish)
{
	struct waited *all = calloc(count, sizeof(*all));
	uint32_t i;
	int status;

	if (!all)
		return command_fail(mt_exit_code(-MT_E_MEMORY), "wait: %s", mt_strerror(-MT_E_MEMORY));
	for (i = 0; i < count; i++)
		all[i].path = paths[i];
	status = wait_for_wish(all, count, wish);
	for (i = 0; i < count; i++)
		mt_reader_free(all[i].reader);
	free(all);
	return status;
}

/* ---- arguments ---- */

static int take_until(struct wish *wish, const char *words)
{
	wish->given = 1;
	wish->words = words;
	wish->is_oom = !strcmp(words, "oom");
	if (wish->is_oom || (!strncmp(words, "step:", 5) && !command_number(words + 5, 1, INT32_MAX, &wish->step)))
		return 0;
	return command_fail(EXIT_USAGE, "wait: --until %s: neither oom nor step:N (N from 1)", words);
}

static int take_option(struct wish *wish, int argc, char **argv, int option)
{
	switch (option) {
	case OPTION_UNTIL:
		return take_until(wish, optarg);
	case OPTION_TIMEOUT:
		if (!command_number(optarg, 1, INT32_MAX, &wish->timeout))
			return 0;
		return command_fail(EXIT_USAGE, "wait: --timeout %s: not a number of seconds", optarg);
	case COMMAND_JSON:
		wish->json = 1;
		return 0;
	default:
		return command_bad_option(argc, argv, option);
	}
}

int cmd_wait(int argc, char **argv)
{
	struct wish wish = { 0 };
	int option, status = 0;

	while (!status && (option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("wait", own_options, notes);
		status = take_option(&wish, argc, argv, option);
	}
	if (status)
		return status;
	if (!wish.given)
		return command_fail(EXIT_USAGE, "wait: what for? (memana wait trace.zst --until oom)");
	if (optind == argc)
		return command_fail(EXIT_USAGE, "wait: no trace named (memana wait trace.zst --until oom)");
	return run(argv + optind, (uint32_t)(argc - optind), &wish);
}
