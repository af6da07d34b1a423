/* memana advise --json */
#include <stdlib.h>
#include "advise.h"
#include "memtrace/error.h"

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
	uint32_t phase;

	json_range(doc, "peak_bytes", advise_held_range(advice, outcome->peak));
	json_range(doc, "in_use_bytes", outcome->peak);
	if (advice->run.failed)
		json_range(doc, "with_request_bytes", outcome->asked);
	doc_string(doc, "phase", mt_phase_name(outcome->in));
	doc_array(doc, "by_phase");
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!outcome->phase[phase].high)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "phase", mt_phase_name(phase));
		json_range(doc, "bytes", advise_held_range(advice, outcome->phase[phase]));
		doc_end(doc);
	}
	doc_end(doc);
}

static int json_paste(struct doc *doc, const struct advice *advice, const char *key, const struct advise_change *change,
		      size_t changes)
{
	char *paste = advise_paste(advice->config, change, changes);

	if (!paste)
		return -MT_E_MEMORY;
	json_text(doc, key, paste);
	free(paste);
	return 0;
}

static void json_names(struct doc *doc, const struct advice *advice, const struct mt_knob *knob)
{
	const struct mt_knob_name *name[MT_KNOB_OLDER_MAX + 1];
	uint32_t count = advise_config_names(advice->config, knob, name), i;

	doc_array(doc, "names");
	for (i = 0; i < count; i++)
		doc_string(doc, NULL, name[i]->key);
	doc_end(doc);
}

static int json_row(struct doc *doc, const struct advice *advice, const struct advise_row *row)
{
	const struct advise_part *part = advise_config_part(advice->config, row->knob);
	struct advise_change change = { row->knob, row->to };
	int error = 0;

	doc_object(doc, NULL);
	doc_string(doc, "key", row->knob->name.key);
	json_names(doc, advice, row->knob);
	json_text(doc, "framework", part ? part->file->framework : NULL);
	doc_string(doc, "what", row->knob->what);
	json_text(doc, "now", row->now);
	json_text(doc, "now_from", row->now_from);
	doc_string(doc, "proposed", row->halves ? advise_relative_words(row->knob) : row->to);
	json_range(doc, "saved_bytes", row->saved);
	doc_bool(doc, "fits", row->fits);
	doc_string(doc, "phase", advice->run.phase);
	doc_string(doc, "category", mt_category_name(row->category));
	doc_string(doc, "known", row->probable ? "probable" : "known");
	doc_string(doc, "cost", mt_knob_cost_words(row->cost));
	json_text(doc, "effect", advise_effect(advice, row->knob));
	json_text(doc, "not_so", row->knob->not_so);
	json_text(doc, "only_if", row->only);
	doc_string(doc, "evidence", row->evidence);
	doc_string(doc, "method", mt_knob_method_word(row->knob->method));
	if (!row->halves && advise_can_paste(advice, row->knob, row->by))
		error = json_paste(doc, advice, "paste", &change, 1);
	else
		doc_null(doc, "paste");
	doc_object(doc, "predicted");
	json_outcome(doc, advice, &row->outcome);
	doc_end(doc);
	doc_end(doc);
	return error;
}

static int json_predicted(struct doc *doc, const struct advice *advice)
{
	struct advise_change change[ADVISE_TURNS_MAX];
	size_t changes = 0, i;
	int error;

	doc_object(doc, "predicted");
	json_outcome(doc, advice, &advice->outcome);
	if (advice->reserved.known) {
		doc_object(doc, "reserved");
		doc_int(doc, "recorded_bytes", (int64_t)advice->reserved.recorded);
		doc_int(doc, "bytes", (int64_t)advice->reserved.modelled);
		doc_real(doc, "off", advice->reserved.off);
		doc_end(doc);
	}
	doc_bool(doc, "fits", advice->together_fits);
	doc_array(doc, "settings");
	for (i = 0; i < advice->turns; i++) {
		if (!advice->turn_halves[i] && advise_can_paste(advice, advice->turn[i].knob, advice->turn_by[i]))
			change[changes++] = (struct advise_change){ advice->turn[i].knob, advice->turn[i].to };
		doc_object(doc, NULL);
		doc_string(doc, "key", advice->turn[i].knob->name.key);
		json_text(doc, "now", advice->turn_halves[i] ? NULL : advice->turn[i].now);
		doc_string(doc, "to",
			   advice->turn_halves[i] ? advise_relative_words(advice->turn[i].knob) : advice->turn[i].to);
		json_text(doc, "silent", advise_silence_words(advice->silence[i]));
		doc_end(doc);
	}
	doc_end(doc);
	error = json_paste(doc, advice, "paste", change, changes);
	doc_end(doc);
	return error;
}

/* No range would be true: the changes, and why. */
static void json_unforetold(struct doc *doc, const struct advice *advice)
{
	size_t i;

	doc_null(doc, "predicted");
	doc_array(doc, "not_predicted");
	for (i = 0; i < advice->turns; i++) {
		if (!advice->silence[i])
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "key", advice->turn[i].knob->name.key);
		doc_string(doc, "why", advise_silence_words(advice->silence[i]));
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_refusals(struct doc *doc, const struct advice *advice)
{
	size_t i;

	doc_array(doc, "refusals");
	for (i = 0; i < advice->refusals; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "reason", advise_reason_word(advice->refusal[i].reason));
		doc_bool(doc, "no_setting_helps", advice->refusal[i].whole);
		doc_string(doc, "evidence", advice->refusal[i].evidence);
		doc_string(doc, "instead", advice->refusal[i].instead);
		doc_end(doc);
	}
	doc_end(doc);
	doc_array(doc, "idle");
	for (i = 0; i < advice->idles; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "key", advice->idle[i].knob->name.key);
		doc_string(doc, "why", advice->idle[i].why);
		doc_end(doc);
	}
	doc_end(doc);
	doc_array(doc, "warnings");
	for (i = 0; i < advice->config->warnings; i++)
		doc_string(doc, NULL, advice->config->warning[i]);
	doc_end(doc);
}

/* What its step takes after the request that failed. */
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

int advise_json(struct doc *doc, const struct advice *advice, int64_t limit)
{
	const struct advise_config *config = advice->config;
	size_t i;
	int error = 0;

	doc_string(doc, "framework", config->parts ? config->part[0].file->framework : "");
	json_text(doc, "framework_version", config->parts ? config->part[0].version : NULL);
	json_text(doc, "framework_evidence", config->evidence);
	json_text(doc, "run_by", config->wrapper);
	doc_string(doc, "answer", advice->answer.text);
	doc_string(doc, "verdict", advice->verdict.text);
	doc_object(doc, "peak");
	doc_int(doc, "bytes", (int64_t)advice->run.peak);
	doc_string(doc, "phase", advice->run.phase);
	doc_int(doc, "in_use_bytes", (int64_t)advice->base);
	doc_int(doc, "device", advice->run.number);
	doc_end(doc);
	doc_int_or_null(doc, "limit_bytes", (int64_t)advice->limit, advice->limit != 0);
	doc_int(doc, "needed_bytes", (int64_t)advice->needed);
	if (advice->run.failed)
		json_later(doc, &advice->run.replay);
	doc_bool(doc, "configuration_known", !advice->blind);
	doc_array(doc, "knobs");
	for (i = 0; i < advice->rows && (int64_t)i < limit && !error; i++)
		error = json_row(doc, advice, &advice->row[i]);
	doc_end(doc);
	json_refusals(doc, advice);
	if (advice->unforetold && !error)
		json_unforetold(doc, advice);
	else if (advice->predicted && !error)
		error = json_predicted(doc, advice);
	return error;
}
