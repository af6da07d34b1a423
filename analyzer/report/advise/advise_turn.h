/*
 * advise_turn.h - one change of a setting while it is put on a scenario: what the methods of advise_model.h share. Private to
 * advise_*.c.
 */
#ifndef MEMANA_ADVISE_TURN_H
#define MEMANA_ADVISE_TURN_H

#include "advise_model.h"

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)

/* What a micro-batch makes and lets go. The rest stays from one to the next. */
#define TURN_PASSING \
	(CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS) | CATEGORY(WORKSPACE) | CATEGORY(OTHER))

/* What passes, and of which nothing says that it is a micro-batch's. */
#define TURN_BESIDE (CATEGORY(WORKSPACE) | CATEGORY(OTHER))

struct turn {
	struct advise_scenario *scenario;
	const struct advise_run *run;
	struct advise_config *config;
	const struct mt_knob *knob;
	const char *now_text, *to_text;
	double now, to;     /* numbers; now < 0: not known */
	int is_number;      /* 0: words */
	int batches_differ; /* the micro-batches of the run are not alike */
	int sure;           /* the samples of a micro-batch are not just the default */
	int effects;        /* sites to which something happened */
	int refilled;       /* what it takes less of an engine its cache has more, where that is awake */
	enum advise_silence silence;
};

/* Whether the inner frames of the site's stack are one of the functions that the row names. 1, 0 or -MT_E_x. */
int turn_has_frame(const struct advise_run *run, const struct mt_knob *knob, const struct replay_site *site);

/* Phases that the row speaks of, bits 1 << enum mt_phase. */
uint32_t turn_phases(const struct mt_knob *knob);

/* Whether the row is about weights that are not the trained model's. */
int turn_is_of_reference(const struct mt_knob *knob);

/* Bytes that the knob speaks of: of its category, of who has it, and what passes of its phases. 1, 0 or -MT_E_x. */
int turn_means(const struct turn *turn, const struct replay_site *site);

/* How much stays of a site, two numbers in either order; of all that is meant: 0 or -MT_E_x. */
void turn_keep(struct turn *turn, uint32_t site, double one, double other);
int turn_keep_all(struct turn *turn, double one, double other);

/* The most that is held of what is meant at the peak of one of these phases. Bytes. */
double turn_held_most(const struct turn *turn, uint32_t phases);

/* Notes why the change does nothing. 0. */
int turn_silent(struct turn *turn, enum advise_silence silence);

/* How many of a site's allocations live at once, and how many bytes it holds, at the peak of the phase that has most. */
uint32_t turn_alive(const struct replay_site *site);
uint64_t turn_held_anywhere(const struct replay_site *site);

double turn_layers(const struct advise_run *run); /* of the model; a usual number where nobody tells */

/* Of a switch: 1: the new value is the one that saves, -1: the old one was, 0: neither, or it is no switch. */
int turn_direction(const struct turn *turn);

/* The methods, MT_KNOB_METHOD_LIST: each puts the change on the scenario, or notes why not. 0 or -MT_E_x. */
int turn_tokens(struct turn *turn); /* advise_tokens.c */
int turn_logits(struct turn *turn);
int turn_removed(struct turn *turn); /* advise_removed.c */
int turn_divided(struct turn *turn);
int turn_bucket(struct turn *turn);
int turn_share(struct turn *turn);
int turn_kept(struct turn *turn);

#endif
