/* A value to try for a setting, from its present value by configuration or recording. */
#include "base/text.h"
#include "effect_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"

#define PIECE_ROWS 1024.0 /* rows of logits in a piece, without a value */
#define SHARE_STEP 0.01
#define SHARE_LEAST 0.05 /* least share of a working engine */
#define SHARE_CACHE 0.02 /* share for the cache, beside the weights */
#define SHARE_OVER 0.015 /* part of the GPU: bytes above the share by more refute the share */
#define SHARE_NEAR 0.03  /* part of the GPU: bytes below the share by more refute the share */
#define SHARE_SURE 0.85  /* part of a smaller share that frees bytes: an engine has other memory in it */
#define GIB (1024.0 * 1024 * 1024)
#define RANK_USUAL 16.0
#define BUDGET_LOOSE 1.1  /* turn_budget(): micro-batches are not filled alike */
#define BUDGET_MARGIN 2.0 /* factor of the missing bytes */
#define BUDGET_MOST 0.75  /* part of the largest micro-batch: above this, the next micro-batch can be as large */
#define CAP_MARGIN 1.05   /* factor of the missing bytes: lengths are not exact */

static const char *text_of(struct effect *effect, double number)
{
	return advise_value_text(effect->to, effect->knob, number);
}

void effect_show(struct effect *effect, const char *value)
{
	effect->now = (struct advise_value){ value, "the recording", ADVISE_SHOWN };
	effect->begins = value;
}

static int is_shown(const struct effect *effect)
{
	return effect->now.origin == ADVISE_SHOWN;
}

int effect_is_outlier(const struct effects *effects)
{
	const struct advise_asked *asked = &effects->run.asked;

	return effects->run.failed && asked->earlier && asked->tokens > 2 * asked->earlier;
}

/* Whether the request failed in the start: the recording has neither its rest nor a step. */
static int is_starting(const struct effects *effects)
{
	const struct advise_run *run = &effects->run;

	return run->failed && run->replay.request.phase == MT_PHASE_INIT && run->steps < 1;
}

/* Whether a sample beyond the budget ends the run with an error. */
static int ends_run(const struct mt_knob *knob)
{
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		if (knob->constraint[i].beyond == MT_KNOB_BEYOND_ERROR)
			return 1;
	return 0;
}

/* The largest multiple of `step` up to `number`. */
static double floor_to(double number, uint64_t step)
{
	uint64_t whole = (uint64_t)number;

	whole -= whole % step;
	return (double)whole;
}

/* Half of the value, but not below the floor. NULL: the value is at the floor. */
static const char *lower_than(const struct effects *effects, struct effect *effect, double now)
{
	double floor = advise_floor(effects->config, effect->knob, &effects->facts), to;

	to = now / 2 > floor ? now / 2 : floor;
	to = to >= 512 ? floor_to(to, 256) : floor_to(to, 1);
	return to >= 1 && to < now ? text_of(effect, to) : NULL;
}

/*
 * The longest sample for which the request fits: `tokens` is the failed sample, `least` the longest one before. The saving at
 * `least` is scaled with the tokens.
 */
static double longest_that_fits(const struct effects *effects, struct effect *effect, double tokens, double least)
{
	struct advise_trial trial = { .turn = { effect->knob, effect->begins, text_of(effect, least) } };
	double saved, to;

	if (!effects->needed || advise_try(&effects->run, effects->config, NULL, 0, &trial, 1) ||
	    trial.outcome.asked.high >= effects->base)
		return least;
	saved = (double)(effects->base - trial.outcome.asked.high);
	to = floor_to(tokens - (tokens - least) * CAP_MARGIN * (double)effects->needed / saved, 256);
	return to > least ? to : least;
}

/* Proposes half of an unknown value. */
static const char *halve(struct effect *effect)
{
	effect->begins = advise_value_text(effect->pretend, effect->knob, 2);
	effect->relative = 1;
	return text_of(effect, 1);
}

/* Whether the model generates without an engine, with its own cache. */
static int generates_itself(const struct replay *replay)
{
	uint32_t i;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].own_cache)
			return 1;
	return 0;
}

/* A default length is not used: everybody sets it. A request far above all earlier ones is one long sample. */
static const char *lower_length(const struct effects *effects, struct effect *effect, double now)
{
	double tokens = (double)advise_tokens_in(&effects->run, effect->knob->phases);

	if (effect->now.origin <= ADVISE_DEFAULT) {
		effect->now = (struct advise_value){ .where = "" };
		effect->begins = NULL;
		now = -1;
	}
	if (now <= 0 && effect_is_outlier(effects)) {
		effect_show(effect, advise_value_text(effect->pretend, effect->knob, tokens));
		return text_of(effect, longest_that_fits(effects, effect, tokens, (double)effects->run.asked.earlier));
	}
	/* The model's own cache has the length of the answers: half is an answer for an unknown value, too. */
	if (now <= 0 && effect->knob->of == MT_KNOB_OF_ANSWER && effects->run.failed &&
	    effects->run.replay.request.phase == MT_PHASE_ROLLOUT && generates_itself(&effects->run.replay))
		return halve(effect);
	return now > 0 ? lower_than(effects, effect, now) : NULL;
}

/*
 * The largest budget that saves twice the missing bytes: few missing bytes do not need half of the budget. The saving of `least` is
 * scaled with the tokens. turn_budget() leaves a tenth more than the ratio.
 */
static double budget_that_fits(const struct effects *effects, struct effect *effect, double tokens, double least)
{
	struct advise_trial trial = { .turn = { effect->knob, effect->begins, text_of(effect, least) } };
	double saved, to;

	if (!effects->needed || !effects->run.failed || tokens <= 0 ||
	    advise_try(&effects->run, effects->config, NULL, 0, &trial, 1) || trial.outcome.asked.high >= effects->base)
		return least;
	saved = (double)(effects->base - trial.outcome.asked.high);
	to = floor_to(tokens / BUDGET_LOOSE *
			      (1 -
			       (1 - BUDGET_LOOSE * least / tokens) * BUDGET_MARGIN * (double)effects->needed / saved),
		      256);
	if (to > tokens * BUDGET_MOST)
		to = floor_to(tokens * BUDGET_MOST, 256);
	return to > least ? to : least;
}

/*
 * Whether only a default gives the value, without a known configuration. A number made from the default can be the set value, or on
 * its wrong side.
 */
static int is_guess(const struct effects *effects, const struct effect *effect)
{
	return effects->blind && effect->now.origin == ADVISE_DEFAULT;
}

/* Proposes `to`. A guessed present value makes the proposal relative. */
static const char *relative_to(const struct effects *effects, struct effect *effect, double to)
{
	effect->relative = is_guess(effects, effect);
	return text_of(effect, to);
}

/* Whether the budget must be set if the switch that it needs is on. Other unset budgets can mean no limit. */
static int is_set_with_switch(const struct mt_knob *knob)
{
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_NEEDS)
			return knob->method == MT_KNOB_METHOD_TOKENS;
	return 0;
}

static int may_end_run(const struct effects *effects, const struct mt_knob *knob)
{
	return ends_run(knob) && advise_floor(effects->config, knob, &effects->facts) < 1;
}

/* Whether micro-batches are filled to about the same size. Single samples would vary. */
static int are_filled(const struct effects *effects)
{
	const struct advise_asked *asked = &effects->run.asked;

	return asked->earlier && asked->tokens <= 2 * asked->earlier;
}

/* Adds a condition: a sample beyond the budget ends the run, and the micro-batch can be one sample. */
static void say_several(const struct effects *effects, struct effect *effect, double tokens)
{
	char count[TEXT_SIZE_MAX];
	int known = tokens >= 1;

	if (*effect->only || !effects->run.failed || are_filled(effects) || !may_end_run(effects, effect->knob))
		return;
	snprintf(effect->only, sizeof(effect->only),
		 "%s%s%s several samples, and each of them is shorter than this: a longer one ends the run with an error",
		 known ? "those " : "a micro-batch has", known ? text_number(count, (uint64_t)tokens) : "",
		 known ? " tokens are" : "");
}

/* Without a set budget, a micro-batch larger than the default shows the budget. */
static const char *lower_budget(const struct effects *effects, struct effect *effect, double now)
{
	char count[TEXT_SIZE_MAX];
	double tokens = (double)advise_tokens_in(&effects->run, effect->knob->phases);
	const char *half;

	if (tokens > 0 && effect->now.origin <= ADVISE_DEFAULT && (now <= 0 || tokens > now))
		effect_show(effect, advise_value_text(effect->pretend, effect->knob, tokens));
	/* An outlier is one long sample, or several samples: too few micro-batches tell which. */
	if (effect_is_outlier(effects) && ends_run(effect->knob) && !*effect->only)
		snprintf(effect->only, sizeof(effect->only),
			 "those %s tokens are several samples, and each of them is shorter than this: a longer one ends the run "
			 "with an error",
			 text_number(count, effects->run.asked.tokens));
	else if (effect_is_outlier(effects) && !ends_run(effect->knob))
		snprintf(effect->only, sizeof(effect->only),
			 "those %s tokens are several samples: a single one is a micro-batch of its own, however long",
			 text_number(count, effects->run.asked.tokens));
	else
		say_several(effects, effect, tokens);
	if (tokens > 0 && (now <= 0 || tokens < now || is_shown(effect)))
		now = tokens;
	if (now <= 0)
		return is_set_with_switch(effect->knob) ? halve(effect) : NULL;
	half = lower_than(effects, effect, now);
	effect->relative = half && tokens <= 0 && is_guess(effects, effect);
	return half ? text_of(effect, budget_that_fits(effects, effect, tokens, strtod(half, NULL))) : NULL;
}

static const char *lower_tokens(const struct effects *effects, struct effect *effect, double now)
{
	switch (effect->knob->of) {
	case MT_KNOB_OF_PADDING:
		return NULL;
	case MT_KNOB_OF_MICRO_BATCH:
		return lower_budget(effects, effect, now);
	default:
		return lower_length(effects, effect, now);
	}
}

/*
 * The engine's largest bytes refute a default: they exceed the share, or a complete cache is far below the share. The set share is
 * then unknown, but at least weights and cache.
 */
static int is_refuted(const struct advise_engine *engine, double total, double now)
{
	if (!engine->certain)
		return 0;
	return now <= 0 || (double)engine->certain / total > now + SHARE_OVER ||
	       (engine->whole && (double)engine->all / total < now - SHARE_NEAR);
}

/* An estimate of the rest of a start: another request of this size; in a series, the bytes of the series up to now. */
static double rest_of_start(const struct effects *effects)
{
	const struct replay *replay = &effects->run.replay;
	double most = (double)effects->run.engine.all / 2, rest = (double)replay->request.bytes;

	if (!is_starting(effects) ||
	    (replay->later.from != REPLAY_LATER_UNKNOWN && replay->later.from != REPLAY_LATER_SERIES))
		return 0;
	if (replay->later.from == REPLAY_LATER_SERIES)
		rest = (double)replay->site[replay->request.site].then;
	return rest < most || most <= 0 ? rest : most;
}

/* The reduction of the share that frees the missing bytes, and one step more if later requests are unknown. */
static double less_of_share(const struct effects *effects)
{
	double less = ((double)effects->needed + rest_of_start(effects)) / ((double)effects->run.total * SHARE_SURE);

	if (!effects->needed)
		return SHARE_STEP * 10;
	less = ceil(less / SHARE_STEP) * SHARE_STEP;
	return less + (effects->run.failed && effects->run.replay.later.from == REPLAY_LATER_UNKNOWN ? SHARE_STEP : 0);
}

/*
 * The smallest default of the possible releases that the recording does not refute: a proposal from a larger default could be the
 * set value. NULL: all are refuted.
 */
static const char *least_default(const struct effects *effects, struct effect *effect, double total)
{
	const struct mt_knob *knob = effect->knob;
	const struct advise_part *part = advise_config_part(effects->config, knob);
	double number, least = 2;
	const char *value, *found = NULL;
	uint32_t i;

	for (i = 0; part && i < knob->name.defaults; i++) {
		value = knob->name.by_release[i].value;
		if ((*part->version && strcmp(value, effect->now.text) != 0) ||
		    advise_value_number(knob, value, &number) || is_refuted(&effects->run.engine, total, number))
			continue;
		effect->several += !found || number < least || number > least;
		found = number < least ? value : found;
		least = number < least ? number : least;
	}
	return found;
}

/* The least share with which the engine starts: its weights and a small cache. */
static double least_share(const struct advise_engine *engine, double total)
{
	double weights = ceil((double)engine->weights / total / SHARE_STEP) * SHARE_STEP + SHARE_CACHE;

	return engine->weights && weights > SHARE_LEAST ? weights : SHARE_LEAST;
}

static const char *lower_share(const struct effects *effects, struct effect *effect, double now)
{
	const struct advise_engine *engine = &effects->run.engine;
	double total = (double)effects->run.total, less = less_of_share(effects), to;
	const char *least;

	if (total <= 0 || (!engine->certain && generates_itself(&effects->run.replay)))
		return NULL;
	least = is_guess(effects, effect) && now > 0 ? least_default(effects, effect, total) : NULL;
	if (least) {
		effect->now.text = effect->begins = least;
		effect->by = less;
		advise_value_number(effect->knob, least, &now);
	} else if (effect->now.origin <= ADVISE_DEFAULT && is_refuted(engine, total, now)) {
		now = floor((double)engine->certain / total * 100) / 100;
		effect_show(effect, advise_value_text(effect->pretend, effect->knob, now));
		effect->by = less;
	}
	if (now <= 0)
		return NULL;
	to = least_share(engine, total);
	if (engine->weights && now - less < to) /* the least possible share, even if bytes are still missing */
		less = now - to;
	if (less < SHARE_STEP || now - less < to - SHARE_STEP / 2)
		return NULL;
	effect->by = effect->by > 0 ? less : 0;
	return text_of(effect, floor((now - less) * 100 + 0.5) / 100);
}

/* The largest bytes of the setting's categories, in whole GiB; -1: less than 2 GiB. */
static double most_held(const struct effects *effects, const struct mt_knob *knob, struct effect *effect)
{
	double held = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (knob->phases & 1u << phase &&
		    (double)advise_held(&effects->run, knob->processes, knob->categories, (uint8_t)phase) > held)
			held = (double)advise_held(&effects->run, knob->processes, knob->categories, (uint8_t)phase);
	held = floor(held / (knob->copies ? knob->copies : 1) / GIB + 0.5) * GIB;
	if (held < 2 * GIB)
		return -1;
	effect_show(effect, advise_value_text(effect->pretend, knob, held));
	return held;
}

/* Half of the value, at least the floor and a multiple of it. */
static double half_of(const struct effects *effects, const struct mt_knob *knob, double now)
{
	double least = advise_floor(effects->config, knob, &effects->facts), half = now / 2;

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE)
		return half;
	return least >= 1 && least < now ? (half > least ? floor(half / least) * least : least) : floor(half);
}

/* Proposes a lower value, usually half. An unknown value makes the proposal relative. */
static const char *lower(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;

	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return text_of(effect, now > 0 ? floor((now + 1) / 2) : PIECE_ROWS);
	if (knob->measure == MT_KNOB_UNIT_TOKENS)
		return lower_tokens(effects, effect, now);
	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return lower_share(effects, effect, now);
	if (knob->measure == MT_KNOB_UNIT_GIB && now <= 0) /* the resident bytes stand for the value */
		now = most_held(effects, knob, effect);
	if (now == 1 || now == 0)
		return NULL;
	if (now > 1)
		return relative_to(effects, effect, half_of(effects, knob, now));
	if (knob->measure != MT_KNOB_UNIT_SAMPLES &&
	    !(knob->measure == MT_KNOB_UNIT_STEPS && knob->method == MT_KNOB_METHOD_TOKENS))
		return NULL;
	return halve(effect);
}

/* Whether the newest release's default means "as many as there are". */
static int is_all_by_default(const struct mt_knob *knob)
{
	double number;

	return knob->name.defaults &&
	       !advise_value_number(knob, knob->name.by_release[knob->name.defaults - 1].value, &number) && number < 1;
}

static const char *higher(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++) /* a model without experts cannot divide them */
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_DIVIDES &&
		    knob->constraint[i].fact == MT_KNOB_FACT_EXPERTS && !effects->facts.fact[MT_KNOB_FACT_EXPERTS])
			return NULL;
	if ((effect->now.text ? now < 1 : is_all_by_default(knob)) &&
	    (knob->measure == MT_KNOB_UNIT_PARTS ||
	     knob->measure == MT_KNOB_UNIT_GPUS)) /* -1, 0: as many as there are */
		return NULL;

	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return text_of(effect, 1);
	if (knob->measure == MT_KNOB_UNIT_STAGE)
		return now >= 3 ? NULL : text_of(effect, now < 0 ? 3 : now + 1);
	if (knob->measure != MT_KNOB_UNIT_PARTS && knob->measure != MT_KNOB_UNIT_GPUS)
		return NULL;
	/* A default above the recorded GPUs is not in use here. */
	if (knob->measure == MT_KNOB_UNIT_GPUS && effect->now.origin <= ADVISE_DEFAULT &&
	    now > (double)effects->run.world) {
		now = (double)effects->run.world;
		effect_show(effect, advise_value_text(effect->pretend, knob, now));
	}
	if (knob->measure == MT_KNOB_UNIT_GPUS && effects->run.world == 1)
		return text_of(effect, now > 0 ? 2 * now : 2);
	return relative_to(effects, effect, now > 0 ? 2 * now : 2);
}

/* Whether the largest category is one of the knob's. */
static int is_of_most(const struct effects *effects, const struct mt_knob *knob)
{
	uint8_t most = MT_CATEGORY_OTHER, i;

	for (i = 1; i < MT_CATEGORY_COUNT; i++)
		if (advise_held_then(&effects->run, 1u << i) > advise_held_then(&effects->run, 1u << most))
			most = i;
	return (knob->categories & 1u << most) != 0;
}

static int is_type_of_model(const struct mt_knob *knob)
{
	uint32_t all = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_OPTIMIZER_STATE;

	return knob->weighs && knob->measure == MT_KNOB_UNIT_WORD && (knob->categories & all) == all;
}

static int is_widest(const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	uint32_t i;

	for (i = 0; i < knob->weighs; i++)
		if (!strcmp(knob->weigh[i].value, effect->now.text))
			return knob->weigh[i].weight >= knob->weigh[0].weight;
	return 0;
}

/* Whether the word is on. A word of recomputation can be on for a part only. */
static int is_turned_on(const struct mt_knob *knob, const char *value)
{
	if (!value || advise_is_null(value))
		return 0;
	return knob->leaves != MT_KNOB_LEAVES_BOUNDARIES || !strcmp(value, knob->turned_on);
}

/* Proposes the next lighter type, or the word that turns the setting on. */
static const char *choose(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;
	double weight = -1;
	/* One byte for each number is enough for a cache and for states in blocks, not for weights. */
	uint32_t least = knob->categories & ~(1u << MT_CATEGORY_KV_CACHE | 1u << MT_CATEGORY_OPTIMIZER_STATE) ? 2 : 1,
		 i;

	if (knob->turned_on)
		return is_turned_on(knob, effect->now.text) ? NULL : knob->turned_on;
	if (knob->measure == MT_KNOB_UNIT_RANK)
		return now > 0 ? NULL : text_of(effect, RANK_USUAL);
	if (knob->measure == MT_KNOB_UNIT_STEPS)
		return now > 0 ? NULL : text_of(effect, 1);
	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return now > 0 ? NULL : text_of(effect, PIECE_ROWS);
	/* An unknown optimizer is taken for the most frequent one, the first of the row. */
	if (!effect->now.text && knob->weighs && knob->categories == 1u << MT_CATEGORY_OPTIMIZER_STATE) {
		mt_copy_text(effect->pretend, sizeof(effect->pretend), knob->weigh[0].value);
		effect->begins = effect->pretend;
		weight = knob->weigh[0].weight;
	}
	/* An unknown type is the widest if the census says so. Otherwise the widest type becomes a condition. */
	if (is_type_of_model(knob) &&
	    (!effect->now.text || (effects->blind && effect->now.origin == ADVISE_DEFAULT && is_widest(effect)))) {
		if ((effects->run.model.element && effects->run.model.element < 4) ||
		    (!effect->now.text && !is_of_most(effects, knob)))
			return NULL;
		if (!effect->now.text) {
			mt_copy_text(effect->pretend, sizeof(effect->pretend), knob->weigh[0].value);
			effect->begins = effect->pretend;
		}
		weight = knob->weigh[0].weight;
		if (!effects->run.model.element)
			snprintf(effect->only, sizeof(effect->only),
				 "the model is %.32s now (the recording does not tell: print next(model.parameters()).dtype)",
				 effect->now.text ? effect->now.text : knob->weigh[0].value);
	}
	for (i = 0; i < knob->weighs; i++)
		if (effect->now.text && !strcmp(knob->weigh[i].value, effect->now.text))
			weight = knob->weigh[i].weight;
	for (i = 0; i < knob->weighs && weight > 0; i++)
		if (knob->weigh[i].weight < weight && knob->weigh[i].weight >= least)
			return knob->weigh[i].value;
	return NULL;
}

static const char *propose(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	double now = -1;

	if (effect->now.text && advise_value_number(knob, effect->now.text, &now))
		now = -1;
	switch (knob->saves) {
	case MT_KNOB_SAVES_ON:
		return now == 1 ? NULL : text_of(effect, 1);
	case MT_KNOB_SAVES_OFF:
		if (knob->turned_off)
			return effect->now.text && !mt_knob_is_off(knob, effect->now.text) ? knob->turned_off : NULL;
		return now == 0 ? NULL : text_of(effect, 0);
	case MT_KNOB_SAVES_LOWER:
		return lower(effects, effect, now);
	case MT_KNOB_SAVES_HIGHER:
		return higher(effects, effect, now);
	case MT_KNOB_SAVES_CHOOSE:
		return choose(effects, effect, now);
	default:
		return NULL;
	}
}

int effect_propose(const struct effects *effects, struct effect *effect)
{
	const char *to;

	effect->begins = effect->now.text;
	to = propose(effects, effect);
	if (to && to != effect->to)
		mt_copy_text(effect->to, sizeof(effect->to), to);
	return to != NULL;
}
