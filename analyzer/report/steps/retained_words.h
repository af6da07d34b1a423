/* retained_words.h - the verdict of `memana retained` and of the timeline's list. */
#ifndef MEMANA_RETAINED_WORDS_H
#define MEMANA_RETAINED_WORDS_H

#include "base/sentence.h"
#include "retained.h"

/* `question`: what was asked with retained_load; the database is asked for the names of places. */
struct sentence retained_verdict(const struct retained *retained, const struct retained_question *question);

/* " on GPU 1", where there are several. */
void retained_say_device(struct sentence *sentence, const struct retained *retained,
			 const struct retained_crossing *crossing);

#endif
