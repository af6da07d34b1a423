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

/* ---- arguments.c: the command line. Only the launcher has it; the agent reads options.h ---- */

struct arguments {
	struct memrec_options options; /* output: absolute */
	const char *ring_dir;          /* NULL: not given */
	int live;                      /* a screen while the command runs */
	char **operands;               /* words after the options, NULL at the end; the command, or env's FRAMEWORK */
	int help, version;
};

/* Why a command line was refused, for a message. */
struct arguments_error {
	char what[256]; /* "--depth" */
	char why[256];  /* "must be a number from 0 to 256" */
};

/*
 * Parses argv without argv[0]. Values come from the options given, else from MEMREC_OPTIONS of the environment, else
 * from options.h. 0; -MT_E_ARGUMENT with *error filled in; -MT_E_SYSTEM: the working folder is gone (errno).
 */
int arguments_parse(struct arguments *arguments, int argc, char **argv, struct arguments_error *error);

void arguments_print_help(FILE *file);
void arguments_print_options(FILE *file); /* the options alone */

/* ---- the commands ---- */

/*
 * Runs the command, and waits for it and its collectors. `program`: argv[0]. Returns memrec's exit status: the
 * command's own, or the code of the error that kept it from starting.
 */
int launch_main(const char *program, struct arguments *arguments);

/* `memrec record [options] -- COMMAND`: the same as without the word, but `env` is a program there. Returns the exit status. */
int record_main(int argc, char **argv);

/*
 * `memrec env [FRAMEWORK]`: prints the settings for a launcher that starts the processes instead of memrec.
 * operands[0]: framework; NULL: the general text and the list. `given`: the options as typed, up to operands, for texts
 * with a memrec command. Returns the exit status.
 */
int env_main(const struct arguments *arguments, char **given);

/* The names for env_main, each after a blank. */
extern const char env_frameworks[];

/* ---- recover.c: a ring whose collector is gone is folded into a complete trace ---- */

/*
 * For a ring of the user's own run, at `ring_path` (absolute). Folds it into its trace, which is replaced by rename and
 * only after success; without a trace, one is made under the process's name. Removes the ring. 0 and the result;
 * -MT_E_BUSY: its process still runs, or a collector has it; or an error, with nothing changed.
 */
int recover_ring(const char *ring_path, struct run_result *result);

/* 1: the process of this ring was killed before it recorded anything. */
int recover_is_unborn(const char *ring_path);

/*
 * `memrec recover [-o FILE] FILE`: returns the exit status. FILE may be a stranger's. So memrec writes FILE itself (a
 * trace), a file beside it (a ring) or the file of -o, never a path inside FILE.
 */
int recover_main(int argc, char **argv);

/* ---- control.c: recordings that a user begins and ends ---- */

/* `memrec start|stop|mark|status ...`: each returns the exit status. */
int start_main(int argc, char **argv);
int stop_main(int argc, char **argv);
int mark_main(int argc, char **argv);
int status_main(int argc, char **argv);

/* ---- summary.c: memrec's lines after a recording ---- */

/* `path` relative to the working folder, for people. Points into `path`. */
const char *summary_path(const char *path);

/* As summary_path, as a word of a command to paste. Static, until the next call; "": too long. */
const char *summary_word(const char *path);

/* Prints one line of figures for a trace, and more lines if a part of it is missing or the file is gone. */
void summary_print(const struct run_result *result);

/* Prints the reasons of sources that failed without a trace. */
void summary_print_failures(const struct run_result *result);

/* The command of memana to try next; `program` is how memrec was called (argv[0]). Nothing when there is no trace. */
void summary_print_next(const char *program, const char *command, const struct run_result *results, size_t count);

/* ---- last_words.c: memana's first answers ---- */

/*
 * Returns the command of memana that fits the end of the run: "oom" after an out-of-memory error or a kill of the
 * program (`status`), else "top".
 */
const char *last_words_command(const struct run_result *results, size_t count, int status);

/*
 * Prints the peak, growth and the answer of that command to stderr, if memana is beside memrec and answers in time.
 * `before`: signal mask at memrec's start.
 */
void last_words_print(const char *command, const struct run_result *results, size_t count, const sigset_t *before);

#endif
