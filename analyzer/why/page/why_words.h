/* why_words.h - a candidate in words: forms with {words}, filled from the candidate. */
#ifndef MEMANA_WHY_WORDS_H
#define MEMANA_WHY_WORDS_H

#include "why.h"

/* The node of the candidate's place; SCENE_NONE: no stack was recorded. */
uint32_t why_place(const struct why *why, const struct candidate *candidate);

/* "forward_step (x.py:3) keeps 51.0 GiB of activations (11 x 4.6 GiB)." */
void why_say_cause(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* " Without these 51.0 GiB the request fits."; "" if the effect cannot be told. */
void why_say_effect(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* "Drop the reference after each micro-batch." */
void why_say_action(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* " This frees up to 4.6 GiB of logits, made by f (x.py:1)."; "" if no bytes are the candidate's. */
void why_say_freed(struct sentence *sentence, const struct why *why, const struct candidate *candidate);

/* "f (x.py:1)" */
void why_say_node(struct sentence *sentence, const struct scene *scene, uint32_t node);

#endif
