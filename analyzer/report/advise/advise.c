#include "advise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

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

static int take_doer(void *context, struct db_stmt *row)
{
	struct advise_doer *doer = context;

	mt_copy_text(doer->function, sizeof(doer->function), db_text(row, 0));
	mt_copy_text(doer->place, sizeof(doer->place), db_text(row, 1));
	return 0;
}

/* The innermost frame on the stack that asked whose file is so. */
static int find_frame(struct advice *advice, const char *condition)
{
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION ALL SELECT parent, depth + 1 FROM up JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL AND depth < ?2) SELECT function, replace(file, rtrim(file, replace(file, '/', '')), '') || ':' || line "
		"FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE function IS NOT NULL AND kind = 'python' AND (%s) ORDER BY depth LIMIT 1";
	const int64_t node[ANSWER_PARAMETERS] = { advice->run.failed ? advice->run.oom.it->node : 0,
						  MT_STACK_DEPTH_MAX };
	char words[1536];

	if (!node[0] || (size_t)snprintf(words, sizeof(words), sql, condition) >= sizeof(words))
		return 0;
	return answer_rows(advice->run.db, words, node, take_doer, &advice->doer);
}

/* Who asked for what failed: the innermost that is no library's; of the main framework, where all are. */
static int find_doer(struct advice *advice)
{
	static const char nobody_below[] =
		"'/' || file NOT LIKE '%/torch/%' AND '/' || file NOT LIKE '%/deepspeed/%' AND '/' || file NOT LIKE "
		"'%/accelerate/%' AND '/' || file NOT LIKE '%/transformers/%' AND '/' || file NOT LIKE '%/contextlib.py'";
	const struct advise_config *config = advice->config;
	const struct mt_knob_file *file = config->parts ? config->part[0].file : NULL;
	char condition[640];
	int error = find_frame(advice, nobody_below);
	uint32_t i;

	for (i = 0; file && i < file->frames && !error && !*advice->doer.function; i++) {
		if (strpbrk(file->frame[i], "'%") || strlen(file->frame[i]) > 256)
			continue;
		snprintf(condition, sizeof(condition), "file LIKE '%s%%' OR file LIKE '%%/%s%%'", file->frame[i],
			 file->frame[i]);
		error = find_frame(advice, condition);
	}
	return error;
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

int advise(struct advice *advice, struct db *db, const struct advise_request *request)
{
	int error;

	*advice = (struct advice){ .asleep = MT_CATEGORY_COUNT };
	error = advise_run_load(&advice->run, db);
	if (!error)
		error = advise_find_brought(&advice->run);
	if (!error)
		error = advise_find_engine(&advice->run);
	if (!error)
		error = configure(advice, request);
	if (error)
		return error;
	find_facts(advice);
	if (advice->config->parts)
		error = advise_find_models(&advice->run, advice->config->part[0].file);
	if (!error)
		error = find_doer(advice);
	if (error)
		return error;
	advise_find_question(&advice->run);
	find_need(advice, request);
	error = predict(advice);
	if (!error && advice->run.failed)
		error = advise_find_apart(advice);
	if (!error)
		error = advise_refuse(advice, request->name);
	if (!error && !advice->refusals)
		error = advise_refuse_messages(advice);
	if (!error)
		advise_say_tiles(advice);
	if (!error)
		error = advise_refuse_outlier(advice);
	if (!error && !advice->refusals)
		error = advise_refuse_uneven(advice);
	if (!error)
		error = advise_refuse_beside(advice);
	if (!error)
		error = advise_choose(advice);
	if (!error)
		error = advise_refuse_cast(advice);
	if (!error)
		error = !advice->refusals && advise_is_outlier(advice) ? advise_refuse_tokens(advice)
								       : advise_refuse_untouched(advice);
	if (!error)
		error = advise_answer(advice);
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
