#include "advice.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

int advice_has_row(const struct advice *advice, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].effect == effect)
			return 1;
	return 0;
}

/* Takes the best setting that no row above has; if all are taken, the best one. Settings with a condition count only if all have one. */
static void find_setting(const struct advice *advice, struct advice_row *row)
{
	const struct effect *effect[WHY_ROWS + 1];
	size_t effects = effect_for(&advice->effects, row->candidate, effect, WHY_ROWS + 1), i;

	while (effects > 1 && *effect[effects - 1]->only && !*effect[0]->only)
		effects--;
	for (i = 0; i < effects && advice_has_row(advice, effect[i]); i++)
		;
	if (effects)
		row->effect = effect[i < effects ? i : 0];
	else
		row->other = effect_without_bytes(&advice->effects, row->candidate);
	row->again = effects && i == effects;
}

static void find_rows(struct advice *advice)
{
	const struct candidate *candidate[WHY_ROWS];
	const struct effects *effects = &advice->effects;
	size_t rows = why_rows(&advice->why, candidate), i;
	struct advice_row row;

	for (i = 0; i < rows; i++) {
		row = (struct advice_row){ .candidate = candidate[i] };
		if (!advice->nothing)
			find_setting(advice, &row);
		advice->row[advice->rows++] = row;
	}
	while (!why_is_ended(&advice->why) && advice->settings < effects->effects &&
	       effects->effect[advice->settings]->works)
		advice->settings++;
}

int advice_load(struct advice *advice, struct db *db, const struct effect_request *request)
{
	int error;

	memset(advice, 0, sizeof(*advice));
	error = why_load(&advice->why, db, 0);
	if (!error)
		error = scene_load_slack(&advice->why.scene, 1);
	if (error)
		return error;
	error = effects_load(&advice->effects, &advice->why.scene, request);
	advice->nothing = error == -MT_E_MAGIC;
	if (error && !advice->nothing)
		return error;
	find_rows(advice);
	return 0;
}

void advice_release(struct advice *advice)
{
	effects_release(&advice->effects);
	why_release(&advice->why);
}

int advice_has_plan(const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;

	return plan->asked || (plan->moves && advice->effects.fit) || plan->moves > 1;
}

/* Whether the line can be pasted unchanged: value, owner and engine of the setting are known. */
static int can_paste(const struct advice *advice, const struct effect *effect)
{
	const struct effects *effects = &advice->effects;

	return !effect->relative && !(effect->by > 0) &&
	       (!effects->config->wrapper || advise_is_anybodys(effect->knob)) &&
	       (effect->knob->method != MT_KNOB_METHOD_SHARE || effects->run.engine.engines < 2);
}

char *advice_paste(const struct advice *advice, const struct effect *effect)
{
	const struct effect_plan *plan = &advice->effects.plan;
	struct advise_change change[EFFECT_MOVES_MAX];
	size_t changes = 0, i;

	if (effect && can_paste(advice, effect))
		change[changes++] = (struct advise_change){ effect->knob, effect->to };
	for (i = 0; !effect && i < plan->moves; i++)
		if (!plan->effect[i] || can_paste(advice, plan->effect[i]))
			change[changes++] = (struct advise_change){ plan->move[i].knob, plan->move[i].to };
	return changes ? advise_paste(advice->effects.config, change, changes) : calloc(1, 1);
}
