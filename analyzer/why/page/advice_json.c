/* memana advise --json */
#include <stdlib.h>
#include "advice.h"
#include "memtrace/error.h"
#include "why_words.h"

#define CAUSES_LEAST 10

static void json_range(struct doc *doc, const char *key, struct advise_range range)
{
	doc_object(doc, key);
	doc_int(doc, "low", (int64_t)range.low);
	doc_int(doc, "high", (int64_t)range.high);
	doc_end(doc);
}

static void json_text(struct doc *doc, const char *key, const char *text)
{
	if (text && *text)
		doc_string(doc, key, text);
	else
		doc_null(doc, key);
}

static void json_outcome(struct doc *doc, const struct advice *advice, const struct advise_outcome *outcome)
{
	const struct effects *effects = &advice->effects;
	const struct advise_reserved *reserved = &effects->plan.reserved;
	uint32_t phase;

	json_range(doc, "peak_bytes", advise_held_range(&effects->run, reserved, outcome->peak));
	json_range(doc, "in_use_bytes", outcome->peak);
	if (effects->run.failed)
		json_range(doc, "with_request_bytes", outcome->asked);
	doc_string(doc, "phase", mt_phase_name(outcome->in));
	doc_array(doc, "by_phase");
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!outcome->phase[phase].high)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "phase", mt_phase_name(phase));
		json_range(doc, "bytes", advise_held_range(&effects->run, reserved, outcome->phase[phase]));
		doc_end(doc);
	}
	doc_end(doc);
}

/* Takes `paste`; NULL: there was no memory for it. 0 or -MT_E_MEMORY. */
static int json_paste(struct doc *doc, char *paste)
{
	json_text(doc, "paste", paste);
	free(paste);
	return paste ? 0 : -MT_E_MEMORY;
}

static void json_names(struct doc *doc, const struct advice *advice, const struct mt_knob *knob)
{
	const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1];
	uint32_t count = advise_config_names(advice->effects.config, knob, name), i;

	doc_array(doc, "names");
	for (i = 0; i < count; i++)
		doc_string(doc, NULL, name[i]->key);
	doc_end(doc);
}

static int json_setting(struct doc *doc, const struct advice *advice, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	const struct advise_part *part = advise_config_part(advice->effects.config, knob);
	struct sentence evidence = { .size = 0 };
	int error;

	advice_say_evidence(&evidence, advice, effect);
	doc_object(doc, NULL);
	doc_string(doc, "key", knob->name.key);
	json_names(doc, advice, knob);
	json_text(doc, "framework", part ? part->file->framework : NULL);
	doc_string(doc, "what", knob->what);
	doc_string(doc, "action_id", mt_action_word(effect->action));
	json_text(doc, "now", effect->now.text);
	json_text(doc, "now_from", effect->now.where);
	doc_string(doc, "proposed", advice_proposed(effect));
	json_range(doc, "saved_bytes", effect->saved);
	doc_bool(doc, "fits", effect->fits);
	doc_string(doc, "phase", advice->effects.run.phase);
	doc_string(doc, "category", mt_category_name(effect->category));
	doc_string(doc, "known", effect->probable ? "probable" : "known");
	doc_string(doc, "cost", mt_knob_cost_words(effect->cost));
	json_text(doc, "effect", knob->effect);
	json_text(doc, "not_so", knob->not_so);
	json_text(doc, "only_if", effect->only);
	doc_string(doc, "evidence", evidence.text);
	doc_string(doc, "method", mt_knob_method_word(knob->method));
	error = json_paste(doc, advice_paste(advice, effect));
	doc_object(doc, "predicted");
	json_outcome(doc, advice, &effect->outcome);
	doc_end(doc);
	doc_end(doc);
	return error;
}

static int json_settings(struct doc *doc, const struct advice *advice, int64_t limit)
{
	size_t settings = advice_settings(advice), i;
	int error = 0;

	doc_array(doc, "knobs");
	for (i = 0; i < settings && (int64_t)i < limit && !error; i++)
		error = json_setting(doc, advice, advice->effects.effect[i]);
	doc_end(doc);
	return error;
}

static void json_actions(struct doc *doc, const struct advice *advice)
{
	const struct advice_row *row;
	struct sentence action;
	size_t i;

	doc_array(doc, "actions");
	for (i = 0; i < advice->rows; i++) {
		row = &advice->row[i];
		action.size = 0;
		why_say_action(&action, &advice->why, row->candidate);
		doc_object(doc, NULL);
		doc_string(doc, "cause", mt_cause_word(row->candidate->cause));
		doc_string(doc, "action", action.text);
		doc_string(doc, "action_id", mt_action_word(row->candidate->fix->action));
		json_text(doc, "key", row->effect ? row->effect->knob->name.key : NULL);
		json_text(doc, "setting_action_id", row->effect ? mt_action_word(row->effect->action) : NULL);
		doc_end(doc);
	}
	doc_end(doc);
}

/* Causes against which no setting is. */
static void json_refusals(struct doc *doc, const struct advice *advice)
{
	struct sentence sentence;
	size_t i;

	doc_array(doc, "refusals");
	for (i = 0; i < advice->rows; i++) {
		if (advice->row[i].effect)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "reason", mt_cause_word(advice->row[i].candidate->cause));
		sentence.size = 0;
		why_say_cause(&sentence, &advice->why, advice->row[i].candidate);
		doc_string(doc, "evidence", sentence.text);
		sentence.size = 0;
		why_say_action(&sentence, &advice->why, advice->row[i].candidate);
		doc_string(doc, "instead", sentence.text);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_idle(struct doc *doc, const struct advice *advice)
{
	const struct effects *effects = &advice->effects;
	size_t i;

	doc_array(doc, "idle");
	for (i = 0; i < effects->effects; i++) {
		if (effects->effect[i]->works || !*effects->effect[i]->why)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "key", effects->effect[i]->knob->name.key);
		doc_string(doc, "why", effects->effect[i]->why);
		doc_end(doc);
	}
	doc_end(doc);
	doc_array(doc, "warnings");
	for (i = 0; !advice->nothing && i < effects->config->warnings; i++)
		doc_string(doc, NULL, effects->config->warning[i]);
	doc_end(doc);
}

static void json_turns(struct doc *doc, const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	const struct effect *effect;
	size_t i;

	doc_array(doc, "settings");
	for (i = 0; i < plan->turns; i++) {
		effect = plan->effect[i];
		doc_object(doc, NULL);
		doc_string(doc, "key", plan->turn[i].knob->name.key);
		json_text(doc, "now", effect && effect->relative ? NULL : plan->turn[i].now);
		doc_string(doc, "to", effect && effect->relative ? advice_proposed(effect) : plan->turn[i].to);
		json_text(doc, "silent", advise_silence_words(plan->silence[i]));
		doc_end(doc);
	}
	doc_end(doc);
}

static int json_predicted(struct doc *doc, const struct advice *advice)
{
	const struct effect_plan *plan = &advice->effects.plan;
	int error;

	doc_object(doc, "predicted");
	json_outcome(doc, advice, &plan->outcome);
	if (plan->reserved.known) {
		doc_object(doc, "reserved");
		doc_int(doc, "recorded_bytes", (int64_t)plan->reserved.recorded);
		doc_int(doc, "bytes", (int64_t)plan->reserved.modelled);
		doc_real(doc, "off", plan->reserved.off);
		doc_end(doc);
	}
	doc_bool(doc, "fits", plan->fits);
	json_turns(doc, advice);
	error = json_paste(doc, advice_paste_plan(advice));
	doc_end(doc);
	return error;
}

/* No range would be true: the changes, and why. */
static void json_unforetold(struct doc *doc, const struct effect_plan *plan)
{
	size_t i;

	doc_null(doc, "predicted");
	doc_array(doc, "not_predicted");
	for (i = 0; i < plan->turns; i++) {
		if (!plan->silence[i])
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "key", plan->turn[i].knob->name.key);
		doc_string(doc, "why", advise_silence_words(plan->silence[i]));
		doc_end(doc);
	}
	doc_end(doc);
}

/* Memory that the step takes after the request that failed. */
static void json_later(struct doc *doc, const struct replay *replay)
{
#define LATER_WORD(name, word) word,
	static const char *const words[] = { REPLAY_LATER_LIST(LATER_WORD) };
#undef LATER_WORD

	doc_object(doc, "later");
	doc_string(doc, "from", words[replay->later.from]);
	doc_int(doc, "bytes", (int64_t)replay->later.bytes);
	doc_int(doc, "count", replay->later.count);
	doc_end(doc);
}

static void json_head(struct doc *doc, const struct advice *advice)
{
	struct sentence sentence = { .size = 0 };

	if (advice->rows)
		advice_say_action(&sentence, advice, &advice->row[0]);
	if (advice->rows && advice->row[0].effect) {
		sentence_say(&sentence, " ");
		advice_say_setting(&sentence, advice, &advice->row[0]);
	}
	doc_string(doc, "answer", sentence.size ? sentence.text : "");
	sentence = advice->verdict;
	if (advice->nothing)
		sentence_say(&sentence, " %s", advice_nothing_held);
	why_say_verdict(&sentence, &advice->why);
	doc_string(doc, "verdict", sentence.text);
}

static void json_run(struct doc *doc, const struct advice *advice)
{
	const struct effects *effects = &advice->effects;
	const struct advise_config *config = effects->config;
	const struct advise_part *part = !advice->nothing && config->parts ? &config->part[0] : NULL;

	doc_string(doc, "framework", part ? part->file->framework : "");
	json_text(doc, "framework_version", part ? part->version : NULL);
	json_text(doc, "framework_evidence", part ? config->evidence : NULL);
	json_text(doc, "run_by", part ? config->wrapper : NULL);
	doc_object(doc, "peak");
	doc_int(doc, "bytes", (int64_t)effects->run.peak);
	json_text(doc, "phase", advice->nothing ? NULL : effects->run.phase);
	doc_int(doc, "in_use_bytes", (int64_t)effects->base);
	doc_int(doc, "device", effects->run.number);
	doc_end(doc);
	doc_int_or_null(doc, "limit_bytes", (int64_t)effects->limit, effects->limit != 0);
	doc_int(doc, "needed_bytes", (int64_t)effects->needed);
	if (effects->run.failed)
		json_later(doc, &effects->run.replay);
	doc_bool(doc, "configuration_known", !effects->blind);
}

int advice_json(struct doc *doc, const struct advice *advice, int64_t limit)
{
	const struct effect_plan *plan = &advice->effects.plan;
	int error;

	json_head(doc, advice);
	json_run(doc, advice);
	error = why_json(doc, &advice->why, limit > CAUSES_LEAST ? limit : CAUSES_LEAST);
	if (!error)
		error = json_settings(doc, advice, limit);
	json_actions(doc, advice);
	json_refusals(doc, advice);
	json_idle(doc, advice);
	if (plan->unforetold)
		json_unforetold(doc, plan);
	else if (plan->turns && !error)
		error = json_predicted(doc, advice);
	return error;
}
