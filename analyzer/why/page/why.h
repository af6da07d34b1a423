/* why.h - the causes of a failed request or of the peak, as text and as JSON. */
#ifndef MEMANA_WHY_H
#define MEMANA_WHY_H

#include "base/json.h"
#include "base/text.h"
#include "why/rank/rank.h"

struct why {
	struct mt_why *data;
	struct scene scene;
	struct find find;
};

/* `oom`: number of the failed request; 0: the newest one, or the peak. 0 or -MT_E_x. Release after an error, too. */
int why_load(struct why *why, struct db *db, int64_t oom);
void why_release(struct why *why);

/* Writes the array "causes" into the open object, at most `limit` causes. 0 or -MT_E_x. */
int why_json(struct doc *doc, const struct why *why, int64_t limit);

/* The first row of the page; NULL: no row. */
const struct candidate *why_first(const struct why *why);

/*
 * why_page prints the best `causes` (0: three) with their actions. The page has at most 120 words, those of `opening` included.
 * why_table prints every candidate with its key, for --why.
 */
void why_page(const struct text *text, const struct why *why, const char *opening, int causes);
void why_table(const struct text *text, const struct why *why);

/* "Out of memory on GPU 0, rank 0, forward of step 4: 4.6 GiB requested, 0.7 GiB free, 3.9 GiB short.", then the place. */
void why_say_request(struct sentence *sentence, const struct why *why);

/* Appends the first cause to the sentence. An empty sentence gets the request first. */
void why_say_verdict(struct sentence *sentence, const struct why *why);

/* Prints the details of a failed request: stack, device, bytes in use, other failed requests. 0 or -MT_E_x. */
int why_details(const struct text *text, const struct why *why, int64_t limit);

#endif
