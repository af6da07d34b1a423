/* What would come of changes: scenarios of the model, swept over the recording. */
#include "advise.h"

#include <math.h>
#include "memtrace/error.h"

#define TRIALS_AT_ONCE (REPLAY_SCENARIOS_MAX / 2)

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
