/* Adds the changes of settings to scenarios, and sweeps the scenarios over the recording. */
#include "method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define TRIALS_AT_ONCE (REPLAY_SCENARIOS_MAX / 2)

/*
 * Two runs of a program differ: sizes are rounded, and the order of threads varies. Widen each result by the first part of all bytes, and by the
 * second part of the change.
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

int advise_scenario_init(struct advise_scenario *scenario, const struct advise_run *run)
{
	uint32_t phase;
	size_t i;

	*scenario = (struct advise_scenario){ 0 };
	scenario->lean.effect = calloc(2 * ((size_t)run->replay.sites + 1), sizeof(*scenario->lean.effect));
	if (!scenario->lean.effect)
		return -MT_E_MEMORY;
	scenario->heavy.effect = scenario->lean.effect + run->replay.sites;
	for (i = 0; i < 2 * (size_t)run->replay.sites; i++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			scenario->lean.effect[i].keep[phase] = 1;
	return 0;
}

void advise_scenario_release(struct advise_scenario *scenario)
{
	free(scenario->lean.effect);
	*scenario = (struct advise_scenario){ 0 };
}

/* ---- a change ---------------------------------------------------------------------------------------------------------- */

/*
 * Whether the engine's cache takes up the bytes that the setting saves. A cache fills the engine's share of the GPU: with more GPUs or a narrower
 * type, the cache grows and the engine stays as large. Without a cache, the weights alone must fit.
 */
static int is_filled_up(const struct advise_run *run, const struct mt_knob *knob)
{
	return run->engine.has_cache && knob->processes == RUN_ROLE(ENGINE) &&
	       !(knob->categories & ~(CATEGORY(WEIGHTS) | CATEGORY(KV_CACHE))) &&
	       knob->phases & 1u << MT_PHASE_ROLLOUT && knob->measure != MT_KNOB_UNIT_TOKENS &&
	       (knob->method == MT_KNOB_METHOD_DIVIDED || knob->method == MT_KNOB_METHOD_REMOVED);
}

int advise_model_move(struct advise_scenario *scenario, const struct advise_run *run, struct advise_config *config,
		      const struct advise_move *move, enum advise_silence *silence)
{
	static enum advise_silence (*const all[MT_KNOB_METHODS])(struct method *) = {
		[MT_KNOB_METHOD_TOKENS] = method_tokens,   [MT_KNOB_METHOD_LOGITS] = method_logits,
		[MT_KNOB_METHOD_DIVIDED] = method_divided, [MT_KNOB_METHOD_REMOVED] = method_removed,
		[MT_KNOB_METHOD_BUCKET] = method_bucket,   [MT_KNOB_METHOD_SHARE] = method_share,
		[MT_KNOB_METHOD_KEPT] = method_kept,
	};
	const struct mt_knob *knob = move->knob;
	struct method method = { .scenario = scenario,
				 .run = run,
				 .config = config,
				 .knob = knob,
				 .now_text = move->now,
				 .to_text = move->to };
	int to = advise_value_number(knob, move->to, &method.to);

	if (to < 0)
		return to;
	method.is_number = !to;
	if (!move->now || advise_value_number(knob, move->now, &method.now))
		method.now = knob->measure == MT_KNOB_UNIT_SWITCH ? 0 : -1; /* a switch without a value is off */
	if (is_filled_up(run, knob))
		*silence = ADVISE_SILENT_FILLED;
	else if (all[knob->method])
		*silence = all[knob->method](&method);
	else
		*silence = knob->method == MT_KNOB_METHOD_ALLOCATOR ? ADVISE_SILENT_NO_ESTIMATE
								    : ADVISE_SILENT_NO_METHOD;
	if (!method.effects && !*silence)
		*silence = ADVISE_SILENT_NO_BYTES;
	return method.effects > 0;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* The range between two results, widened by the uncertainty. The lean one can be larger: a site that shrinks later gains bytes. */
static struct advise_range loosened(uint64_t was, uint64_t one, uint64_t other)
{
	uint64_t lean = one < other ? one : other, heavy = one < other ? other : one;
	double change[2] = { fabs((double)was - (double)lean), fabs((double)was - (double)heavy) };
	double less = (double)lean - LOOSE_OF_CHANGE * change[0] - LOOSE_OF_ALL * (double)lean;
	double more = (double)heavy + LOOSE_OF_CHANGE * change[1] + LOOSE_OF_ALL * (double)heavy;

	if (lean == was && heavy == was)
		return (struct advise_range){ was, was };
	return (struct advise_range){ less > 0 ? (uint64_t)less : 0, (uint64_t)more };
}

static void take_result(const struct advise_run *run, struct advise_outcome *outcome, const struct replay_result *lean,
			const struct replay_result *heavy)
{
	const struct replay *replay = &run->replay;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		outcome->phase[phase] = loosened(replay->peak[phase].bytes, lean->peak[phase], heavy->peak[phase]);
	outcome->peak = loosened(replay->peak[replay->highest].bytes, lean->most, heavy->most);
	outcome->asked = loosened(replay->request.all, lean->asked, heavy->asked);
	outcome->in = heavy->phase;
	if (!run->it || !replay->later.bytes)
		return;
	/* The later changes of the step can make the peak. */
	outcome->in = outcome->asked.high > outcome->peak.high ? replay->later.phase : outcome->in;
	outcome->peak.low = outcome->asked.low > outcome->peak.low ? outcome->asked.low : outcome->peak.low;
	outcome->peak.high = outcome->asked.high > outcome->peak.high ? outcome->asked.high : outcome->peak.high;
}

/* Fills the bytes that the change removes from each site at the moment: the mean of lean and heavy. Returns 0 or -MT_E_MEMORY. */
static int take_parts(struct advise_trial *trial, const struct advise_run *run, const struct advise_scenario *scenario)
{
	const struct replay_site *site = run->replay.site;
	struct candidate_part *fewer;
	uint32_t phase = run->it ? run->replay.request.phase : run->replay.highest, i;
	double mean;

	trial->part = malloc((run->replay.sites + 1) * sizeof(*trial->part));
	if (!trial->part)
		return -MT_E_MEMORY;
	for (i = 0; i < run->replay.sites; i++, site++) {
		mean = (double)(scenario->lean.effect[i].keep[phase] + scenario->heavy.effect[i].keep[phase]) / 2;
		if (site->then && mean < 1)
			trial->part[trial->parts++] = (struct candidate_part){ i, (uint64_t)((1 - mean) *
											     (double)site->then) };
	}
	fewer = realloc(trial->part, (trial->parts + 1) * sizeof(*fewer));
	trial->part = fewer ? fewer : trial->part;
	return 0;
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
	if (error == -MT_E_ARGUMENT)
		trial->silence = ADVISE_SILENT_NO_ESTIMATE;
	else if (error < 0)
		return error;
	return trial->works && trial->itemized ? take_parts(trial, run, scenario) : 0;
}

/* Runs at most TRIALS_AT_ONCE trials in one sweep. */
static int try_few(const struct advise_run *run, struct advise_config *config, const struct advise_move *made,
		   size_t makes, struct advise_trial *trial, size_t trials)
{
	struct advise_scenario scenario[TRIALS_AT_ONCE] = { { { 0 } } };
	const struct replay_scenario *both[REPLAY_SCENARIOS_MAX];
	struct replay_result result[REPLAY_SCENARIOS_MAX];
	int error = 0;
	size_t i;

	for (i = 0; i < trials && !error; i++) {
		error = prepare(run, config, made, makes, &trial[i], &scenario[i]);
		both[2 * i] = &scenario[i].lean;
		both[2 * i + 1] = &scenario[i].heavy;
	}
	if (!error)
		error = replay_sweep(&run->replay, both, 2 * (uint32_t)trials, result);
	for (i = 0; i < trials && !error; i++)
		take_result(run, &trial[i].outcome, &result[2 * i], &result[2 * i + 1]);
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
