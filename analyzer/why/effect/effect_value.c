/* Proposes a value to try for a setting, from the present value by configuration or recording. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "effect_impl.h"
#include "memtrace/base.h"

#define PIECE_ROWS 1024.0 /* rows of logits in a piece, if the value is unknown */
#define SHARE_STEP 0.01
#define SHARE_LEAST 0.05 /* smallest share with which an engine works */
#define SHARE_CACHE 0.02 /* smallest share for the cache, in addition to the weights */
#define SHARE_OVER 0.015 /* part of the GPU: the share is refuted if the engine has as much more */
#define SHARE_NEAR 0.03  /* part of the GPU: the share is refuted if the engine has as much less */
#define SHARE_SURE 0.85  /* part of a reduction that surely frees bytes: an engine's share has other memory, too */
#define RANK_USUAL 16.0
#define OUTLIER 2 /* factor: an outlier has more tokens than this times all earlier micro-batches */
#define TOKENS_STEP 256

static const char *text_of(struct effect *effect, double number)
{
	return advise_value_text(effect->to, effect->knob, number);
}

void effect_show(struct effect *effect, const char *value)
{
	effect->now = (struct advise_value){ value, "the recording", ADVISE_SHOWN };
	effect->begins = value;
}

/* Takes a number of the recording as the present value. */
static void show_number(struct effect *effect, double number)
{
	effect_show(effect, advise_value_text(effect->pretend, effect->knob, number));
}

/* Whether the value is only a default of an unknown configuration. A proposal from this default can be the value in use, or above it. */
static int is_guess(const struct effects *effects, const struct effect *effect)
{
	return effects->blind && effect->now.origin == ADVISE_DEFAULT;
}

static double floor_of(const struct effects *effects, const struct effect *effect)
{
	return advise_floor(effects->config, effect->knob, effects->run.model.largest);
}

/* Proposes half of an unknown value. */
static const char *halve(struct effect *effect)
{
	effect->begins = advise_value_text(effect->pretend, effect->knob, 2);
	effect->relative = 1;
	return text_of(effect, 1);
}

/* ---- tokens -------------------------------------------------------------------------------------------------------------- */

/* Returns half of the value, at least the floor; 0: the value is at the floor. */
static double half_of_tokens(const struct effects *effects, const struct effect *effect, double now)
{
	double floor_ = floor_of(effects, effect), to = now / 2 > floor_ ? now / 2 : floor_;

	to = to >= 2 * TOKENS_STEP ? floor(to / TOKENS_STEP) * TOKENS_STEP : floor(to);
	return to >= 1 && to < now ? to : 0;
}

/* Tokens of the largest earlier micro-batch of the request's place; 0: unknown. */
static double earlier_tokens(const struct effects *effects)
{
	const struct scene_request *request = &effects->scene->request;

	if (!effects->run.it || !effects->run.asked.tokens || !request->requested)
		return 0;
	return (double)effects->run.asked.tokens * (double)request->earlier_most / (double)request->requested;
}

static int is_outlier(const struct effects *effects)
{
	return earlier_tokens(effects) > 0 && (double)effects->run.asked.tokens > OUTLIER * earlier_tokens(effects);
}

/* Ignores a default length: users always set one. A request far above all earlier ones is one long sample. */
static const char *lower_length(const struct effects *effects, struct effect *effect, double now)
{
	double tokens = (double)advise_tokens_in(&effects->run, effect->knob->phases), half;

	if (effect->now.origin <= ADVISE_DEFAULT) {
		effect->now = (struct advise_value){ .where = "" };
		effect->begins = NULL;
		now = -1;
	}
	if (now <= 0 && is_outlier(effects)) {
		show_number(effect, tokens);
		return text_of(effect, floor(earlier_tokens(effects)));
	}
	/* The model's own cache has the length of the answers. An unknown length can be halved. */
	if (now <= 0 && effect->knob->of == MT_KNOB_OF_ANSWER && effects->run.it &&
	    effects->run.replay.request.phase == MT_PHASE_ROLLOUT && advise_generates_itself(&effects->run, 0))
		return halve(effect);
	half = now > 0 ? half_of_tokens(effects, effect, now) : 0;
	return half >= 1 ? text_of(effect, half) : NULL;
}

/* Whether a sample above the budget ends the run with an error, and samples may be this long: micro-batches are not known to be full. */
static int may_end_run(const struct effects *effects, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	int ends = 0;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		ends |= knob->constraint[i].beyond == MT_KNOB_BEYOND_ERROR;
	return ends && effects->run.it && floor_of(effects, effect) < 1 &&
	       (earlier_tokens(effects) <= 0 || is_outlier(effects));
}

/* If no budget is set, a micro-batch above the default shows the budget. */
static const char *lower_budget(const struct effects *effects, struct effect *effect, double now)
{
	double tokens = (double)advise_tokens_in(&effects->run, effect->knob->phases), half;
	int shows = tokens > 0 && effect->now.origin <= ADVISE_DEFAULT && (now <= 0 || tokens > now);
	const char *only =
		may_end_run(effects, effect)
			? "a micro-batch has several samples, and each of them is shorter than this: a longer one ends the run with an error"
		: is_outlier(effects)
			? "the micro-batch has several samples: a single one is a micro-batch of its own, however long"
			: "";

	if (!*effect->only)
		snprintf(effect->only, sizeof(effect->only), "%s", only);
	if (shows)
		show_number(effect, tokens);
	if (shows || (tokens > 0 && tokens < now))
		now = tokens;
	if (now <= 0)
		return effect->knob->method == MT_KNOB_METHOD_TOKENS ? halve(effect) : NULL;
	half = half_of_tokens(effects, effect, now);
	if (half < 1)
		return NULL;
	effect->relative = tokens <= 0 && is_guess(effects, effect);
	return text_of(effect, half);
}

/* ---- an engine's share ------------------------------------------------------------------------------------------------------ */

/* Returns the reduction of the share that frees the missing bytes. A start with unknown length needs room for one more request. */
static double less_of_share(const struct effects *effects)
{
	const struct advise_run *run = &effects->run;
	int is_unknown = run->replay.later.from == REPLAY_LATER_UNKNOWN;
	int is_open = run->it && run->steps < 1 && run->replay.request.phase == MT_PHASE_INIT &&
		      (is_unknown || run->replay.later.from == REPLAY_LATER_SERIES);
	double bytes = (double)effects->needed + (is_open ? (double)run->replay.request.bytes : 0);
	double steps = ceil(bytes / ((double)run->total * SHARE_SURE) / SHARE_STEP);

	return effects->needed ? (steps + (run->it && is_unknown ? 1 : 0)) * SHARE_STEP : SHARE_STEP * 10;
}

/*
 * Lowers the engine's share. The engine's largest bytes refute a default share if they exceed it, or if they stay far below it with a cache. The
 * share is then unknown, and at least weights and cache. An engine needs its weights and a small cache to start.
 */
static const char *lower_share(const struct effects *effects, struct effect *effect, double now)
{
	const struct advise_engine *engine = &effects->run.engine;
	double total = (double)effects->run.total, less = less_of_share(effects), certain, least = SHARE_LEAST;
	int is_refuted;

	if (total <= 0 || (!engine->certain && advise_generates_itself(&effects->run, 0)))
		return NULL;
	certain = (double)engine->certain / total;
	is_refuted = engine->certain && (now <= 0 || certain > now + SHARE_OVER ||
					 (engine->has_cache && (double)engine->all / total < now - SHARE_NEAR));
	if (effect->now.origin <= ADVISE_DEFAULT && is_refuted) {
		now = floor(certain * 100) / 100;
		show_number(effect, now);
		effect->by = less;
	} else if (is_guess(effects, effect)) {
		effect->by = less;
	}
	if (engine->weights)
		least = fmax(least, ceil((double)engine->weights / total / SHARE_STEP) * SHARE_STEP + SHARE_CACHE);
	if (engine->weights && now - less < least) /* the smallest possible share, even if too few bytes are freed */
		less = now - least;
	if (now <= 0 || less < SHARE_STEP || now - less < least - SHARE_STEP / 2)
		return NULL;
	effect->by = effect->by > 0 ? less : 0;
	return text_of(effect, floor((now - less) * 100 + 0.5) / 100);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------------- */

/* Proposes a lower value, usually half: at least the floor and a multiple of it. The proposal for an unknown value is relative. */
static const char *lower(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;
	double least = floor_of(effects, effect), half = now / 2;

	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return text_of(effect, now > 0 ? floor((now + 1) / 2) : PIECE_ROWS);
	if (knob->measure == MT_KNOB_UNIT_TOKENS && knob->of == MT_KNOB_OF_PADDING)
		return NULL;
	if (knob->measure == MT_KNOB_UNIT_TOKENS)
		return knob->of == MT_KNOB_OF_MICRO_BATCH ? lower_budget(effects, effect, now)
							  : lower_length(effects, effect, now);
	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return lower_share(effects, effect, now);
	if (now < 0 && (knob->measure == MT_KNOB_UNIT_SAMPLES ||
			(knob->measure == MT_KNOB_UNIT_STEPS && knob->method == MT_KNOB_METHOD_TOKENS)))
		return halve(effect);
	if (now <= 1)
		return NULL;
	effect->relative = is_guess(effects, effect);
	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE)
		return text_of(effect, half);
	if (least < 1 || least >= now)
		return text_of(effect, floor(half));
	return text_of(effect, half > least ? floor(half / least) * least : least);
}

/* Proposes twice the number of parts or GPUs. A run on one GPU starts from one. */
static const char *higher(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;
	int gpus = knob->measure == MT_KNOB_UNIT_GPUS;

	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return text_of(effect, 1);
	if (knob->measure == MT_KNOB_UNIT_STAGE)
		return now >= 3 ? NULL : text_of(effect, now < 0 ? 3 : now + 1);
	if (!gpus && knob->measure != MT_KNOB_UNIT_PARTS)
		return NULL;
	effect->relative = is_guess(effects, effect) && !(gpus && effects->run.alone);
	if (gpus && effect->now.origin <= ADVISE_DEFAULT && now > 1 && effects->run.alone) {
		now = 1;
		show_number(effect, now);
	}
	return text_of(effect, now > 0 ? 2 * now : 2);
}

/* ---- choices ---------------------------------------------------------------------------------------------------------------- */

/*
 * Returns the weight of the present value; -1: unknown. An unknown optimizer counts as the most frequent one, the first of the row. An unknown type
 * of the model is the widest one if the census says so; without a census, the widest type becomes a condition.
 */
static double weight_now(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	const uint32_t model = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_OPTIMIZER_STATE;
	double weight = advise_weight_of(knob, effect->now.text), widest = knob->weigh[0].weight;
	int is_optimizer = !effect->now.text && knob->categories == 1u << MT_CATEGORY_OPTIMIZER_STATE;
	uint64_t element = effects->run.model.element;

	if (!is_optimizer && (knob->measure != MT_KNOB_UNIT_WORD || (knob->categories & model) != model ||
			      (effect->now.text && (!is_guess(effects, effect) || weight < widest))))
		return weight;
	if (!is_optimizer && element && element < 4)
		return -1;
	if (!is_optimizer && !element)
		snprintf(effect->only, sizeof(effect->only),
			 "the model is %.32s now (the recording does not tell: print next(model.parameters()).dtype)",
			 effect->now.text ? effect->now.text : knob->weigh[0].value);
	if (!effect->now.text) {
		mt_copy_text(effect->pretend, sizeof(effect->pretend), knob->weigh[0].value);
		effect->begins = effect->pretend;
	}
	return widest;
}

/* Returns the next lighter type. One byte for each number is enough for a cache and for states in blocks, but not for weights. */
static const char *lighter(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	uint32_t bytes = 1u << MT_CATEGORY_KV_CACHE | 1u << MT_CATEGORY_OPTIMIZER_STATE;
	uint32_t least = knob->categories & ~bytes ? 2 : 1, i;
	double weight = weight_now(effects, effect);

	for (i = 0; i < knob->weighs; i++)
		if (knob->weigh[i].weight < weight && knob->weigh[i].weight >= least)
			return knob->weigh[i].value;
	return NULL;
}

/* Proposes the next lighter type, or the value that turns the setting on. A word of recomputation may turn on a part only: another one can follow. */
static const char *choose(const struct effects *effects, struct effect *effect, double now)
{
	const struct mt_knob *knob = effect->knob;
	const char *value = effect->now.text;

	if (knob->turned_on && value && !advise_is_null(value) &&
	    (knob->leaves != MT_KNOB_LEAVES_BOUNDARIES || !strcmp(value, knob->turned_on)))
		return NULL;
	if (knob->turned_on || knob->weighs)
		return knob->turned_on ? knob->turned_on : lighter(effects, effect);
	if (now > 0)
		return NULL;
	if (knob->measure == MT_KNOB_UNIT_RANK)
		return text_of(effect, RANK_USUAL);
	if (knob->measure == MT_KNOB_UNIT_STEPS)
		return text_of(effect, 1);
	return knob->leaves == MT_KNOB_LEAVES_PIECE ? text_of(effect, PIECE_ROWS) : NULL;
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
