/* Changes that are tried together: those of --set, or a set that fits if one setting is not enough. */
#include "effect_impl.h"

static uint64_t most_of(const struct effects *effects, const struct advise_outcome *outcome)
{
	return effects->run.failed ? outcome->asked.high : outcome->peak.high;
}

int effect_fits(const struct effects *effects, const struct advise_outcome *outcome)
{
	return effects->limit && most_of(effects, outcome) <= effects->limit &&
	       (!effects->fit || outcome->peak.high <= effects->limit);
}

/* ---- given ------------------------------------------------------------------------------------------------------------- */

/* The newest value of each setting of --set. */
static void take_given(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	const struct advise_setting *setting = effects->config->setting, *end = setting + effects->config->settings;
	size_t k;

	for (; setting < end && plan->moves < EFFECT_MOVES_MAX; setting++) {
		if (setting->origin != ADVISE_SET || !setting->knob)
			continue;
		for (k = 0; k < plan->moves && plan->move[k].knob != setting->knob; k++)
			;
		plan->move[k] = (struct advise_move){ setting->knob,
						      advise_config_value(effects->config, setting->knob).text,
						      setting->value };
		plan->moves += k == plan->moves;
	}
}

static int is_unforetold(enum advise_silence silence)
{
	return silence == ADVISE_SILENT_NO_ESTIMATE || silence == ADVISE_SILENT_NOT_RECORDED ||
	       silence == ADVISE_SILENT_NO_VALUE;
}

int effect_plan_given(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	struct advise_trial trial = { .works = 0 };
	size_t k;
	int error = 0;

	take_given(effects);
	plan->asked = plan->moves > 0;
	for (k = 0; k < plan->moves && !error; k++) {
		trial = (struct advise_trial){ .move = plan->move[k] };
		error = advise_try(&effects->run, effects->config, plan->move, k, &trial, 1);
		plan->silence[k] = trial.silence;
	}
	if (!error && plan->moves)
		error = advise_allocator(&effects->run, plan->move, plan->moves, &plan->reserved);
	for (k = 0; k < plan->moves; k++) {
		if (plan->reserved.known && plan->move[k].knob->method == MT_KNOB_METHOD_ALLOCATOR)
			plan->silence[k] = ADVISE_SILENT_NONE;
		plan->unforetold |= is_unforetold(plan->silence[k]);
	}
	plan->outcome = trial.outcome;
	plan->fits = plan->moves && effects->limit && trial.outcome.peak.high <= effects->limit &&
		     trial.outcome.asked.high <= effects->limit;
	return error;
}

/* ---- a plan that fits ---------------------------------------------------------------------------------------------------------- */

#define TRIED_MAX 64 /* most settings to try: the best ones */

/* Cheap bytes first: a setting that costs time or changes results must save more. */
static const double price[MT_KNOB_COSTS] = { 1, 0.8, 0.4, 0.2, 0.15 };

static int is_taken(const struct effect_plan *plan, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < plan->moves && plan->effect[i] != effect; i++)
		;
	return i < plan->moves;
}

/* Tries each setting in addition to the plan, and takes the one that helps most. 1: one helps, 0: none does, or -MT_E_x. */
static int take_next(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	struct advise_trial trial[TRIED_MAX];
	const struct effect *effect[TRIED_MAX], *it;
	uint64_t base = plan->moves ? most_of(effects, &plan->outcome) : effects->base;
	size_t count = 0, best = TRIED_MAX, i;
	double saved, worth, most = 0;
	int error, fits;

	for (i = 0; i < effects->effects && count < TRIED_MAX; i++) {
		it = effects->effect[i];
		if (!it->works || it->knob->method == MT_KNOB_METHOD_ALLOCATOR || is_taken(plan, it))
			continue;
		effect[count] = it;
		trial[count++] = (struct advise_trial){ .move = { it->knob, it->begins, it->to } };
	}
	error = advise_try(&effects->run, effects->config, plan->move, plan->moves, trial, count);
	for (i = 0; i < count && !error; i++) {
		saved = (double)effect_less(base, most_of(effects, &trial[i].outcome));
		fits = effect_fits(effects, &trial[i].outcome);
		worth = price[effect[i]->cost] * saved;
		if (!trial[i].works || saved < (double)effects->base / EFFECT_WORTH || fits < plan->fits ||
		    (fits == plan->fits && worth <= most))
			continue;
		plan->fits = fits;
		most = worth;
		best = i;
	}
	if (error || best == TRIED_MAX)
		return error;
	plan->effect[plan->moves] = effect[best];
	plan->move[plan->moves++] = trial[best].move;
	plan->outcome = trial[best].outcome;
	return 1;
}

int effect_plan_fit(struct effects *effects)
{
	int more = 1;

	while (more > 0 && effects->plan.moves < EFFECT_TOGETHER_MAX && !effects->plan.fits)
		more = take_next(effects);
	return more < 0 ? more : 0;
}
