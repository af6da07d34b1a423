/*
 * advice.h - memana advise: the actions against the causes with the settings that do them, and all other settings that save bytes.
 *
 *     why (why.h)          the causes, in their order
 *     effects (effect.h)   the effect of each setting
 *     row                  the first causes, each with the best setting against it
 */
#ifndef MEMANA_ADVICE_H
#define MEMANA_ADVICE_H

#include "why/effect/effect.h"
#include "why/page/why.h"

#define ADVICE_WORDS_MAX 512 /* room for the words of a value */
#define ADVICE_RANGE_MAX (2 * TEXT_SIZE_MAX)

/* A cause with the best setting against it. */
struct advice_row {
	const struct candidate *candidate;
	const struct effect *effect; /* NULL: no setting is against the cause */
	int again;                   /* 1: a row above has this setting, and no other one is against the cause */
	const struct effect *other;  /* effect_without_bytes(), if `effect` is NULL; else NULL */
};

struct advice {
	struct why why;
	struct effects effects;
	int nothing;     /* 1: no bytes were held on a device, and effects are empty */
	size_t settings; /* the first `settings` of effects.effect work and are proposed */
	struct advice_row row[WHY_ROWS];
	size_t rows;
};

/* Returns 0 or -MT_E_x. -MT_E_ARGUMENT and -MT_E_RULES: wrong input, described in effects.config->message. advice_release() also after an error. */
int advice_load(struct advice *advice, struct db *db, const struct effect_request *request);
void advice_release(struct advice *advice);

/* Whether a row proposes the setting. */
int advice_has_row(const struct advice *advice, const struct effect *effect);

/* Whether the page has a table of changes that are made together. */
int advice_has_plan(const struct advice *advice);

/*
 * Returns the lines to paste for the setting; for NULL, the plan's lines; "": no line can be pasted. The caller frees the text. NULL: out of memory.
 */
char *advice_paste(const struct advice *advice, const struct effect *effect);

/* Prints the page; `brief`: only the opening and the first row. Returns 0 or -MT_E_x. */
int advice_page(const struct text *text, const struct advice *advice, int64_t limit, int brief);
int advice_json(struct doc *doc, const struct advice *advice, int64_t limit);

/* ---- words (advice_words.c) ---- */

/* "8.2 to 9.3 GiB"; "9.3 GiB" if both ends have the same words. */
const char *advice_range(char out[ADVICE_RANGE_MAX], struct advise_range range);

/* "16, config.yaml:3", "not known" */
const char *advice_now(const struct effect *effect, char out[ADVICE_WORDS_MAX]);

/* "8", "half of what it is now" */
const char *advice_proposed(const struct effect *effect);

/* "37.2 GiB of activations at the failed request, most of it by f (x.py:1)" */
void advice_say_evidence(struct sentence *sentence, const struct advice *advice, const struct effect *effect);

/* "Use a fused loss. This frees up to 4.6 GiB of logits, made by f (x.py:1)." */
void advice_say_action(struct sentence *sentence, const struct advice *advice, const struct advice_row *row);

/* "Set KEY to 8 (now: 16, config.yaml:3): saves 4.2 to 4.6 GiB, enough; cost: free" */
void advice_say_change(struct sentence *sentence, const struct advice *advice, const struct effect *effect);

/* The change and the next peak; or that no setting does the action. */
void advice_say_setting(struct sentence *sentence, const struct advice *advice, const struct advice_row *row);

#endif
