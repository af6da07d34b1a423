#include "effect_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "method.h"

#define AT_ONCE 8       /* most trials of one sweep: REPLAY_SCENARIOS_MAX / 2 */
#define LAYERS_MANY 8   /* least pieces of one place at once: one from each of several layers */
#define PIECES_MANY 4   /* least pieces of logits at once: one loss has fewer */
#define BESIDE_SHARE 20 /* divisor: less than 1/20 of the changed bytes is beside the point */
#define PIECES_SHARE 10 /* divisor: pieces of less than 1/10 of the bytes in use are no reason */

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

/* Sets facts for constraints, the bytes in use, and those that are missing. */
static void find_facts(struct effects *effects, uint64_t fit)
{
	const struct advise_run *run = &effects->run;
	uint32_t phase;

	effects->facts.fact[MT_KNOB_FACT_LARGEST_WEIGHT] = run->model.largest;
	effects->facts.fact[MT_KNOB_FACT_LAYERS] = run->model.layers;
	effects->facts.fact[MT_KNOB_FACT_GPUS] = run->gpus;
	effects->base = run->replay.request.all;
	for (phase = 0; phase < MT_PHASE_COUNT && !run->failed; phase++)
		if (run->replay.peak[phase].bytes > effects->base)
			effects->base = run->replay.peak[phase].bytes;
	effects->limit = fit ? fit : run->limit;
	effects->fit = fit != 0;
	if (effects->limit && effects->base > effects->limit)
		effects->needed = effects->base - effects->limit;
}

/* ---- whether it is to be tried ------------------------------------------------------------------------------------------- */

/* Notes why the setting has no effect here. Returns 0: no trial. */
static int is_idle(struct effect *effect, const char *why)
{
	snprintf(effect->why, sizeof(effect->why), "%s", why);
	return 0;
}

/* Whether the bytes are no reason to relaunch. */
static int is_small(const struct effects *effects, double bytes)
{
	return bytes < (double)effects->base / EFFECT_WORTH;
}

/* Whether all pieces of logits are resident at once: chunks should go one by one. */
static int keeps_pieces(const struct effects *effects)
{
	const struct replay_site *site, *end = effects->run.replay.site + effects->run.replay.sites;

	for (site = effects->run.replay.site; site < end; site++)
		if (site->category == MT_CATEGORY_LOGITS && site->largest == site->smallest &&
		    site->then_count >= PIECES_MANY && site->then >= effects->base / PIECES_SHARE)
			return 1;
	return 0;
}

/* Whether no backward follows the failed request: a whole step had none, or a generation or an evaluation came first. */
static int has_no_backward(const struct effects *effects)
{
	const struct scene *scene = effects->scene;
	const struct scene_process *process = &scene->process[scene->request.process];
	uint32_t node = scene->request.node;
	uint64_t tags = node == SCENE_NONE ? 0 : scene->node[node].tags;

	return effects->run.failed &&
	       ((process->who != MT_WHO_TRAINER && process->steps > 0) ||
		(!process->backward_end && tags & (MT_TAG_BIT(GENERATE) | MT_TAG_BIT(EVALUATION))));
}

/* The reason why the recording excludes an effect of the method; NULL: none. */
static const char *refuted(const struct effects *effects, const struct mt_knob *knob)
{
	if (knob->method == MT_KNOB_METHOD_LOGITS && knob->withins && knob->saves != MT_KNOB_SAVES_OFF &&
	    keeps_pieces(effects))
		return "its pieces are all kept at once";
	if (knob->method == MT_KNOB_METHOD_REMOVED && knob->leaves == MT_KNOB_LEAVES_BOUNDARIES &&
	    has_no_backward(effects))
		return "no backward comes that would compute anything again";
	return NULL;
}

/*
 * Whether the recording refutes a default "on" of recomputation: nothing was recomputed, and activations waited for a backward. Before
 * the first step, many layers must have most of the resident activations. Compiled code counts as recomputed: a compiler can recompute
 * without a frame.
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

/* Whether the recording proves "on" of a setting that saves when off. */
static int is_shown_on(const struct effects *effects, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	char why[ADVISE_WORDS_MAX];

	return effect->now.origin <= ADVISE_DEFAULT && (knob->measure == MT_KNOB_UNIT_SWITCH || knob->turned_off) &&
	       knob->saves == MT_KNOB_SAVES_OFF && effect_is_proved(effects, knob, why);
}

/*
 * A wrapper with its own defaults can have changed the setting, or the settings that it needs: the effect gets a condition.
 */
static void say_unknown(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	const struct mt_knob_constraint *constraint;
	char words[ADVISE_WORDS_MAX];
	uint32_t i;

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

/* Turns the reason, another setting's default, into a condition. */
static void say_condition(struct effect *effect, const char *why)
{
	static const char begins[] = "has no effect here: ";

	why += strncmp(why, begins, sizeof(begins) - 1) ? 0 : sizeof(begins) - 1;
	snprintf(effect->only, sizeof(effect->only), "this changes first: %.*s", ADVISE_WORDS_MAX - 24, why);
}

/* Whether the setting can still change, by configuration and recording. 0: no effect, and effect->why is filled. */
static int is_open(const struct effects *effects, struct effect *effect, int backend)
{
	const struct mt_knob *knob = effect->knob;
	char why[ADVISE_WORDS_MAX] = "";
	enum advise_standing standing = advise_config_standing(effects->config, knob, &effects->facts, why);

	if (standing == ADVISE_STANDING_ABSENT)
		return 0;
	if (is_shown_on(effects, effect)) {
		effect_show(effect, knob->turned_off ? "on" : "true");
		return 1;
	}
	if (standing == ADVISE_STANDING_ALREADY && is_shown_off(effects, effect)) {
		effect_show(effect, "false");
		return 1;
	}
	/* Without a known configuration, another setting's default is a condition, and no fact if the stacks show a backend. */
	if (standing == ADVISE_STANDING_NO_EFFECT && effects->blind && backend <= 0)
		say_condition(effect, why);
	else if (standing != ADVISE_STANDING_OPEN && !(standing == ADVISE_STANDING_NO_EFFECT && effects->blind))
		return is_idle(effect, why);
	return 1;
}

/* A program that is changed computes in the widest type, if no census tells another one. */
static void say_type(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;

	if (knob->written == MT_KNOB_WRITTEN_CODE && knob->weighs && !effects->run.model.element)
		snprintf(effect->only, sizeof(effect->only), "%s",
			 knob->categories == CATEGORY(OPTIMIZER_STATE) ? "these are states of an Adam, in float32"
								       : "the forward pass computes in float32 now");
}

/* 1: a value to try; 0: no effect, with or without a reason in effect->why. */
static int is_to_try(const struct effects *effects, struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;
	int backend = effect_backend(effects, knob);
	char why[ADVISE_WORDS_MAX];

	if (effects->blind && backend < 0)
		return 0;
	if (knob->saves != MT_KNOB_SAVES_OFF && effect_is_proved(effects, knob, why))
		return is_idle(effect, why);
	if (refuted(effects, knob))
		return is_idle(effect, refuted(effects, knob));
	if (!is_open(effects, effect, backend))
		return 0;
	if (knob->method == MT_KNOB_METHOD_NONE || knob->saves == MT_KNOB_SAVES_NONE) {
		effect->untold = knob->saves != MT_KNOB_SAVES_NONE;
		return 0;
	}
	if (knob->method == MT_KNOB_METHOD_ALLOCATOR)
		return 1;
	if (!effect_propose(effects, effect))
		return 0;
	say_type(effects, effect);
	if (!*effect->only)
		say_unknown(effects, effect);
	return 1;
}

/* ---- the result ------------------------------------------------------------------------------------------------------- */

/* A model on more GPUs than the recording shows costs GPUs. */
static enum mt_knob_cost cost_of(const struct effects *effects, const struct effect *effect)
{
	const struct mt_knob *knob = effect->knob;

	return knob->measure == MT_KNOB_UNIT_GPUS && knob->saves == MT_KNOB_SAVES_HIGHER &&
			       knob->cost < MT_KNOB_COST_GPUS && strtod(effect->to, NULL) > (double)effects->run.world
		       ? MT_KNOB_COST_GPUS
		       : knob->cost;
}

/*
 * In a series of unknown length, room for one request is not enough. A setting is enough if it removes most of the series.
 */
static int ends_series(const struct effects *effects, const struct effect *effect)
{
	const struct replay *replay = &effects->run.replay;
	const struct replay_site *site = &replay->site[replay->request.site];

	return replay->later.from != REPLAY_LATER_SERIES || !effects->run.failed ||
	       (effect->knob->categories & 1u << site->category && effect->saved.low >= site->then / 4 * 3);
}

/* Whether the setting changes hardly any bytes of its own categories. */
static int is_beside(const struct mt_knob *knob, const struct advise_reach *reach)
{
	uint64_t own = 0;
	uint32_t i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		own += knob->categories & 1u << i ? reach->bytes[i] : 0;
	return knob->method != MT_KNOB_METHOD_LOGITS && knob->method != MT_KNOB_METHOD_SHARE && !reach->later &&
	       own < reach->all / BESIDE_SHARE;
}

/* Fills the parts, category and process of the removed bytes. 0 or -MT_E_MEMORY. */
static int take_parts(struct effects *effects, struct effect *effect, const uint64_t *removed)
{
	const struct replay *replay = &effects->run.replay;
	uint64_t most = 0, of[MT_CATEGORY_COUNT] = { 0 }, guessed[MT_CATEGORY_COUNT] = { 0 };
	const struct replay_site *site;
	uint32_t i, at;

	effect->part = calloc(replay->sites + 1, sizeof(*effect->part));
	if (!effect->part)
		return -MT_E_MEMORY;
	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		at = removed[i] ? scene_site_of(effects->scene, site->id) : SCENE_NONE;
		of[site->category] += removed[i];
		guessed[site->category] += site->known ? 0 : removed[i];
		if (removed[i] > most) {
			most = removed[i];
			effect->process = scene_process_of(effects->scene, site->process);
		}
		if (at != SCENE_NONE)
			effect->part[effect->parts++] = (struct candidate_part){ at, removed[i] };
	}
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (of[i] > of[effect->category])
			effect->category = (enum mt_category)i;
	effect->probable = guessed[effect->category] > of[effect->category] / 2;
	return 0;
}

static int take_trial(struct effects *effects, struct effect *effect, const struct advise_trial *trial)
{
	const struct advise_outcome *outcome = &trial->outcome;
	const struct advise_range *range = effects->run.failed ? &outcome->asked : &outcome->peak;

	effect->untold = !trial->works && trial->silence == ADVISE_SILENT_NO_ESTIMATE;
	if (!trial->works)
		return is_idle(effect, advise_silence_words(trial->silence));
	effect->outcome = *outcome;
	effect->saved = (struct advise_range){ effect_less(effects->base, range->high),
					       effect_less(effects->base, range->low) };
	/* Clamp the estimate to the bytes that exist. */
	if (effect->saved.high > trial->reach.all && effect->saved.low <= trial->reach.all)
		effect->saved.high = trial->reach.all;
	if (is_small(effects, (double)effect->saved.high))
		return is_idle(effect, "moves next to nothing of what was there");
	if (is_beside(effect->knob, &trial->reach))
		return is_idle(effect, "moves none of the bytes that it is about");
	effect->works = 1;
	effect->cost = cost_of(effects, effect);
	effect->fits = effect_fits(effects, outcome) && ends_series(effects, effect);
	return take_parts(effects, effect, trial->removed);
}

/* ---- the allocator --------------------------------------------------------------------------------------------------------- */

/* Other settings of the allocator need a number that only a trial finds. PyTorch refuses expandable segments for a sleeping pool. */
static int allocator_can(const struct effects *effects, const struct mt_knob *knob)
{
	return knob->saves == MT_KNOB_SAVES_ON && knob->written == MT_KNOB_WRITTEN_ENVIRONMENT &&
	       !(effects->run.failed && (effects->scene->request.sleeps || effects->scene->request.expandable));
}

/* The saving is at most the idle bytes. The setting works for a request if the model of the allocator finds room. */
static void take_reserved(struct effects *effects, struct effect *effect, const struct advise_reserved *reserved)
{
	uint64_t saved = effect_less(reserved->recorded, reserved->modelled);
	uint64_t missing = effects->run.failed ? oom_missing(effects->run.it) : 0;

	saved = saved < reserved->idle ? saved : reserved->idle;
	effect->saved = (struct advise_range){ effects->run.failed ? 0 : saved - saved / 4, saved };
	effect->works = saved > 0;
	if (reserved->asked) {
		effect->saved = (struct advise_range){ missing < reserved->idle ? missing : reserved->idle,
						       reserved->idle };
		effect->works = reserved->gets;
	}
	effect->works = effect->works && !is_small(effects, (double)effect->saved.high);
	effect->fits = effect->works && effects->needed && effect->saved.low >= effects->needed &&
		       ends_series(effects, effect);
	effect->category = MT_CATEGORY_SLACK;
	effect->process = scene_process_of(effects->scene, reserved->process);
}

static int try_allocator(struct effects *effects, struct effect *effect)
{
	struct advise_trial trial = { .works = 0 };
	struct advise_move move = { effect->knob, effect->now.text, effect->to };
	struct advise_reserved reserved;
	int error;

	if (!allocator_can(effects, effect->knob))
		return 0;
	advise_value_text(effect->to, effect->knob, 1);
	error = advise_allocator(&effects->run, &move, 1, &reserved);
	effect->untold = !reserved.known;
	if (error || !reserved.known || (reserved.modelled >= reserved.recorded && !reserved.gets))
		return error;
	take_reserved(effects, effect, &reserved);
	error = advise_try(&effects->run, effects->config, NULL, 0, &trial, 1);
	effect->outcome = trial.outcome;
	return error;
}

/* ---- all ------------------------------------------------------------------------------------------------------------------- */

/* Collects the settings that apply here. 0 or -MT_E_MEMORY. */
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
			if (knob->instead || advise_config_through(config, knob) || !effect_is_meant(effects, knob))
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

/* Tries at most AT_ONCE effects. `removed`: a number for each effect and site. */
static int try_few(struct effects *effects, struct effect *const *effect, size_t count, uint64_t *removed)
{
	struct advise_trial trial[AT_ONCE];
	size_t sites = effects->run.replay.sites, i;
	int error;

	memset(removed, 0, AT_ONCE * sites * sizeof(*removed));
	for (i = 0; i < count; i++)
		trial[i] = (struct advise_trial){ .move = { effect[i]->knob, effect[i]->begins, effect[i]->to },
						  .removed = removed + i * sites };
	error = count ? advise_try(&effects->run, effects->config, NULL, 0, trial, count) : 0;
	for (i = 0; i < count && !error; i++)
		error = take_trial(effects, effect[i], &trial[i]);
	return error;
}

static int try_all(struct effects *effects)
{
	uint64_t *removed = calloc(AT_ONCE * (effects->run.replay.sites + 1), sizeof(*removed));
	struct effect *few[AT_ONCE], *effect;
	size_t count = 0, i;
	int error = removed ? 0 : -MT_E_MEMORY;

	for (i = 0; i < effects->effects && !error; i++) {
		effect = &effects->all[i];
		if (!is_to_try(effects, effect))
			continue;
		if (effect->knob->method == MT_KNOB_METHOD_ALLOCATOR) {
			error = try_allocator(effects, effect);
			continue;
		}
		few[count++] = effect;
		if (count == AT_ONCE) {
			error = try_few(effects, few, count, removed);
			count = 0;
		}
	}
	if (!error)
		error = try_few(effects, few, count, removed);
	free(removed);
	return error;
}

int effect_order(const void *one, const void *two)
{
	const struct effect *a = *(struct effect *const *)one, *b = *(struct effect *const *)two;

	if (a->works != b->works)
		return b->works - a->works;
	if (!*a->only != !*b->only)
		return *a->only ? 1 : -1;
	if (a->fits != b->fits)
		return b->fits - a->fits;
	if (a->fits && a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->saved.low != b->saved.low)
		return a->saved.low > b->saved.low ? -1 : 1;
	if (a->saved.high != b->saved.high)
		return a->saved.high > b->saved.high ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return strcmp(a->knob->name.key, b->knob->name.key);
}

static int load_settings(struct effects *effects)
{
	int error = collect(effects);

	if (!error)
		error = try_all(effects);
	if (error || !effects->effects)
		return error;
	qsort(effects->effect, effects->effects, sizeof(struct effect *), effect_order);
	if (effects->needed && !effects->plan.moves &&
	    (effects->fit || !effects->effect[0]->works || !effects->effect[0]->fits))
		error = effect_plan_fit(effects);
	return error;
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
	if (effects->config->parts)
		advise_find_models(&effects->run, effects->config->part[0].file);
	find_facts(effects, request->fit);
	error = effect_plan_given(effects);
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
