/* What to propose for a setting, from what it is now, as far as anybody or the recording says. */
#include "advise_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"

#define PIECE_ROWS 1024.0 /* of logits, where nobody has said how many */
#define SHARE_STEP 0.01
#define SHARE_LEAST 0.05 /* that an engine works with */
#define SHARE_CACHE 0.02 /* beside its weights */
#define SHARE_OVER 0.015 /* more than that over a share is not had with it: sums are not that far off */
#define SHARE_NEAR 0.03  /* of the GPU: so far the recording is from what is set, at most */
#define SHARE_SURE 0.85  /* of a share that goes: an engine has other memory in it, too */
#define GIB (1024.0 * 1024 * 1024)
#define RANK_USUAL 16.0
#define BUDGET_LOOSE 1.1  /* turn_budget(): micro-batches are not filled alike */
#define BUDGET_MARGIN 2.0 /* of what is missing */
#define BUDGET_MOST 0.75  /* of the largest micro-batch: nearer to it the next one may be as large */
#define CAP_MARGIN 1.05   /* of what is missing: lengths are not exact */

static const char *text_of(struct choice *choice, double number)
{
	return advise_value_text(choice->to, choice->turn.knob, number);
}

void choice_show(struct choice *choice, const char *value)
{
	choice->now = (struct advise_value){ value, "the recording", ADVISE_SHOWN };
	choice->turn.now = value;
	choice->shown = 1;
}

/* The next multiple of `step` that is not above. */
static double floor_to(double number, uint64_t step)
{
	uint64_t whole = (uint64_t)number;

	whole -= whole % step;
	return (double)whole;
}

/* Half of it, but not below the floor. NULL: it is there. */
static const char *lower_than(const struct advice *advice, struct choice *choice, double now)
{
	double floor = advise_floor(advice->config, choice->turn.knob, ADVISE_AS_IS, &advice->facts), to;

	to = now / 2 > floor ? now / 2 : floor;
	to = to >= 512 ? floor_to(to, 256) : floor_to(to, 1);
	return to >= 1 && to < now ? text_of(choice, to) : NULL;
}

/*
 * What the longest sample may be at most that the request fits, if those before it are to stay whole: `tokens` are one sample of
 * which `least` would be as long as the longest before. By the saving of the shortest, which goes with the tokens.
 */
static double longest_that_fits(struct advice *advice, struct choice *choice, double tokens, double least)
{
	struct advise_trial trial = { .turn = { choice->turn.knob, choice->turn.now, text_of(choice, least) } };
	double saved, to;

	if (!advice->needed || advise_try(advice, NULL, 0, &trial, 1) || trial.outcome.asked.high >= advice->base)
		return least;
	saved = (double)(advice->base - trial.outcome.asked.high);
	to = floor_to(tokens - (tokens - least) * CAP_MARGIN * (double)advice->needed / saved, 256);
	return to > least ? to : least;
}

/* Nobody knows what it is now: half of that. */
static const char *halve(struct choice *choice)
{
	choice->turn.now = advise_value_text(choice->pretend, choice->turn.knob, 2);
	choice->halves = 1;
	return text_of(choice, 1);
}

/* The model generates by itself, with a cache of its own. */
static int generates_itself(const struct replay *replay)
{
	uint32_t i;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].own_cache)
			return 1;
	return 0;
}

/* How long samples are nobody leaves at its default. One that is far above all before it is one long sample, whatever the budget. */
static const char *lower_length(struct advice *advice, struct choice *choice, double now)
{
	double tokens = (double)advise_tokens_in(&advice->run, choice->turn.knob->phases);

	if (choice->now.origin <= ADVISE_DEFAULT) {
		choice->now = (struct advise_value){ .where = "" };
		choice->turn.now = NULL;
		now = -1;
	}
	if (now <= 0 && advise_is_outlier(advice)) {
		choice->turn.now = advise_value_text(choice->pretend, choice->turn.knob, tokens);
		choice->shown = 1;
		return text_of(choice,
			       longest_that_fits(advice, choice, tokens, (double)advice->run.oom.logits.earlier));
	}
	/* A cache of its own is as long as the answers, whatever else is known of them. */
	if (now <= 0 && choice->turn.knob->of == MT_KNOB_OF_ANSWER && advice->run.failed &&
	    advice->run.replay.request.phase == MT_PHASE_ROLLOUT && generates_itself(&advice->run.replay))
		return halve(choice);
	return now > 0 ? lower_than(advice, choice, now) : NULL;
}

/*
 * As much less than the largest micro-batch has as saves twice what is missing: not half of it for the little that lacks. By what
 * half of it saves at least, of which the estimate takes a tenth more than their ratio to be left (turn_budget()).
 */
static double budget_that_fits(struct advice *advice, struct choice *choice, double tokens, double least)
{
	struct advise_trial trial = { .turn = { choice->turn.knob, choice->turn.now, text_of(choice, least) } };
	double saved, to;

	if (!advice->needed || !advice->run.failed || tokens <= 0 || advise_try(advice, NULL, 0, &trial, 1) ||
	    trial.outcome.asked.high >= advice->base)
		return least;
	saved = (double)(advice->base - trial.outcome.asked.high);
	to = floor_to(tokens / BUDGET_LOOSE *
			      (1 -
			       (1 - BUDGET_LOOSE * least / tokens) * BUDGET_MARGIN * (double)advice->needed / saved),
		      256);
	if (to > tokens * BUDGET_MOST)
		to = floor_to(tokens * BUDGET_MOST, 256);
	return to > least ? to : least;
}

/*
 * A default alone says so, of a run of which nobody has told how it was configured: a number made from it may be what is set, or on the
 * wrong side of it.
 */
static int is_guess(const struct advice *advice, const struct choice *choice)
{
	return advice->blind && choice->now.origin == ADVISE_DEFAULT;
}

/* `to` of a value that is `now`; of one that may be another, so much of it as `to` is of `now`. */
static const char *relative_to(const struct advice *advice, struct choice *choice, double to)
{
	choice->halves = is_guess(advice, choice);
	return text_of(choice, to);
}

/* A budget that has to be set where the switch that it needs is on; others may stand for no limit while they are not set. */
static int is_set_with_switch(const struct mt_knob *knob)
{
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_NEEDS)
			return knob->method == MT_KNOB_METHOD_TOKENS;
	return 0;
}

int advise_may_end_run(const struct advice *advice, const struct mt_knob *knob)
{
	return advise_ends_run(knob) && advise_floor(advice->config, knob, ADVISE_AS_IS, &advice->facts) < 1;
}

/* Micro-batches are filled up to much the same, one after the other: a single sample would be as long as it happens to be. */
static int are_filled(const struct advice *advice)
{
	const struct oom_logits *logits = &advice->run.oom.logits;

	return logits->earlier && logits->tokens <= 2 * logits->earlier;
}

/* Beyond the budget a sample ends the run, and nothing tells that a micro-batch has more than one. */
static void say_several(const struct advice *advice, struct choice *choice, double tokens)
{
	char count[TEXT_SIZE_MAX];
	int known = tokens >= 1;

	if (*choice->only || !advice->run.failed || are_filled(advice) ||
	    !advise_may_end_run(advice, choice->turn.knob))
		return;
	snprintf(choice->only, sizeof(choice->only),
		 "%s%s%s several samples, and each of them is shorter than this: a longer one ends the run with an error",
		 known ? "those " : "a micro-batch has", known ? text_number(count, (uint64_t)tokens) : "",
		 known ? " tokens are" : "");
}

/* A budget, where nobody has told it, is what the largest micro-batch has, if that is more: not what it is by default. */
static const char *lower_budget(struct advice *advice, struct choice *choice, double now)
{
	char count[TEXT_SIZE_MAX];
	double tokens = (double)advise_tokens_in(&advice->run, choice->turn.knob->phases);
	const char *half;

	if (tokens > 0 && choice->now.origin <= ADVISE_DEFAULT && (now <= 0 || tokens > now))
		choice_show(choice, advise_value_text(choice->pretend, choice->turn.knob, tokens));
	/* Of micro-batches of this step alone, too few were seen to tell that a budget was not what they were filled up to. */
	if (advise_is_outlier(advice) && advise_ends_run(choice->turn.knob) && !*choice->only)
		snprintf(choice->only, sizeof(choice->only),
			 "those %s tokens are several samples, and each of them is shorter than this: a longer one ends the run "
			 "with an error",
			 text_number(count, advice->run.oom.logits.tokens));
	else if (advise_is_outlier(advice) && !advice->run.oom.logits.same_step && !advise_ends_run(choice->turn.knob))
		snprintf(choice->only, sizeof(choice->only),
			 "those %s tokens are several samples: a single one is a micro-batch of its own, however long",
			 text_number(count, advice->run.oom.logits.tokens));
	else
		say_several(advice, choice, tokens);
	if (tokens > 0 && (now <= 0 || tokens < now || choice->shown))
		now = tokens;
	if (now <= 0)
		return is_set_with_switch(choice->turn.knob) ? halve(choice) : NULL;
	half = lower_than(advice, choice, now);
	choice->halves = half && tokens <= 0 && is_guess(advice, choice);
	return half ? text_of(choice, budget_that_fits(advice, choice, tokens, strtod(half, NULL))) : NULL;
}

static const char *lower_tokens(struct advice *advice, struct choice *choice, double now)
{
	switch (choice->turn.knob->of) {
	case MT_KNOB_OF_PADDING:
		return NULL;
	case MT_KNOB_OF_MICRO_BATCH:
		return lower_budget(advice, choice, now);
	default:
		return lower_length(advice, choice, now);
	}
}

/*
 * What the engine has at its most refutes a default: it has more than it may, or its whole cache is far less than it would take. What
 * is set then nobody tells; but weights and cache are a part of it, so that less than they are is less than it is.
 */
static int is_refuted(const struct advise_engine *engine, double total, double now)
{
	if (!engine->certain)
		return 0;
	return now <= 0 || (double)engine->certain / total > now + SHARE_OVER ||
	       (engine->whole && (double)engine->all / total < now - SHARE_NEAR);
}

/* What is known to come while the start goes on, and not how much: another one like it; of a load, as much as has come. */
static double rest_of_start(const struct advice *advice)
{
	const struct replay *replay = &advice->run.replay;
	double most = (double)advice->run.engine.all / 2, rest = (double)replay->request.bytes;

	if (!advise_is_starting(advice) ||
	    (replay->later.from != REPLAY_LATER_UNKNOWN && replay->later.from != REPLAY_LATER_SERIES))
		return 0;
	if (replay->later.from == REPLAY_LATER_SERIES)
		rest = (double)replay->site[replay->request.site].then;
	return rest < most || most <= 0 ? rest : most;
}

/* As much less as is missing; and some more, where nobody knows what comes after the request. */
static double less_of_share(const struct advice *advice)
{
	double less = ((double)advice->needed + rest_of_start(advice)) / ((double)advice->run.total * SHARE_SURE);

	if (!advice->needed)
		return SHARE_STEP * 10;
	less = ceil(less / SHARE_STEP) * SHARE_STEP;
	return less + (advice->run.failed && advice->run.replay.later.from == REPLAY_LATER_UNKNOWN ? SHARE_STEP : 0);
}

/*
 * Of the defaults of the releases that it may be, the least that the recording does not refute: from a larger one the proposal might be
 * what is set already. NULL: it refutes them all.
 */
static const char *least_default(const struct advice *advice, struct choice *choice, double total)
{
	const struct mt_knob *knob = choice->turn.knob;
	const struct advise_part *part = advise_config_part(advice->config, knob);
	double number, least = 2;
	const char *value, *found = NULL;
	uint32_t i;

	for (i = 0; part && i < knob->name.defaults; i++) {
		value = knob->name.by_release[i].value;
		if ((*part->version && strcmp(value, choice->now.text) != 0) ||
		    advise_value_number(knob, value, &number) || is_refuted(&advice->run.engine, total, number))
			continue;
		choice->several += !found || number < least || number > least;
		found = number < least ? value : found;
		least = number < least ? number : least;
	}
	return found;
}

/* Beside its weights an engine takes some for a cache, or does not start. */
static double least_share(const struct advise_engine *engine, double total)
{
	double weights = ceil((double)engine->weights / total / SHARE_STEP) * SHARE_STEP + SHARE_CACHE;

	return engine->weights && weights > SHARE_LEAST ? weights : SHARE_LEAST;
}

static const char *lower_share(struct advice *advice, struct choice *choice, double now)
{
	const struct advise_engine *engine = &advice->run.engine;
	double total = (double)advice->run.total, less = less_of_share(advice), to;
	const char *least;

	if (total <= 0 || (!engine->certain && generates_itself(&advice->run.replay)))
		return NULL;
	least = is_guess(advice, choice) && now > 0 ? least_default(advice, choice, total) : NULL;
	if (least) {
		choice->now.text = choice->turn.now = least;
		choice->by = less;
		advise_value_number(choice->turn.knob, least, &now);
	} else if (choice->now.origin <= ADVISE_DEFAULT && is_refuted(engine, total, now)) {
		now = floor((double)engine->certain / total * 100) / 100;
		choice_show(choice, advise_value_text(choice->pretend, choice->turn.knob, now));
		choice->by = less;
	}
	if (now <= 0)
		return NULL;
	to = least_share(engine, total);
	if (engine->weights && now - less < to) /* as low as it can be, whatever is missing then */
		less = now - to;
	if (less < SHARE_STEP || now - less < to - SHARE_STEP / 2)
		return NULL;
	choice->by = choice->by > 0 ? less : 0;
	return text_of(choice, floor((now - less) * 100 + 0.5) / 100);
}

/* The most that is there of what it speaks of, in whole GiB; less than two are not worth it. Bytes; -1: so it is. */
static double most_held(const struct advice *advice, const struct mt_knob *knob, struct choice *choice)
{
	double held = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (knob->phases & 1u << phase &&
		    (double)advise_held(&advice->run, knob->processes, knob->categories, (uint8_t)phase) > held)
			held = (double)advise_held(&advice->run, knob->processes, knob->categories, (uint8_t)phase);
	held = floor(held / (knob->copies ? knob->copies : 1) / GIB + 0.5) * GIB;
	if (held < 2 * GIB)
		return -1;
	choice_show(choice, advise_value_text(choice->pretend, knob, held));
	return held;
}

/* Half of it, of what has to be a multiple of another value a multiple; it is above its floor. */
static double half_of(const struct advice *advice, const struct mt_knob *knob, double now)
{
	double least = advise_floor(advice->config, knob, ADVISE_AS_IS, &advice->facts), half = now / 2;

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE)
		return half;
	return least >= 1 && least < now ? (half > least ? floor(half / least) * least : least) : floor(half);
}

/* What there is less of: half. Where nobody says how many, half of whatever it is. */
static const char *lower(struct advice *advice, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;

	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return text_of(choice, now > 0 ? floor((now + 1) / 2) : PIECE_ROWS);
	if (knob->measure == MT_KNOB_UNIT_TOKENS)
		return lower_tokens(advice, choice, now);
	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return lower_share(advice, choice, now);
	if (knob->measure == MT_KNOB_UNIT_GIB && now <= 0) /* as much as is there of it */
		now = most_held(advice, knob, choice);
	if (now == 1 || now == 0)
		return NULL;
	if (now > 1)
		return relative_to(advice, choice, half_of(advice, knob, now));
	if (knob->measure != MT_KNOB_UNIT_SAMPLES &&
	    !(knob->measure == MT_KNOB_UNIT_STEPS && knob->method == MT_KNOB_METHOD_TOKENS))
		return NULL;
	return halve(choice);
}

/* Where nobody tells what is set: it is what the newest release takes, probably, and that is as many as there are. */
static int is_all_by_default(const struct mt_knob *knob)
{
	double number;

	return knob->name.defaults &&
	       !advise_value_number(knob, knob->name.by_release[knob->name.defaults - 1].value, &number) && number < 1;
}

static const char *higher(struct advice *advice, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;
	uint32_t i;

	for (i = 0; i < knob->constraints; i++) /* of a model without experts nobody shares the experts */
		if (knob->constraint[i].kind == MT_KNOB_CONSTRAINT_DIVIDES &&
		    knob->constraint[i].fact == MT_KNOB_FACT_EXPERTS && !advice->facts.fact[MT_KNOB_FACT_EXPERTS])
			return NULL;
	if ((choice->now.text ? now < 1 : is_all_by_default(knob)) &&
	    (knob->measure == MT_KNOB_UNIT_PARTS ||
	     knob->measure == MT_KNOB_UNIT_GPUS)) /* -1, 0: as many as there are */
		return NULL;

	if (knob->measure == MT_KNOB_UNIT_SHARE)
		return text_of(choice, 1);
	if (knob->measure == MT_KNOB_UNIT_STAGE)
		return now >= 3 ? NULL : text_of(choice, now < 0 ? 3 : now + 1);
	if (knob->measure != MT_KNOB_UNIT_PARTS && knob->measure != MT_KNOB_UNIT_GPUS)
		return NULL;
	/* One GPU, and nothing that came from another: whatever is usual, it is not shared here. */
	if (knob->measure == MT_KNOB_UNIT_GPUS && choice->now.origin <= ADVISE_DEFAULT &&
	    now > (double)advice->run.world) {
		now = (double)advice->run.world;
		choice_show(choice, advise_value_text(choice->pretend, knob, now));
	}
	if (knob->measure == MT_KNOB_UNIT_GPUS && advice->run.world == 1)
		return text_of(choice, now > 0 ? 2 * now : 2);
	return relative_to(advice, choice, now > 0 ? 2 * now : 2);
}

/* What failed, or what is the largest part of the peak, is of the knob. */
static int is_named(const struct advice *advice, const struct mt_knob *knob)
{
	uint8_t category = MT_CATEGORY_OTHER, i;
	uint64_t most = 0;

	if (advice->run.failed)
		return (knob->categories & 1u << mt_category_parse(advice->run.oom.rule_category)) != 0;
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (advise_held_then(&advice->run, 1u << i) > most) {
			most = advise_held_then(&advice->run, 1u << i);
			category = i;
		}
	return (knob->categories & 1u << category) != 0;
}

static int is_type_of_model(const struct mt_knob *knob)
{
	uint32_t all = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_OPTIMIZER_STATE;

	return knob->weighs && knob->measure == MT_KNOB_UNIT_WORD && (knob->categories & all) == all;
}

static int is_widest(const struct choice *choice)
{
	const struct mt_knob *knob = choice->turn.knob;
	uint32_t i;

	for (i = 0; i < knob->weighs; i++)
		if (!strcmp(knob->weigh[i].value, choice->now.text))
			return knob->weigh[i].weight >= knob->weigh[0].weight;
	return 0;
}

/* The next lighter one of a type; what turns a word on. */
static const char *choose(struct advice *advice, struct choice *choice, double now)
{
	const struct mt_knob *knob = choice->turn.knob;
	double weight = -1;
	/* One byte a number does for a cache, and for states in blocks; not for weights. */
	uint32_t least = knob->categories & ~(1u << MT_CATEGORY_KV_CACHE | 1u << MT_CATEGORY_OPTIMIZER_STATE) ? 2 : 1,
		 i;

	if (knob->turned_on)
		return choice->now.text && !advise_is_null(choice->now.text) ? NULL : knob->turned_on;
	if (knob->measure == MT_KNOB_UNIT_RANK)
		return now > 0 ? NULL : text_of(choice, RANK_USUAL);
	if (knob->measure == MT_KNOB_UNIT_STEPS)
		return now > 0 ? NULL : text_of(choice, 1);
	if (knob->leaves == MT_KNOB_LEAVES_PIECE)
		return now > 0 ? NULL : text_of(choice, PIECE_ROWS);
	if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES && strstr(knob->name.key, "granularity"))
		return choice->now.text && !strcmp(choice->now.text, "full") ? NULL : "full";
	/* What nobody says of an optimizer is what most take, which the rows name first; but not where the stacks show another one. */
	if (!choice->now.text && knob->weighs && knob->categories == 1u << MT_CATEGORY_OPTIMIZER_STATE &&
	    advise_is_own_optimizer(advice))
		return NULL;
	if (!choice->now.text && knob->weighs && knob->categories == 1u << MT_CATEGORY_OPTIMIZER_STATE) {
		mt_copy_text(choice->pretend, sizeof(choice->pretend), knob->weigh[0].value);
		choice->turn.now = choice->pretend;
		weight = knob->weigh[0].weight;
	}
	/* A type that nobody tells is the widest, if the census says so; else that is what has to be so for it to count. */
	if (is_type_of_model(knob) &&
	    (!choice->now.text || (advice->blind && choice->now.origin == ADVISE_DEFAULT && is_widest(choice)))) {
		if ((advice->run.model.element && advice->run.model.element < 4) ||
		    (!choice->now.text && !is_named(advice, knob)))
			return NULL;
		if (!choice->now.text) {
			mt_copy_text(choice->pretend, sizeof(choice->pretend), knob->weigh[0].value);
			choice->turn.now = choice->pretend;
		}
		weight = knob->weigh[0].weight;
		choice->asks = !advice->run.model.element;
		if (choice->asks)
			snprintf(choice->only, sizeof(choice->only),
				 "the model is %.32s now (the recording does not tell: print next(model.parameters()).dtype)",
				 choice->now.text ? choice->now.text : knob->weigh[0].value);
	}
	for (i = 0; i < knob->weighs; i++)
		if (choice->now.text && !strcmp(knob->weigh[i].value, choice->now.text))
			weight = knob->weigh[i].weight;
	for (i = 0; i < knob->weighs && weight > 0; i++)
		if (knob->weigh[i].weight < weight && knob->weigh[i].weight >= least)
			return knob->weigh[i].value;
	return NULL;
}

const char *choice_propose(struct advice *advice, struct choice *choice)
{
	const struct mt_knob *knob = choice->turn.knob;
	double now = -1;

	if (choice->now.text && advise_value_number(knob, choice->now.text, &now))
		now = -1;
	switch (knob->saves) {
	case MT_KNOB_SAVES_ON:
		return now == 1 ? NULL : text_of(choice, 1);
	case MT_KNOB_SAVES_OFF:
		if (knob->turned_off)
			return choice->now.text && !mt_knob_is_off(knob, choice->now.text) ? knob->turned_off : NULL;
		return now == 0 ? NULL : text_of(choice, 0);
	case MT_KNOB_SAVES_LOWER:
		return lower(advice, choice, now);
	case MT_KNOB_SAVES_HIGHER:
		return higher(advice, choice, now);
	case MT_KNOB_SAVES_CHOOSE:
		return choose(advice, choice, now);
	default:
		return NULL;
	}
}

/* "0.3 (default, if not set)": who says so, or that nobody does. */
const char *choice_now_words(const struct choice *choice, int blind, char out[CHOICE_WORDS_MAX])
{
	const char *value = choice->turn.now ? choice->turn.now : choice->now.text, *end;
	int size;

	if (!value || (choice->halves && value == choice->pretend))
		return mt_copy_text(out, CHOICE_WORDS_MAX, "not known"), out;
	end = strstr(value, ".0");
	size = end && !end[2] ? (int)(end - value) : (int)strlen(value);
	if (advise_is_null(value))
		snprintf(out, CHOICE_WORDS_MAX, "not set");
	else if (choice->by > 0 && choice->now.origin == ADVISE_DEFAULT)
		snprintf(out, CHOICE_WORDS_MAX, "not told (%.*s%s by default)", size, value,
			 choice->several > 1 ? " or more" : "");
	else if (choice->halves)
		snprintf(out, CHOICE_WORDS_MAX, "%.*s by default", size, value);
	else if (choice->by > 0)
		snprintf(out, CHOICE_WORDS_MAX, "not told (the engine has %.*s of the GPU)", size, value);
	else if (choice->shown && choice->turn.knob->measure == MT_KNOB_UNIT_TOKENS) /* what is set may be more */
		snprintf(out, CHOICE_WORDS_MAX,
			 choice->turn.knob->of == MT_KNOB_OF_MICRO_BATCH
				 ? "not known (the largest micro-batch has %.*s)"
				 : "not known (this sample has %.*s, if it is one)",
			 size, value);
	else if (choice->shown && choice->turn.knob->measure == MT_KNOB_UNIT_GPUS)
		snprintf(out, CHOICE_WORDS_MAX, "%.*s (no other rank was seen)", size, value);
	else if (choice->shown)
		snprintf(out, CHOICE_WORDS_MAX, "%.*s (by the recording)", size, value);
	else if (value == choice->pretend)
		snprintf(out, CHOICE_WORDS_MAX, "%.*s (assumed)", size, value);
	else if (choice->now.origin == ADVISE_DEFAULT)
		snprintf(out, CHOICE_WORDS_MAX, "%.*s (default%s%.64s%s)", size, value,
			 *advise_example(choice->turn.knob) ? " of " : "", advise_example(choice->turn.knob),
			 blind ? ", if not set" : "");
	else
		snprintf(out, CHOICE_WORDS_MAX, "%.*s (%.80s)", size, value, choice->now.where);
	return out;
}

int advise_is_outlier(const struct advice *advice)
{
	const struct oom_logits *logits = &advice->run.oom.logits;

	return advice->run.failed && logits->earlier && logits->tokens > 2 * logits->earlier;
}

int advise_is_starting(const struct advice *advice)
{
	const struct advise_run *run = &advice->run;

	return run->failed && run->replay.request.phase == MT_PHASE_INIT && run->steps < 1;
}

int advise_ends_run(const struct mt_knob *knob)
{
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		if (knob->constraint[i].beyond == MT_KNOB_BEYOND_ERROR)
			return 1;
	return 0;
}
