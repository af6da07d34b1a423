/* gather.c - waits for collectors and takes their results. */
#include "gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "collect/output.h"
#include "launch.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"
#include "run/rundir.h"
#include "run/say.h"
#include "run/target.h"

enum {
	LOOK_MS = 5,            /* time between two looks at the folder */
	NO_PROGRESS_MS = 30000, /* longest wait for collectors without progress */
	GRACE_MS = 1000,        /* longest wait for processes that outlive the command: most of them end soon */
	UNSEEN_TOLD = 4,        /* largest number of messages about unrecorded processes of one kind */
};

/* The state of a ring. */
enum ring_state {
	RING_YOUNG,     /* the agent still makes the ring, or died before the ring was ready */
	RING_RECORDING, /* the process runs */
	RING_CLOSING,   /* the process has ended, and the collector works */
	RING_LEFT,      /* the process has ended, and the ring has no collector */
	RING_GONE,      /* the ring was removed */
};

struct look {
	size_t young, recording, closing;
	uint64_t progress;
};

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

/*
 * Finds the state of a ring. *header is valid for all states but RING_YOUNG and RING_GONE. *locked 1: it has a
 * collector.
 */
static enum ring_state look_at(const char *ring_path, struct ring_header *header, int *locked)
{
	int alive = 0, error, lock;

	*locked = 0;
	error = rundir_read_header(ring_path, header);
	if (!error)
		alive = target_runs((pid_t)header->pid,
				    header->start_ticks); /* before the lock: a collector may end meanwhile, but not begin */
	lock = rundir_lock_ring(ring_path);
	if (lock >= 0)
		close(lock);
	else if (lock != -MT_E_BUSY)
		return RING_GONE;
	*locked = lock < 0;
	if (error)
		return RING_YOUNG;
	return alive ? RING_RECORDING : *locked ? RING_CLOSING : RING_LEFT;
}

static int count_ring(void *context, const char *ring_path, int ring)
{
	struct ring_header *header;
	struct look *look = context;
	char trace[MEMREC_PATH_MAX];
	enum ring_state state;
	struct stat st;
	int locked;

	header = ring ? malloc(sizeof(*header)) : NULL;
	if (!header)
		return 0;
	state = look_at(ring_path, header, &locked);
	free(header);
	look->young += state == RING_YOUNG;
	look->recording += state == RING_RECORDING;
	look->closing += state == RING_CLOSING;
	look->progress += rundir_progress(ring_path);
	if (rundir_get_trace(ring_path, trace, sizeof(trace)) && !stat(trace, &st))
		look->progress += (uint64_t)st.st_size;
	return 0;
}

static int told_to_stop(const sigset_t *signals)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };

	return sigtimedwait(signals, NULL, &pause) > 0;
}

static void wait_for_collectors(const char *run_dir, const sigset_t *signals)
{
	uint64_t begin = now_ms(), last = begin, progress = 0, now;
	struct look look;

	do {
		look = (struct look){ .young = 0 };
		if (rundir_each(run_dir, count_ring, &look) < 0)
			return;
		now = now_ms();
		if (look.progress != progress)
			last = now;
		progress = look.progress;
		if (!look.closing && (!(look.recording + look.young) || now - begin > GRACE_MS))
			return;
	} while (now - last < NO_PROGRESS_MS && !told_to_stop(signals));
}

static void add_result(struct gathered *gathered, const struct run_result *result)
{
	struct run_result *more = realloc(gathered->results, (gathered->count + 1) * sizeof(*more));

	if (!more)
		return;
	gathered->results = more;
	more[gathered->count++] = *result;
}

/* Recovers a ring without a collector, and prints the result. */
static void take_left(struct gathered *gathered, const char *ring_path, const struct ring_header *header)
{
	struct run_result *result = malloc(sizeof(*result));
	char dir[MEMREC_PATH_MAX];
	int error = result ? recover_ring(ring_path, result) : -MT_E_MEMORY;

	if (error)
		say("%s: the collector of process %u died, and its ring cannot be folded in: %s", ring_path,
		    header->pid, say_why(error, errno));
	else if (result->trace[0])
		say("the collector of process %u died; what it left is folded in", header->pid);
	if (!error) {
		add_result(gathered, result);
		rundir_forget_ring(ring_path);
		output_dir(dir, ring_path);
		rundir_clean(dir); /* not the run's folder, which this process has locked */
	}
	free(result);
}

/* Notes a trace that is still being written. Out of memory: a message about this trace may come twice. */
static void add_written(struct gathered *gathered, const char *trace)
{
	char **more = realloc(gathered->written, (gathered->written_count + 1) * sizeof(*more));

	gathered->running++;
	if (!more)
		return;
	gathered->written = more;
	more[gathered->written_count] = strdup(trace);
	gathered->written_count += more[gathered->written_count] != NULL;
}

static void say_running(const char *ring_path, const struct ring_header *header, int locked, struct gathered *gathered)
{
	char trace[MEMREC_PATH_MAX];

	if (!locked) {
		int begun = rundir_get_trace(ring_path, trace, sizeof(trace)) && !access(trace, F_OK);

		say("process %u is still running, but its collector died (when it has ended: memrec recover %s)",
		    header->pid, summary_word(begun ? trace : ring_path));
	} else if (rundir_get_trace(ring_path, trace, sizeof(trace))) {
		say("process %u is still running and being recorded into %s", header->pid, summary_path(trace));
		add_written(gathered, trace);
	}
}

static void take_ring(struct gathered *gathered, const char *ring_path, struct ring_header *header,
		      enum ring_state state, int locked)
{
	char trace[MEMREC_PATH_MAX];

	switch (state) {
	case RING_YOUNG:
		if (!locked && recover_is_unborn(ring_path))
			unlink(ring_path);
		break;
	case RING_RECORDING:
		say_running(ring_path, header, locked, gathered);
		break;
	case RING_CLOSING:
		say("the trace of process %u is not closed yet: its collector goes on", header->pid);
		rundir_get_trace(ring_path, trace, sizeof(trace));
		add_written(gathered, trace);
		break;
	case RING_LEFT:
		take_left(gathered, ring_path, header);
		break;
	case RING_GONE:
		break;
	}
}

/*
 * Takes one ring or result. Looks at the ring first, because a collector writes the result before it removes the ring.
 */
static int take_entry(void *context, const char *ring_path, int ring)
{
	struct gathered *gathered = context;
	struct ring_header *header = malloc(sizeof(*header));
	struct run_result *result = malloc(sizeof(*result));
	enum ring_state state = RING_GONE;
	int locked = 0;

	if (ring && header)
		state = look_at(ring_path, header, &locked);
	if (result && !rundir_read_result(ring_path, result)) {
		add_result(gathered, result);
		rundir_forget_ring(ring_path);
	} else if (header) {
		take_ring(gathered, ring_path, header, state, locked);
	}
	free(header);
	free(result);
	return 0;
}

static int by_rank_and_pid(const void *a, const void *b)
{
	const struct run_result *first = a, *second = b;

	if (first->rank != second->rank)
		return first->rank < second->rank ? -1 : 1;
	if (first->pid != second->pid)
		return first->pid < second->pid ? -1 : 1;
	return (first->recording > second->recording) - (first->recording < second->recording);
}

static void say_failed(void *context, long pid, const char *why)
{
	struct gathered *gathered = context;

	say("process %ld was not recorded: %s", pid, why);
	gathered->failed++;
}

/* The notes of one kind. A launcher's workers can have the same reason, so only UNSEEN_TOLD notes are printed. */
struct unseen {
	const char *words; /* words for the message, after "process N" */
	size_t count;      /* number of notes */
};

static void say_unseen(void *context, long pid, const char *why)
{
	struct unseen *unseen = context;

	if (unseen->count++ < UNSEEN_TOLD)
		say("process %ld %s: %s", pid, unseen->words, why);
}

/* Prints the notes with this suffix. Returns the number of processes with one. */
static size_t say_unseen_notes(const char *run_dir, const char *suffix, const char *words)
{
	struct unseen unseen = { words, 0 };

	rundir_take_notes(run_dir, suffix, say_unseen, &unseen);
	if (unseen.count > UNSEEN_TOLD)
		say("and so did %zu more", unseen.count - UNSEEN_TOLD);
	return unseen.count;
}

/* 1: the trace is known already, so strays_each does not read it. */
static int is_known(void *context, const char *trace)
{
	const struct gathered *gathered = context;
	size_t i;

	for (i = 0; i < gathered->count; i++)
		if (!strcmp(gathered->results[i].trace, trace))
			return 1;
	for (i = 0; i < gathered->written_count; i++)
		if (!strcmp(gathered->written[i], trace))
			return 1;
	return 0;
}

static void take_stray(void *context, const struct stray *stray)
{
	struct gathered *gathered = context;
	const struct run_result *result = &stray->result;

	if (stray->is_foreign) {
		if (gathered->foreign++ < UNSEEN_TOLD)
			say("%s: belongs to another user and appeared while the command ran: memrec does not open it (a process "
			    "that changed its user may have written its trace there)",
			    summary_path(result->trace));
		return;
	}
	if (!stray->is_written) {
		add_result(gathered, result);
		return;
	}
	say("process %" PRId64 " is still being recorded into %s", result->pid, summary_path(result->trace));
	add_written(gathered, result->trace);
}

/* Waits for collectors with rings outside of the run's folder, at most GRACE_MS. Then takes their traces. */
static void take_strays(struct gathered *gathered, const char *run_dir, const char *pattern, struct timespec since,
			const sigset_t *signals)
{
	uint64_t begin = now_ms();

	while (strays_collectors(run_dir) && now_ms() - begin < GRACE_MS && !told_to_stop(signals))
		;
	strays_each(pattern, run_dir, since, is_known, take_stray, gathered);
}

static void say_goes_on(void *context, long pid, const char *name)
{
	struct unseen *unseen = context;

	if (unseen->count++ < UNSEEN_TOLD)
		say("process %ld (%s) goes on, and will be recorded once it takes memory", pid, name);
}

void gather(struct gathered *gathered, const char *run_dir, const char *pattern, struct timespec since,
	    const sigset_t *signals)
{
	struct unseen going_on = { NULL, 0 };

	memset(gathered, 0, sizeof(*gathered));
	wait_for_collectors(run_dir, signals);
	rundir_each(run_dir, take_entry, gathered);
	take_strays(gathered, run_dir, pattern, since, signals);
	rundir_take_notes(run_dir, MEMREC_FAILED_SUFFIX, say_failed, gathered);
#define SAY_UNSEEN(source, suffix, words) gathered->failed += say_unseen_notes(run_dir, suffix, words);
	if (!gather_traces(gathered)) {
		MEMREC_UNSEEN_LIST(SAY_UNSEEN)
		strays_processes(run_dir, say_goes_on, &going_on);
	}
#undef SAY_UNSEEN
	if (gathered->count)
		qsort(gathered->results, gathered->count, sizeof(*gathered->results), by_rank_and_pid);
}

size_t gather_traces(const struct gathered *gathered)
{
	size_t i, traces = gathered->running;

	for (i = 0; i < gathered->count; i++)
		traces += gathered->results[i].trace[0] != '\0';
	return traces;
}

void gather_release(struct gathered *gathered)
{
	size_t i;

	for (i = 0; i < gathered->written_count; i++)
		free(gathered->written[i]);
	free(gathered->written);
	free(gathered->results);
}

/* Renames the trace with the plain name: the process asks for a name once more, and the plain name is taken. */
static void rename_one(struct run_result *result, const char *pattern, const char *run_dir)
{
	struct output_owner owner = { .run_dir = run_dir,
				      .ring = "launcher",
				      .host = "",
				      .pid = (uint32_t)result->pid,
				      .rank = (int32_t)result->rank,
				      .recording = (uint32_t)result->recording };
	char path[MEMREC_PATH_MAX];
	int plain, lock, held = filelock_open(result->trace, 0);

	if (held == -MT_E_BUSY) /* another run has the name by now, and writes to its trace */
		return;
	lock = output_claim(path, pattern, &owner, &plain);
	if (lock >= 0 && rename(result->trace, path)) {
		unlink(path);
	} else if (lock >= 0) {
		snprintf(result->trace, sizeof(result->trace), "%s", path);
		result->plain = 0;
	}
	if (lock >= 0)
		close(lock);
	if (held >= 0)
		close(held);
}

/* Number of programs with traces. Further recordings of a program do not count. */
static size_t programs_with_traces(const struct gathered *gathered)
{
	size_t i, programs = gathered->running;

	for (i = 0; i < gathered->count; i++)
		programs += gathered->results[i].trace[0] && gathered->results[i].recording <= 1;
	return programs;
}

void gather_rename(struct gathered *gathered, const char *pattern, const char *run_dir)
{
	size_t i, programs = programs_with_traces(gathered);

	for (i = 0; i < gathered->count && programs > 1; i++)
		if (gathered->results[i].plain && gathered->results[i].trace[0] && !gathered->results[i].error)
			rename_one(&gathered->results[i], pattern, run_dir);
}
