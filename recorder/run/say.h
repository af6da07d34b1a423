/*
 * say.h - prints all of memrec's messages: "memrec: subject: reason (advice)" on stderr.
 */
#ifndef MEMREC_SAY_H
#define MEMREC_SAY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"

/* Exit codes of memrec. mt_exit_code has the exit codes of library errors. */
enum memrec_exit { MEMREC_EXIT_OK = 0, MEMREC_EXIT_USAGE = 2, MEMREC_EXIT_INPUT = 3, MEMREC_EXIT_SYSTEM = 4 };

/*
 * Prints one line to stderr in one write, with "memrec: " before it. Harmful characters (memtrace/clean.h) become '?'.
 */
void say(const char *format, ...) MT_PRINTF(1, 2);

/* As say. say_result prints nothing with --quiet. say_detail prints only with --verbose. */
void say_result(const char *format, ...) MT_PRINTF(1, 2);
void say_detail(const char *format, ...) MT_PRINTF(1, 2);

/* Prints one line of an answer to stdout, without "memrec: ". Harmful characters become '?'. */
void say_answer(const char *format, ...) MT_PRINTF(1, 2);

enum say_level { SAY_QUIET, SAY_NORMAL, SAY_VERBOSE };
void say_set_level(enum say_level wanted);

/*
 * Blocks SIGPIPE, so memrec goes on when the reader of its messages ends. *before: signal mask before the call; may be
 * NULL.
 */
void say_outlive_readers(sigset_t *before);

/* Words for an error, for the middle of a sentence: strerror for -MT_E_SYSTEM, else mt_strerror. Do not free them. */
const char *say_why(int error, int system_error);

/* Writes "12 B", "3.4 KiB" or "80.0 GiB" to `text` (SAY_SIZE bytes), and returns `text`. */
#define SAY_SIZE 16
const char *say_size(char *text, uint64_t bytes);

#endif
