/* sentence.h - a sentence or two, put together piece by piece. */
#ifndef MEMANA_SENTENCE_H
#define MEMANA_SENTENCE_H

#include <stddef.h>
#include "memtrace/base.h"

struct sentence {
	char text[2048]; /* what does not fit is cut off */
	size_t size;
};

void sentence_say(struct sentence *sentence, const char *format, ...) MT_PRINTF(2, 3);

/* Words of unknown origin, made fit for a terminal and not longer than a line. */
void sentence_say_clean(struct sentence *sentence, const char *words);

#endif
