/* nearest.h - finds the word of a list that is nearest to a typed one, for "did you mean ...". */
#ifndef MEMTRACE_NEAREST_H
#define MEMTRACE_NEAREST_H

#include <stddef.h>

#define MT_NEAREST_MAX 64 /* bytes of a word; no word is near a longer one */

/* Begin with { .word = ... }. `best` stays NULL until a candidate is near. The caller's pointers are kept. */
struct mt_nearest {
	const char *word, *best;
	size_t distance; /* distance of best */
};

/*
 * Compares one candidate. A word is near if one change for every three letters makes it the other word. A change adds,
 * removes or replaces a letter, or swaps two neighbours. Case does not matter. The first letters of a word are near as
 * well. Among equally near candidates the first one wins.
 */
void mt_nearest_try(struct mt_nearest *nearest, const char *candidate);

#define MT_NEAREST_WORDS 128 /* bytes that mt_nearest_words needs */

/* Writes " (did you mean top?)" to `out`, or "" if no word is near. Returns `out`. */
const char *mt_nearest_words(char out[MT_NEAREST_WORDS], const struct mt_nearest *nearest);

#endif
