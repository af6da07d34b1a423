/*
 * effect.h - the effect of each setting of the run's frameworks on the bytes of the scene, computed by one replay.
 *
 *     scene, configuration ──▶ settings that apply here ──▶ a value for each ──▶ replay ──▶ effects
 *
 * Effects are independent of causes: effect_for() finds the settings against a detector's candidate by process, action and bytes. Settings of other
 * frameworks, trainers, backends and models have no effects.
 */
#ifndef MEMANA_WHY_EFFECT_H
#define MEMANA_WHY_EFFECT_H

#include <stddef.h>
#include <stdint.h>
#include "advise_model.h"
#include "why/find/find.h"
#include "why/scene/scene.h"

#define EFFECT_WORTH 200.0    /* divisor: less than 1/200 of the bytes in use is not worth a relaunch */
#define EFFECT_MOVES_MAX 32   /* largest number of changes that are tried together */
#define EFFECT_TOGETHER_MAX 6 /* largest number of changes that the plan chooses */

/* A setting and the value to try. Its texts live as long as the effects. */
struct effect {
	const struct mt_knob *knob;
	enum mt_action action;
	/* the value */
	struct advise_value now; /* the present value, by configuration or recording; text NULL: unknown */
	const char *begins;      /* the value from which the replay starts; NULL: unknown */
	char pretend[ADVISE_VALUE_MAX], to[ADVISE_VALUE_MAX];
	int relative; /* 1: the present value is unknown, and the proposal is half or twice its size */
	double by;    /* for an unknown share: the proposed reduction, to at most `to`; 0: the value is known */
	char only[ADVISE_WORDS_MAX]; /* the condition under which the setting counts; "": none */
	/* the result */
	int works;                  /* 0: no effect here, and `why` has the reason */
	char why[ADVISE_WORDS_MAX]; /* "already on: x.y is on the recorded stacks"; "": works, or has no bytes here */
	int untold;                 /* 1: an effect is possible, but its bytes are unknown */
	struct advise_range saved;  /* reduction of the bytes in use, at the failed request or at the peak */
	struct advise_outcome outcome;
	int fits;               /* 1: the request fits even with the smallest saving */
	enum mt_knob_cost cost; /* cost of the setting; MT_KNOB_COST_GPUS if it needs more GPUs than the run has */
	uint32_t process;       /* index of the process that loses most bytes; SCENE_NONE: no process loses any */
	enum mt_category category;
	int probable;                /* 1: the category with most removed bytes is probable only */
	int later;                   /* 1: the bytes come after the moment; `category` is the knob's */
	struct candidate_part *part; /* removed bytes, sorted by site */
	size_t parts;
};

/* Changes that are tried together: all of --set, or the best ones until the request fits. */
struct effect_plan {
	struct advise_move move[EFFECT_MOVES_MAX];
	const struct effect *effect[EFFECT_MOVES_MAX]; /* NULL: a change of --set */
	enum advise_silence silence[EFFECT_MOVES_MAX]; /* for --set: the reason why the change has no effect */
	size_t moves;
	int asked;      /* 1: the changes of --set */
	int unforetold; /* 1: the recording does not have the bytes of a change; the outcome is unknown */
	int fits;
	struct advise_outcome outcome;
};

/* The options of the user. */
struct effect_request {
	const char *framework, *file; /* NULL: found by the recording; NULL: no file */
	const char **now, **set;      /* "KEY=VALUE" */
	size_t nows, sets;
	uint64_t fit; /* bytes in use that must be enough; 0: not given */
};

struct effects {
	const struct scene *scene; /* not owned */
	struct advise_run run;
	struct mt_knobs *knobs;
	struct advise_config *config;
	uint64_t base;          /* bytes in use at the moment, with the later changes of the step */
	uint64_t needed;        /* bytes that must go until the request fits; 0: it fits, or the limit is unknown */
	uint64_t limit;         /* largest bytes in use: --fit, else the run's limit; 0: unknown */
	int fit, blind;         /* 1: --fit was given; 1: the configuration is unknown */
	struct effect **effect; /* sorted by effect_order(): working effects come first */
	size_t effects;
	struct effect *all;      /* private: the effects that `effect` points to */
	struct effect_plan plan; /* no moves: without --set, one setting is enough, or none helps */
};

/*
 * Computes all effects. The scene must outlive them. Returns 0 or -MT_E_x. -MT_E_ARGUMENT and -MT_E_RULES: wrong input, described in config->message.
 * -MT_E_MAGIC: no device has bytes. Release after an error, too.
 */
int effects_load(struct effects *effects, const struct scene *scene, const struct effect_request *request);
void effects_release(struct effects *effects);

/* Returns the action of a setting: its row's own, else the action that follows from method, categories and processes. */
enum mt_action effect_action(const struct mt_knob *knob);

/* For qsort(): works, has no condition, fits, costs less, saves more, key. Never 0 for two settings. */
int effect_order(const void *one, const void *two); /* compares pointers to effects */

/*
 * Fills at most `room` settings against the candidate, best first, and returns their number. Each changes the candidate's process, and has a helpful
 * action or removes most of the candidate's bytes.
 */
size_t effect_for(const struct effects *effects, const struct candidate *candidate, const struct effect **effect,
		  size_t room);

/* Returns a setting with the candidate's action whose bytes are unknown, or that has no effect here; NULL: no such setting. */
const struct effect *effect_without_bytes(const struct effects *effects, const struct candidate *candidate);

#endif
