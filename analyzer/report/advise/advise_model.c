#include "advise_turn.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

const char *advise_silence_words(enum advise_silence silence)
{
#define ADVISE_SILENCE_WORDS(name, words) words,
	static const char *const all[] = { ADVISE_SILENCE_LIST(ADVISE_SILENCE_WORDS) };
#undef ADVISE_SILENCE_WORDS

	return all[silence];
}

static void as_it_was(struct replay_effect *effect, uint32_t sites)
{
	uint32_t i, phase;

	for (i = 0; i < sites; i++) {
		effect[i] = (struct replay_effect){ .cap = UINT64_MAX };
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			effect[i].keep[phase] = 1;
	}
}

int advise_scenario_init(struct advise_scenario *scenario, const struct advise_run *run)
{
	*scenario = (struct advise_scenario){ 0 };
	scenario->lean = malloc(2 * ((size_t)run->replay.sites + 1) * sizeof(*scenario->lean));
	if (!scenario->lean)
		return -MT_E_MEMORY;
	scenario->heavy = scenario->lean + run->replay.sites;
	as_it_was(scenario->lean, 2 * run->replay.sites);
	return 0;
}

void advise_scenario_release(struct advise_scenario *scenario)
{
	free(scenario->lean);
	*scenario = (struct advise_scenario){ 0 };
}

/* ---- a change ---------------------------------------------------------------------------------------------------------- */

static int take_values(struct turn *turn)
{
	int now = turn->now_text ? advise_value_number(turn->knob, turn->now_text, &turn->now) : 1;
	int to = advise_value_number(turn->knob, turn->to_text, &turn->to);

	if (to < 0)
		return to;
	turn->is_number = !to;
	if (now)
		turn->now = -1;
	/* A switch that nobody has set is off. */
	if (now && turn->knob->measure == MT_KNOB_UNIT_SWITCH)
		turn->now = 0;
	return 0;
}

/* A cache whose size is told in tokens or bytes, and not by what is free. */
static int has_absolute_cache(const struct turn *turn)
{
	const struct advise_part *part = advise_config_part(turn->config, turn->knob);
	const struct mt_knob *knob;
	struct advise_value value;
	uint32_t i;

	for (i = 0; part && i < part->file->knobs; i++) {
		knob = &part->file->knob[i];
		if (knob->processes != ROLE(ENGINE) || knob->categories != CATEGORY(KV_CACHE) ||
		    (knob->method != MT_KNOB_METHOD_BUCKET && knob->measure != MT_KNOB_UNIT_TOKENS) ||
		    knob->method == MT_KNOB_METHOD_NONE)
			continue;
		value = advise_config_value(turn->config, knob, ADVISE_AS_IS);
		if (value.text && value.origin > ADVISE_DEFAULT && !advise_is_null(value.text))
			return 1;
	}
	return 0;
}

/*
 * An engine makes its cache as large as its share of the GPU allows: more GPUs for it, or narrower numbers, make the cache larger, and
 * the engine as large as before. Before it has a cache its weights alone have to fit.
 */
static int is_filled_up(const struct turn *turn)
{
	const struct mt_knob *knob = turn->knob;

	return turn->run->engine.has_cache && knob->processes == ROLE(ENGINE) &&
	       !(knob->categories & ~(CATEGORY(WEIGHTS) | CATEGORY(KV_CACHE))) &&
	       knob->phases & 1u << MT_PHASE_ROLLOUT && knob->measure != MT_KNOB_UNIT_TOKENS &&
	       (knob->method == MT_KNOB_METHOD_DIVIDED || knob->method == MT_KNOB_METHOD_REMOVED) &&
	       !has_absolute_cache(turn);
}

static int model_turn(struct turn *turn)
{
	if (is_filled_up(turn))
		return turn_silent(turn, ADVISE_SILENT_FILLED);
	switch (turn->knob->method) {
	case MT_KNOB_METHOD_TOKENS:
		return turn_tokens(turn);
	case MT_KNOB_METHOD_LOGITS:
		return turn_logits(turn);
	case MT_KNOB_METHOD_DIVIDED:
		return turn_divided(turn);
	case MT_KNOB_METHOD_REMOVED:
		return turn_removed(turn);
	case MT_KNOB_METHOD_BUCKET:
		return turn_bucket(turn);
	case MT_KNOB_METHOD_SHARE:
		return turn_share(turn);
	case MT_KNOB_METHOD_KEPT:
		return turn_kept(turn);
	case MT_KNOB_METHOD_ALLOCATOR:
		return turn_silent(turn, ADVISE_SILENT_NO_ESTIMATE);
	default:
		return turn_silent(turn, ADVISE_SILENT_NO_METHOD);
	}
}

int advise_model_turn(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_turn *change, enum advise_silence *silence)
{
	struct turn turn = { .scenario = scenario,
			     .run = run,
			     .config = config,
			     .knob = change->knob,
			     .now_text = change->now,
			     .to_text = change->to };
	int error = take_values(&turn);

	if (error)
		return error;
	error = model_turn(&turn);
	if (error < 0)
		return error;
	if (!turn.effects && !turn.silence)
		turn.silence = ADVISE_SILENT_NO_BYTES;
	*silence = turn.effects ? ADVISE_SILENT_NONE : turn.silence;
	return turn.effects > 0;
}
