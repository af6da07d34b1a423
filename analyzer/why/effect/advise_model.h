/*
 * advise_model.h - the effect of a setting's change on the bytes of each site, by the method of the setting's row in formats/knobs.
 *
 * Two scenarios give the range: the fewest bytes (lean) and the most bytes (heavy). An exact method, such as a share of a cache, has equal ones.
 * Changes are applied in order: each change scales the bytes that the changes before it have left.
 */
#ifndef MEMANA_ADVISE_MODEL_H
#define MEMANA_ADVISE_MODEL_H

#include "advise_run.h"
#include "report/settings/advise_config.h"
#include "why/find/find.h"

struct advise_range {
	uint64_t low, high;
};

/* The predicted bytes in use: tensors, and driver memory outside of the allocator. */
struct advise_outcome {
	struct advise_range phase[MT_PHASE_COUNT]; /* peak of each phase; 0: the phase did nothing on the device */
	struct advise_range peak;                  /* highest peak of all phases */
	struct advise_range asked;                 /* bytes with the failed request; 0: no request failed */
	uint8_t in;                                /* phase of the highest peak, an enum mt_phase */
};

/* A setting and its change from `now` to `to`, as texts of its configuration. now NULL: unknown. */
struct advise_move {
	const struct mt_knob *knob;
	const char *now, *to;
};

struct advise_scenario {
	struct replay_scenario lean, heavy;
};

/* Makes a scenario without changes. Returns 0 or -MT_E_MEMORY. Release after an error, too. */
int advise_scenario_init(struct advise_scenario *scenario, const struct advise_run *run);
void advise_scenario_release(struct advise_scenario *scenario);

/* The reasons why a change has no known effect. X(NAME, words) */
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

/* A change in addition to the changes of all trials, and its result. */
struct advise_trial {
	struct advise_move move; /* knob NULL: no additional change */
	int works;               /* 1: the change has an effect; 0: `silence` is the reason */
	enum advise_silence silence;
	struct advise_outcome outcome; /* filled also without an effect */
	int itemized;                  /* 1: fill `part` if the change has an effect */
	struct candidate_part *part; /* bytes removed at the moment, by index of the replay's site; the caller frees it */
	size_t parts;
};

/* Runs each trial by itself. A value that the knob cannot have is a trial without an effect. Returns 0 or -MT_E_x. */
int advise_try(const struct advise_run *run, struct advise_config *config, const struct advise_move *made, size_t makes,
	       struct advise_trial *trial, size_t trials);

/* Returns the weight of a value in the knob's row; -1: the row does not have the value. */
double advise_weight_of(const struct mt_knob *knob, const char *value);

/*
 * Adds the change to the scenario. Returns 1: it has an effect; 0: no effect, with the reason in *silence; -MT_E_ARGUMENT: the knob cannot have this
 * value; or -MT_E_x.
 */
int advise_model_move(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_move *move, enum advise_silence *silence);

#endif
