/*
 * screen.h - memrec --live: memana's timeline in the terminal that memrec was started in, while the command runs.
 *
 *     terminal <──> memana live RUN/.screen         links to the traces of the run, kept up to date by memrec
 *     TRACE.log <── the command                     standard output and error, as far as they were the terminal's
 *
 * Nothing depends on the screen: it reads files, and the command and its collectors have nothing of it. memrec has no part
 * in what it shows either; it starts it when there is a trace, takes the terminal back when it is gone, and keeps quiet
 * meanwhile.
 */
#ifndef MEMREC_SCREEN_H
#define MEMREC_SCREEN_H

#include <signal.h>
#include <termios.h>
#include "gather.h"
#include "shared/options.h"

enum screen_state {
	SCREEN_NONE,    /* not asked for, or there cannot be one */
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
	unsigned traces;          /* number of traces that it has been given */
	int log_fd;               /* locked as long as anybody prints into it; -1: none */
	int terminal;             /* source of keys */
	struct termios settings;  /* settings of the terminal before */
	pid_t pid;                /* pid of memana; SHOWN */
	int held, standard_error; /* memrec's own lines are held back in the first, for the second; -1: they are not */
	int behind;               /* the shell has the terminal: the screen is stopped */
	int asked_to_end;         /* memrec was, by a signal: then the screen does not outlast the command */
};

/* None, until screen_prepare. */
void screen_init(struct screen *screen);

/*
 * Finds out whether there can be a screen, and opens the log; says a line either way. `pattern`: of -o, absolute;
 * `command` and `run_dir` outlive the screen.
 */
void screen_prepare(struct screen *screen, const char *command, const char *run_dir, const char *pattern);

/* The command did not start: what was prepared goes away. */
void screen_cancel(struct screen *screen);

/* In the child that becomes the command: the streams that are the terminal become the log, and the keyboard /dev/null. */
void screen_redirect(const struct screen *screen);

/* How long memrec may sleep, at most, before it calls screen_tick; NULL: it need not. */
const struct timespec *screen_pause(const struct screen *screen);

/*
 * Sees to the links, starts the screen when there is a trace, takes the terminal back when it was left. `before`: the
 * signals that were blocked when memrec was started.
 */
void screen_tick(struct screen *screen, const sigset_t *before);

/*
 * The command has ended with `status`, and these are its traces by their last names: the screen stays until it is left, or
 * until one of `signals` (blocked by the caller) comes. Afterwards memrec's own lines are in the terminal again.
 */
void screen_finish(struct screen *screen, const struct gathered *gathered, int status, const sigset_t *signals,
		   const sigset_t *before);

/* Says where the command's output is. */
void screen_say_log(const struct screen *screen);

void screen_release(struct screen *screen);

#endif
