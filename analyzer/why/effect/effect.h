/*
 * effect.h - the effect of each setting of the run's frameworks on the bytes of the scene, tried by one replay.
 *
 *     scene, configuration ──▶ settings that apply here ──▶ a value for each ──▶ replay ──▶ effects
 *
 * Effects are independent of causes. Detectors find causes, and effect_for() joins both by process, action and bytes. Settings of
 * other frameworks, trainers, backends and models make no effects.
 */
#ifndef MEMANA_WHY_EFFECT_H
#define MEMANA_WHY_EFFECT_H

#include <stddef.h>
#include <stdint.h>
#include "advise_model.h"
#include "why/find/find.h"
#include "why/scene/scene.h"

#define EFFECT_WORTH 200.0    /* divisor: less than 1/200 of the bytes in use is no reason to relaunch */
#define EFFECT_MOVES_MAX 32   /* most changes to try together */
#define EFFECT_TOGETHER_MAX 6 /* most changes that the plan chooses */

/* A setting and a value for it. Texts live as long as the effects. */
struct effect {
	const struct mt_knob *knob;
	enum mt_action action;
	/* the value */
	struct advise_value now; /* the present value, by configuration or recording; text NULL: unknown */
	const char *begins;      /* the value at the begin of the replay; NULL: unknown */
	char pretend[ADVISE_VALUE_MAX], to[ADVISE_VALUE_MAX];
	int relative;                /* 1: the present value is unknown: propose half or twice of it */
	double by;                   /* for an unknown share: its reduction, to at most `to`; 0: the value is known */
	char only[ADVISE_WORDS_MAX]; /* the condition under which the setting counts; "": none */
	/* the result */
	int works;                  /* 0: no effect here, and `why` says why */
	char why[ADVISE_WORDS_MAX]; /* "already on: x.y is on the recorded stacks"; "": it works, or has no bytes here */
	int untold;                 /* 1: an effect is possible, but its bytes are unknown */
	struct advise_range saved;  /* reduction of the bytes in use, with the failed request or at the peak */
	struct advise_outcome outcome;
	int fits;               /* 1: the request fits, even with the least possible saving */
	enum mt_knob_cost cost; /* the setting's cost; MT_KNOB_COST_GPUS if it needs more GPUs than recorded */
	uint32_t process;       /* index of the process that loses most; SCENE_NONE: no bytes go */
	enum mt_category category;
	int probable;                /* 1: the category of most bytes is a guess */
	int later;                   /* 1: the bytes come after the moment, and `category` is the setting's */
	struct candidate_part *part; /* removed bytes, by site */
	size_t parts;
};

/* Changes that are tried together: those of --set, or the cheapest ones that fit. */
struct effect_plan {
	struct advise_move move[EFFECT_MOVES_MAX];
	const struct effect *effect[EFFECT_MOVES_MAX]; /* NULL: a change of --set */
	enum advise_silence silence[EFFECT_MOVES_MAX]; /* for --set: the reason why a change has no effect */
	size_t moves;
	int asked;      /* 1: changes of --set */
	int unforetold; /* 1: the recording lacks the bytes of a change, and the outcome is unknown */
	int fits;
	struct advise_outcome outcome;
};

/* The user's input. */
struct effect_request {
	const char *framework, *file; /* NULL: auto; none */
	const char **now, **set;      /* "KEY=VALUE" */
	size_t nows, sets;
	uint64_t fit; /* bytes, 0: not given */
};

struct effects {
	const struct scene *scene; /* the caller's */
	struct advise_run run;
	struct mt_knobs *knobs;
	struct advise_config *config;
	uint64_t base;          /* bytes in use at the moment, with the changes after the request */
	uint64_t needed;        /* bytes that must go before the request fits; 0: it fits, or unknown */
	uint64_t limit;         /* most bytes: --fit, or the run's limit; 0: none */
	int fit, blind;         /* 1: --fit was given; 1: the configuration is unknown */
	struct effect **effect; /* in the order of effect_order(): working effects first */
	size_t effects;
	struct effect *all;      /* private: the effects themselves */
	struct effect_plan plan; /* without moves: no --set, or one setting is enough */
};

/*
 * The scene must outlive the effects. 0 or -MT_E_x. -MT_E_ARGUMENT and -MT_E_RULES: wrong input, described in config->message.
 * -MT_E_MAGIC: no bytes on any device. Release after an error, too.
 */
int effects_load(struct effects *effects, const struct scene *scene, const struct effect_request *request);
void effects_release(struct effects *effects);

/* The action of a setting: the row's own, or from its method, category and process. */
enum mt_action effect_action(const struct mt_knob *knob);

/* For qsort(): working first, then without a condition, fitting, lower cost, more bytes, key. Strict. */
int effect_order(const void *one, const void *two); /* compares pointers to effects */

/*
 * Fills the settings for the candidate, best first, at most `room`. They are of its process, and have a helpful action or most of
 * its bytes. Returns their number.
 */
size_t effect_for(const struct effects *effects, const struct candidate *candidate, const struct effect **effect,
		  size_t room);

/* A setting with the candidate's action, but with unknown bytes or without an effect here. NULL: none. */
const struct effect *effect_without_bytes(const struct effects *effects, const struct candidate *candidate);

#endif
