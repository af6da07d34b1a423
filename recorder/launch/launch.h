/*
 * launch.h - what memrec does: runs a command with the agent in it and says what came of it, prints what to set where somebody
 * else starts the processes, makes traces of what is left over.
 */
#ifndef MEMREC_LAUNCH_H
#define MEMREC_LAUNCH_H

#include "arguments.h"
#include "run/rundir.h"

/* Runs the command and waits for it and its collectors. `program`: argv[0]. Returns memrec's exit status: the command's own, or the code of what kept it from starting. */
int launch_main(const char *program, struct arguments *arguments);

/*
 * `memrec env [FRAMEWORK]`: what to set where a launcher, not memrec, starts the processes.
 */

/*
 * Operands[0] is the framework, NULL: the general text and the list. `given`: the options as typed, up to operands, for
 * texts that have memrec in them. Prints to stdout; returns the exit status.
 */
int env_main(const struct arguments *arguments, char **given);

/* ---- recover.c: a ring whose collector is gone is folded into a complete trace ---- */

/*
 * For a ring of one's own run, at `ring_path` (absolute): folds it into the trace its link names, which is replaced at once
 * (rename) and only when all went well; without one, a trace is made under the name the process would have got. The
 * ring is removed. 0 and the result; -MT_E_BUSY: its process still runs, or a collector has it; or what went wrong, with
 * everything as it was.
 */
int recover_ring(const char *ring_path, struct run_result *result);

/*
 * `memrec recover [-o FILE] FILE`: returns the exit status. FILE may be a stranger's: what is written is FILE itself (a
 * trace), a file beside it (a ring), or what -o says, never a path that FILE holds.
 */
int recover_main(int argc, char **argv);

/* ---- summary.c: what memrec says of a recording when it is over ---- */

/* `path` as a person in the working folder would write it. Points into `path`. */
const char *summary_path(const char *path);

/* One line of figures for a trace; more only where something is missing from it, or it is gone. */
void summary_print(const struct run_result *result);

/* Says of sources that failed without a trace why they did. */
void summary_print_failures(const struct run_result *result);

/* The command to try next; `program` is how memrec was called (argv[0]). Nothing when there is no trace. */
void summary_print_next(const char *program, const struct run_result *results, size_t count);

#endif
