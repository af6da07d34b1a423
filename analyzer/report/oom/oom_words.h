/* oom_words.h - what `memana oom` says of a failed request, for text and JSON. */
#ifndef MEMANA_OOM_WORDS_H
#define MEMANA_OOM_WORDS_H

#include "query_oom.h"
#include "base/sentence.h"

/* What failed, and in one more sentence what to do. `name`: what the user named. */
void oom_verdict(struct sentence *sentence, const struct oom *oom, const char *name);

/* The second sentence alone. */
void oom_say_next(struct sentence *sentence, const struct oom *oom, const char *name);

/* Who says what was free: "the driver", ... */
const char *oom_free_words(const struct oom_failure *failure);

#endif
