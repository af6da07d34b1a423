/*
 * command.h - the parts that all commands share. A command is one function: it reads its arguments, does its work, and returns the exit status. Only
 * cmd_*.c, report.c and main.c print messages.
 */
#ifndef MEMANA_COMMAND_H
#define MEMANA_COMMAND_H

#include <getopt.h> /* optarg, optind */
#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"
#include "memtrace/nearest.h"
#include "source/source.h"

#define EXIT_NO 1    /* the answer is "no" */
#define EXIT_USAGE 2 /* the command line is wrong */

struct command {
	const char *name, *arguments, *summary;
};

typedef int command_function(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */

/*
 * The commands of memana, in the order of their use. Dispatch, help and the checks of the manual page come from this list. X(name, arguments,
 * summary): the function is cmd_<name> in cmd_<name>.c.
 */
#define COMMAND_LIST(X)                                                             \
	X(top, "TRACE...|DB", "what filled the device at its peak")                 \
	X(tui, "TRACE...|DB", "the timeline, in the terminal")                      \
	X(live, "[TRACE...]", "the timeline of recordings that still run")          \
	X(wait, "TRACE...", "wait for an out-of-memory error, or a step")           \
	X(phases, "TRACE...|DB", "what each phase took, and what it left behind")   \
	X(steps, "TRACE...|DB", "peak of each step, and whether the run grows")     \
	X(growth, "TRACE...|DB", "whether memory grows, and which line keeps it")   \
	X(oom, "TRACE...|DB", "why a request failed, and what to do")               \
	X(advise, "TRACE...|DB", "which setting to change, and what it saves")      \
	X(check, "TRACE...|DB", "limits on peak and growth, for CI")                \
	X(retained, "TRACE...|DB", "what outlives the step or phase that made it")  \
	X(frag, "TRACE...|DB", "idle memory of the allocator, and who pins it")     \
	X(diff, "A B", "what changed between two runs")                             \
	X(info, "TRACE...", "what was recorded, and what was not")                  \
	X(verify, "TRACE...", "check each chunk, and totals with PyTorch's")        \
	X(load, "TRACE... -o DB", "make a SQLite database of a run")                \
	X(export, "TRACE...|DB", "a run in the format of another program")          \
	X(import, "SNAPSHOT -o TRACE", "make a trace of a PyTorch memory snapshot") \
	X(knobs, "[FRAMEWORK...]", "the settings that move memory")                 \
	X(sql, "TRACE|DB \"SELECT ...\"", "ask the database, read-only")

#define COMMAND_FUNCTION(name, arguments, summary) command_function cmd_##name;
COMMAND_LIST(COMMAND_FUNCTION)
#undef COMMAND_FUNCTION

extern const struct command commands[]; /* in the order of COMMAND_LIST */
extern const size_t command_count;

const struct command *command_find(const char *name); /* NULL: there is no such command */

/* Prints "memana: ..." to stderr, with '?' for control characters. Returns `exit_code`. */
int command_fail(int exit_code, const char *format, ...) MT_PRINTF(2, 3);

/*
 * Opens the input as source_open does, with messages; `databases` 0: as source_open_traces. Returns 0; after a message, the exit status. The caller
 * calls command_close, also after an error.
 */
int command_open(struct source *source, char *const *paths, uint32_t count, int databases);

/* As command_open, with source_open_live. */
int command_open_live(struct source *source, char *const *paths, uint32_t count, enum source_follow follow);

/* Releases the source. Returns `status`; if this is 0 and the source is damaged, the exit status for damage. */
int command_close(struct source *source, int status);

/*
 * Checks the name of a new file. Refuses a folder, a device and a pipe. Refuses the `count` inputs, too: writing would destroy an input. Returns 0;
 * after a message, the exit status.
 */
int command_output(const char *command, const char *output, char *const *input, int count);

/* Reads a whole number from min to max. Returns 0 or -MT_E_ARGUMENT. */
int command_number(const char *text, long min, long max, long *number);

/*
 * As command_fail, for a word that is not in a list. The message is `format`, then the nearest word: "top: --by colour: not one of phase, ... (did
 * you mean ...?)". Returns EXIT_USAGE.
 */
int command_bad_word(const struct mt_nearest *nearest, const char *format, ...) MT_PRINTF(2, 3);

/* As command_bad_word, for a phase: "retained: --from WORD: no such phase". */
int command_bad_phase(const char *command, const char *option, const char *word);

/* Applies --rules. Returns 0; after a message, the exit status. */
int command_rules(const char *path);

/* The words that --from PHASE and similar options take (struct command_option). */
#define COMMAND_PHASE_WORD(name, number, phase, letter) " " phase
#define COMMAND_PHASES MT_PHASE_LIST(COMMAND_PHASE_WORD)

#endif
