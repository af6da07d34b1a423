/* launch.c - runs a recorded command: the checks before it, the wait, and the lines after it. */
#include "launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "collect/output.h"
#include "gather.h"
#include "inject.h"
#include "memtrace/error.h"
#include "memtrace/shell.h"
#include "run/rundir.h"
#include "run/say.h"
#include "screen.h"
#include "words.h"

#define LIBUNWIND "libunwind.so.8"
#define LIBUNWIND_COPY "libmemrec-unwind.so" /* beside the agent, if the package has one */

enum { EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 }; /* as shells use them */

struct launch {
	const char *program; /* argv[0] */
	struct arguments *arguments;
	char run_dir[MEMREC_PATH_MAX];
	struct timespec began;
	int run_lock;
	sigset_t signals, before; /* signals that wait_for_command takes; signal mask at memrec's start */
	struct sigaction child_before;
	struct screen screen;
	struct dropped dropped;
};

static int system_error(const char *what, const char *advice)
{
	say("%s: %s (%s)", what, strerror(errno), advice);
	return MEMREC_EXIT_SYSTEM;
}

/* Checks before the start whether a trace can be written to its folder later. Returns 0 or an exit status. */
static int check_output(const char *pattern)
{
	char dir[MEMREC_PATH_MAX], probe[MEMREC_PATH_MAX + 16];
	int fd, found;
	struct stat st;

	found = !stat(pattern, &st);
	if (!found && errno == ENAMETOOLONG && !strchr(pattern, '%'))
		return system_error(summary_path(pattern), "choose a shorter name with -o");
	if (found && !S_ISREG(st.st_mode)) {
		say("%s: is not a regular file (choose another name with -o)", summary_path(pattern));
		return MEMREC_EXIT_SYSTEM;
	}
	output_dir(dir, pattern);
	if (strchr(dir, '%')) /* the folder depends on the process */
		return 0;
	snprintf(probe, sizeof(probe), "%s/.memrec.XXXXXX", dir);
	fd = mkostemp(probe, O_CLOEXEC);
	if (fd < 0)
		return system_error(dir, "the trace goes there; choose another place with -o");
	close(fd);
	unlink(probe);
	return 0;
}

static void check_libunwind(const struct memrec_options *options, const char *agent)
{
	const char *slash = strrchr(agent, '/');
	char copy[MEMREC_PATH_MAX];
	void *library;

	snprintf(copy, sizeof(copy), "%.*s/" LIBUNWIND_COPY, slash ? (int)(slash - agent) : 0, agent);
	if (!(options->stacks & MEMREC_STACKS_NATIVE) || !options->depth || !access(copy, R_OK))
		return;
	library = dlopen(LIBUNWIND, RTLD_LAZY | RTLD_LOCAL);
	if (library)
		dlclose(library);
	else
		say_result("native stacks are off: " LIBUNWIND " not found (install libunwind8)");
}

static void report_taken(unsigned taken)
{
#define REPORT_INJECTION(name, bit, variable, shared)                        \
	if (taken & (bit))                                                   \
		say(variable ": %s (recording goes on without this way in)", \
		    (shared) ? "the path of libmemrec.so has a blank or a colon" : "another tool has it: left to it");
	INJECT_LIST(REPORT_INJECTION)
#undef REPORT_INJECTION
}

/* Sets the environment of the command. Returns 0 or an exit status. */
static int set_injection(struct launch *launch)
{
	struct memrec_options *options = &launch->arguments->options;
	char library[MEMREC_PATH_MAX];
	unsigned taken;
	int error;

	if (inject_find_program(options->collector))
		return system_error("/proc/self/exe", "memrec needs /proc");
	if (inject_find_library(library, options->collector)) {
		say("%s: not found (build or install memrec as a whole)", library);
		return MEMREC_EXIT_SYSTEM;
	}
	check_libunwind(options, library);
	error = inject_set(library, options, &taken);
	if (error) {
		say("cannot set the command's environment: %s", say_why(error, errno));
		return mt_exit_code(error);
	}
	report_taken(taken);
	say_detail("the agent is %s; traces go to %s", library, options->output);
	return 0;
}

/*
 * If memrec runs below another memrec, this one records its command, and leaves a note for the outer one. If both have
 * the same output, the traces of this one get the pid in their names.
 */
static void step_out(struct memrec_options *options)
{
	const char *text = getenv(MEMREC_OPTIONS_VARIABLE);
	struct memrec_options *outer = malloc(sizeof(*outer));
	char note[MEMREC_PATH_MAX + 64];

	if (outer && text && !memrec_options_decode(outer, text) && outer->run_dir[0]) {
		snprintf(note, sizeof(note), "%s/%d" MEMREC_FAILED_SUFFIX, outer->run_dir, (int)getpid());
		if (!symlink("it is another memrec, which records what it starts by itself", note) &&
		    !strcmp(options->output, outer->output))
			output_add_pid(options->output);
	}
	free(outer);
}

/* Gives the run an ID, unless an outer memrec has given one: processes of an inner memrec belong to the same run. */
static void name_run(struct memrec_options *options)
{
	uint64_t id;

	if (!*options->launch && getrandom(&id, sizeof(id), 0) == (ssize_t)sizeof(id))
		snprintf(options->launch, sizeof(options->launch), "%016" PRIx64, id);
}

/* Makes and locks the folder of the run. Returns 0 or an exit status. */
static int open_run(struct launch *launch)
{
	const char *ring_dir = launch->arguments->ring_dir;
	char beside[MEMREC_PATH_MAX];

	output_dir(beside, launch->arguments->options.output);
	if (rundir_make(launch->run_dir, ring_dir, beside))
		return system_error(ring_dir ? ring_dir : beside, "no place for the ring; choose one with --ring-dir");
	say_detail("rings lie in %s", launch->run_dir);
	name_run(&launch->arguments->options);
	launch->run_lock = rundir_lock(launch->run_dir);
	snprintf(launch->arguments->options.run_dir, MEMREC_PATH_MAX, "%s", launch->run_dir);
	return 0;
}

static void close_run(struct launch *launch)
{
	if (launch->run_lock >= 0)
		close(launch->run_lock);
	rundir_clean(launch->run_dir);
}

/* Blocks signals until wait_for_command takes them, because memrec must outlive the command. */
static void take_signals(struct launch *launch)
{
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD };
	struct sigaction action = { .sa_handler = SIG_DFL };
	size_t i;

	sigemptyset(&launch->signals);
	for (i = 0; i < MT_ARRAY_SIZE(handled); i++)
		sigaddset(&launch->signals, handled[i]);
	sigprocmask(SIG_BLOCK, &launch->signals, NULL);
	sigaction(SIGCHLD, &action, &launch->child_before); /* SIG_IGN would lose the exit status */
}

/* Runs in the child: becomes the command. Does not return. Writes the errno of execvp to the pipe. */
static void become(const struct launch *launch, int pipe_end)
{
	char **command = launch->arguments->operands;
	int error;

	sigaction(SIGCHLD, &launch->child_before, NULL);
	sigprocmask(SIG_SETMASK, &launch->before, NULL);
	screen_redirect(&launch->screen);
	execvp(command[0], command);
	error = errno;
	while (write(pipe_end, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(EXIT_NOT_FOUND);
}

/* Starts the command. Returns its pid, or minus errno. The pipe closes when the command begins. */
static pid_t start(const struct launch *launch)
{
	int ends[2], error = 0;
	ssize_t size;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0)
		become(launch, ends[1]);
	error = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -error;
	}
	do
		size = read(ends[0], &error, sizeof(error));
	while (size < 0 && errno == EINTR);
	close(ends[0]);
	if (size <= 0)
		return pid;
	waitpid(pid, NULL, 0);
	return -error;
}

/*
 * Passes a signal on to the command. A signal from the kernel, such as Ctrl-C or the end of the terminal, has reached
 * the whole process group, and must not come twice.
 */
static void hand_on(struct launch *launch, pid_t pid, const siginfo_t *info)
{
	if (info->si_signo == SIGCHLD)
		return;
	launch->screen.asked_to_end |= info->si_signo != SIGUSR1 && info->si_signo != SIGUSR2;
	if (info->si_code != SI_KERNEL)
		kill(pid, info->si_signo);
}

static int wait_for_command(struct launch *launch, pid_t pid)
{
	const struct timespec *screen_next;
	struct timespec next;
	siginfo_t info;
	int status = 0;

	dropped_begin(&launch->dropped, launch->run_dir);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		next = dropped_pause(&launch->dropped);
		screen_next = screen_pause(&launch->screen);
		if (sigtimedwait(&launch->signals, &info, screen_next ? screen_next : &next) > 0)
			hand_on(launch, pid, &info);
		dropped_look(&launch->dropped);
		screen_tick(&launch->screen, &launch->before);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* 1: the command ran under --paused, and no recording was begun; the message is printed. */
static int say_paused(const struct launch *launch)
{
	if (launch->arguments->options.paused)
		say("nothing was recorded: the command ran under --paused, and no memrec start came while it took memory (memrec "
		    "status lists processes, memrec start --all begins; or leave --paused out)");
	return launch->arguments->options.paused != 0;
}

/* Says that nothing was recorded. After an error, the messages of the command itself have the reason. */
static void say_nothing(int status)
{
	if (status)
		say("nothing was recorded: the command ended with status %d before memrec saw a process take GPU or tensor "
		    "memory (no trace was written; read the messages of the command)",
		    status);
	else
		say("nothing was recorded: memrec saw no process take GPU or tensor memory (no trace was written; where a "
		    "launcher changes the environment, memrec env says what to set)");
}

/* Says which signal ended the command. A shell in between turns signal N into status 128 + N. */
static void say_signal(const struct launch *launch, int status)
{
	if (status > 128 && status < 128 + NSIG && !launch->screen.asked_to_end)
		say("%s ended with status %d, as after signal %d (%s)", launch->arguments->operands[0], status,
		    status - 128, strsignal(status - 128));
}

static void report(const struct launch *launch, const struct gathered *gathered, int status)
{
	const char *command = last_words_command(gathered->results, gathered->count, status);
	size_t traces = gather_traces(gathered), dropped = dropped_say(&launch->dropped, !traces), i;

	last_words_print(command, gathered->results, gathered->count, &launch->before);
	if (traces)
		say_signal(launch, status);
	for (i = 0; i < gathered->count; i++)
		summary_print(&gathered->results[i]);
	if (traces)
		summary_print_next(launch->program, command, gathered->results, gathered->count);
	else if (!gathered->failed && !gathered->foreign && !gathered->count && !dropped && !say_paused(launch))
		say_nothing(status);
}

static void collect_results(struct launch *launch, int status)
{
	struct gathered gathered;
	sigset_t stop = launch->signals;

	sigdelset(&stop, SIGCHLD);
	sigdelset(&stop, SIGUSR1);
	sigdelset(&stop, SIGUSR2);
	gather(&gathered, launch->run_dir, launch->arguments->options.output, launch->began, &stop);
	gather_rename(&gathered, launch->arguments->options.output, launch->run_dir);
	screen_finish(&launch->screen, &gathered, status, &launch->signals, &launch->before);
	screen_say_log(&launch->screen);
	report(launch, &gathered, status);
	gather_release(&gathered);
}

static int cannot_start(const char *command, int error)
{
	const char *near = error == ENOENT ? launch_command_near(command) : NULL, *end = strrchr(command, '.');
	char word[SAY_SIZE];

	if (end && !strcmp(end, ".py") && !access(command, R_OK))
		say("%s: is a Python file, not a program (memrec -- python3 %s)", command,
		    mt_shell_word(word, sizeof(word), command));
	else if (near)
		say("%s: %s (did you mean memrec %s?)", command, strerror(error), near);
	else
		say("%s: %s", command, strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

static int run(struct launch *launch)
{
	pid_t pid;
	int status;

	take_signals(launch);
	if (launch->arguments->live)
		screen_prepare(&launch->screen, launch->arguments->operands[0], launch->run_dir,
			       launch->arguments->options.output);
	clock_gettime(CLOCK_REALTIME_COARSE, &launch->began);
	pid = start(launch);
	if (pid < 0) {
		screen_cancel(&launch->screen);
		return cannot_start(launch->arguments->operands[0], -pid);
	}
	status = wait_for_command(launch, pid);
	collect_results(launch, status);
	screen_release(&launch->screen);
	return status;
}

int launch_main(const char *program, struct arguments *arguments)
{
	struct launch launch = { .program = program, .arguments = arguments };
	int status;

	say_outlive_readers(&launch.before);
	status = check_output(arguments->options.output);
	if (status)
		return status;
	screen_init(&launch.screen);
	step_out(&arguments->options);
	status = open_run(&launch);
	if (status)
		return status;
	status = set_injection(&launch);
	if (!status)
		status = run(&launch);
	close_run(&launch);
	return status;
}
