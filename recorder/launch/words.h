/*
 * words.h - the words of memrec's own commands.
 *
 * `memrec attach` is a command. `memrec -- attach` records a program with the name attach.
 */
#ifndef MEMREC_WORDS_H
#define MEMREC_WORDS_H

#include <stdio.h>

/*
 * Each command that reads its own arguments, in the order of the help: X(word, operands, help). Its function WORD_main
 * gets the word as argv[0] and returns the exit status. After options, each of these words but record is the name of a
 * program, because options before the word belong to the recorder.
 */
#define LAUNCH_COMMAND_LIST(X)                                                         \
	X(record, "[options] -- COMMAND", "the same as memrec -- COMMAND")             \
	X(attach, "[options] PID...", "record processes that run already")             \
	X(detach, "PID...", "end the recording of processes that go on")               \
	X(start, "[--steps N] PID|--all", "begin the recording of a --paused program") \
	X(stop, "[--now] PID|--all", "end it when the running step ends")              \
	X(mark, "PID|--all TEXT", "put a mark into the trace")                         \
	X(status, "[PID|--all]", "show what is paused, recorded, ended")               \
	X(recover, "[-o FILE] FILE", "complete the trace of a killed program")

/* Returns the command whose name is nearest to `word`, for a message; NULL: no command is near. */
const char *launch_command_near(const char *word);

/* Prints a line for each command, for `memrec --help`. */
void launch_command_print_help(FILE *file);

#endif
