/* The document of memana advise --json. */
#include <stdlib.h>
#include "advice.h"
#include "memtrace/error.h"

/* ---- small parts ---- */

static void json_range(struct doc *doc, const char *key, struct advise_range range)
{
	doc_range(doc, key, range.low, range.high);
}

/* The held bytes of a range of bytes in use: between none and all of the recorded slack is added. */
static void json_held(struct doc *doc, const char *key, const struct effects *effects, struct advise_range in_use)
{
	doc_range(doc, key, in_use.low, in_use.high + effects->run.slack);
}

/* Writes two texts with their keys as an object. */
static void json_pair(struct doc *doc, const char *key, const char *one, const char *word, const char *other)
{
	doc_object(doc, NULL);
	doc_string(doc, key, one);
	doc_string(doc, word, other);
	doc_end(doc);
}

static int json_paste(struct doc *doc, const struct advice *advice, const struct effect *effect)
{
	char *paste = advice_paste(advice, effect);

	doc_text(doc, "paste", paste);
	free(paste);
	return paste ? 0 : -MT_E_MEMORY;
}

static void json_outcome(struct doc *doc, const struct advice *advice, const struct advise_outcome *outcome)
{
	const struct effects *effects = &advice->effects;
	uint32_t phase;

	json_held(doc, "peak_bytes", effects, outcome->peak);
	json_range(doc, "in_use_bytes", outcome->peak);
	if (effects->run.it)
		json_range(doc, "with_request_bytes", outcome->asked);
	doc_string(doc, "phase", mt_phase_name(outcome->in));
	doc_array(doc, "by_phase");
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!outcome->phase[phase].high)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "phase", mt_phase_name(phase));
		json_held(doc, "bytes", effects, outcome->phase[phase]);
		doc_end(doc);
	}
	doc_end(doc);
}

/* ---- the run ---- */

static void json_run(struct doc *doc, const struct advice *advice)
{
#define LATER_WORD(name, word) word,
	static const char *const later_words[] = { REPLAY_LATER_LIST(LATER_WORD) };
#undef LATER_WORD
	const struct effects *effects = &advice->effects;
	const struct replay *replay = &effects->run.replay;
	const struct advise_config *config = effects->config;
	const struct advise_part *part = !advice->nothing && config->parts ? &config->part[0] : NULL;
	struct sentence answer = { .size = 0 };

	/* the first action, with the setting that does it */
	if (advice->rows)
		advice_say_action(&answer, advice, &advice->row[0]);
	if (advice->rows && advice->row[0].effect) {
		sentence_say(&answer, " ");
		advice_say_setting(&answer, advice, &advice->row[0]);
	}
	doc_string(doc, "answer", answer.text);
	doc_string(doc, "framework", part ? part->file->framework : "");
	doc_text(doc, "run_by", part ? config->wrapper : NULL);
	doc_object(doc, "peak");
	doc_int(doc, "bytes", (int64_t)effects->run.peak);
	doc_text(doc, "phase", advice->nothing ? NULL : effects->run.phase);
	doc_int(doc, "in_use_bytes", (int64_t)effects->base);
	doc_int(doc, "device", effects->scene->request.number);
	doc_end(doc);
	doc_int(doc, "needed_bytes", (int64_t)effects->needed);
	if (effects->run.it) { /* memory that the step takes after the failed request */
		doc_object(doc, "later");
		doc_string(doc, "from", later_words[replay->later.from]);
		doc_int(doc, "bytes", (int64_t)replay->later.sum);
		doc_int(doc, "count", replay->later.count);
		doc_end(doc);
	}
	doc_bool(doc, "configuration_known", !effects->blind);
}

/* ---- settings ---- */

static int json_setting(struct doc *doc, const struct advice *advice, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	const struct advise_part *part = advise_config_part(advice->effects.config, knob);
	struct sentence evidence = { .size = 0 };
	int error;

	advice_say_evidence(&evidence, advice, effect);
	doc_object(doc, NULL);
	doc_string(doc, "key", knob->name.key);
	doc_text(doc, "framework", part ? part->file->framework : NULL);
	doc_string(doc, "what", knob->what);
	doc_string(doc, "action_id", mt_action_word(effect->action));
	doc_text(doc, "now", effect->now.text);
	doc_text(doc, "now_from", effect->now.where);
	doc_string(doc, "proposed", advice_proposed(effect));
	json_range(doc, "saved_bytes", effect->saved);
	doc_bool(doc, "fits", effect->fits);
	doc_string(doc, "phase", advice->effects.run.phase);
	doc_string(doc, "category", mt_category_name(effect->category));
	doc_string(doc, "known", effect->probable ? "probable" : "known");
	doc_string(doc, "cost", mt_knob_cost_words(effect->cost));
	doc_text(doc, "effect", knob->effect);
	doc_text(doc, "only_if", effect->only);
	doc_string(doc, "evidence", evidence.text);
	error = json_paste(doc, advice, effect);
	doc_object(doc, "predicted");
	json_outcome(doc, advice, &effect->outcome);
	doc_end(doc);
	doc_end(doc);
	return error;
}

static int json_settings(struct doc *doc, const struct advice *advice, int64_t limit)
{
	const struct effects *effects = &advice->effects;
	int error = 0;
	size_t i;

	doc_array(doc, "knobs");
	for (i = 0; i < advice->settings && (int64_t)i < limit && !error; i++)
		error = json_setting(doc, advice, effects->effect[i]);
	doc_end(doc);
	doc_array(doc, "idle");
	for (i = 0; i < effects->effects; i++)
		if (!effects->effect[i]->works && *effects->effect[i]->why)
			json_pair(doc, "key", effects->effect[i]->knob->name.key, "why", effects->effect[i]->why);
	doc_end(doc);
	doc_array(doc, "warnings");
	for (i = 0; !advice->nothing && i < effects->config->warnings; i++)
		doc_string(doc, NULL, effects->config->warning[i]);
	doc_end(doc);
	return error;
}

/* ---- rows ---- */

/* Writes the actions, then the causes without a setting. */
static void json_rows(struct doc *doc, const struct advice *advice)
{
	const struct advice_row *row, *end = advice->row + advice->rows;
	struct sentence action, cause;

	doc_array(doc, "actions");
	for (row = advice->row; row < end; row++) {
		action.size = 0;
		why_say_action(&action, &advice->why, row->candidate);
		doc_object(doc, NULL);
		doc_string(doc, "cause", mt_cause_word(row->candidate->cause));
		doc_string(doc, "action", action.text);
		doc_string(doc, "action_id", mt_action_word(row->candidate->fix->action));
		doc_text(doc, "key", row->effect ? row->effect->knob->name.key : NULL);
		doc_text(doc, "setting_action_id", row->effect ? mt_action_word(row->effect->action) : NULL);
		doc_end(doc);
	}
	doc_end(doc);
	doc_array(doc, "refusals");
	for (row = advice->row; row < end; row++) {
		if (row->effect)
			continue;
		action.size = cause.size = 0;
		why_say_cause(&cause, &advice->why, row->candidate);
		why_say_action(&action, &advice->why, row->candidate);
		doc_object(doc, NULL);
		doc_string(doc, "reason", mt_cause_word(row->candidate->cause));
		doc_string(doc, "evidence", cause.text);
		doc_string(doc, "instead", action.text);
		doc_end(doc);
	}
	doc_end(doc);
}

/* ---- the plan ---- */

static void json_turn(struct doc *doc, const struct advise_move *turn, const struct effect *effect, const char *silence)
{
	int is_relative = effect && effect->relative;

	doc_object(doc, NULL);
	doc_string(doc, "key", turn->knob->name.key);
	doc_text(doc, "now", is_relative ? NULL : turn->now);
	doc_string(doc, "to", is_relative ? advice_proposed(effect) : turn->to);
	doc_text(doc, "silent", silence);
	doc_end(doc);
}

static int json_predicted(struct doc *doc, const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	size_t i;
	int error;

	doc_object(doc, "predicted");
	json_outcome(doc, advice, &plan->outcome);
	doc_bool(doc, "fits", plan->fits);
	doc_array(doc, "settings");
	for (i = 0; i < plan->moves; i++)
		json_turn(doc, &plan->move[i], plan->effect[i], advise_silence_words(plan->silence[i]));
	doc_end(doc);
	error = json_paste(doc, advice, NULL);
	doc_end(doc);
	return error;
}

/* Writes the changes without a known effect, and the reasons. The document then has no predicted range. */
static void json_unforetold(struct doc *doc, const struct effect_plan *plan)
{
	size_t i;

	doc_null(doc, "predicted");
	doc_array(doc, "not_predicted");
	for (i = 0; i < plan->moves; i++)
		if (plan->silence[i])
			json_pair(doc, "key", plan->move[i].knob->name.key, "why",
				  advise_silence_words(plan->silence[i]));
	doc_end(doc);
}

/* ---- the document ---- */

int advice_json(struct doc *doc, const struct advice *advice, int64_t limit)
{
	const struct effect_plan *plan = &advice->effects.plan;
	int error = why_json_verdict(doc, &advice->why);

	json_run(doc, advice);
	if (!error)
		error = why_json(doc, &advice->why, limit);
	if (!error)
		error = json_settings(doc, advice, limit);
	json_rows(doc, advice);
	if (plan->unforetold)
		json_unforetold(doc, plan);
	else if (plan->moves && !error)
		error = json_predicted(doc, advice);
	return error;
}
