/* Adds changes of settings to scenarios, and sweeps these over the recording. */
#include "method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define TRIALS_AT_ONCE (REPLAY_SCENARIOS_MAX / 2)

/*
 * Runs differ: sizes are rounded, and threads come in another order. All bytes are uncertain by the first part, and changes also by
 * the second part of the change.
 */
#define LOOSE_OF_ALL 0.002
#define LOOSE_OF_CHANGE 0.03

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

static int take_values(struct method *method)
{
	int now = method->now_text ? advise_value_number(method->knob, method->now_text, &method->now) : 1;
	int to = advise_value_number(method->knob, method->to_text, &method->to);

	if (to < 0)
		return to;
	method->is_number = !to;
	if (now)
		method->now = -1;
	/* A switch without a value is off. */
	if (now && method->knob->measure == MT_KNOB_UNIT_SWITCH)
		method->now = 0;
	return 0;
}

/*
 * Whether the engine's cache takes the saved bytes: a cache fills the engine's share of the GPU. More GPUs or a narrower type make
 * the cache larger, and the engine stays as large. Without a cache, the weights alone must fit.
 */
static int is_filled_up(const struct method *method)
{
	const struct mt_knob *knob = method->knob;

	return method->run->engine.has_cache && knob->processes == RUN_ROLE(ENGINE) &&
	       !(knob->categories & ~(CATEGORY(WEIGHTS) | CATEGORY(KV_CACHE))) &&
	       knob->phases & 1u << MT_PHASE_ROLLOUT && knob->measure != MT_KNOB_UNIT_TOKENS &&
	       (knob->method == MT_KNOB_METHOD_DIVIDED || knob->method == MT_KNOB_METHOD_REMOVED);
}

static void apply(struct method *method)
{
	if (is_filled_up(method)) {
		method_silent(method, ADVISE_SILENT_FILLED);
		return;
	}
	switch (method->knob->method) {
	case MT_KNOB_METHOD_TOKENS:
		method_tokens(method);
		break;
	case MT_KNOB_METHOD_LOGITS:
		method_logits(method);
		break;
	case MT_KNOB_METHOD_DIVIDED:
		method_divided(method);
		break;
	case MT_KNOB_METHOD_REMOVED:
		method_removed(method);
		break;
	case MT_KNOB_METHOD_BUCKET:
		method_bucket(method);
		break;
	case MT_KNOB_METHOD_SHARE:
		method_share(method);
		break;
	case MT_KNOB_METHOD_KEPT:
		method_kept(method);
		break;
	default:
		method_silent(method, method->knob->method == MT_KNOB_METHOD_ALLOCATOR ? ADVISE_SILENT_NO_ESTIMATE
										       : ADVISE_SILENT_NO_METHOD);
	}
}

int advise_model_move(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_move *move, enum advise_silence *silence)
{
	struct method method = { .scenario = scenario,
				 .run = run,
				 .config = config,
				 .knob = move->knob,
				 .now_text = move->now,
				 .to_text = move->to };
	int error = take_values(&method);

	if (error)
		return error;
	apply(&method);
	if (!method.effects && !method.silence)
		method.silence = ADVISE_SILENT_NO_BYTES;
	*silence = method.effects ? ADVISE_SILENT_NONE : method.silence;
	return method.effects > 0;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* The range of two results, widened by the uncertainty. Lean and heavy can be swapped: a site that shrinks later can gain bytes. */
static struct advise_range loosened(uint64_t was, uint64_t one, uint64_t other, uint64_t least)
{
	uint64_t lean = one < other ? one : other, heavy = one < other ? other : one;
	double change[2] = { fabs((double)was - (double)lean), fabs((double)was - (double)heavy) };
	double less = (double)lean - LOOSE_OF_CHANGE * change[0] - LOOSE_OF_ALL * (double)lean;
	double more = (double)heavy + LOOSE_OF_CHANGE * change[1] + LOOSE_OF_ALL * (double)heavy;

	if (lean == was && heavy == was)
		return (struct advise_range){ was, was };
	least = least < lean ? least : lean;
	return (struct advise_range){ less > (double)least ? (uint64_t)less : least, (uint64_t)more };
}

/* The part of a phase's peak outside of the changed sites. MT_PHASE_COUNT: of the bytes in use with the request and later. */
static uint64_t untouched(const struct advise_run *run, const struct advise_scenario *scenario, uint32_t phase,
			  uint64_t was)
{
	const struct replay *replay = &run->replay;
	double left = (double)was, extra = 0;
	uint32_t i;

	for (i = 0; i < MT_PHASE_COUNT; i++)
		extra = scenario->lean_extra.bytes[i] < extra ? scenario->lean_extra.bytes[i] : extra;
	for (i = 0; i < replay->sites; i++)
		if (scenario->lean[i].used)
			left -= phase < MT_PHASE_COUNT
					? (double)replay->site[i].held[phase]
					: (double)replay->site[i].then + replay_later_of(&run->replay, i);
	return left + extra > 0 ? (uint64_t)(left + extra) : 0;
}

static void take_result(const struct advise_run *run, struct advise_trial *trial,
			const struct advise_scenario *scenario, const struct replay_result *lean,
			const struct replay_result *heavy)
{
	const struct replay *replay = &run->replay;
	struct advise_outcome *outcome = &trial->outcome;
	uint64_t most = 0, stays, least = 0;
	uint32_t phase;
	/* Recomputation needs the layer boundaries: the lean result is a lower bound. */
	int begins = trial->move.knob && trial->move.knob->leaves == MT_KNOB_LEAVES_BOUNDARIES;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		most = replay->peak[phase].bytes > most ? replay->peak[phase].bytes : most;
		stays = begins ? lean->peak[phase] : untouched(run, scenario, phase, replay->peak[phase].bytes);
		least = stays > least ? stays : least;
		outcome->phase[phase] = loosened(replay->peak[phase].bytes, lean->peak[phase], heavy->peak[phase],
						 begins ? stays : 0);
	}
	outcome->peak = loosened(most, lean->most, heavy->most, least);
	stays = begins ? lean->asked : untouched(run, scenario, MT_PHASE_COUNT, replay->request.all);
	outcome->asked = loosened(replay->request.all, lean->asked, heavy->asked, stays);
	outcome->in = heavy->phase;
	if (!run->failed || !replay->later.bytes)
		return;
	/* Later changes of the step make a peak, too. */
	outcome->in = outcome->asked.high > outcome->peak.high ? replay->later.phase : outcome->in;
	outcome->peak.low = outcome->asked.low > outcome->peak.low ? outcome->asked.low : outcome->peak.low;
	outcome->peak.high = outcome->asked.high > outcome->peak.high ? outcome->asked.high : outcome->peak.high;
}

static int changes(const struct advise_scenario *scenario, uint32_t site, uint32_t phase)
{
	const struct replay_effect *at[2] = { &scenario->lean[site], &scenario->heavy[site] };
	int i, does = 0;

	for (i = 0; i < 2 && at[0]->used; i++)
		does |= at[i]->cap != UINT64_MAX || at[i]->keep[phase] < 1 || at[i]->keep[phase] > 1;
	return does;
}

static void take_reached(struct advise_reach *reach, const struct advise_run *run, uint32_t number)
{
	const struct replay_site *site = &run->replay.site[number];
	double later = replay_later_of(&run->replay, number);

	reach->later += (uint64_t)(later > 0 ? later : 0);
	reach->all += site->then + (uint64_t)(later > 0 ? later : 0);
	reach->bytes[site->category] += site->then;
}

/* The phase of the moment in question. */
static uint32_t phase_then(const struct advise_run *run)
{
	uint32_t phase, most = 0;

	for (phase = 1; phase < MT_PHASE_COUNT; phase++)
		most = run->replay.peak[phase].bytes > run->replay.peak[most].bytes ? phase : most;
	return run->failed ? run->replay.request.phase : most;
}

void advise_reach(struct advise_reach *reach, const struct advise_run *run, const struct advise_scenario *scenario)
{
	uint32_t phase = phase_then(run), i;

	*reach = (struct advise_reach){ .all = 0 };
	for (i = 0; i < run->replay.sites; i++)
		if (changes(scenario, i, phase))
			take_reached(reach, run, i);
	for (i = 0; i < run->replay.sites && !reach->all && run->replay.later.bytes; i++)
		if (changes(scenario, i, run->replay.later.phase))
			take_reached(reach, run, i);
}

/* Removed bytes of each site at the moment in question, the mean of lean and heavy. */
static void take_removed(uint64_t *removed, const struct advise_run *run, const struct advise_scenario *scenario)
{
	const struct replay_effect *at[2];
	const struct replay_site *site;
	uint32_t phase = phase_then(run), i, k;
	double left, all;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		at[0] = &scenario->lean[i];
		at[1] = &scenario->heavy[i];
		for (left = 0, k = 0; k < 2; k++) {
			all = (double)at[k]->cap * site->then_count;
			all = at[k]->used && at[k]->cap != UINT64_MAX && all < (double)site->then ? all
												  : (double)site->then;
			left += at[k]->used ? all * (double)at[k]->keep[phase] / 2 : all / 2;
		}
		removed[i] = left < (double)site->then ? site->then - (uint64_t)left : 0;
	}
}

static int prepare(const struct advise_run *run, struct advise_config *config, const struct advise_move *made,
		   size_t makes, struct advise_trial *trial, struct advise_scenario *scenario)
{
	enum advise_silence silence = ADVISE_SILENT_NONE;
	int error = advise_scenario_init(scenario, run);
	size_t i;

	for (i = 0; i < makes && error >= 0; i++) {
		error = advise_model_move(scenario, run, config, &made[i], &silence);
		error = error == -MT_E_ARGUMENT ? 0 : error;
	}
	if (error < 0 || !trial->move.knob)
		return error < 0 ? error : 0;
	error = advise_model_move(scenario, run, config, &trial->move, &trial->silence);
	trial->works = error > 0;
	if (trial->works && !makes)
		advise_reach(&trial->reach, run, scenario);
	if (trial->works && trial->removed)
		take_removed(trial->removed, run, scenario);
	if (error == -MT_E_ARGUMENT)
		trial->silence = ADVISE_SILENT_NO_ESTIMATE;
	return error < 0 && error != -MT_E_ARGUMENT ? error : 0;
}

/* Tries at most TRIALS_AT_ONCE trials. */
static int try_few(const struct advise_run *run, struct advise_config *config, const struct advise_move *made,
		   size_t makes, struct advise_trial *trial, size_t trials)
{
	struct advise_scenario scenario[TRIALS_AT_ONCE] = { { 0 } };
	const struct replay_effect *effect[REPLAY_SCENARIOS_MAX];
	const struct replay_extra *extra[REPLAY_SCENARIOS_MAX];
	struct replay_result result[REPLAY_SCENARIOS_MAX];
	int error = 0;
	size_t i;

	for (i = 0; i < trials && !error; i++) {
		error = prepare(run, config, made, makes, &trial[i], &scenario[i]);
		effect[2 * i] = scenario[i].lean;
		effect[2 * i + 1] = scenario[i].heavy;
		extra[2 * i] = &scenario[i].lean_extra;
		extra[2 * i + 1] = &scenario[i].heavy_extra;
	}
	if (!error)
		error = replay_sweep(&run->replay, effect, extra, 2 * (uint32_t)trials, result);
	for (i = 0; i < trials && !error; i++)
		take_result(run, &trial[i], &scenario[i], &result[2 * i], &result[2 * i + 1]);
	for (i = 0; i < trials; i++)
		advise_scenario_release(&scenario[i]);
	return error;
}

int advise_try(const struct advise_run *run, struct advise_config *config, const struct advise_move *made, size_t makes,
	       struct advise_trial *trial, size_t trials)
{
	size_t i, few;
	int error = 0;

	for (i = 0; i < trials && !error; i += few) {
		few = trials - i < TRIALS_AT_ONCE ? trials - i : TRIALS_AT_ONCE;
		error = try_few(run, config, made, makes, &trial[i], few);
	}
	return error;
}

struct advise_range advise_held_range(const struct advise_run *run, const struct advise_reserved *reserved,
				      struct advise_range in_use)
{
	uint64_t slack = run->slack;

	if (reserved->known && reserved->modelled < reserved->recorded)
		slack -= reserved->recorded - reserved->modelled < slack ? reserved->recorded - reserved->modelled
									 : slack;
	return (struct advise_range){ in_use.low, in_use.high + slack };
}
