#include "advice.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "oom_none.h"
#include "why_words.h"

/* Nothing failed, and the host's memory or a crash ended the run. */
static int is_ended(const struct advice *advice)
{
	const struct candidate *first = why_first(&advice->why);

	return first && !advice->why.scene.request.failure &&
	       (first->cause == MT_CAUSE_HOST || first->cause == MT_CAUSE_CRASHED);
}

static int has_row(const struct advice *advice, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].effect == effect)
			return 1;
	return 0;
}

/* The best setting that no row above has; else the best one. One that counts only after another change comes last. */
static void find_setting(const struct advice *advice, struct advice_row *row)
{
	const struct effect *effect[ADVICE_ROWS + 1];
	size_t effects = effect_for(&advice->effects, row->candidate, effect, ADVICE_ROWS + 1), i;

	while (effects > 1 && *effect[effects - 1]->only && !*effect[0]->only)
		effects--;
	for (i = 0; i < effects && has_row(advice, effect[i]); i++)
		;
	if (effects)
		row->effect = effect[i < effects ? i : 0];
	else
		row->other = effect_without_bytes(&advice->effects, row->candidate);
	row->again = effects && i == effects;
}

static void find_rows(struct advice *advice)
{
	const struct find *find = &advice->why.find;
	struct advice_row row;
	size_t i;

	for (i = 0; i < find->candidates && advice->rows < ADVICE_ROWS; i++) {
		if (!why_is_row(&advice->why, &find->candidate[i]))
			continue;
		row = (struct advice_row){ .candidate = &find->candidate[i] };
		if (!advice->nothing)
			find_setting(advice, &row);
		advice->row[advice->rows++] = row;
	}
	advice->is_ended = is_ended(advice);
}

static int say_verdict(struct advice *advice)
{
	struct oom_none none;
	int error;

	if (advice->why.scene.request.failure) {
		why_say_request(&advice->verdict, &advice->why);
		return 0;
	}
	error = oom_none_load(&none, advice->why.scene.db);
	return error ? error : oom_none_say(&advice->verdict, &none, advice->why.scene.db);
}

int advice_load(struct advice *advice, struct db *db, const struct effect_request *request)
{
	int error;

	memset(advice, 0, sizeof(*advice));
	error = why_load(&advice->why, db, 0);
	if (error)
		return error;
	error = effects_load(&advice->effects, &advice->why.scene, request);
	advice->nothing = error == -MT_E_MAGIC;
	if (error && !advice->nothing)
		return error;
	find_rows(advice);
	return say_verdict(advice);
}

void advice_release(struct advice *advice)
{
	effects_release(&advice->effects);
	why_release(&advice->why);
}

size_t advice_settings(const struct advice *advice)
{
	const struct effects *effects = &advice->effects;
	size_t count = 0;

	while (!advice->is_ended && count < effects->effects && effects->effect[count]->works)
		count++;
	return count;
}

int advice_can_paste(const struct advice *advice, const struct effect *effect)
{
	const struct effects *effects = &advice->effects;

	return !effect->relative && !(effect->by > 0) &&
	       (!effects->config->wrapper || advise_is_anybodys(effect->knob)) &&
	       (effect->knob->method != MT_KNOB_METHOD_SHARE || effects->run.engine.engines < 2);
}

int advice_has_plan(const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;

	return plan->turns && !(advice->is_ended && !plan->asked && !advice->effects.fit) &&
	       (plan->asked || advice->effects.fit || plan->turns > 1);
}

char *advice_paste_plan(const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	struct advise_change change[EFFECT_TURNS_MAX];
	size_t changes = 0, i;

	for (i = 0; i < plan->turns; i++)
		if (!plan->effect[i] || advice_can_paste(advice, plan->effect[i]))
			change[changes++] = (struct advise_change){ plan->turn[i].knob, plan->turn[i].to };
	return changes ? advise_paste(advice->effects.config, change, changes) : calloc(1, 1);
}

char *advice_paste(const struct advice *advice, const struct effect *effect)
{
	struct advise_change change = { effect->knob, effect->to };

	if (!advice_can_paste(advice, effect))
		return calloc(1, 1);
	return advise_paste(advice->effects.config, &change, 1);
}
