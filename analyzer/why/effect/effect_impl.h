/* effect_impl.h - shared declarations of the files of effect.h. */
#ifndef MEMANA_WHY_EFFECT_IMPL_H
#define MEMANA_WHY_EFFECT_IMPL_H

#include "effect.h"

/* ---- evidence of stacks (effect_seen.c) ---- */

/* Whether settings of this part of the configuration have an effect: its code was seen. */
int effect_is_there(const struct effects *effects, uint32_t part);

/* Whether the setting's class, module, model and backend run here. */
int effect_is_meant(const struct effects *effects, const struct mt_knob *knob);

/* Whether the setting is on: by words of recorded stacks; `why` says which. */
int effect_is_proved(const struct effects *effects, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX]);

/* 1: the stacks show the backend that the setting needs; -1: they show one that excludes it; 0: neither. */
int effect_backend(const struct effects *effects, const struct mt_knob *knob);

/* ---- a value (effect_value.c) ---- */

/* Fills `to` and its companions from effect->now. 1: a value to try; 0: none. */
int effect_propose(const struct effects *effects, struct effect *effect);

/* Sets the present value to one that the recording shows. `value` must outlive the effects. */
void effect_show(struct effect *effect, const char *value);

#endif
