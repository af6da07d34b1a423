/* nearest.c - the distance between two words, and the nearest one. */
#include "memtrace/nearest.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of changes from one word to another (optimal string alignment). Both have at most MT_NEAREST_MAX bytes. */
static size_t distance(const char *one, size_t one_size, const char *two, size_t two_size)
{
	uint8_t row[3][MT_NEAREST_MAX + 1];
	uint8_t *before = row[0], *above = row[1], *now = row[2], *oldest;
	size_t i, j, least_change;

	for (j = 0; j <= two_size; j++)
		above[j] = (uint8_t)j;
	for (i = 1; i <= one_size; i++) {
		now[0] = (uint8_t)i;
		for (j = 1; j <= two_size; j++) {
			least_change = least(least(above[j], now[j - 1]) + 1u,
					     above[j - 1] + (size_t)!same(one[i - 1], two[j - 1]));
			if (i > 1 && j > 1 && same(one[i - 1], two[j - 2]) && same(one[i - 2], two[j - 1]))
				least_change = least(least_change, before[j - 2] + 1u);
			now[j] = (uint8_t)least_change;
		}
		oldest = before;
		before = above;
		above = now;
		now = oldest;
	}
	return above[two_size];
}

static int begins(const char *word, size_t size, const char *candidate)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (!same(word[i], candidate[i]))
			return 0;
	return size >= 2;
}

void mt_nearest_try(struct mt_nearest *nearest, const char *candidate)
{
	size_t size = strnlen(nearest->word, MT_NEAREST_MAX + 1), other = strnlen(candidate, MT_NEAREST_MAX + 1);
	size_t changes;

	if (!size || !other || size > MT_NEAREST_MAX || other > MT_NEAREST_MAX)
		return;
	changes = other >= size && begins(nearest->word, size, candidate)
			  ? 1
			  : distance(nearest->word, size, candidate, other);
	if (changes > (size + 2) / 3 || changes >= other || (nearest->best && changes >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = changes;
}

const char *mt_nearest_words(char out[MT_NEAREST_WORDS], const struct mt_nearest *nearest)
{
	*out = '\0';
	if (nearest->best)
		snprintf(out, MT_NEAREST_WORDS, " (did you mean %.*s?)", MT_NEAREST_MAX, nearest->best);
	return out;
}
