/*
 * say.h - prints all of memrec's messages: "memrec: subject: reason (advice)" on stderr.
 */
#ifndef MEMREC_SAY_H
#define MEMREC_SAY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"

/* Exit codes of memrec's own (those of library errors: mt_exit_code). */
enum memrec_exit { MEMREC_EXIT_OK = 0, MEMREC_EXIT_USAGE = 2, MEMREC_EXIT_INPUT = 3, MEMREC_EXIT_SYSTEM = 4 };

/*
 * Prints one line in one write, with "memrec: " in front and a newline. Harmful characters (memtrace/clean.h) become
 * '?'.
 */
void say(const char *format, ...) MT_PRINTF(1, 2);

/* The same: the result of the recording, left out with --quiet; details, printed with --verbose. */
void say_result(const char *format, ...) MT_PRINTF(1, 2);
void say_detail(const char *format, ...) MT_PRINTF(1, 2);

/* Prints a line of a requested answer to stdout, with '?' for harmful characters only. */
void say_answer(const char *format, ...) MT_PRINTF(1, 2);

enum say_level { SAY_QUIET, SAY_NORMAL, SAY_VERBOSE };
void say_set_level(enum say_level wanted);

/*
 * From now on memrec goes on if the reader of these lines ends (SIGPIPE is blocked). *before: mask before the call; may
 * be NULL.
 */
void say_outlive_readers(sigset_t *before);

/* Why something failed, for the middle of a sentence: errno's words for system errors, else mt_strerror. Static. */
const char *say_why(int error, int system_error);

/* "12 B", "3.4 KiB", "80.0 GiB"; `text` of SAY_SIZE bytes, also returned. */
#define SAY_SIZE 16
const char *say_size(char *text, uint64_t bytes);

#endif
