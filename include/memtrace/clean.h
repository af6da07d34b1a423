/*
 * clean.h - text of unknown origin on its way to a terminal. All text that either program shows to people goes
 * through here: names in a trace, paths, messages of libraries.
 *
 * Harmful are characters that a terminal acts on (C0, DEL, C1), and bytes that are no UTF-8. Harmful are also characters that hide or
 * turn round the text after them (bidirectional controls, characters without width or form).
 */
#ifndef MEMTRACE_CLEAN_H
#define MEMTRACE_CLEAN_H

#include <stddef.h>
#include <stdint.h>

/* Length of the valid UTF-8 character at `at`, at most `size` bytes (1 at least), and its number; 0: not valid. */
size_t mt_utf8(const char *at, size_t size, uint32_t *code);

/* Is this character one that must not be shown? Tabs and ends of lines are. */
int mt_is_harmful(uint32_t code);

/*
 * The text to show for the character at `from`, of `size` bytes (1 at least): itself or '?'. It goes into `out`,
 * without NUL; its length is returned, and the bytes that it stands for are added to *taken.
 */
size_t mt_clean_character(char out[4], const char *from, size_t size, size_t *taken);

/* Puts '?' for each harmful character, those in `keep` (ASCII) excepted. The text may get shorter. Returns it. */
char *mt_clean(char *text, const char *keep);

#endif
