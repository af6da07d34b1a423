/* Changes that are tried together: those of --set, or a set that fits if one setting is not enough. */
#include <string.h>
#include "effect_impl.h"
#include "memtrace/base.h"

static uint64_t less(uint64_t base, uint64_t now)
{
	return now < base ? base - now : 0;
}

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
	const struct advise_config *config = effects->config;
	const struct advise_setting *setting;
	uint32_t i;
	size_t k;

	for (i = 0; i < config->settings && plan->turns < EFFECT_TURNS_MAX; i++) {
		setting = &config->setting[i];
		if (setting->origin != ADVISE_SET || !setting->knob)
			continue;
		for (k = 0; k < plan->turns && plan->turn[k].knob != setting->knob; k++)
			;
		plan->turn[k] = (struct advise_turn){ setting->knob,
						      advise_config_value(effects->config, setting->knob).text,
						      setting->value };
		plan->turns += k == plan->turns;
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
	plan->asked = plan->turns > 0;
	for (k = 0; k < plan->turns && !error; k++) {
		trial = (struct advise_trial){ .turn = plan->turn[k] };
		error = advise_try(&effects->run, effects->config, plan->turn, k, &trial, 1);
		plan->silence[k] = trial.silence;
	}
	if (!error && plan->turns)
		error = advise_allocator(&effects->run, plan->turn, plan->turns, &plan->reserved);
	for (k = 0; k < plan->turns; k++) {
		if (plan->reserved.known && plan->turn[k].knob->method == MT_KNOB_METHOD_ALLOCATOR)
			plan->silence[k] = ADVISE_SILENT_NONE;
		plan->unforetold |= is_unforetold(plan->silence[k]);
	}
	plan->outcome = trial.outcome;
	plan->fits = plan->turns && effects->limit && trial.outcome.peak.high <= effects->limit &&
		     trial.outcome.asked.high <= effects->limit;
	return error;
}

/* ---- a plan that fits ---------------------------------------------------------------------------------------------------------- */

/* Cheap bytes first: a setting that costs time or changes results must save more. */
static double worth(enum mt_knob_cost cost, uint64_t saved)
{
	static const double price[MT_KNOB_COSTS] = { 1, 0.8, 0.4, 0.2, 0.15 };

	return price[cost] * (double)saved;
}

static int is_taken(const struct effect_plan *plan, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < plan->turns; i++)
		if (plan->effect[i] == effect)
			return 1;
	return 0;
}

/* Collects the settings that the replay can combine: all but those of the allocator. */
static size_t tryable(const struct effects *effects, struct advise_trial *trial, const struct effect **effect,
		      size_t room)
{
	const struct effect *it;
	size_t count = 0, i;

	for (i = 0; i < effects->effects && count < room; i++) {
		it = effects->effect[i];
		if (!it->works || it->knob->method == MT_KNOB_METHOD_ALLOCATOR || is_taken(&effects->plan, it))
			continue;
		effect[count] = it;
		trial[count++] = (struct advise_trial){ .turn = { it->knob, it->begins, it->to } };
	}
	return count;
}

/* The trial that helps most in addition to the plan; `count`: none helps. */
static size_t best_of(const struct effects *effects, const struct advise_trial *trial, const struct effect **effect,
		      size_t count)
{
	uint64_t base = effects->plan.turns ? most_of(effects, &effects->plan.outcome) : effects->base, saved;
	size_t best = count, i;
	double value, most = 0;
	int best_fits = 0, fits;

	for (i = 0; i < count; i++) {
		saved = less(base, most_of(effects, &trial[i].outcome));
		fits = effect_fits(effects, &trial[i].outcome);
		value = worth(effect[i]->cost, saved);
		if (!trial[i].works || (double)saved < (double)effects->base / EFFECT_WORTH || fits < best_fits)
			continue;
		if (fits > best_fits || value > most) {
			best = i;
			most = value;
			best_fits = fits;
		}
	}
	return best;
}

#define TRIED_MAX 64 /* most settings to try: the best ones */

int effect_plan_fit(struct effects *effects)
{
	struct advise_trial trial[TRIED_MAX];
	const struct effect *effect[TRIED_MAX];
	struct effect_plan *plan = &effects->plan;
	size_t count, best;
	int error = 0;

	while (plan->turns < EFFECT_TOGETHER_MAX && !plan->fits) {
		count = tryable(effects, trial, effect, TRIED_MAX);
		error = advise_try(&effects->run, effects->config, plan->turn, plan->turns, trial, count);
		best = error ? count : best_of(effects, trial, effect, count);
		if (best == count)
			break;
		plan->effect[plan->turns] = effect[best];
		plan->turn[plan->turns++] = trial[best].turn;
		plan->outcome = trial[best].outcome;
		plan->fits = effect_fits(effects, &plan->outcome);
	}
	return error;
}
