/* attach.c - the commands memrec attach and memrec detach. */
#include "attach.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "collect/ending.h"
#include "collect/output.h"
#include "gather.h"
#include "inject.h"
#include "launch.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "run/rundir.h"
#include "run/say.h"
#include "run/target.h"

#define LOOK_MS 10
#define TRIES 100           /* number of looks, 1 s in all, until a new collector answers */
#define PROCESSES_MAX 1024u /* largest number of processes for --all */
#define WHY_BYTES 512u

struct attach {
	struct arguments arguments;
	struct attach_plan plan;
	int all;
	sigset_t signals, before; /* signals that end a recording; signal mask at memrec's start */
	pid_t *pids;
	size_t count;
};

/* One recording that memrec begins or ends. */
struct recording {
	pid_t pid;
	char ring[MEMREC_PATH_MAX];
	char run_dir[MEMREC_PATH_MAX];
	int lock; /* descriptor with the lock of the folder; -1: another memrec has the lock and prints the summary */
};

static const char *refusal_words(enum attach_refusal refusal)
{
	switch (refusal) {
#define REFUSAL_WORDS(name, words) \
	case ATTACH_##name:        \
		return words;
		ATTACH_REFUSAL_LIST(REFUSAL_WORDS)
#undef REFUSAL_WORDS
	case ATTACH_FINE:
		break;
	}
	return "";
}

/* Prints the reason why memrec does not attach. Returns the exit status. */
static int refuse(const struct attach_process *process, enum attach_refusal refusal)
{
	char words[WHY_BYTES];
	const char *format = refusal_words(refusal), *number = strstr(format, "%ld");

	if (number)
		snprintf(words, sizeof(words), "%.*s%ld%s", (int)(number - format), format, process->number,
			 number + 3);
	else
		snprintf(words, sizeof(words), "%s", format);
	say("process %d: %s", (int)process->pid, words);
	return MEMREC_EXIT_SYSTEM;
}

/* ---- the end of a recording ---- */

static int ring_is_there(const struct recording *recording)
{
	return !access(recording->ring, F_OK);
}

/* Sends ENDING_SIGNAL to the collector of this ring. 0: no collector was found. The pid in a ring can be wrong. */
static int ask_collector(const struct recording *recording)
{
	struct ring_header *header = malloc(sizeof(*header));
	char command[MEMREC_PATH_MAX * 2];
	int fd = -1, sent = 0;
	size_t size;

	if (header && !rundir_read_header(recording->ring, header)) {
		pid_t pid = (pid_t)atomic_load(&header->collector_pid);

		fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
		size = fd >= 0 ? proc_read(pid, "cmdline", command, sizeof(command)) : 0;
		if (size && memmem(command, size, recording->ring, strlen(recording->ring) + 1))
			sent = !syscall(SYS_pidfd_send_signal, fd, ENDING_SIGNAL, NULL, 0);
		if (fd >= 0)
			close(fd);
	}
	free(header);
	return sent;
}

/*
 * Waits until the collector has closed the trace. Each signal (Ctrl-C) is passed on to the collector: the first one
 * ends the recording with the step, the second one ends it at once.
 */
static void wait_for_end(const struct recording *recording, const sigset_t *signals)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	int lock;

	while (ring_is_there(recording)) {
		if (sigtimedwait(signals, NULL, &pause) > 0)
			ask_collector(recording);
		lock = rundir_lock_ring(recording->ring);
		if (lock >= 0) { /* the collector is dead; the agent starts another one if the process lives */
			close(lock);
			if (kill(recording->pid, 0))
				return;
		}
	}
}

/* Prints the result of the recording, and removes its result file. */
static void tell(const struct recording *recording, const char *program, const sigset_t *before)
{
	struct run_result result;
	const char *command;

	if (recording->lock < 0 || rundir_read_result(recording->ring, &result))
		return;
	command = last_words_command(&result, 1, 0);
	last_words_print(command, &result, 1, before);
	summary_print(&result);
	summary_print_next(program, command, &result, 1);
	rundir_forget_ring(recording->ring);
}

static void let_folder_go(struct recording *recording)
{
	if (recording->lock >= 0)
		close(recording->lock);
	recording->lock = -1;
	rundir_clean(recording->run_dir);
}

/* ---- attach ---- */

static int make_folder(struct attach *attach, const struct attach_process *process, struct recording *recording)
{
	struct memrec_options *options = &attach->arguments.options;
	char beside[MEMREC_PATH_MAX];

	output_dir(beside, options->output);
	if (rundir_make(recording->run_dir, attach->arguments.ring_dir, beside) ||
	    (!geteuid() && chown(recording->run_dir, process->uid, process->gid))) {
		say("%s: %s (no place for the ring; choose one with --ring-dir)", beside, strerror(errno));
		return -MT_E_SYSTEM;
	}
	recording->pid = process->pid;
	recording->lock = rundir_lock(recording->run_dir);
	snprintf(options->run_dir, sizeof(options->run_dir), "%s", recording->run_dir);
	snprintf(recording->ring, sizeof(recording->ring), "%.*s/%d.ring", MEMREC_PATH_MAX - 32, recording->run_dir,
		 (int)process->pid);
	return 0;
}

/* The name of the trace is known only after the first event. Before, the line has the name of -o. */
static void say_attached(const struct recording *recording, const struct memrec_options *options)
{
	char trace[MEMREC_PATH_MAX];
	int known = rundir_get_trace(recording->ring, trace, sizeof(trace));

	say_result("process %d: is recorded into %s (memrec detach %d ends it)", (int)recording->pid,
		   summary_path(known ? trace : options->output), (int)recording->pid);
}

/* Attaches to one process and fills in *recording. If that fails, its lock is -1. Returns the exit status. */
static int attach_process(struct attach *attach, pid_t pid, struct recording *recording)
{
	struct attach_process process;
	enum attach_refusal refusal = attach_look(&process, pid);
	char why[WHY_BYTES];

	recording->lock = -1;
	if (refusal)
		return refuse(&process, refusal);
	if (make_folder(attach, &process, recording))
		return MEMREC_EXIT_SYSTEM;
	if (!attach_bring(&process, &attach->plan, why, sizeof(why))) {
		say_attached(recording, &attach->arguments.options);
		return MEMREC_EXIT_OK;
	}
	say("process %d: was not attached: %s", (int)pid, why);
	let_folder_go(recording);
	return MEMREC_EXIT_SYSTEM;
}

static void print_attach_help(void)
{
	printf("usage: memrec attach [options] PID...\n"
	       "       memrec attach [options] --all\n\n"
	       "Records processes that run already: Python programs with PyTorch or CUDA. With --steps or --duration memrec waits for the\n"
	       "end of the recording, and Ctrl-C ends it. Without them memrec detach ends it, or the end of the process.\n\n"
	       "      --method METHOD       how the agent gets in (default auto: python where it works, else gdb, else lldb)\n"
	       "      --python FILE         the interpreter that asks (method python; default: the process's own)\n"
	       "      --all                 all processes that memrec may attach to\n"
	       "  METHOD:"
#define PRINT_METHOD(name, word) " " word
	       ATTACH_METHOD_LIST(PRINT_METHOD)
#undef PRINT_METHOD
		       "\n");
	arguments_print_options(stdout);
}

static int set_method(struct attach *attach, const char *word)
{
#define TRY_METHOD(name, text)                                \
	if (!strcmp(word, text)) {                            \
		attach->plan.method = ATTACH_##name##_METHOD; \
		return 0;                                     \
	}
	ATTACH_METHOD_LIST(TRY_METHOD)
#undef TRY_METHOD
	say("--method: must be auto, python, gdb or lldb, not \"%s\"", word);
	return -MT_E_ARGUMENT;
}

/*
 * Returns the value of option `name` if argv[*at] is this option, else NULL. *at moves on if the value is the next
 * word.
 */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
	size_t size = strlen(name);

	if (strncmp(argv[*at], name, size) != 0 || (argv[*at][size] && argv[*at][size] != '='))
		return NULL;
	if (argv[*at][size])
		return argv[*at] + size + 1;
	return *at + 1 < argc ? argv[++*at] : "";
}

/* Removes the options of `memrec attach` alone from argv. Returns the number of remaining words, or an error. */
static int take_own(struct attach *attach, int argc, char **argv)
{
	int at, kept = 1;
	const char *value;

	for (at = 1; at < argc; at++) {
		if (!strcmp(argv[at], "--all")) {
			attach->all = 1;
		} else if ((value = value_of("--method", argc, argv, &at))) {
			if (set_method(attach, value))
				return -MT_E_ARGUMENT;
		} else if ((value = value_of("--python", argc, argv, &at))) {
			attach->plan.python = value;
		} else {
			argv[kept++] = argv[at];
		}
	}
	argv[kept] = NULL;
	return kept;
}

static int add_pid(struct attach *attach, pid_t pid)
{
	pid_t *more = realloc(attach->pids, (attach->count + 1) * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	attach->pids = more;
	attach->pids[attach->count++] = pid;
	return 0;
}

static int add_operands(struct attach *attach, char **operands)
{
	long pid;

	for (; *operands; operands++) {
		pid = proc_number(*operands);
		if (!pid) {
			say("%s: is no process id (processes are named by their numbers)", *operands);
			return -MT_E_ARGUMENT;
		}
		if (add_pid(attach, (pid_t)pid))
			return -MT_E_MEMORY;
	}
	return 0;
}

static void add_attachable(void *context, long pid)
{
	struct attach *attach = context;
	struct attach_process process;

	if (attach->count < PROCESSES_MAX && attach_look(&process, (pid_t)pid) == ATTACH_FINE)
		add_pid(attach, (pid_t)pid);
}

/* Lists the processes to attach to. Returns 0 or an exit status. */
static int find_processes(struct attach *attach)
{
	int error = add_operands(attach, attach->arguments.operands);

	if (error)
		return mt_exit_code(error);
	if (attach->all)
		proc_each(add_attachable, attach);
	if (attach->count)
		return 0;
	say(attach->all ? "no process was found that memrec may attach to (memrec attach PID says why not)"
			: "attach: a process is needed (memrec attach PID, or --all)");
	return attach->all ? MEMREC_EXIT_SYSTEM : MEMREC_EXIT_USAGE;
}

/* Parses the command line of memrec attach. 0: go on; else memrec ends with *status. */
static int read_attach_arguments(struct attach *attach, int argc, char **argv, int *status)
{
	struct arguments_error why = { .what = "" };
	int error;

	argc = take_own(attach, argc, argv);
	*status = MEMREC_EXIT_USAGE;
	if (argc < 0)
		return 1;
	error = arguments_parse(&attach->arguments, argc, argv, &why);
	if (error == -MT_E_ARGUMENT)
		say("%s: %s", why.what, why.why);
	else if (error)
		say("working folder: %s (go to one that exists)", say_why(error, errno));
	*status = error ? mt_exit_code(error) : MEMREC_EXIT_OK;
	if (!error && attach->arguments.help)
		print_attach_help();
	return error || attach->arguments.help;
}

static int prepare(struct attach *attach)
{
	struct memrec_options *options = &attach->arguments.options;

	attach->plan.options = options;
	options->attached = 1;
	if (!inject_find_program(options->collector) && !inject_find_library(attach->plan.library, options->collector))
		return 0;
	say("%s: not found (build or install memrec as a whole)", attach->plan.library);
	return MEMREC_EXIT_SYSTEM;
}

static void take_signals(struct attach *attach)
{
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP };
	size_t i;

	say_outlive_readers(&attach->before);
	sigemptyset(&attach->signals);
	for (i = 0; i < MT_ARRAY_SIZE(handled); i++)
		sigaddset(&attach->signals, handled[i]);
	sigprocmask(SIG_BLOCK, &attach->signals, NULL);
}

/* With --steps or --duration, waits for the end of the recording and prints its result. */
static void follow(struct attach *attach, struct recording *recording)
{
	const struct memrec_options *options = attach->plan.options;

	if (recording->lock >= 0 && (options->duration || options->steps)) {
		wait_for_end(recording, &attach->signals);
		tell(recording, options->collector, &attach->before);
	}
	if (recording->run_dir[0])
		let_folder_go(recording);
}

static int attach_all(struct attach *attach)
{
	struct recording *recordings = calloc(attach->count, sizeof(*recordings));
	int worst = MEMREC_EXIT_OK, status;
	size_t i;

	if (!recordings) {
		say("out of memory");
		return MEMREC_EXIT_SYSTEM;
	}
	for (i = 0; i < attach->count; i++) {
		status = attach_process(attach, attach->pids[i], &recordings[i]);
		worst = status > worst ? status : worst;
	}
	for (i = 0; i < attach->count; i++)
		follow(attach, &recordings[i]);
	free(recordings);
	return worst;
}

int attach_main(int argc, char **argv)
{
	static struct attach attach;
	int status;

	if (read_attach_arguments(&attach, argc, argv, &status))
		return status;
	take_signals(&attach);
	status = prepare(&attach);
	if (!status)
		status = find_processes(&attach);
	if (!status)
		status = attach_all(&attach);
	free(attach.pids);
	return status;
}

/* ---- detach ---- */

/* Starts a collector in place of one that was killed. The collector becomes a daemon, so waitpid returns soon. */
static void start_collector(const struct recording *recording)
{
	char program[MEMREC_PATH_MAX];
	pid_t pid;

	if (inject_find_program(program))
		return;
	pid = fork();
	if (pid == 0) {
		execl(program, "memrec", "--collect", recording->ring, recording->run_dir, NULL);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* 1: a collector got the signal to end, or the ring is gone. Starts a collector if the ring has none. */
static int ask_any_collector(const struct recording *recording)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	int tries, asked = ask_collector(recording);

	if (!asked)
		start_collector(recording);
	for (tries = 0; !asked && tries < TRIES; tries++) {
		nanosleep(&pause, NULL);
		asked = ask_collector(recording) || !ring_is_there(recording);
	}
	return asked;
}

static int detach_process(struct attach *attach, pid_t pid)
{
	struct attach_process process;
	struct recording recording = { .pid = pid, .lock = -1 };
	enum attach_refusal refusal = attach_look(&process, pid);
	char program[MEMREC_PATH_MAX];

	if (refusal != ATTACH_RECORDED) {
		if (!process.was_read)
			return refuse(&process, refusal);
		say("process %d: memrec does not record it", (int)pid);
		return MEMREC_EXIT_SYSTEM;
	}
	snprintf(recording.ring, sizeof(recording.ring), "%s", process.ring);
	output_dir(recording.run_dir, process.ring);
	recording.lock = rundir_lock(recording.run_dir);
	if (!ask_any_collector(&recording)) {
		say("process %d: its collector does not answer (memrec recover %s makes a trace of what is there)",
		    (int)pid, process.ring);
		let_folder_go(&recording);
		return MEMREC_EXIT_SYSTEM;
	}
	wait_for_end(&recording, &attach->signals);
	if (inject_find_program(program))
		program[0] = '\0';
	tell(&recording, program, &attach->before);
	let_folder_go(&recording);
	return MEMREC_EXIT_OK;
}

static void print_detach_help(void)
{
	printf("usage: memrec detach PID...\n\n"
	       "Ends the recording of processes, with the step that they are in, and waits for their traces. The processes go on. Ctrl-C\n"
	       "no longer waits for the step.\n\n"
	       "  -q, --quiet         print errors alone: no summary, no last words\n"
	       "  -v, --verbose       print each thing that is done, and how\n"
	       "  -h, --help          this text\n");
}

/* Parses the command line of memrec detach. 0: go on; else memrec ends with *status. */
static int read_detach_arguments(int argc, char **argv, int *status)
{
	static const struct option words[] = { { "quiet", no_argument, NULL, 'q' },
					       { "verbose", no_argument, NULL, 'v' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int letter;

	opterr = 0;
	*status = MEMREC_EXIT_OK;
	while ((letter = getopt_long(argc, argv, "qvh", words, NULL)) != -1) {
		if (letter == 'h') {
			print_detach_help();
			return 1;
		}
		if (letter == '?') {
			say("%s: no such option (see memrec detach --help)", argv[optind - 1]);
			*status = MEMREC_EXIT_USAGE;
			return 1;
		}
		say_set_level(letter == 'q' ? SAY_QUIET : SAY_VERBOSE);
	}
	if (optind < argc)
		return 0;
	say("detach: a process is needed (memrec detach PID)");
	*status = MEMREC_EXIT_USAGE;
	return 1;
}

int detach_main(int argc, char **argv)
{
	static struct attach attach;
	int worst = MEMREC_EXIT_OK, status;
	size_t i;

	if (read_detach_arguments(argc, argv, &status))
		return status;
	take_signals(&attach);
	status = add_operands(&attach, argv + optind);
	if (status)
		return mt_exit_code(status);
	for (i = 0; i < attach.count; i++) {
		status = detach_process(&attach, attach.pids[i]);
		worst = status > worst ? status : worst;
	}
	free(attach.pids);
	return worst;
}
