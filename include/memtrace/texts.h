/* texts.h - copies of texts that live as long as the list that has them. */
#ifndef MEMTRACE_TEXTS_H
#define MEMTRACE_TEXTS_H

#include <stddef.h>

/* A list begins as NULL. */
struct mt_text;

/* Adds a copy of the first `size` bytes, with a NUL behind them. Returns the copy, which the caller may change. NULL: out of memory. */
char *mt_texts_keep(struct mt_text **texts, const char *text, size_t size);

/* Frees all copies. The list is empty again. */
void mt_texts_free(struct mt_text **texts);

#endif
