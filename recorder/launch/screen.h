/*
 * screen.h - memrec --live: shows memana's timeline in memrec's terminal while the command runs.
 *
 *     terminal <──> memana live RUN/.screen         links to the traces of the run, kept up to date by memrec
 *     TRACE.log <── the command                     standard output and error, if they were the terminal
 *
 * The screen only reads files. The command and its collectors do not know the screen. memrec starts the screen when the
 * first trace exists, prints nothing while the screen runs, and takes the terminal back when the screen ends.
 */
#ifndef MEMREC_SCREEN_H
#define MEMREC_SCREEN_H

#include <signal.h>
#include <termios.h>
#include "gather.h"
#include "shared/options.h"

enum screen_state {
	SCREEN_NONE,    /* no screen is wanted or possible */
	SCREEN_WAITING, /* the screen waits for the first trace */
	SCREEN_SHOWN,   /* memana runs */
	SCREEN_LEFT,    /* memana has ended */
};

struct screen {
	enum screen_state state;
	const char *command, *run_dir; /* texts of the caller */
	char memana[MEMREC_PATH_MAX];
	char folder[MEMREC_PATH_MAX]; /* folder of the links */
	char log[MEMREC_PATH_MAX];
	unsigned traces;          /* number of links in `folder` */
	int log_fd;               /* locked while a process prints into the log; -1: no log */
	int terminal;             /* descriptor of the terminal for keys */
	struct termios settings;  /* settings of the terminal before the screen */
	pid_t pid;                /* pid of memana in state SCREEN_SHOWN */
	int held, standard_error; /* memfd with memrec's lines that are held back; stderr before it; -1: none */
	int behind;               /* 1: memrec is in the background, and the screen is stopped */
	int asked_to_end;         /* 1: memrec got a signal to end, and the screen ends with the command */
};

/* Initialises *screen with state SCREEN_NONE. */
void screen_init(struct screen *screen);

/*
 * Checks whether a screen is possible, and opens the log. Prints a line in any case. `pattern`: the pattern of -o,
 * absolute. `command` and `run_dir` must outlive the screen. Call screen_release after it.
 */
void screen_prepare(struct screen *screen, const char *command, const char *run_dir, const char *pattern);

/* Removes the log if the command did not start. */
void screen_cancel(struct screen *screen);

/*
 * Call it in the child that becomes the command. If standard output or error is the terminal, the log takes its place.
 * If standard input is the terminal, /dev/null takes its place.
 */
void screen_redirect(const struct screen *screen);

/* The longest sleep of memrec before the next screen_tick; NULL: no limit. */
const struct timespec *screen_pause(const struct screen *screen);

/*
 * Links new traces, starts the screen when the first trace exists, and takes the terminal back when the screen has
 * ended. `before`: signal mask at memrec's start.
 */
void screen_tick(struct screen *screen, const sigset_t *before);

/*
 * Call it after the command has ended with `status`. `gathered`: its traces with their final names. Waits until the
 * user leaves the screen, or until one of `signals` (blocked by the caller) comes. Then prints memrec's own lines.
 */
void screen_finish(struct screen *screen, const struct gathered *gathered, int status, const sigset_t *signals,
		   const sigset_t *before);

/* Prints path and size of the log. */
void screen_say_log(const struct screen *screen);

void screen_release(struct screen *screen);

#endif
