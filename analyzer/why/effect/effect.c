#include "effect_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "method.h"

#define LAYERS_MANY 8   /* pieces of one place at one time: with as many, each comes from another layer */
#define PIECES_MANY 4   /* pieces of logits at one time: one loss has fewer */
#define BESIDE_SHARE 20 /* divisor: less than 1/20 of the removed bytes does not count */
#define PIECES_SHARE 10 /* divisor: pieces below 1/10 of the bytes in use refute nothing */

static uint64_t less(uint64_t base, uint64_t now)
{
	return now < base ? base - now : 0;
}

/* ---- the question -------------------------------------------------------------------------------------------------------- */

static int configure(struct effects *effects, const struct effect_request *request)
{
	struct advise_config *config;
	int error = mt_knobs_new(&effects->knobs, (char[256]){ "" }, 256);
	size_t i;

	if (!error)
		error = advise_config_new(&effects->config, effects->knobs);
	config = effects->config;
	if (!error)
		error = advise_config_framework(config, effects->scene->db, request->framework);
	if (!error)
		error = advise_config_command(config, effects->scene->db);
	if (!error && request->file)
		error = advise_config_file(config, request->file);
	for (i = 0; i < request->nows && !error; i++)
		error = advise_config_pair(config, request->now[i], ADVISE_NOW);
	for (i = 0; i < request->sets && !error; i++)
		error = advise_config_pair(config, request->set[i], ADVISE_SET);
	if (config)
		effects->blind = advise_config_is_blind(config);
	return error;
}

/* Sets the bytes in use, the limit, and the bytes that are missing. */
static void find_needed(struct effects *effects, uint64_t fit)
{
	const struct advise_run *run = &effects->run;
	const struct replay *replay = &run->replay;

	effects->base = run->it ? replay->request.all : replay->peak[replay->highest].bytes;
	effects->limit = fit ? fit : run->limit;
	effects->fit = fit != 0;
	if (effects->limit && effects->base > effects->limit)
		effects->needed = effects->base - effects->limit;
}

/* ---- whether to try a setting -------------------------------------------------------------------------------------------- */

/* Notes the reason why the setting has no effect here. */
static void say_idle(struct effect *effect, const char *why)
{
	snprintf(effect->why, sizeof(effect->why), "%s", why);
}

/* Whether the bytes are too few for a relaunch. */
static int is_small(const struct effects *effects, double bytes)
{
	return bytes < (double)effects->base / EFFECT_WORTH;
}

/*
 * Whether the recording excludes an effect of the method; effect->why gets the reason. Either all pieces of logits are resident at once; or no
 * backward follows the failed request, after a step without a backward, a generation or an evaluation.
 */
static int is_refuted(const struct effects *effects, struct effect *effect)
{
	const struct replay_site *site, *end = effects->run.replay.site + effects->run.replay.sites;
	const struct scene *scene = effects->scene;
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct mt_knob *knob = effect->knob;
	uint64_t tags = scene->request.node == SCENE_NONE ? 0 : scene->node[scene->request.node].tags;
	int keeps = 0, ends = process->who != MT_WHO_TRAINER && process->steps > 0;

	for (site = effects->run.replay.site; site < end; site++)
		keeps |= site->category == MT_CATEGORY_LOGITS && site->largest == site->smallest &&
			 site->then_count >= PIECES_MANY && site->then >= effects->base / PIECES_SHARE;
	ends |= !process->backward_end && tags & (MT_TAG_BIT(GENERATE) | MT_TAG_BIT(EVALUATION));
	if (knob->method == MT_KNOB_METHOD_LOGITS && knob->withins && knob->saves != MT_KNOB_SAVES_OFF && keeps)
		say_idle(effect, "its pieces are all kept at once");
	if (knob->method == MT_KNOB_METHOD_REMOVED && knob->leaves == MT_KNOB_LEAVES_BOUNDARIES && effects->run.it &&
	    ends)
		say_idle(effect, "no backward comes that would compute anything again");
	return *effect->why != '\0';
}

/*
 * Whether the recording refutes the default "on" of recomputation: activations waited for a backward, and nothing was recomputed. Before the end of
 * the first step, many layers must hold most of the activations. A compiler can recompute without a frame: compiled code counts as recomputed.
 */
static int is_shown_off(const struct effects *effects, const struct effect *effect)
{
	const uint64_t tags = MT_TAG_BIT(RECOMPUTE) | MT_TAG_BIT(COMPILE);
	const struct replay_site *site, *end = effects->run.replay.site + effects->run.replay.sites;
	uint64_t waiting = 0, layers = 0, all = 0;

	if (effect->now.origin != ADVISE_DEFAULT || effect->action != MT_ACTION_CHECKPOINT || !effect->knob->proofs ||
	    effect->knob->saves != MT_KNOB_SAVES_ON)
		return 0;
	for (site = effects->run.replay.site; site < end; site++) {
		if (site->category == MT_CATEGORY_RECOMPUTED || (site->tags & tags && site->then))
			return 0;
		if (site->category != MT_CATEGORY_ACTIVATIONS || site->phase != MT_PHASE_FORWARD)
			continue;
		waiting += site->held[MT_PHASE_BACKWARD];
		layers += site->many >= LAYERS_MANY ? site->then : 0;
		all += site->then;
	}
	if (effects->run.steps > 0)
		return !is_small(effects, (double)waiting);
	return layers > all / 2 && layers > effects->base / PIECES_SHARE;
}

/* Adds a condition to an effect that depends on an unknown fact: a type, a later backward, or what a wrapper has changed. */
static void say_unknown(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	const struct mt_knob_constraint *constraint;
	char words[ADVISE_WORDS_MAX];
	uint32_t i;

	if (knob->written == MT_KNOB_WRITTEN_CODE && knob->weighs && !effects->run.model.element)
		snprintf(effect->only, sizeof(effect->only), "%s",
			 knob->categories == CATEGORY(OPTIMIZER_STATE) ? "these are states of an Adam, in float32"
								       : "the forward pass computes in float32 now");
	if (effect->action == MT_ACTION_CHECKPOINT &&
	    effects->scene->process[effects->scene->request.process].who == MT_WHO_MODEL)
		snprintf(effect->only, sizeof(effect->only), "the model trains");
	if (!effects->config->wrapper || advise_is_anybodys(knob))
		return;
	for (i = 0; i < knob->constraints && !*effect->only; i++) {
		constraint = &knob->constraint[i];
		if (constraint->kind == MT_KNOB_CONSTRAINT_NEEDS &&
		    advise_constraint_holds(effects->config, knob, constraint, words) == ADVISE_HOLDS_UNKNOWN)
			snprintf(effect->only, sizeof(effect->only), "%.200s allows it", constraint->key);
	}
	if (!*effect->only && effect->now.origin == ADVISE_NOBODY && knob->measure == MT_KNOB_UNIT_SWITCH)
		snprintf(effect->only, sizeof(effect->only), "it is %s now",
			 knob->saves == MT_KNOB_SAVES_ON ? "off" : "on");
}

/* Whether configuration and recording allow a change of the setting. 0: no effect, and effect->why has the reason. */
static int is_open(const struct effects *effects, struct effect *effect, int backend)
{
	const struct mt_knob *knob = effect->knob;
	char why[ADVISE_WORDS_MAX] = "";
	enum advise_standing standing = advise_config_standing(effects->config, knob, effects->run.model.largest, why);
	int is_default = effect->now.origin <= ADVISE_DEFAULT, can_be_off = knob->saves == MT_KNOB_SAVES_OFF;

	if (standing == ADVISE_STANDING_ABSENT)
		return 0;
	/* The recording can prove "on" of a setting that saves when off, and can refute a default "on". */
	if (is_default && can_be_off && (knob->measure == MT_KNOB_UNIT_SWITCH || knob->turned_off) &&
	    effect_is_proved(effects, knob, (char[ADVISE_WORDS_MAX]){ "" }))
		effect_show(effect, knob->turned_off ? "on" : "true");
	else if (standing == ADVISE_STANDING_ALREADY && is_shown_off(effects, effect))
		effect_show(effect, "false");
	if (effect->now.origin == ADVISE_SHOWN || standing == ADVISE_STANDING_OPEN)
		return 1;
	if (standing != ADVISE_STANDING_NO_EFFECT || !effects->blind) {
		snprintf(effect->why, sizeof(effect->why), "%s%.480s",
			 standing == ADVISE_STANDING_NO_EFFECT ? "has no effect here: " : "", why);
		return 0;
	}
	/* If the configuration is unknown, the default of a needed setting is a condition, unless the stacks show the backend. */
	if (backend <= 0)
		snprintf(effect->only, sizeof(effect->only), "this changes first: %.480s", why);
	return 1;
}

/* Returns 1: there is a value to try; 0: no effect, with or without a reason in effect->why. */
static int is_to_try(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	int backend = effect_backend(effects, knob);

	if (effects->blind && backend < 0)
		return 0;
	if (knob->saves != MT_KNOB_SAVES_OFF && effect_is_proved(effects, knob, effect->why))
		return 0;
	if (is_refuted(effects, effect) || !is_open(effects, effect, backend))
		return 0;
	if (knob->method == MT_KNOB_METHOD_NONE || knob->saves == MT_KNOB_SAVES_NONE) {
		effect->untold = knob->saves != MT_KNOB_SAVES_NONE;
		return 0;
	}
	if (knob->method == MT_KNOB_METHOD_ALLOCATOR)
		return 1;
	if (!effect_propose(effects, effect))
		return 0;
	say_unknown(effects, effect);
	return 1;
}

static uint64_t most_of(const struct effects *effects, const struct advise_outcome *outcome)
{
	return effects->run.it ? outcome->asked.high : outcome->peak.high;
}

static int outcome_fits(const struct effects *effects, const struct advise_outcome *outcome)
{
	return effects->limit && most_of(effects, outcome) <= effects->limit &&
	       (!effects->fit || outcome->peak.high <= effects->limit);
}

/* ---- the result ------------------------------------------------------------------------------------------------------- */

/* Whether the setting is enough for a series of unknown length. Such a setting removes most of the series, and not only one request. */
static int ends_series(const struct effects *effects, const struct effect *effect)
{
	const struct replay *replay = &effects->run.replay;
	const struct replay_site *site = &replay->site[replay->request.site];

	return replay->later.from != REPLAY_LATER_SERIES || !effects->run.it ||
	       (effect->knob->categories & 1u << site->category && effect->saved.low >= site->then / 4 * 3);
}

/* Takes the removed bytes by site, their main category and process. Returns 0: almost none are in the setting's own categories. */
static int take_parts(const struct effects *effects, struct effect *effect, const struct advise_trial *trial)
{
	const struct replay *replay = &effects->run.replay;
	uint64_t most = 0, of[MT_CATEGORY_COUNT] = { 0 }, guessed[MT_CATEGORY_COUNT] = { 0 }, own = 0, all = 0;
	const struct mt_knob *knob = effect->knob;
	const struct replay_site *site;
	size_t i;

	effect->part = trial->part;
	for (i = 0; i < trial->parts; i++) {
		const struct candidate_part part = trial->part[i];

		site = &replay->site[part.site];
		of[site->category] += part.bytes;
		guessed[site->category] += site->known ? 0 : part.bytes;
		all += part.bytes;
		own += knob->categories & 1u << site->category ? part.bytes : 0;
		if (part.bytes > most) {
			most = part.bytes;
			effect->process = scene_process_of(effects->scene, site->process);
		}
		if (site->id)
			effect->part[effect->parts++] = (struct candidate_part){
				scene_site_of(effects->scene, site->id), part.bytes
			};
	}
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (of[i] > of[effect->category])
			effect->category = (enum mt_category)i;
	effect->later = !all;
	if (effect->later && knob->categories)
		effect->category = (enum mt_category)__builtin_ctz(knob->categories);
	effect->probable = guessed[effect->category] > of[effect->category] / 2;
	return knob->method == MT_KNOB_METHOD_LOGITS || knob->method == MT_KNOB_METHOD_SHARE ||
	       own >= all / BESIDE_SHARE;
}

static void take_trial(struct effects *effects, struct effect *effect, const struct advise_trial *trial)
{
	const struct advise_outcome *outcome = &trial->outcome;
	const struct advise_range *range = effects->run.it ? &outcome->asked : &outcome->peak;
	const struct mt_knob *knob = effect->knob;
	int is_own = take_parts(effects, effect, trial);

	effect->untold = !trial->works && trial->silence == ADVISE_SILENT_NO_ESTIMATE;
	effect->outcome = *outcome;
	effect->saved = (struct advise_range){ less(effects->base, range->high), less(effects->base, range->low) };
	if (!trial->works)
		say_idle(effect, advise_silence_words(trial->silence));
	else if (is_small(effects, (double)effect->saved.high))
		say_idle(effect, "moves next to nothing of what was there");
	else if (!is_own)
		say_idle(effect, "moves none of the bytes that it is about");
	else
		effect->works = 1;
	if (effect->works && knob->measure == MT_KNOB_UNIT_GPUS && knob->saves == MT_KNOB_SAVES_HIGHER &&
	    knob->cost < MT_KNOB_COST_GPUS && effects->run.alone)
		effect->cost = MT_KNOB_COST_GPUS;
	effect->fits = effect->works && outcome_fits(effects, outcome) && ends_series(effects, effect);
}

/* ---- the allocator --------------------------------------------------------------------------------------------------------- */

/*
 * The saving is at most the free bytes between blocks, in the requesting process or in the one with most slack. Empty segments go back without any
 * setting. `memana frag --replay` computes the saving. PyTorch refuses expandable segments for a sleeping pool.
 */
static int try_allocator(struct effects *effects, struct effect *effect)
{
	const struct scene *scene = effects->scene;
	const struct scene_process *process = &scene->process[scene->request.process];
	struct advise_trial trial = { .works = 0 };
	int failed = effects->run.it != NULL, error;
	size_t i;

	if (effect->knob->saves != MT_KNOB_SAVES_ON || effect->knob->written != MT_KNOB_WRITTEN_ENVIRONMENT)
		return 0;
	for (i = 0; i < scene->processes && !failed; i++)
		process = scene->process[i].slack > process->slack ? &scene->process[i] : process;
	if (process->expandable)
		say_idle(effect, "already on: the recorded segments are mapped");
	if (process->expandable || process->has_pool)
		return 0;
	advise_value_text(effect->to, effect->knob, 1);
	effect->saved.high = process->slack - process->idle;
	effect->works = !is_small(effects, (double)effect->saved.high) &&
			(!failed || oom_missing(effects->run.it) <= effect->saved.high);
	effect->category = MT_CATEGORY_SLACK;
	effect->process = (uint32_t)(process - scene->process);
	error = advise_try(&effects->run, effects->config, NULL, 0, &trial, 1);
	effect->outcome = trial.outcome;
	return error;
}

/* ---- all ------------------------------------------------------------------------------------------------------------------- */

/* Collects the settings that apply to this run. Returns 0 or -MT_E_MEMORY. */
static int collect(struct effects *effects)
{
	struct advise_config *config = effects->config;
	const struct mt_knob *knob;
	struct effect *effect;
	size_t room = 0;
	uint32_t part, i;

	for (part = 0; part < config->parts; part++)
		room += config->part[part].file->knobs;
	effects->all = calloc(room + 1, sizeof(*effects->all));
	effects->effect = calloc(room + 1, sizeof(struct effect *));
	if (!effects->all || !effects->effect)
		return -MT_E_MEMORY;
	for (part = 0; part < config->parts; part++)
		for (i = 0; i < config->part[part].file->knobs && effect_is_there(effects, part); i++) {
			knob = &config->part[part].file->knob[i];
			if (advise_config_through(config, knob) || !effect_is_meant(effects, knob))
				continue;
			effect = effects->effect[effects->effects] = &effects->all[effects->effects];
			effects->effects++;
			effect->knob = knob;
			effect->action = effect_action(knob);
			effect->process = SCENE_NONE;
			effect->cost = knob->cost;
			effect->now = advise_config_value(config, knob);
		}
	return 0;
}

static int try_all(struct effects *effects)
{
	struct advise_trial *trial = calloc(effects->effects + 1, sizeof(*trial));
	struct effect **of = calloc(effects->effects + 1, sizeof(struct effect *)), *effect;
	size_t count = 0, i;
	int error = trial && of ? 0 : -MT_E_MEMORY;

	for (i = 0; i < effects->effects && !error; i++) {
		effect = &effects->all[i];
		if (!is_to_try(effects, effect))
			continue;
		if (effect->knob->method == MT_KNOB_METHOD_ALLOCATOR) {
			error = try_allocator(effects, effect);
			continue;
		}
		of[count] = effect;
		trial[count++] = (struct advise_trial){ .move = { effect->knob, effect->begins, effect->to },
							.itemized = 1 };
	}
	if (!error)
		error = advise_try(&effects->run, effects->config, NULL, 0, trial, count);
	for (i = 0; i < count; i++)
		take_trial(effects, of[i], &trial[i]);
	free(trial);
	free(of);
	return error;
}

/* ---- given ------------------------------------------------------------------------------------------------------------- */

/* Takes the newest value of each setting of --set. */
static void take_given(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	const struct advise_setting *setting = effects->config->setting, *end = setting + effects->config->settings;
	size_t k;

	for (; setting < end && plan->moves < EFFECT_MOVES_MAX; setting++) {
		if (setting->origin != ADVISE_SET || !setting->knob)
			continue;
		for (k = 0; k < plan->moves && plan->move[k].knob != setting->knob; k++)
			;
		plan->move[k] = (struct advise_move){ setting->knob,
						      advise_config_value(effects->config, setting->knob).text,
						      setting->value };
		plan->moves += k == plan->moves;
	}
}

static int plan_given(struct effects *effects)
{
	const uint32_t unknown = 1u << ADVISE_SILENT_NO_ESTIMATE | 1u << ADVISE_SILENT_NOT_RECORDED |
				 1u << ADVISE_SILENT_NO_VALUE;
	struct effect_plan *plan = &effects->plan;
	struct advise_trial trial = { .works = 0 };
	size_t k;
	int error = 0;

	take_given(effects);
	plan->asked = plan->moves > 0;
	for (k = 0; k < plan->moves && !error; k++) {
		trial = (struct advise_trial){ .move = plan->move[k] };
		error = advise_try(&effects->run, effects->config, plan->move, k, &trial, 1);
		plan->silence[k] = trial.silence;
		plan->unforetold |= (unknown & 1u << trial.silence) != 0;
	}
	plan->outcome = trial.outcome;
	plan->fits = plan->moves && effects->limit && trial.outcome.peak.high <= effects->limit &&
		     trial.outcome.asked.high <= effects->limit;
	return error;
}

/* ---- a plan that fits ---------------------------------------------------------------------------------------------------------- */

#define TRIED_MAX 64 /* largest number of settings that are tried, best first */

/* Factors of the saved bytes: a setting that costs time or changes results must save more bytes than a free one. */
static const double price[MT_KNOB_COSTS] = { 1, 0.8, 0.4, 0.2, 0.15 };

static int is_taken(const struct effect_plan *plan, const struct effect *effect)
{
	size_t i;

	for (i = 0; i < plan->moves && plan->effect[i] != effect; i++)
		;
	return i < plan->moves;
}

/* Tries each setting together with the plan, and adds the best one. Returns 1: one was added; 0: no setting helps; or -MT_E_x. */
static int take_next(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	struct advise_trial trial[TRIED_MAX];
	const struct effect *effect[TRIED_MAX], *it;
	uint64_t base = plan->moves ? most_of(effects, &plan->outcome) : effects->base;
	size_t count = 0, best = TRIED_MAX, i;
	double saved, worth, most = 0;
	int error, does_fit;

	for (i = 0; i < effects->effects && count < TRIED_MAX; i++) {
		it = effects->effect[i];
		if (!it->works || it->knob->method == MT_KNOB_METHOD_ALLOCATOR || is_taken(plan, it))
			continue;
		effect[count] = it;
		trial[count++] = (struct advise_trial){ .move = { it->knob, it->begins, it->to } };
	}
	error = advise_try(&effects->run, effects->config, plan->move, plan->moves, trial, count);
	for (i = 0; i < count && !error; i++) {
		saved = (double)less(base, most_of(effects, &trial[i].outcome));
		does_fit = outcome_fits(effects, &trial[i].outcome);
		worth = price[effect[i]->cost] * saved;
		if (!trial[i].works || saved < (double)effects->base / EFFECT_WORTH || does_fit < plan->fits ||
		    (does_fit == plan->fits && worth <= most))
			continue;
		plan->fits = does_fit;
		most = worth;
		best = i;
	}
	if (error || best == TRIED_MAX)
		return error;
	plan->effect[plan->moves] = effect[best];
	plan->move[plan->moves++] = trial[best].move;
	plan->outcome = trial[best].outcome;
	return 1;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

static int load_settings(struct effects *effects)
{
	struct effect_plan *plan = &effects->plan;
	int error = collect(effects), more;

	if (!error)
		error = try_all(effects);
	if (error || !effects->effects)
		return error;
	qsort(effects->effect, effects->effects, sizeof(struct effect *), effect_order);
	more = effects->needed && !plan->moves && (effects->fit || !effects->effect[0]->fits);
	while (more > 0 && plan->moves < EFFECT_TOGETHER_MAX && !plan->fits)
		more = take_next(effects);
	return more < 0 ? more : 0;
}

int effects_load(struct effects *effects, const struct scene *scene, const struct effect_request *request)
{
	int error;

	*effects = (struct effects){ .scene = scene };
	error = advise_run_load(&effects->run, scene);
	if (!error)
		error = configure(effects, request);
	if (error)
		return error;
	advise_find_models(&effects->run, effects->config->part[0].file);
	find_needed(effects, request->fit);
	error = plan_given(effects);
	return error ? error : load_settings(effects);
}

void effects_release(struct effects *effects)
{
	size_t i;

	for (i = 0; i < effects->effects; i++)
		free(effects->all[i].part);
	free(effects->all);
	free(effects->effect);
	advise_run_release(&effects->run);
	advise_config_free(effects->config);
	mt_knobs_free(effects->knobs);
	memset(effects, 0, sizeof(*effects));
}
