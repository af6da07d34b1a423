/* command_run.h - calls commands of memana as its main does. */
#ifndef FUZZ_COMMAND_RUN_H
#define FUZZ_COMMAND_RUN_H

#define COMMAND_WORDS_MAX 6
#define COMMAND_FILE "FILE" /* among the words: the input */

/* The name of the command and its arguments. Exit statuses are those of the manual page. */
void command_run(const char *const *words, const char *path);

#endif
