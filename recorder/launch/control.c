/* control.c - memrec start, stop, mark and status: wishes for processes under `memrec --paused`. */
#include "control.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "launch.h"
#include "memtrace/error.h"
#include "run/say.h"

enum {
	LOCK_MS = 2000,  /* longest wait for another controller */
	LOOK_MS = 5,     /* time between two looks at a page */
	START_MS = 2000, /* longest wait for a process to see the wish */
	STOP_MS = 12000, /* longest wait for the end: a recording without steps takes WISHES_STEP_NS */
	REVIVE_MS = 500, /* time between two looks for a collector */
	MARK_MS = 2000,  /* longest wait for a collector to take a mark */
	PIDS_MAX = 4096
};

struct request {
	const char *word; /* the command */
	int all, now;
	uint32_t steps;
	const char *text;
	char **pids;
	size_t count;
};

/* A process that was asked. All processes are asked first, and then memrec waits for each. */
struct asked {
	struct prepared *process;
	uint32_t number; /* number of the wish, or of the mark */
	int done;        /* 1: memrec does not wait for this process */
};

/* ---- Words ---- */

static const char *named(const struct prepared *process)
{
	static char text[PROC_NAME_MAX + 48];

	snprintf(text, sizeof(text), "process %ld (%s)", process->pid, process->name);
	return text;
}

/* Prints the reason why a process cannot be controlled. */
static void say_refusal(const struct prepared *process)
{
	switch (process->kind) {
	case PREPARED_FOREIGN:
		say("process %ld: it belongs to user %u (run memrec as that user)", process->pid,
		    (unsigned)process->uid);
		break;
	case PREPARED_HIDDEN:
		say("process %ld: cannot be looked into: %s (run memrec as its user, in its container; a program can forbid it)",
		    process->pid, strerror(process->error));
		break;
	case PREPARED_GONE:
		say("process %ld: there is no such process (memrec status lists those that are there)", process->pid);
		break;
	case PREPARED_RECORDED:
		say("%s: is recorded from its start to its end, and not under --paused (memrec --paused -- COMMAND)",
		    named(process));
		break;
	case PREPARED_NOT:
		say("%s: was not started under memrec --paused (memrec --paused -- COMMAND)", named(process));
		break;
	case PREPARED_PAGE:
	case PREPARED_UNTOUCHED:
		break;
	}
}

static void say_page_error(const struct prepared *process, int error)
{
	say("%s: its control page cannot be used: %s (%s)", named(process),
	    error == -MT_E_BUSY ? "another memrec has it" : say_why(error, errno), process->path);
}

/* ---- One process ---- */

static int is_recorded(const struct control *page)
{
	return atomic_load(&page->state) == CONTROL_RECORDING;
}

/* 1: the page has a wish to record that the process has not seen yet. */
static int is_awaited(const struct control *page)
{
	uint32_t wish = atomic_load(&page->wish);

	return control_records(wish) && atomic_load(&page->met) != wish;
}

/* Returns 0, or an error whose message was printed. ask_stop and ask_mark do the same. */
static int ask_start(const struct request *request, struct asked *asked)
{
	struct control *page = asked->process->page;
	uint32_t wish = atomic_load(&page->wish);

	if (is_recorded(page) && control_records(wish)) {
		say("%s: is being recorded already", named(asked->process));
		asked->done = 1;
		return 0;
	}
	if (!is_awaited(page))
		wish = (wish + 1) | 1;
	atomic_store(&page->steps, request->steps);
	atomic_store(&page->at_once, 0);
	atomic_store(&page->wish, wish);
	asked->number = wish;
	return 0;
}

static int ask_stop(const struct request *request, struct asked *asked)
{
	struct control *page = asked->process->page;
	uint32_t wish = atomic_load(&page->wish);
	int recorded = is_recorded(page);

	asked->done = !recorded;
	if (!recorded && !is_awaited(page)) {
		if (!request->all)
			say("%s: is not being recorded", named(asked->process));
		return request->all ? 0 : -MT_E_MISSING;
	}
	atomic_store(&page->at_once, (uint32_t)request->now);
	if (control_records(wish))
		atomic_store(&page->wish, wish + 1);
	asked->number = wish + 1;
	return 0;
}

static int has_room(const struct control *page)
{
	return atomic_load(&page->marks) - atomic_load(&page->taken) < CONTROL_MARKS;
}

static int ask_mark(const struct request *request, struct asked *asked)
{
	struct control *page = asked->process->page;
	uint32_t marks = atomic_load(&page->marks);
	int ms;

	asked->done = 1;
	if (!is_recorded(page)) {
		if (!request->all)
			say("%s: is not being recorded, so there is no mark (memrec start %ld)", named(asked->process),
			    asked->process->pid);
		return request->all ? 0 : -MT_E_MISSING;
	}
	for (ms = 0; ms < MARK_MS && !has_room(page); ms += LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	if (!has_room(page)) {
		say("%s: takes no marks now (its collector may be gone: memrec status)", named(asked->process));
		return -MT_E_BUSY;
	}
	snprintf(page->mark[marks % CONTROL_MARKS], CONTROL_TEXT, "%s", request->text);
	atomic_store(&page->marks, marks + 1);
	asked->number = marks + 1;
	asked->done = 0;
	return 0;
}

/* ---- Waiting ---- */

static int has_started(const struct asked *asked)
{
	return atomic_load(&asked->process->page->met) == asked->number;
}

static int has_stopped(const struct asked *asked)
{
	return !is_recorded(asked->process->page);
}

static int has_marked(const struct asked *asked)
{
	return (int32_t)(atomic_load(&asked->process->page->taken) - asked->number) >= 0;
}

/* Waits until came(asked), and takes the time from *ms. 1: came; 0: the time is over, or the process has ended. */
static int wait_for(const struct asked *asked, int (*came)(const struct asked *asked), int *ms)
{
	for (; !came(asked) && *ms > 0 && prepared_runs(asked->process); *ms -= LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	return came(asked);
}

/*
 * As wait_for has_stopped, and replaces a dead collector. It looks for one repeatedly: a killed collector may still
 * hold its ring at the first look.
 */
static int wait_for_end(const struct asked *asked, int *ms)
{
	int part, lock;

	while (!has_stopped(asked) && *ms > 0 && prepared_runs(asked->process)) {
		part = *ms < REVIVE_MS ? *ms : REVIVE_MS;
		*ms -= part;
		if (wait_for(asked, has_stopped, &part))
			break;
		lock = prepared_lock(asked->process, 0);
		if (lock >= 0) {
			prepared_revive(asked->process);
			close(lock);
		}
	}
	return has_stopped(asked);
}

static const char *trace_of(const struct control *page)
{
	static char trace[MEMREC_PATH_MAX];

	snprintf(trace, sizeof(trace), "%.*s", (int)sizeof(trace) - 1, page->trace);
	return summary_path(trace);
}

static int await_start(const struct asked *asked, int *ms)
{
	if (!wait_for(asked, has_started, ms))
		say_result("%s: the recording begins when it next takes memory", named(asked->process));
	else if (atomic_load(&asked->process->page->state) == CONTROL_FAILED)
		return say("%s: could not be recorded (memrec's last lines say why)", named(asked->process)),
		       -MT_E_SYSTEM;
	else
		say_result("%s: is being recorded", named(asked->process));
	return 0;
}

static int await_stop(const struct asked *asked, int *ms)
{
	const struct control *page = asked->process->page;

	if (!wait_for_end(asked, ms))
		say_result("%s: the recording ends with the running step (memrec stop --now %ld ends it at once)",
			   named(asked->process), asked->process->pid);
	else
		say_result("%s: recorded into %s: %" PRIu64 " events, %" PRIu64 " steps", named(asked->process),
			   trace_of(page), (uint64_t)atomic_load(&page->events), (uint64_t)atomic_load(&page->step));
	return 0;
}

static int await_mark(const struct asked *asked, int *ms)
{
	if (wait_for(asked, has_marked, ms))
		return 0;
	say("%s: its collector did not take the mark (memrec status)", named(asked->process));
	return -MT_E_BUSY;
}

/* ---- All processes ---- */

struct deed {
	int (*ask)(const struct request *request, struct asked *asked);
	int (*await)(const struct asked *asked, int *ms);
	int ms;
	int touches; /* 1: makes the page of a process without one */
};

/* Asks under the page's lock. Returns 0, or an error whose message was printed. */
static int ask(const struct request *request, const struct deed *deed, struct asked *asked)
{
	int lock = prepared_lock(asked->process, LOCK_MS), error;

	if (lock < 0) {
		say_page_error(asked->process, lock);
		return lock;
	}
	if (is_recorded(asked->process->page))
		prepared_revive(asked->process);
	error = deed->ask(request, asked);
	close(lock);
	return error;
}

/*
 * Asks one process. Returns 0, or an error whose message was printed. With --all, a process that has taken no memory
 * yet gets no line, and *silent counts it.
 */
static int ask_one(const struct request *request, const struct deed *deed, struct asked *asked, size_t *silent)
{
	struct prepared *process = asked->process;
	int untouched = process->kind == PREPARED_UNTOUCHED, error = 0;

	asked->done = 1;
	if (process->kind != PREPARED_PAGE && !untouched) {
		say_refusal(process);
		return -MT_E_MISSING;
	}
	if (untouched && (!deed->touches || !*process->path)) {
		if (!request->all)
			say("%s: has not taken memory yet (memrec status lists it when it has)", named(process));
		return request->all ? 0 : -MT_E_MISSING;
	}
	if (untouched)
		error = prepared_touch(process);
	if (error) {
		say_page_error(process, error);
		return error;
	}
	asked->done = 0;
	error = ask(request, deed, asked);
	if (!error && request->all && atomic_load(&process->page->state) == CONTROL_AWAITED) {
		asked->done = 1;
		++*silent;
	}
	return error;
}

static int do_deed(const struct request *request, const struct deed *deed, struct prepared *processes, size_t count)
{
	struct asked *asked = calloc(count ? count : 1, sizeof(*asked));
	size_t i, silent = 0, done = 0;
	int failed = 0, ms = deed->ms;

	if (!asked)
		return MEMREC_EXIT_SYSTEM;
	for (i = 0; i < count; i++) {
		asked[i].process = &processes[i];
		if (ask_one(request, deed, &asked[i], &silent))
			failed = asked[i].done = 1;
	}
	for (i = 0; i < count; i++) {
		done += !asked[i].done;
		if (!asked[i].done && deed->await(&asked[i], &ms))
			failed = 1;
	}
	if (silent)
		say_result("%zu more: the recording begins when they take memory", silent);
	if (request->all && !failed && !done && !silent) {
		say("%s: no process of yours is there for it (memrec --paused -- COMMAND; memrec status)",
		    request->word);
		failed = 1;
	}
	free(asked);
	return failed ? MEMREC_EXIT_SYSTEM : MEMREC_EXIT_OK;
}

/* Finds the processes of the command line, or all. The caller frees *processes. Returns 0 or -MT_E_MEMORY. */
static int find(const struct request *request, struct prepared **processes, size_t *count)
{
	size_t i;

	if (request->all)
		return prepared_all(processes, count);
	*processes = calloc(request->count, sizeof(**processes));
	if (!*processes)
		return -MT_E_MEMORY;
	for (i = 0; i < request->count; i++)
		prepared_look(&(*processes)[i], proc_number(request->pids[i]));
	*count = request->count;
	return 0;
}

/* ---- Arguments ---- */

static int refuse(const struct request *request, const char *what)
{
	say("%s: %s (see memrec --help)", request->word, what);
	return MEMREC_EXIT_USAGE;
}

/* Reports an unknown option, or an option without its value. Returns the exit status. */
static int refuse_option(int letter, const char *option)
{
	say("%s: %s (see memrec --help)", option, letter == ':' ? "a value is needed" : "no such option");
	return MEMREC_EXIT_USAGE;
}

static int take_steps(struct request *request, const char *text)
{
	char *end;
	unsigned long steps;

	errno = 0;
	steps = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !steps || steps > UINT32_MAX)
		return refuse(request, "--steps must be a number from 1 to 4294967295");
	request->steps = (uint32_t)steps;
	return 0;
}

/* Takes pids and, for mark, the text, which is the last operand. 0: go on; else an exit status. */
static int take_operands(struct request *request, int argc, char **argv)
{
	size_t i;

	request->pids = argv + optind;
	request->count = (size_t)(argc - optind);
	if (!strcmp(request->word, "mark")) {
		if (request->count < 1)
			return refuse(request, "a TEXT is needed");
		request->text = argv[argc - 1];
		request->count--;
		if (!*request->text || strlen(request->text) >= CONTROL_TEXT)
			return refuse(request, "TEXT must have 1 to 255 bytes");
	}
	if (!strcmp(request->word, "status") && !request->count)
		request->all = 1;
	if (request->all ? request->count : !request->count)
		return refuse(request, "name processes by their numbers, or all of yours by --all");
	if (request->count > PIDS_MAX)
		return refuse(request, "too many processes");
	for (i = 0; i < request->count; i++)
		if (!proc_number(request->pids[i])) {
			say("%s: is no process id (processes are named by their numbers%s)", request->pids[i],
			    request->text ? ", and TEXT is one word: 'two words'" : "");
			return MEMREC_EXIT_USAGE;
		}
	return 0;
}

#define ALL_HELP "      --all       all processes of yours on this machine that run under memrec --paused\n"
#define HELP_HELP "  -h, --help      this text\n"

static void print_help(const char *word)
{
	if (!strcmp(word, "start"))
		fputs("usage: memrec start [--steps N] PID...|--all\n\nBegins to record with the next memory that a process takes.\n\n"
		      "      --steps N   end by itself after N steps, the running one included\n" ALL_HELP HELP_HELP,
		      stdout);
	else if (!strcmp(word, "stop"))
		fputs("usage: memrec stop [--now] PID...|--all\n\nEnds the recording with the running step.\n\n"
		      "      --now       do not wait for the step\n" ALL_HELP HELP_HELP,
		      stdout);
	else if (!strcmp(word, "mark"))
		fputs("usage: memrec mark PID...|--all TEXT\n\nPuts a mark of 1 to 255 bytes into the trace of what is being recorded.\n\n" ALL_HELP
			      HELP_HELP,
		      stdout);
	else
		fputs("usage: memrec status [PID...|--all]\n\nShows state, events, ended steps and trace of each process; --all is the default.\n\n" ALL_HELP
			      HELP_HELP,
		      stdout);
}

/* Parses the command line. 0: go on; -1: the help was printed; else an exit status. */
static int read_request(struct request *request, int argc, char **argv)
{
	static const struct option words[] = { { "all", no_argument, NULL, 'a' },
					       { "now", no_argument, NULL, 'n' },
					       { "steps", required_argument, NULL, 's' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int letter, status = 0;

	*request = (struct request){ .word = argv[0] };
	opterr = 0;
	optind = 1;
	while (!status && (letter = getopt_long(argc, argv, ":h", words, NULL)) != -1) {
		if (letter == 'h') {
			print_help(request->word);
			return -1;
		}
		if (letter == 'a')
			request->all = 1;
		else if (letter == 'n' && !strcmp(request->word, "stop"))
			request->now = 1;
		else if (letter == 's' && !strcmp(request->word, "start"))
			status = take_steps(request, optarg);
		else
			status = refuse_option(letter, argv[optind - 1]);
	}
	return status ? status : take_operands(request, argc, argv);
}

static int run(int argc, char **argv,
	       int (*act)(const struct request *request, struct prepared *processes, size_t count))
{
	struct prepared *processes = NULL;
	struct request request;
	size_t count = 0;
	int status;

	say_outlive_readers(NULL);
	status = read_request(&request, argc, argv);
	if (status)
		return status < 0 ? MEMREC_EXIT_OK : status;
	if (find(&request, &processes, &count)) {
		say("%s: no memory", request.word);
		status = MEMREC_EXIT_SYSTEM;
	} else {
		status = act(&request, processes, count);
	}
	free(processes);
	return status;
}

/* ---- The commands ---- */

static int start(const struct request *request, struct prepared *processes, size_t count)
{
	static const struct deed deed = { ask_start, await_start, START_MS, 1 };

	return do_deed(request, &deed, processes, count);
}

static int stop(const struct request *request, struct prepared *processes, size_t count)
{
	static const struct deed deed = { ask_stop, await_stop, STOP_MS, 0 };

	return do_deed(request, &deed, processes, count);
}

static int mark(const struct request *request, struct prepared *processes, size_t count)
{
	static const struct deed deed = { ask_mark, await_mark, MARK_MS, 0 };

	return do_deed(request, &deed, processes, count);
}

static const char *state_word(const struct prepared *process)
{
	static const char *const words[] = { "waiting", "paused", "recording", "ended", "failed" };
	uint32_t state = process->page ? atomic_load(&process->page->state) : CONTROL_AWAITED;

	return state > CONTROL_FAILED ? "unknown" : words[state];
}

static void print_process(const struct prepared *process)
{
	const struct control *page = process->page;

	say_answer("%10ld  %-9s  %12" PRIu64 "  %6" PRIu64 "  %-15s  %s", process->pid, state_word(process),
		   page ? (uint64_t)atomic_load(&page->events) : 0, page ? (uint64_t)atomic_load(&page->step) : 0,
		   process->name, page && page->trace[0] ? trace_of(page) : "-");
}

/* With --all, the list has no processes that took no memory: most of them are shells and helpers. */
static int status(const struct request *request, struct prepared *processes, size_t count)
{
	int failed = 0, told = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (processes[i].kind == PREPARED_PAGE || (processes[i].kind == PREPARED_UNTOUCHED && !request->all)) {
			if (!told++)
				say_answer("%10s  %-9s  %12s  %6s  %-15s  %s", "pid", "state", "events", "steps",
					   "command", "trace");
			print_process(&processes[i]);
		} else if (processes[i].kind != PREPARED_UNTOUCHED) {
			say_refusal(&processes[i]);
			failed = 1;
		}
	}
	if (!told && !failed)
		say("no process of memrec --paused is there (memana live shows recordings that began at once)");
	return failed ? MEMREC_EXIT_SYSTEM : MEMREC_EXIT_OK;
}

int start_main(int argc, char **argv)
{
	return run(argc, argv, start);
}

int stop_main(int argc, char **argv)
{
	return run(argc, argv, stop);
}

int mark_main(int argc, char **argv)
{
	return run(argc, argv, mark);
}

int status_main(int argc, char **argv)
{
	return run(argc, argv, status);
}
