/* nearest.h - "did you mean ...": the word of a list that is nearest to a typed one. */
#ifndef MEMTRACE_NEAREST_H
#define MEMTRACE_NEAREST_H

#include <stddef.h>

#define MT_NEAREST_MAX 64 /* bytes of a word; a longer one is near to nothing */

/* Begin with { .word = ... }; `best` is NULL as long as nothing is near. Keeps the pointers. */
struct mt_nearest {
	const char *word, *best;
	size_t distance; /* distance of best */
};

/*
 * A near word becomes the word by few changes, one for every three letters: a letter more, less, another, two that
 * changed places. Upper and lower case are the same. The beginning of the word is near, too. Among equals the first
 * one tried is the best.
 */
void mt_nearest_try(struct mt_nearest *nearest, const char *candidate);

#define MT_NEAREST_WORDS 128 /* bytes that mt_nearest_words needs */

/* " (did you mean top?)", or "" where nothing is near. Into `out`, which is returned. */
const char *mt_nearest_words(char out[MT_NEAREST_WORDS], const struct mt_nearest *nearest);

#endif
