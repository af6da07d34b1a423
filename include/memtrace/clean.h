/*
 * clean.h - makes text of unknown origin safe for a terminal. All text that either program shows goes through here:
 * names in a trace, paths, messages of libraries.
 *
 * Characters that a terminal acts on (C0, DEL, C1) are harmful, and so are bytes that are no UTF-8. Characters that
 * hide or turn round the text after them are harmful as well (bidirectional controls, characters without width or
 * form).
 */
#ifndef MEMTRACE_CLEAN_H
#define MEMTRACE_CLEAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the UTF-8 character at `at`, which has `size` bytes (1 at least). Returns the character's length in bytes, 0
 * if it is not valid. *code: its number.
 */
size_t mt_utf8(const char *at, size_t size, uint32_t *code);

/* 1: the character must not be shown. Tabs and line ends may be shown: 0. */
int mt_is_harmful(uint32_t code);

/*
 * Writes the text to show for the character at `from` to `out`, without NUL: the character itself or '?'. `from` has
 * `size` bytes (1 at least). Returns the bytes written. Adds the bytes read to *taken.
 */
size_t mt_clean_character(char out[4], const char *from, size_t size, size_t *taken);

/*
 * Replaces each harmful character in place by '?', except the characters in `keep` (ASCII). The text may get shorter.
 * Returns `text`.
 */
char *mt_clean(char *text, const char *keep);

#endif
