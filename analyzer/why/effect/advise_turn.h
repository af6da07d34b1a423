/*
 * advise_turn.h - a change of a setting on its way into a scenario, shared by the methods of advise_model.h. Private to advise_*.c.
 */
#ifndef MEMANA_ADVISE_TURN_H
#define MEMANA_ADVISE_TURN_H

#include "advise_model.h"

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)

/* Categories that a micro-batch makes and frees. Other categories stay between micro-batches. */
#define TURN_PASSING \
	(CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS) | CATEGORY(WORKSPACE) | CATEGORY(OTHER))

/* Passing categories without a certain micro-batch. */
#define TURN_BESIDE (CATEGORY(WORKSPACE) | CATEGORY(OTHER))

struct turn {
	struct advise_scenario *scenario;
	const struct advise_run *run;
	struct advise_config *config;
	const struct mt_knob *knob;
	const char *now_text, *to_text;
	double now, to;     /* numbers; now < 0: unknown */
	int is_number;      /* 0: `to` is a word */
	int batches_differ; /* 1: the micro-batches of the run have different sizes */
	int sure;           /* 1: the number of samples is set, not a default */
	int effects;        /* number of changed sites */
	int refilled;       /* 1: an awake cache of the engine takes the bytes that the setting saves */
	enum advise_silence silence;
};

/* Whether the site's stack has a function or file of the row's `within`. 1, 0 or -MT_E_x. */
int turn_has_frame(const struct advise_run *run, const struct mt_knob *knob, const struct replay_site *site);

/* Tags of the inner frames of the site's stack (memtrace/why.h): those of what it makes, and not of where that is called. */
uint64_t turn_inner_tags(const struct advise_run *run, const struct replay_site *site);

/* Phases that the row speaks of, bits 1 << enum mt_phase. */
uint32_t turn_phases(const struct mt_knob *knob);

/* Whether the row is about weights of another model than the trained one. */
int turn_is_of_reference(const struct mt_knob *knob);

/* Whether the knob is about the site: by category and process, and by phase for bytes of micro-batches. 1, 0 or -MT_E_x. */
int turn_means(const struct turn *turn, const struct replay_site *site);

/* Scales a site by two parts that stay, in either order; or all sites of the knob, with 0 or -MT_E_x. */
void turn_keep(struct turn *turn, uint32_t site, double one, double other);
int turn_keep_all(struct turn *turn, double one, double other);

/* Bytes of the knob's sites at the peak of the phase with most, among these phases. */
double turn_held_most(const struct turn *turn, uint32_t phases);

/* Notes why the change has no effect. Returns 0. */
int turn_silent(struct turn *turn, enum advise_silence silence);

/* Number of the site's allocations, and its bytes, at the peak of the phase with most. */
uint32_t turn_alive(const struct replay_site *site);
uint64_t turn_held_anywhere(const struct replay_site *site);

double turn_layers(const struct advise_run *run); /* layers of the model; a usual number if unknown */

/* For a switch: 1: the new value saves, -1: the old value saved; 0: neither, or no switch. */
int turn_direction(const struct turn *turn);

/* The methods of MT_KNOB_METHOD_LIST: each adds the change to the scenario, or notes why not. 0 or -MT_E_x. */
int turn_tokens(struct turn *turn); /* advise_tokens.c */
int turn_logits(struct turn *turn);
int turn_removed(struct turn *turn); /* advise_removed.c */
int turn_divided(struct turn *turn);
int turn_bucket(struct turn *turn);
int turn_share(struct turn *turn);
int turn_kept(struct turn *turn);

#endif
