#include "advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/oom/oom_words.h"
#include "report/peak_points.h"
#include "report/peak_verdict.h"
#include "report/top_host.h"

const char *advise_reason_word(enum advise_reason reason)
{
#define ADVISE_REASON_WORD(name, word) word,
	static const char *const words[] = { ADVISE_REASON_LIST(ADVISE_REASON_WORD) };
#undef ADVISE_REASON_WORD

	return words[reason];
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
	if (config)
		advice->blind = advise_config_is_blind(config);
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
	for (k = 0; k < advice->turns; k++)
		if (advice->silence[k] == ADVISE_SILENT_NO_ESTIMATE ||
		    advice->silence[k] == ADVISE_SILENT_NOT_RECORDED || advice->silence[k] == ADVISE_SILENT_NO_VALUE)
			advice->unforetold = 1;
	advice->outcome = trial.outcome;
	advice->together_fits = advice->limit && trial.outcome.peak.high <= advice->limit &&
				trial.outcome.asked.high <= advice->limit;
	return error;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------ */

/* What there is most of at the moment in question, bytes. */
static uint64_t most_of(const struct advise_run *run, uint8_t *category)
{
	uint64_t held, most = 0;
	uint8_t i;

	*category = MT_CATEGORY_OTHER;
	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		held = advise_held_then(run, 1u << i);
		if (held > most) {
			most = held;
			*category = i;
		}
	}
	return most;
}

static void say_peak(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	struct sentence *verdict = &advice->verdict;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	uint8_t category;
	uint64_t most = most_of(run, &category);

	sentence_say(verdict, "Peak %s held", text_bytes(size, run->peak));
	if (run->total)
		sentence_say(verdict, " of %s", text_bytes(total, run->total));
	sentence_say(verdict, " on %s, ", answer_device(device, run->number, run->kind));
	peak_say_phase(verdict, run->phase, 0, 0);
	sentence_say(verdict, ".");
	if (most)
		sentence_say(verdict, " The largest part of it is %s, %s.",
			     category == MT_CATEGORY_OTHER ? "of no known purpose" : mt_category_name(category),
			     text_bytes(size, most));
}

/* No row: what can be said without a setting's name. After a failed request that has been said. */
static void say_remedy(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	const char *framework = advice->config->parts ? advice->config->part[0].file->framework : "no framework";
	const char *remedy;
	uint8_t category;

	most_of(run, &category);
	remedy = run->failed ? NULL : oom_remedy(mt_category_name(category));
	if (remedy)
		sentence_say(&advice->verdict, " To make less of it: %s.", remedy);
	sentence_say(&advice->verdict, " Of the settings of %s that are known here none moves it%s", framework,
		     strcmp(framework, "pytorch") ? "." : ": if this is another framework's run, say --framework.");
}

/* The setting that comes first, as the end of a sentence. */
static void say_first_row(struct advice *advice, const char *begins)
{
	char size[2][TEXT_SIZE_MAX];
	const struct advise_row *row = advice->row;

	if (row->knob->written == MT_KNOB_WRITTEN_CODE)
		sentence_say(&advice->verdict, " %s %s", begins, row->knob->what);
	else
		sentence_say(&advice->verdict, " %s %s = %s", begins, row->knob->name.key, row->to);
	sentence_say(&advice->verdict, ": it saves %s%s", row->probable ? "probably " : "",
		     text_bytes(size[0], row->saved.low));
	if (row->saved.low != row->saved.high)
		sentence_say(&advice->verdict, " to %s", text_bytes(size[1], row->saved.high));
	sentence_say(&advice->verdict, row->fits        ? row->probable ? ", and probably it fits." : ", and it fits."
				       : advice->needed ? "; alone that is not certain to be enough."
							: ".");
}

/* With everybody's memory, where somebody counted it. */
static uint64_t fullest(const struct advise_run *run)
{
	return run->used > run->peak ? run->used : run->peak;
}

/* Nothing failed, and a good part of the device was never held: nothing has to change. */
int advise_is_healthy(const struct advice *advice)
{
	const struct advise_run *run = &advice->run;

	return !run->failed && !advice->fit && !advice->refusals && run->total && run->peak < run->total / 10 * 9 &&
	       fullest(run) < run->total / 20 * 19;
}

int advise_settings_too(const struct advice *advice)
{
	return advice->refusals && advice->refusal[0].reason == ADVISE_REASON_LEFT && advice->rows && advice->row->aims;
}

/* After what happened: what follows from it. What goes before any setting goes before it here, too. */
static void conclude(struct advice *advice)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < advice->refusals; i++)
		if (advice->refusal[i].whole) {
			sentence_say(&advice->verdict, " No setting fixes this: %s.", advice->refusal[i].instead);
			return;
		}
	if (advice->refusals && !strstr(advice->verdict.text, advice->refusal[0].instead))
		sentence_say(&advice->verdict, " Before any setting: %s.", advice->refusal[0].instead);
	if (advise_settings_too(advice))
		say_first_row(advice, "Try");
	else if (advice->refusals)
		return;
	else if (advise_is_healthy(advice))
		sentence_say(&advice->verdict,
			     " Nothing failed, and %s was never %s: the highest is %s of the device, and nothing has to change.",
			     text_bytes(size, advice->run.total - fullest(&advice->run)),
			     advice->run.used > advice->run.peak ? "in use by anybody" : "held",
			     text_percent(share, fullest(&advice->run), advice->run.total));
	else if (!advice->rows)
		say_remedy(advice);
	else
		say_first_row(advice, *advice->row->only ? "If it counts here, try" : "Try");
}

/* What the host ended begins with the host: how high the GPU was has nothing to do with it. */
static int say_verdict(struct advice *advice)
{
	int error = 0;

	if (advice->run.failed) {
		oom_say_briefly(&advice->verdict, &advice->run.oom);
		if (advice->verdict.size && advice->verdict.text[advice->verdict.size - 1] != '.')
			sentence_say(&advice->verdict, ".");
	} else {
		error = top_host_say(&advice->verdict, advice->run.db);
		if (!error && !advice->verdict.size) {
			say_peak(advice);
			if (advice->run.history && strcmp(advice->run.kind, "cpu") != 0)
				error = peak_points_say(&advice->verdict, advice->run.db, advice->run.device);
		}
	}
	if (error >= 0)
		conclude(advice);
	return error < 0 ? error : 0;
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
		error = say_verdict(advice);
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
