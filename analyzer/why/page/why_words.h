/* why_words.h - a cause in words: templates with {facts}, filled from one candidate. */
#ifndef MEMANA_WHY_WORDS_H
#define MEMANA_WHY_WORDS_H

#include "why.h"

/*
 * Fills `form` from the candidate. {name} is a word of why_words.c or a fact. A part in [brackets] is left out if one of its words
 * is unknown.
 */
void why_fill(struct sentence *sentence, const struct why *why, const struct candidate *candidate, const char *form);

/* The node of the candidate's place, in the user's code if the stack has any; SCENE_NONE: no stack was recorded. */
uint32_t why_place(const struct why *why, const struct candidate *candidate);

/* "forward_step (x.py:3) keeps 51.0 GiB of activations (11 x 4.6 GiB)." */
void why_say_cause(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* " Without these 51.0 GiB the request fits."; "" if the effect cannot be told. */
void why_say_effect(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* "Drop the reference after each micro-batch." */
void why_say_action(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* Whether the candidate is a row of the page. */
int why_is_row(const struct why *why, const struct candidate *candidate);

#endif
