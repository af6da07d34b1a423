/* screen.c - shows memana's timeline while the command runs: see screen.h. */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/output.h"
#include "inject.h"
#include "launch.h"
#include "memtrace/base.h"
#include "memtrace/reader.h"
#include "run/say.h"

#define LOG_SUFFIX ".log"
#define LOOK_NS 200000000 /* time between two looks for traces */
#define SAME_NAMES 100    /* limit of traces with the same name in different folders */

/* Resets the terminal after a killed screen: main screen, no mouse, a cursor, plain letters and keys. */
#define TERMINAL_RESET "\033[?1006l\033[?1002l\033[?1000l\033[?1049l\033[?1l\033>\033[?25h\033[0m\r"

void screen_init(struct screen *screen)
{
	memset(screen, 0, sizeof(*screen));
	screen->log_fd = screen->terminal = screen->held = screen->standard_error = -1;
}

/* ---- the checks before a screen ---- */

/* Keys come from the standard input if it is a terminal, else from /dev/tty. */
static int open_keyboard(void)
{
	return isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open("/dev/tty", O_RDWR | O_CLOEXEC);
}

static int is_in_front(const struct screen *screen)
{
	return tcgetpgrp(screen->terminal) == getpgrp();
}

/* The reason why no screen is possible; NULL: a screen is possible. */
static const char *find_obstacle(struct screen *screen)
{
	const char *term = getenv("TERM");

	inject_find_memana(screen->memana);
	if (!screen->memana[0])
		return "memana does not lie beside memrec";
	if (!isatty(STDOUT_FILENO))
		return "the standard output is not a terminal";
	if (!term || !*term || !strcmp(term, "dumb"))
		return "TERM names no terminal with a screen";
	screen->terminal = open_keyboard();
	if (screen->terminal < 0 || tcgetattr(screen->terminal, &screen->settings))
		return "there is no terminal to read keys from";
	return is_in_front(screen) ? NULL : "memrec runs in the background";
}

static int own_rank(void)
{
	const char *text = getenv("RANK");
	char *end;
	long rank;

	if (!text || *text < '0' || *text > '9')
		return -1;
	rank = strtol(text, &end, 10);
	return *end || rank > INT_MAX ? -1 : (int)rank;
}

/* Makes a pattern of -o whose only name is `trace` with the log's suffix: % becomes %%. */
static int log_pattern(char *pattern, const char *trace)
{
	size_t used = 0;

	for (; *trace && used + sizeof(LOG_SUFFIX) + 2 < MEMREC_PATH_MAX; trace++) {
		pattern[used++] = *trace;
		if (*trace == '%')
			pattern[used++] = '%';
	}
	memcpy(pattern + used, LOG_SUFFIX, sizeof(LOG_SUFFIX));
	return *trace ? -1 : 0;
}

/* Opens the log. Its name is the one that a trace of memrec itself would have, and ".log". Returns 0 or -1 (errno). */
static int open_log(struct screen *screen, const char *pattern)
{
	char host[HOST_NAME_MAX + 1] = "", trace[MEMREC_PATH_MAX], of_log[MEMREC_PATH_MAX];
	struct output_owner owner = { screen->run_dir, ".screen", host, (uint32_t)getpid(), own_rank(), NULL };
	int plain;

	gethostname(host, sizeof(host) - 1);
	errno = ENAMETOOLONG;
	if (output_name(trace, pattern, &owner, 0, &plain) || log_pattern(of_log, trace))
		return -1;
	owner.rank = -1;
	screen->log_fd = output_claim(screen->log, of_log, &owner, &plain);
	if (screen->log_fd < 0 || fcntl(screen->log_fd, F_SETFL, O_APPEND))
		return -1;
	return 0;
}

static void forget(struct screen *screen)
{
	if (screen->log_fd >= 0)
		close(screen->log_fd);
	if (screen->terminal >= 0)
		close(screen->terminal);
	screen->log_fd = screen->terminal = -1;
	screen->state = SCREEN_NONE;
}

static void refuse(struct screen *screen, const char *why)
{
	say("--live: %s (recording goes on without the screen)", why);
	forget(screen);
}

void screen_prepare(struct screen *screen, const char *command, const char *run_dir, const char *pattern)
{
	const char *obstacle = find_obstacle(screen);
	char why[MEMREC_PATH_MAX + 128];

	screen->command = command;
	screen->run_dir = run_dir;
	if (obstacle) {
		refuse(screen, obstacle);
		return;
	}
	if (snprintf(screen->folder, sizeof(screen->folder), "%s/" RUNDIR_SCREEN, run_dir) >= (int)MEMREC_PATH_MAX ||
	    mkdir(screen->folder, 0700)) {
		snprintf(why, sizeof(why), "%s: %s", screen->folder, strerror(errno));
		refuse(screen, why);
	} else if (open_log(screen, pattern)) {
		snprintf(why, sizeof(why), "no file for what %.200s prints: %s", command, strerror(errno));
		refuse(screen, why);
	} else {
		say("--live: what %s prints goes to %s; the screen opens when it takes memory", command,
		    summary_path(screen->log));
		screen->state = SCREEN_WAITING;
	}
}

void screen_cancel(struct screen *screen)
{
	if (screen->state == SCREEN_NONE)
		return;
	unlink(screen->log);
	output_restore_old(screen->log);
	forget(screen);
}

void screen_redirect(const struct screen *screen)
{
	int fd, nothing;

	if (screen->state == SCREEN_NONE)
		return;
	for (fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			dup2(screen->log_fd, fd);
	nothing = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
}

/* ---- the traces ---- */

/* 1: the link leads to the trace; 0: there is no link; -1: the link leads to another trace. */
static int whose_link(const char *link, const char *trace)
{
	char target[MEMREC_PATH_MAX];
	ssize_t size = readlink(link, target, sizeof(target));

	if (size < 0)
		return 0;
	return (size_t)size == strlen(trace) && !memcmp(target, trace, (size_t)size) ? 1 : -1;
}

/* 1: the trace can be read. memana would end with an error at another trace, so it is shown later. */
static int is_begun(const char *trace)
{
	struct mt_reader *reader;

	if (mt_reader_open(&reader, trace))
		return 0;
	mt_reader_free(reader);
	return 1;
}

static void show_trace(struct screen *screen, const char *trace)
{
	const char *slash = strrchr(trace, '/');
	char link[MEMREC_PATH_MAX + NAME_MAX], number[16] = "";
	int same, whose = -1;

	for (same = 1; whose < 0 && same < SAME_NAMES; same++) {
		if (same > 1)
			snprintf(number, sizeof(number), "%d.", same);
		if (snprintf(link, sizeof(link), "%s/%s%s", screen->folder, number, slash ? slash + 1 : trace) >=
		    (int)sizeof(link))
			return;
		whose = whose_link(link, trace);
	}
	if (!whose && is_begun(trace) && !symlink(trace, link))
		screen->traces++;
}

static int show_ring(void *context, const char *ring_path, int ring MT_UNUSED)
{
	char trace[MEMREC_PATH_MAX];

	if (rundir_get_trace(ring_path, trace, sizeof(trace)))
		show_trace(context, trace);
	return 0;
}

/* ---- memana ---- */

/*
 * Runs in the child: becomes the screen. The screen must not be recorded. It must not outlive memrec, because it would
 * keep the terminal.
 */
static void become_screen(const struct screen *screen, pid_t memrec, const sigset_t *before)
{
	const char *words[] = { screen->memana, "live", "--", screen->folder, NULL };

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != memrec)
		_exit(MEMREC_EXIT_SYSTEM);
	if (dup2(screen->terminal, STDIN_FILENO) < 0 ||
	    (screen->held >= 0 && dup2(screen->standard_error, STDERR_FILENO) < 0))
		_exit(MEMREC_EXIT_SYSTEM);
	inject_clear();
	sigprocmask(SIG_SETMASK, before, NULL);
	execv(words[0], (char *const *)words);
	_exit(MEMREC_EXIT_SYSTEM);
}

/* Holds back memrec's own lines until the user leaves the screen, because they would appear inside of it. */
static void hold_lines(struct screen *screen)
{
	if (!isatty(STDERR_FILENO))
		return;
	screen->standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	screen->held = memfd_create("lines", MFD_CLOEXEC);
	if (screen->standard_error >= 0 && screen->held >= 0 && dup2(screen->held, STDERR_FILENO) >= 0)
		return;
	close(screen->standard_error);
	close(screen->held);
	screen->held = screen->standard_error = -1;
}

static void release_lines(struct screen *screen)
{
	char lines[4096];
	ssize_t size;
	off_t at = 0;

	if (screen->held < 0)
		return;
	dup2(screen->standard_error, STDERR_FILENO);
	for (; (size = pread(screen->held, lines, sizeof(lines), at)) > 0; at += size)
		if (write(STDERR_FILENO, lines, (size_t)size) < 0)
			break;
	close(screen->standard_error);
	close(screen->held);
	screen->held = screen->standard_error = -1;
}

/*
 * Switches off signals from keys: Ctrl-C then only leaves the screen. As a signal, it would also reach the command,
 * which is in the same process group.
 */
static void take_terminal(const struct screen *screen)
{
	struct termios settings = screen->settings;

	settings.c_lflag &= ~(tcflag_t)ISIG;
	tcsetattr(screen->terminal, TCSANOW, &settings);
}

/* Restores the terminal's settings, unless a shell has the terminal: the shell has restored them itself. */
static void give_terminal_back(const struct screen *screen, int was_killed)
{
	if (!is_in_front(screen))
		return;
	if (was_killed && write(STDOUT_FILENO, TERMINAL_RESET, sizeof(TERMINAL_RESET) - 1) < 0)
		errno = 0; /* the terminal is gone */
	tcsetattr(screen->terminal, TCSADRAIN, &screen->settings);
}

static void start(struct screen *screen, const sigset_t *before)
{
	pid_t memrec = getpid();

	if (!is_in_front(screen)) /* screen_tick tries once more later */
		return;
	tcgetattr(screen->terminal, &screen->settings);
	hold_lines(screen);
	take_terminal(screen);
	screen->pid = fork();
	if (screen->pid == 0)
		become_screen(screen, memrec, before);
	screen->state = screen->pid > 0 ? SCREEN_SHOWN : SCREEN_LEFT;
	if (screen->pid > 0)
		return;
	give_terminal_back(screen, 0);
	release_lines(screen);
	say("--live: %s", strerror(errno));
}

/* 1: the screen has ended just now. *status: the status of waitpid. */
static int has_ended(struct screen *screen, int *status)
{
	if (screen->state != SCREEN_SHOWN || waitpid(screen->pid, status, WNOHANG) != screen->pid)
		return 0;
	screen->state = SCREEN_LEFT;
	give_terminal_back(screen, WIFSIGNALED(*status));
	return 1;
}

static void say_left(const struct screen *screen, int status)
{
	char how[64] = "was left";

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was killed (signal %d)", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
	say("the screen %s; %s goes on, and prints to %s", how, screen->command, summary_path(screen->log));
}

/* ---- while the command runs ---- */

/*
 * Continues a stopped screen when memrec is in the foreground. The shell does not continue the screen, because the
 * screen stopped itself in the background.
 */
static void bring_to_front(struct screen *screen)
{
	int behind = !is_in_front(screen);

	if (screen->state == SCREEN_SHOWN && screen->behind && !behind)
		kill(screen->pid, SIGCONT);
	screen->behind = behind;
}

const struct timespec *screen_pause(const struct screen *screen)
{
	static const struct timespec pause = { 0, LOOK_NS };

	return screen->state == SCREEN_WAITING || screen->state == SCREEN_SHOWN ? &pause : NULL;
}

void screen_tick(struct screen *screen, const sigset_t *before)
{
	int status;

	if (!screen_pause(screen))
		return;
	rundir_each(screen->run_dir, show_ring, screen);
	bring_to_front(screen);
	if (screen->state == SCREEN_WAITING && screen->traces)
		start(screen, before);
	if (!has_ended(screen, &status))
		return;
	release_lines(screen);
	say_left(screen, status);
}

/* Ends the screen, also if it is stopped in the background. */
static void end_screen(const struct screen *screen)
{
	kill(screen->pid, SIGTERM);
	kill(screen->pid, SIGCONT);
}

/* Waits until the user leaves the screen. Ends a screen in the background, which is invisible and gets no keys. */
static void wait_until_left(struct screen *screen, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	if (screen->state == SCREEN_SHOWN && (screen->asked_to_end || !is_in_front(screen)))
		end_screen(screen);
	while (!has_ended(screen, &status) && screen->state == SCREEN_SHOWN) {
		bring_to_front(screen);
		if (sigtimedwait(signals, &info, screen_pause(screen)) > 0 && info.si_signo != SIGCHLD &&
		    info.si_signo != SIGUSR1 && info.si_signo != SIGUSR2)
			end_screen(screen);
	}
}

void screen_finish(struct screen *screen, const struct gathered *gathered, int status, const sigset_t *signals,
		   const sigset_t *before)
{
	size_t i;

	if (!screen_pause(screen))
		return;
	for (i = 0; i < gathered->count; i++)
		if (gathered->results[i].trace[0])
			show_trace(screen, gathered->results[i].trace);
	/* After a short program, the screen opens only now. It does not open after an interrupt by the user. */
	if (screen->state == SCREEN_WAITING && screen->traces && !screen->asked_to_end && status != 128 + SIGINT)
		start(screen, before);
	wait_until_left(screen, signals);
	release_lines(screen);
}

void screen_say_log(const struct screen *screen)
{
	char size[SAY_SIZE];
	struct stat st;

	if (screen->state != SCREEN_NONE && !fstat(screen->log_fd, &st))
		say("%s: what %s printed, %s", summary_path(screen->log), screen->command,
		    say_size(size, (uint64_t)st.st_size));
}

void screen_release(struct screen *screen)
{
	release_lines(screen);
	forget(screen);
}
