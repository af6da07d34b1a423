#include "advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/oom/oom_words.h"

#define TRIALS_AT_ONCE (REPLAY_SCENARIOS_MAX / 2)

const char *advise_reason_word(enum advise_reason reason)
{
#define ADVISE_REASON_WORD(name, word) word,
	static const char *const words[] = { ADVISE_REASON_LIST(ADVISE_REASON_WORD) };
#undef ADVISE_REASON_WORD

	return words[reason];
}

/* ---- trying ----------------------------------------------------------------------------------------------------------- */

/*
 * No run is like another: sizes are rounded, threads come in another order. So far off is what is counted exactly, and what
 * changes may be off by a part of the change, too.
 */
#define LOOSE_OF_ALL 0.002
#define LOOSE_OF_CHANGE 0.03

static struct advise_range loosened(uint64_t was, uint64_t lean, uint64_t heavy)
{
	double change[2] = { fabs((double)was - (double)lean), fabs((double)was - (double)heavy) };
	double less = (double)lean - LOOSE_OF_CHANGE * change[0] - LOOSE_OF_ALL * (double)lean;
	double more = (double)heavy + LOOSE_OF_CHANGE * change[1] + LOOSE_OF_ALL * (double)heavy;

	if (lean == was && heavy == was)
		return (struct advise_range){ was, was };
	return (struct advise_range){ less > 0 ? (uint64_t)less : 0, (uint64_t)more };
}

static void take_result(const struct replay *replay, struct advise_outcome *outcome, const struct replay_result *lean,
			const struct replay_result *heavy)
{
	uint64_t most = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		most = replay->peak[phase].bytes > most ? replay->peak[phase].bytes : most;
		outcome->phase[phase] = loosened(replay->peak[phase].bytes, lean->peak[phase], heavy->peak[phase]);
	}
	outcome->peak = loosened(most, lean->most, heavy->most);
	outcome->asked = loosened(replay->request.all, lean->asked, heavy->asked);
	outcome->in = heavy->phase;
}

static int prepare(struct advice *advice, const struct advise_turn *made, size_t makes, struct advise_trial *trial,
		   struct advise_scenario *scenario)
{
	enum advise_silence silence = ADVISE_SILENT_NONE;
	int error = advise_scenario_init(scenario, &advice->run);
	size_t i;

	for (i = 0; i < makes && error >= 0; i++) {
		error = advise_model_turn(scenario, &advice->run, advice->config, &made[i], &silence);
		error = error == -MT_E_ARGUMENT ? 0 : error;
	}
	if (error < 0 || !trial->turn.knob)
		return error < 0 ? error : 0;
	error = advise_model_turn(scenario, &advice->run, advice->config, &trial->turn, &trial->silence);
	trial->works = error > 0;
	if (error == -MT_E_ARGUMENT)
		trial->silence = ADVISE_SILENT_NO_ESTIMATE;
	return error < 0 && error != -MT_E_ARGUMENT ? error : 0;
}

/* At most TRIALS_AT_ONCE. */
static int try_few(struct advice *advice, const struct advise_turn *made, size_t makes, struct advise_trial *trial,
		   size_t trials)
{
	struct advise_scenario scenario[TRIALS_AT_ONCE] = { { 0 } };
	const struct replay_effect *effect[REPLAY_SCENARIOS_MAX];
	const struct replay_extra *extra[REPLAY_SCENARIOS_MAX];
	struct replay_result result[REPLAY_SCENARIOS_MAX];
	int error = 0;
	size_t i;

	for (i = 0; i < trials && !error; i++) {
		error = prepare(advice, made, makes, &trial[i], &scenario[i]);
		effect[2 * i] = scenario[i].lean;
		effect[2 * i + 1] = scenario[i].heavy;
		extra[2 * i] = &scenario[i].lean_extra;
		extra[2 * i + 1] = &scenario[i].heavy_extra;
	}
	if (!error)
		error = replay_sweep(&advice->run.replay, effect, extra, 2 * (uint32_t)trials, result);
	for (i = 0; i < trials && !error; i++)
		take_result(&advice->run.replay, &trial[i].outcome, &result[2 * i], &result[2 * i + 1]);
	for (i = 0; i < trials; i++)
		advise_scenario_release(&scenario[i]);
	return error;
}

int advise_try(struct advice *advice, const struct advise_turn *made, size_t makes, struct advise_trial *trial,
	       size_t trials)
{
	size_t i, few;
	int error = 0;

	for (i = 0; i < trials && !error; i += few) {
		few = trials - i < TRIALS_AT_ONCE ? trials - i : TRIALS_AT_ONCE;
		error = try_few(advice, made, makes, &trial[i], few);
	}
	return error;
}

int advise_as_it_was(struct advice *advice, struct advise_outcome *outcome)
{
	struct advise_trial trial = { .works = 0 };
	int error = advise_try(advice, NULL, 0, &trial, 1);

	*outcome = trial.outcome;
	return error;
}

struct advise_range advise_held_range(const struct advice *advice, struct advise_range in_use)
{
	uint64_t slack = advice->run.slack;
	const struct advise_reserved *reserved = &advice->reserved;

	if (reserved->known && reserved->modelled < reserved->recorded)
		slack -= reserved->recorded - reserved->modelled < slack ? reserved->recorded - reserved->modelled
									 : slack;
	return (struct advise_range){ in_use.low, in_use.high + slack };
}

/* ---- what is asked ---------------------------------------------------------------------------------------------------- */

static int configure(struct advice *advice, const struct advise_request *request)
{
	struct advise_config *config;
	int error = mt_knobs_new(&advice->knobs, (char[256]){ "" }, 256);
	size_t i;

	if (!error)
		error = advise_config_new(&advice->config, advice->knobs);
	config = advice->config;
	if (!error)
		error = advise_config_framework(config, advice->run.db, request->framework);
	if (!error)
		error = advise_config_command(config, advice->run.db);
	if (!error && request->file)
		error = advise_config_file(config, request->file);
	for (i = 0; i < request->nows && !error; i++)
		error = advise_config_now(config, request->now[i]);
	for (i = 0; i < request->sets && !error; i++)
		error = advise_config_set(config, request->set[i]);
	for (i = 0, advice->blind = 1; config && i < config->settings; i++)
		if (config->setting[i].knob && config->setting[i].origin > ADVISE_DEFAULT &&
		    config->setting[i].origin < ADVISE_SET)
			advice->blind = 0;
	return error;
}

/* What constraints are held against. */
static void find_facts(struct advice *advice)
{
	advice->facts.fact[MT_KNOB_FACT_LARGEST_WEIGHT] = advice->run.model.largest;
	advice->facts.fact[MT_KNOB_FACT_LAYERS] = advice->run.model.layers;
	advice->facts.fact[MT_KNOB_FACT_GPUS] = advice->run.gpus;
}

static void find_need(struct advice *advice, const struct advise_request *request)
{
	const struct advise_run *run = &advice->run;
	uint32_t phase;

	advice->base = run->replay.request.all;
	for (phase = 0; phase < MT_PHASE_COUNT && !run->failed; phase++)
		if (run->replay.peak[phase].bytes > advice->base)
			advice->base = run->replay.peak[phase].bytes;
	advice->limit = request->fit ? request->fit : run->limit;
	advice->fit = request->fit != 0;
	if (advice->limit && advice->base > advice->limit)
		advice->needed = advice->base - advice->limit;
}

/* The changes of --set, and what comes of them. */
static int predict(struct advice *advice)
{
	struct advise_config *config = advice->config;
	struct advise_trial trial = { .works = 0 };
	const struct advise_setting *setting;
	struct advise_value now;
	uint32_t i;
	size_t k;
	int error;

	for (i = 0; i < config->settings && advice->turns < MT_ARRAY_SIZE(advice->turn); i++) {
		setting = &config->setting[i];
		if (setting->origin != ADVISE_SET || !setting->knob)
			continue;
		now = advise_config_value(config, setting->knob, ADVISE_AS_IS);
		for (k = 0; k < advice->turns && advice->turn[k].knob != setting->knob; k++)
			;
		advice->turn[k] = (struct advise_turn){ setting->knob, now.text, setting->value };
		advice->turns += k == advice->turns;
	}
	if (!advice->turns)
		return 0;
	advice->asked = advice->predicted = 1;
	for (k = 0, error = 0; k < advice->turns && !error; k++) {
		trial = (struct advise_trial){ .turn = advice->turn[k] };
		error = advise_try(advice, advice->turn, k, &trial, 1);
		advice->silence[k] = trial.silence;
	}
	if (!error)
		error = advise_allocator(advice, advice->turn, advice->turns, &advice->reserved);
	for (k = 0; k < advice->turns && advice->reserved.known; k++)
		if (advice->turn[k].knob->method == MT_KNOB_METHOD_ALLOCATOR)
			advice->silence[k] = ADVISE_SILENT_NONE;
	advice->outcome = trial.outcome;
	advice->together_fits = advice->limit && trial.outcome.peak.high <= advice->limit &&
				trial.outcome.asked.high <= advice->limit;
	return error;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------ */

static void say_peak(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	struct sentence *verdict = &advice->verdict;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	int phase = mt_phase_parse(run->phase, strlen(run->phase));
	uint64_t held, most = 0;
	uint8_t i, category = MT_CATEGORY_OTHER;

	sentence_say(verdict, "Peak %s held", text_bytes(size, run->peak));
	if (run->total)
		sentence_say(verdict, " of %s", text_bytes(total, run->total));
	sentence_say(verdict, " on %s, in %s.", answer_device(device, run->number, run->kind),
		     answer_phase(run->phase));
	for (i = 0; i < MT_CATEGORY_COUNT && phase >= 0; i++) {
		held = advise_held(run, 1u << i, (uint8_t)phase);
		if (held > most) {
			most = held;
			category = i;
		}
	}
	if (most)
		sentence_say(verdict, " The largest part of it is %s, %s.",
			     category == MT_CATEGORY_OTHER ? "of no known purpose" : mt_category_name(category),
			     text_bytes(size, most));
}

/* After what happened: what follows from it. */
static void conclude(struct advice *advice)
{
	char size[2][TEXT_SIZE_MAX];
	const struct advise_row *row = advice->row;
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole) {
			sentence_say(&advice->verdict, " No setting fixes this.");
			return;
		}
	if (!advice->rows) {
		sentence_say(&advice->verdict, " No setting that is known here moves what filled it.");
		return;
	}
	sentence_say(&advice->verdict, " Try %s = %s first: it saves %s%s", row->knob->name.key, row->to,
		     row->probable ? "probably " : "", text_bytes(size[0], row->saved.low));
	if (row->saved.low != row->saved.high)
		sentence_say(&advice->verdict, " to %s", text_bytes(size[1], row->saved.high));
	sentence_say(&advice->verdict, row->fits        ? ", and it fits."
				       : advice->needed ? "; alone that is not certain to be enough."
							: ".");
}

static void say_verdict(struct advice *advice, const char *name)
{
	if (advice->run.failed) {
		oom_verdict(&advice->verdict, &advice->run.oom, name);
		if (advice->verdict.size && advice->verdict.text[advice->verdict.size - 1] != '.')
			sentence_say(&advice->verdict, ".");
	} else {
		say_peak(advice);
	}
	conclude(advice);
}

int advise(struct advice *advice, struct db *db, const struct advise_request *request)
{
	int error;

	*advice = (struct advice){ .base = 0 };
	error = advise_run_load(&advice->run, db);
	if (!error)
		error = configure(advice, request);
	if (error)
		return error;
	find_facts(advice);
	find_need(advice, request);
	error = predict(advice);
	if (!error)
		error = advise_refuse(advice, request->name);
	if (!error)
		error = advise_choose(advice);
	if (!error)
		say_verdict(advice, request->name);
	return error;
}

void advise_release(struct advice *advice)
{
	advise_run_release(&advice->run);
	advise_config_free(advice->config);
	mt_knobs_free(advice->knobs);
	free(advice->row);
	free(advice->idle);
	free(advice->refusal);
	*advice = (struct advice){ .base = 0 };
}
