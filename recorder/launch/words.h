/*
 * words.h - memrec's own commands: the first word of a command line that is no program to be recorded.
 *
 * `memrec -- attach` still records a program of that name.
 */
#ifndef MEMREC_WORDS_H
#define MEMREC_WORDS_H

#include <stdio.h>

/*
 * Every command that reads its own arguments, in the order of the help: X(word, operands, help). Its function is WORD_main, which
 * gets the word as argv[0] and returns the exit status. Options before the command are the recorder's: they make it a program.
 */
#define LAUNCH_COMMAND_LIST(X)                                                        \
	X(record, "[options] -- COMMAND", "record COMMAND, as without the word")      \
	X(attach, "[options] PID...", "record processes that run already")            \
	X(detach, "PID...", "end the recording of processes that go on")              \
	X(start, "[--steps N] PID|--all", "begin to record what runs under --paused") \
	X(stop, "[--now] PID|--all", "end that recording with the running step")      \
	X(mark, "PID|--all TEXT", "put a mark into the trace")                        \
	X(status, "[PID|--all]", "show what is paused, recorded, ended")              \
	X(recover, "[-o FILE] FILE", "fold a left-over ring into a complete trace")

/* The command that `word`, a program that is not there, may have been meant for; NULL: none is near. */
const char *launch_command_near(const char *word);

/* A line for each command, as `memrec --help` has it. */
void launch_command_print_help(FILE *file);

#endif
