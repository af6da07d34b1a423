/*
 * launch.h - what memrec does: runs a command with the agent in it and says what came of it, prints what to set where
 * somebody else starts the processes, makes traces of what is left over.
 */
#ifndef MEMREC_LAUNCH_H
#define MEMREC_LAUNCH_H

#include <signal.h>
#include <stdio.h>
#include "run/rundir.h"
#include "shared/options.h"

/* ---- arguments.c: the command line. Only the launcher has it: the agent reads what comes out of it (options.h) ---- */

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
 * argv[0] is skipped. Defaults are those of options.h, then MEMREC_OPTIONS of the environment, then the options given.
 * 0; -MT_E_ARGUMENT with *error filled in; -MT_E_SYSTEM: there is no working folder any more (errno).
 */
int arguments_parse(struct arguments *arguments, int argc, char **argv, struct arguments_error *error);

void arguments_print_help(FILE *file);
void arguments_print_options(FILE *file); /* the options alone */

/* ---- the commands ---- */

/*
 * Runs the command and waits for it and its collectors. `program`: argv[0]. Returns memrec's exit status: the command's own,
 * or the code of what kept it from starting.
 */
int launch_main(const char *program, struct arguments *arguments);

/* `memrec record [options] -- COMMAND`: the same as without the word, but `env` is a program there. Returns the exit status. */
int record_main(int argc, char **argv);

/*
 * `memrec env [FRAMEWORK]`: what to set where a launcher, not memrec, starts the processes. operands[0] is the framework, NULL: the general text and the list. `given`: the options as typed, up to operands, for
 * texts that have memrec in them. Prints to stdout; returns the exit status.
 */
int env_main(const struct arguments *arguments, char **given);

/* The names that env_main knows, a blank before each. */
extern const char env_frameworks[];

/* ---- recover.c: a ring whose collector is gone is folded into a complete trace ---- */

/*
 * For a ring of one's own run, at `ring_path` (absolute): folds it into the trace its link names, which is replaced at once
 * (rename) and only when all went well; without one, a trace is made under the name the process would have got. The
 * ring is removed. 0 and the result; -MT_E_BUSY: its process still runs, or a collector has it; or what went wrong, with
 * everything as it was.
 */
int recover_ring(const char *ring_path, struct run_result *result);

/* 1: a ring whose process was killed before it recorded anything. */
int recover_is_unborn(const char *ring_path);

/*
 * `memrec recover [-o FILE] FILE`: returns the exit status. FILE may be a stranger's: what is written is FILE itself (a
 * trace), a file beside it (a ring), or what -o says, never a path that FILE holds.
 */
int recover_main(int argc, char **argv);

/* ---- control.c: a recording that begins and ends when a user says so ---- */

/* `memrec start|stop|mark|status ...`: each returns the exit status. */
int start_main(int argc, char **argv);
int stop_main(int argc, char **argv);
int mark_main(int argc, char **argv);
int status_main(int argc, char **argv);

/* ---- summary.c: what memrec says of a recording when it is over ---- */

/* `path` as a person in the working folder would write it. Points into `path`. */
const char *summary_path(const char *path);

/* The same as a word of a command to paste. Static, until the next call; "" if it is too long. */
const char *summary_word(const char *path);

/* One line of figures for a trace; more only where something is missing from it, or it is gone. */
void summary_print(const struct run_result *result);

/* Says of sources that failed without a trace why they did. */
void summary_print_failures(const struct run_result *result);

/* The command of memana to try next; `program` is how memrec was called (argv[0]). Nothing when there is no trace. */
void summary_print_next(const char *program, const char *command, const struct run_result *results, size_t count);

/* ---- last_words.c: memana's first answers ---- */

/* The command of memana that fits the end of the run: "oom" after an out-of-memory error and when the program was killed
 * (`status`), else "top". */
const char *last_words_command(const struct run_result *results, size_t count, int status);

/*
 * Prints the peak, what grows, and the verdict of that command to stderr, if memana lies beside memrec and knows them in
 * good time. `before`: the
 * signals that were blocked when memrec was started.
 */
void last_words_print(const char *command, const struct run_result *results, size_t count, const sigset_t *before);

#endif
