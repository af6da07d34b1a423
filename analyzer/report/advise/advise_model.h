/*
 * advise_model.h - what a setting's change does to the bytes of each site, by the method that its row of formats/knobs names.
 *
 * Two scenarios say it: the one with the fewest bytes (lean) and the one with the most (heavy). Where a method is arithmetic -
 * numbers of a weight, a share of a cache - the two are the same; where something is not known they are apart. Changes are
 * put on top of each other: each works on what the ones before have left.
 */
#ifndef MEMANA_ADVISE_MODEL_H
#define MEMANA_ADVISE_MODEL_H

#include "advise_run.h"
#include "report/settings/advise_config.h"

/* A change of one knob: from text to text, as in its configuration. now NULL: not known. */
struct advise_turn {
	const struct mt_knob *knob;
	const char *now, *to;
};

struct advise_scenario {
	struct replay_effect *lean, *heavy; /* each of run->replay.sites */
	struct replay_extra lean_extra, heavy_extra;
};

/* As it was. 0 or -MT_E_MEMORY. Release in any case. */
int advise_scenario_init(struct advise_scenario *scenario, const struct advise_run *run);
void advise_scenario_release(struct advise_scenario *scenario);

/* Why a change does nothing that can be told. X(NAME, words) */
#define ADVISE_SILENCE_LIST(X)                                        \
	X(NONE, "")                                                   \
	X(NO_BYTES, "nothing that it moves was there")                \
	X(NO_METHOD, "it moves no memory of the GPU by itself")       \
	X(NO_VALUE, "its value now is not known: say it with --now")  \
	X(SAME, "it stands there already")                            \
	X(NO_ESTIMATE, "what it moves can be told from no recording") \
	X(NOT_RECORDED, "what it would add is not in the recording")  \
	X(FILLED,                                                     \
	  "the engine fills its share of the GPU: what its weights or a token of its cache take less, its cache has more")

enum advise_silence {
#define ADVISE_SILENCE_ENUM(name, words) ADVISE_SILENT_##name,
	ADVISE_SILENCE_LIST(ADVISE_SILENCE_ENUM)
#undef ADVISE_SILENCE_ENUM
};

const char *advise_silence_words(enum advise_silence silence);

/*
 * What a change reaches of what is there at the moment in question (struct replay_site's `then`): places of which some goes, or comes,
 * by then; where that is none, by what the step takes later. Bytes, by enum mt_category.
 */
struct advise_reach {
	uint64_t bytes[MT_CATEGORY_COUNT], guessed[MT_CATEGORY_COUNT]; /* guessed: what they are is probable */
	uint32_t largest[MT_CATEGORY_COUNT]; /* index of the site that has most, where bytes */
	uint64_t later;                      /* more of them by what the step takes after the request */
	uint64_t all;                        /* of any category, with that */
	uint64_t wanted;                     /* of who has what is too much (struct advise_question) */
	int request;                         /* 1: the failed request itself */
};

/*
 * A switch by which what a model has is on the host while others work, and comes back for its own work: what the phase that failed has
 * brought itself (struct replay_site) stays there.
 */
int advise_waits_on_host(const struct mt_knob *knob);

/* Of a scenario on which that change alone was put. */
void advise_reach(struct advise_reach *reach, const struct advise_run *run, const struct advise_scenario *scenario);

/* In use at that moment of the knob's categories, of whom it is about. Bytes. */
uint64_t advise_meant(const struct advise_run *run, const struct mt_knob *knob);

/*
 * Puts the change on top of the scenario. 1: it does something; 0: nothing, and why in *silence. -MT_E_ARGUMENT: the knob
 * cannot have that value; -MT_E_x.
 */
int advise_model_turn(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_turn *turn, enum advise_silence *silence);

/* Of how many samples a micro-batch is in the knob's phases, as its settings say; 0: not known. *sure 0: by a default only. */
double advise_samples(const struct advise_run *run, struct advise_config *config, const struct mt_knob *knob,
		      int *sure);

/* Rows of the largest logits in phases (bits 1 << enum mt_phase); 0: not known. */
uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases);

#endif
