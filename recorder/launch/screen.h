/*
 * screen.h - memrec --live: shows memana's timeline in memrec's terminal while the command runs.
 *
 *     terminal <──> memana live RUN/.screen         links to the traces of the run, kept up to date by memrec
 *     TRACE.log <── the command                     standard output and error, as far as they were the terminal's
 *
 * Nothing depends on the screen: it only reads files, and the command and its collectors do not know it. memrec starts
 * it when there is a trace, prints nothing while it runs, and takes the terminal back when it ends.
 */
#ifndef MEMREC_SCREEN_H
#define MEMREC_SCREEN_H

#include <signal.h>
#include <termios.h>
#include "gather.h"
#include "shared/options.h"

enum screen_state {
	SCREEN_NONE,    /* not wanted, or not possible */
	SCREEN_WAITING, /* for the first trace */
	SCREEN_SHOWN,
	SCREEN_LEFT,
};

struct screen {
	enum screen_state state;
	const char *command, *run_dir; /* the caller's */
	char memana[MEMREC_PATH_MAX];
	char folder[MEMREC_PATH_MAX]; /* folder of the links */
	char log[MEMREC_PATH_MAX];
	unsigned traces;          /* number of traces that were linked for the screen */
	int log_fd;               /* locked while a process prints into the log; -1: no log */
	int terminal;             /* source of keys */
	struct termios settings;  /* settings of the terminal before */
	pid_t pid;                /* pid of memana; SHOWN */
	int held, standard_error; /* held: memrec's own lines meanwhile; standard_error: where they go; -1: none */
	int behind;               /* the shell has the terminal: the screen is stopped */
	int asked_to_end;         /* memrec was, by a signal: then the screen does not outlast the command */
};

/* No screen until screen_prepare. */
void screen_init(struct screen *screen);

/*
 * Checks whether a screen is possible and opens the log; prints a line in any case. `pattern`: of -o, absolute.
 * `command` and `run_dir` must outlive the screen.
 */
void screen_prepare(struct screen *screen, const char *command, const char *run_dir, const char *pattern);

/* The command did not start: removes what was prepared. */
void screen_cancel(struct screen *screen);

/*
 * In the child that becomes the command: standard output and error that are the terminal become the log, and the
 * keyboard becomes /dev/null.
 */
void screen_redirect(const struct screen *screen);

/* The longest sleep of memrec before the next screen_tick; NULL: no limit. */
const struct timespec *screen_pause(const struct screen *screen);

/*
 * Links new traces, starts the screen when there is a trace, and takes the terminal back when it was left. `before`:
 * signal mask at memrec's start.
 */
void screen_tick(struct screen *screen, const sigset_t *before);

/*
 * The command has ended with `status`, and `gathered` has its traces by their final names. The screen stays until it is
 * left, or until one of `signals` (blocked by the caller) comes. Then memrec's own lines are printed.
 */
void screen_finish(struct screen *screen, const struct gathered *gathered, int status, const sigset_t *signals,
		   const sigset_t *before);

/* Prints the path of the log. */
void screen_say_log(const struct screen *screen);

void screen_release(struct screen *screen);

#endif
