/* why.h - the causes of a failed request, or of the peak if none failed, as text and as JSON. */
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

/* Finds the causes of failed request `oom`; 0: of the newest one, else of the peak. Returns 0 or -MT_E_x. Release after an error, too. */
int why_load(struct why *why, struct db *db, int64_t oom);
void why_release(struct why *why);

#define WHY_ROWS 3 /* largest number of causes on the page; --why lists all */

/* Fills the page's candidates, best first, and returns their number. */
size_t why_rows(const struct why *why, const struct candidate *row[WHY_ROWS]);

/* Whether full host memory or a crash ended a run in which no request failed. Bytes on the GPU are then no cause. */
int why_is_ended(const struct why *why);

/* Whether the candidate is a cause of its own, in text and JSON: no better one covers it, and the run's end does not rule it out. */
int why_is_told(const struct why *why, const struct candidate *candidate);

/* Says "Out of memory on GPU 0, rank 0, forward of step 4: 4.6 GiB requested, .." and the place; or that no request failed. Returns 0 or -MT_E_x. */
int why_say_opening(struct sentence *sentence, const struct why *why);

/* Prints the rows with their actions; `brief`: only the first row. The page has at most 120 words, `opening` included. */
void why_page(const struct text *text, const struct why *why, const char *opening, int brief);

/* Prints each candidate with its key, for --why. */
void why_table(const struct text *text, const struct why *why);

/* Prints "1. " and the words; then, in a line of its own, the second text in its style. memana advise prints its rows with this, too. */
void why_print_row(const struct text *text, size_t number, const char *words, enum text_style style,
		   const char *second);

/* Writes "verdict", the opening and the first cause into the open object. Returns 0 or -MT_E_x. */
int why_json_verdict(struct doc *doc, const struct why *why);

/* Writes the array "causes" into the open object: the first `limit` causes, but at least ten. Returns 0 or -MT_E_x. */
int why_json(struct doc *doc, const struct why *why, int64_t limit);

/* ---- words (why_words.c): forms with {words} that the candidate fills ---- */

extern const struct why_fact {
	const char *word;
	int is_bytes;
} why_facts[FACTS];

/* Returns the node that the page names as the candidate's place; SCENE_NONE: no stack was recorded. */
uint32_t why_place(const struct why *why, const struct candidate *candidate);

/* "forward_step (x.py:3) keeps 51.0 GiB of activations (11 x 4.6 GiB)." */
void why_say_cause(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* " Without these 51.0 GiB the request fits."; "" if the effect is unknown. */
void why_say_effect(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* "Drop the reference after each micro-batch." */
void why_say_action(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* " This frees up to 4.6 GiB of logits, made by f (x.py:1)."; "" if the candidate has no bytes. */
void why_say_freed(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

#endif
