/*
 * launch.h - the commands of memrec: runs a command with the agent and reports the result, prints settings for other
 * launchers, and recovers traces.
 */
#ifndef MEMREC_LAUNCH_H
#define MEMREC_LAUNCH_H

#include <signal.h>
#include <stdio.h>
#include "run/rundir.h"
#include "shared/options.h"

/* ---- arguments.c: the command line of memrec. The agent reads MEMREC_OPTIONS instead (options.h) ---- */

struct arguments {
	struct memrec_options options; /* its `output` is absolute */
	const char *ring_dir;          /* value of --ring-dir; NULL: not given */
	int live;                      /* 1: show a screen while the command runs */
	char **operands;               /* words after the options, up to a NULL: the command, or the FRAMEWORK of env */
	int help, version;
};

/* The reason why a command line was refused, for a message. */
struct arguments_error {
	char what[256]; /* "--depth" */
	char why[256];  /* "must be a number from 0 to 256" */
};

/*
 * Parses argv without argv[0]. A value comes from its option, else from MEMREC_OPTIONS of the environment, else from
 * the defaults of options.h. Returns 0; -MT_E_ARGUMENT, and *error has the reason; -MT_E_SYSTEM: the working folder is
 * gone (errno).
 */
int arguments_parse(struct arguments *arguments, int argc, char **argv, struct arguments_error *error);

void arguments_print_help(FILE *file);
void arguments_print_options(FILE *file); /* prints only the options */

/* ---- the commands ---- */

/*
 * Runs the command, and waits for the command and its collectors. `program`: argv[0]. Returns memrec's exit status: the
 * status of the command, or the code of the error that kept the command from starting.
 */
int launch_main(const char *program, struct arguments *arguments);

/*
 * `memrec record [options] -- COMMAND`: as `memrec [options] -- COMMAND`, but `env` is a program here. Returns the exit
 * status.
 */
int record_main(int argc, char **argv);

/*
 * `memrec env [FRAMEWORK]`: prints the settings for a launcher that starts the processes in place of memrec.
 * operands[0]: FRAMEWORK; NULL: the general text and the list. `given`: the options as typed, up to the operands, for
 * texts with a memrec command. Returns the exit status.
 */
int env_main(const struct arguments *arguments, char **given);

/* All names of FRAMEWORK, each after a blank. */
extern const char env_frameworks[];

/* ---- recover.c: folds a ring without a collector into a complete trace ---- */

/*
 * Folds a ring of the user's own run into its trace, and removes the ring. `ring_path` is absolute. The new trace
 * replaces the old one by rename, after success. Without an old trace, a new one is made under the process's name.
 * Returns 0 and the result; -MT_E_BUSY: the process still runs, or a collector has the ring; or another error, and
 * nothing was changed.
 */
int recover_ring(const char *ring_path, struct run_result *result);

/* 1: the process of this ring was killed before the ring was ready. */
int recover_is_unborn(const char *ring_path);

/*
 * `memrec recover [-o FILE] FILE`: returns the exit status. FILE may be hostile: memrec writes to the file of -o, to
 * FILE itself (a trace) or to a file beside FILE (a ring). memrec never writes to a path that FILE names.
 */
int recover_main(int argc, char **argv);

/* ---- control.c: recordings that a user begins and ends ---- */

/* `memrec start|stop|mark|status ...`: each returns the exit status. */
int start_main(int argc, char **argv);
int stop_main(int argc, char **argv);
int mark_main(int argc, char **argv);
int status_main(int argc, char **argv);

/* ---- summary.c: memrec's lines after a recording ---- */

/* Returns the part of `path` below the working folder, for people. Points into `path`. */
const char *summary_path(const char *path);

/* As summary_path, quoted for a shell. The text is static and valid until the next call; "": too long. */
const char *summary_word(const char *path);

/* Prints one line of figures for a trace, and a line for each failure. If its file is gone, prints this alone. */
void summary_print(const struct run_result *result);

/* Prints the next command of memana. `program`: argv[0] of memrec. Prints nothing if there is no trace. */
void summary_print_next(const char *program, const char *command, const struct run_result *results, size_t count);

/* ---- last_words.c: memana's first answers ---- */

/*
 * Returns the command of memana that fits the end of the run: "oom" after an out-of-memory error or a kill of the
 * program (`status`), else "top".
 */
const char *last_words_command(const struct run_result *results, size_t count, int status);

/*
 * Prints memana's answers to stderr: the peak and the growth, then the answer of `command`. Prints nothing if memana is
 * not in memrec's folder, or is too slow. `before`: signal mask at memrec's start.
 */
void last_words_print(const char *command, const struct run_result *results, size_t count, const sigset_t *before);

#endif
