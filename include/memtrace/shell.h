/* shell.h - quotes a name as a word of a POSIX shell command. */
#ifndef MEMTRACE_SHELL_H
#define MEMTRACE_SHELL_H

#include <stddef.h>

/* Upper bound for the bytes of a word for a text of `length` bytes, with its NUL. */
#define MT_SHELL_WORD(length) (20 * (length) + 8)

/*
 * Writes the text as one word of a command. The word means exactly this text, and shows nothing harmful (clean.h). A plain text
 * stays as it is. Other texts are quoted. A harmful byte becomes "$(printf '\033')". An end of line becomes a pattern of one
 * character. A text that begins like an option gets "./" in front. Returns `to`; "" if `size` bytes are too few.
 */
const char *mt_shell_word(char *to, size_t size, const char *text);

#endif
