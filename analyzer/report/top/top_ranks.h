/* top_ranks.h - the part of `memana top` that compares GPUs; nothing where there is only one. */
#ifndef MEMANA_TOP_RANKS_H
#define MEMANA_TOP_RANKS_H

#include "base/json.h"
#include "base/text.h"
#include "report/ranks.h"

/* With so many GPUs the report shows the details of the highest one only. */
#define TOP_RANKS_MANY 3u

void top_ranks_text(const struct text *text, const struct ranks *ranks, const char *name);
void top_ranks_json(struct doc *doc, const struct ranks *ranks);

#endif
