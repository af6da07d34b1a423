/*
 * memana wait - follows a recording until a given event, for scripts. Exit status: 0: the event came; 1: the recording ended without the event, or
 * the time was over (`end` of the JSON says which). A trace that does not exist yet is awaited, too. A folder counts as all traces that come into it.
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
#include "memtrace/phase.h"
#include "report/command.h"
#include "report/command_option.h"
#include "source/folder.h"
#include "source/live.h"
#include "source/snapshot.h"

#define LOOK_MS 50
#define CUDA_ERROR_OUT_OF_MEMORY 2

enum { OPTION_UNTIL = COMMAND_OWN, OPTION_TIMEOUT };

static const struct command_option own_options[] = {
	{ OPTION_UNTIL, "until", "WHAT", "oom: a request for memory fails; step:N: step N ends", "oom step:N" },
	{ OPTION_TIMEOUT, "timeout", "S", "wait S seconds at most (default: as long as it takes)" },
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

static const char notes[] =
	"With several traces the first event in any of them counts. Exit status: 0 the event came, 1 the recording or the time "
	"ended first.";

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
	struct mt_reader *reader; /* NULL: the file does not exist yet, or nothing more comes of it */
	int has_tensors; /* 1: GPU tensors were seen: the framework's allocator reports refusals after a second try */
	int ended;
	int is_other; /* 1: a file of a folder that is no trace */
	uint64_t events;
	int64_t time; /* time of the newest event, ns since the process was first seen */
};

/* An operand: one file, or a folder with the files that it has so far. */
struct place {
	const char *path;
	int is_folder;
	struct folder folder; /* owns the paths of `waited` */
	struct waited *waited;
	uint32_t count;
	struct timespec changed; /* time of the folder's last change before it was listed */
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

/* Imports a snapshot, which is complete. */
static int open_snapshot(struct waited *it)
{
	struct mt_import_summary summary;
	struct mt_rules *rules = NULL;
	char message[256];
	int error = mt_rules_new(&rules, message, sizeof(message));

	if (!error)
		error = snapshot_open(&it->reader, it->path, rules, &summary);
	mt_rules_free(rules);
	it->ended = 1;
	return error;
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
	if (snapshot_is_pickle(it->path))
		return open_snapshot(it);
	error = mt_reader_open(&it->reader, it->path);
	if ((error == -MT_E_TRUNCATED || !status.st_size) && time(NULL) - status.st_mtime <= LIVE_QUIET)
		return 0;
	return error;
}

/* Takes what the open trace has. 1, 0, or an error. */
static int read_on(struct waited *it, const struct wish *wish, struct mt_event *found)
{
	/* Ask this before the events are read. */
	int written = !it->ended && live_is_written(it->path, mt_reader_process(it->reader), 1);
	int more = it->ended ? 0 : mt_reader_more(it->reader), got;

	if (more == -MT_E_BUSY) {
		close_trace(it);
		return 0;
	}
	got = more < 0 ? more : take_events(it, wish, found);
	if (!got && !written) {
		mt_reader_free(it->reader);
		it->reader = NULL;
		it->ended = 1;
	}
	return got;
}

/* Reads the new part of the trace. Returns 1: the event came; 0: it has not come yet, or the trace has ended; or an error. */
static int look(struct waited *it, const struct wish *wish, struct mt_event *found)
{
	int error = it->reader || it->ended ? 0 : open_trace(it);

	return error ? error : it->reader ? read_on(it, wish, found) : 0;
}

/* ---- folders ---- */

static int by_path(const void *a, const void *b)
{
	const struct waited *one = a, *two = b;

	return folder_order(one->path, two->path);
}

/* Takes over the traces of the older listing; those that are gone are closed. */
static void take_over(struct place *place, struct waited *now, uint32_t count)
{
	struct waited *same;
	uint32_t i;

	for (i = 0; i < place->count; i++) {
		same = count ? bsearch(&place->waited[i], now, count, sizeof(*now), by_path) : NULL;
		if (same) {
			place->waited[i].path = same->path;
			*same = place->waited[i];
		} else {
			mt_reader_free(place->waited[i].reader);
		}
	}
}

static int list_folder(struct place *place)
{
	struct waited *now = NULL;
	struct folder folder;
	int error = folder_list(&folder, place->path);
	uint32_t i;

	if (!error) {
		now = calloc((size_t)folder.count + 1, sizeof(*now));
		error = now ? 0 : -MT_E_MEMORY;
	}
	if (error) {
		folder_release(&folder);
		return error;
	}
	for (i = 0; i < folder.count; i++)
		now[i].path = folder.path[i];
	take_over(place, now, folder.count);
	free(place->waited);
	folder_release(&place->folder);
	place->waited = now;
	place->count = folder.count;
	place->folder = folder;
	return 0;
}

/* Lists a folder when it has changed. The time of a change is coarse: what has just changed is listed once more. */
static int refresh(struct place *place)
{
	struct timespec was = place->changed;
	struct stat status;

	if (stat(place->path, &status) || !S_ISDIR(status.st_mode))
		return place->is_folder ? -MT_E_SYSTEM : 0;
	if (!place->is_folder) { /* until now it was not there */
		mt_reader_free(place->waited->reader);
		place->count = 0;
	}
	place->changed = status.st_mtim;
	if (place->is_folder && status.st_mtim.tv_sec == was.tv_sec && status.st_mtim.tv_nsec == was.tv_nsec &&
	    time(NULL) - was.tv_sec > 1)
		return 0;
	place->is_folder = 1;
	return list_folder(place);
}

static void release_place(struct place *place)
{
	uint32_t i;

	for (i = 0; i < place->count; i++)
		mt_reader_free(place->waited[i].reader);
	free(place->waited);
	folder_release(&place->folder);
}

/* ---- the answer ---- */

/* The outcome of the wait. */
struct outcome {
	enum wait_end end;
	struct waited last;    /* trace of the event, or the one looked at last; its path is good until the next look */
	struct mt_event found; /* the event that came */
};

static void say_outcome(struct sentence *sentence, const struct wish *wish, const struct outcome *outcome)
{
	char time[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	text_time(time, outcome->last.time);
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
	doc_string(doc, "trace", outcome->last.path);
	doc_int(doc, "events", (int64_t)outcome->last.events);
	doc_int(doc, "time_ns", outcome->last.time);
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
		text_say("%s: %s\n", text_fit(path, sizeof(path), outcome->last.path, 200, 1), verdict.text);
	return error ? command_fail(mt_exit_code(error), "wait: %s", mt_strerror(error)) : status[outcome->end];
}

/* ---- waiting ---- */

static int fail(const char *path, int error)
{
	return command_fail(mt_exit_code(error), "%s: %s", path,
			    error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error));
}

/* Looks at the traces of a place once. Returns 0 or the exit status. *ended: all of its traces have ended. */
static int look_at(struct place *place, const struct wish *wish, struct outcome *outcome, int *ended)
{
	uint32_t i, over = 0, traces = 0;
	int got = refresh(place);

	if (got)
		return fail(place->path, got);
	for (i = 0; i < place->count && outcome->end == WAIT_GOES_ON; i++) {
		struct waited *it = &place->waited[i];

		got = it->is_other ? 0 : look(it, wish, &outcome->found);
		if (got < 0 && (!place->is_folder || it->reader))
			return fail(it->path, got);
		it->is_other |= got < 0;
		if (it->is_other)
			continue;
		outcome->last = *it;
		if (got > 0)
			outcome->end = WAIT_CAME;
		traces++;
		over += it->ended != 0;
	}
	*ended = traces && over == traces;
	return 0;
}

/* Looks at all places once. Returns 0 or the exit status. */
static int look_at_all(struct place *places, uint32_t count, const struct wish *wish, struct outcome *outcome)
{
	uint32_t i, over = 0;
	int status = 0, ended = 0;

	outcome->last = (struct waited){ .path = places->path };
	for (i = 0; i < count && !status && outcome->end == WAIT_GOES_ON; i++) {
		status = look_at(&places[i], wish, outcome, &ended);
		over += ended != 0;
	}
	if (!status && outcome->end == WAIT_GOES_ON && over == count)
		outcome->end = WAIT_ENDED;
	return status;
}

static int wait_for_wish(struct place *places, uint32_t count, const struct wish *wish)
{
	struct outcome outcome = { .end = WAIT_GOES_ON };
	int64_t until = progress_now() + (int64_t)wish->timeout * 1000000000;
	int status = 0;

	while (!status && outcome.end == WAIT_GOES_ON) {
		status = look_at_all(places, count, wish, &outcome);
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
	struct place *places = calloc(count, sizeof(*places));
	int status = places ? 0 : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < count && !status; i++) {
		places[i].path = paths[i];
		places[i].waited = calloc(1, sizeof(*places[i].waited));
		places[i].count = places[i].waited != NULL;
		if (places[i].waited)
			places[i].waited->path = paths[i];
		else
			status = -MT_E_MEMORY;
	}
	status = status ? command_fail(mt_exit_code(status), "wait: %s", mt_strerror(status))
			: wait_for_wish(places, count, wish);
	for (i = 0; places && i < count; i++)
		release_place(&places[i]);
	free(places);
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
		return command_fail(EXIT_USAGE, "wait: --until is missing (memana wait trace.zst --until oom)");
	if (optind == argc)
		return command_fail(EXIT_USAGE, "wait: no trace named (memana wait trace.zst --until oom)");
	return run(argv + optind, (uint32_t)(argc - optind), &wish);
}
