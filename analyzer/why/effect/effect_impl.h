/* effect_impl.h - declarations that the files of effect.h share. */
#ifndef MEMANA_WHY_EFFECT_IMPL_H
#define MEMANA_WHY_EFFECT_IMPL_H

#include "effect.h"

/* ---- evidence of stacks (effect_seen.c) ---- */

/* Whether settings of this part of the configuration can have an effect: the recording shows the part's code. */
int effect_is_there(const struct effects *effects, uint32_t part);

/* Whether the setting's class, module, model and backend run in this recording. */
int effect_is_meant(const struct effects *effects, const struct mt_knob *knob);

/* Whether recorded stacks prove that the setting is on. `why` gets the word on the stack. */
int effect_is_proved(const struct effects *effects, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX]);

/* Returns 1: the stacks show a backend that the setting needs; -1: a backend that excludes the setting; 0: neither. */
int effect_backend(const struct effects *effects, const struct mt_knob *knob);

/* ---- a value (effect_value.c) ---- */

/* Fills `to`, `begins`, `by` and `relative` from effect->now. Returns 1: there is a value to try; 0: no value. */
int effect_propose(const struct effects *effects, struct effect *effect);

/* Sets the present value to one that the recording shows. `value` must outlive the effects. */
void effect_show(struct effect *effect, const char *value);

#endif
