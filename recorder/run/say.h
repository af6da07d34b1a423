/*
 * say.h - the one way memrec talks to people: "memrec: what: why (what to do)" on stderr.
 */
#ifndef MEMREC_SAY_H
#define MEMREC_SAY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include "memtrace/base.h"

/* Exit codes of memrec's own (those of library errors: mt_exit_code). */
enum memrec_exit { MEMREC_EXIT_OK = 0, MEMREC_EXIT_USAGE = 2, MEMREC_EXIT_INPUT = 3, MEMREC_EXIT_SYSTEM = 4 };

/* One line, with "memrec: " before it and the newline after it, in one write; harmful characters (memtrace/clean.h) are '?'. */
void say(const char *format, ...) MT_PRINTF(1, 2);

/* The same: what came of the recording, which --quiet leaves out; and how it goes on, for --verbose. */
void say_result(const char *format, ...) MT_PRINTF(1, 2);
void say_detail(const char *format, ...) MT_PRINTF(1, 2);

/* A line of an answer that was asked for: on stdout, as it is but for harmful characters. */
void say_answer(const char *format, ...) MT_PRINTF(1, 2);

enum say_level { SAY_QUIET, SAY_NORMAL, SAY_VERBOSE };
void say_set_level(enum say_level wanted);

/* From now on a reader of these lines that goes away does not end memrec (SIGPIPE is blocked). *before: what was blocked; or NULL. */
void say_outlive_readers(sigset_t *before);

/* Why something failed, for the middle of a sentence: errno's words for system errors, else mt_strerror. Static. */
const char *say_why(int error, int system_error);

/* "12 B", "3.4 KiB", "80.0 GiB"; `text` of SAY_SIZE bytes, also returned. */
#define SAY_SIZE 16
const char *say_size(char *text, uint64_t bytes);

#endif
