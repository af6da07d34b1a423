/* columns.h - how many columns of a terminal characters take, whatever the locale. */
#ifndef MEMANA_COLUMNS_H
#define MEMANA_COLUMNS_H

#include <stddef.h>

/* A character fit to be shown, and its columns: 0 for one that sits on the one before it. */
struct columns_character {
	char text[5];
	int columns;
};

/* Takes the next character of `at`, which is not at its end; the bytes that it had. What is harmful becomes '?'. */
size_t columns_next(struct columns_character *out, const char *at);

/* Columns that the text takes. */
int columns_of(const char *text);

#endif
