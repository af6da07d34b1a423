/* The evidence of recorded stacks for a setting: whether its code runs here, and whether the setting is on. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "effect_impl.h"
#include "memtrace/base.h"
#include "stack_words.h"

#define NEEDS_DEPTH 3 /* how many settings deep a chain of needed settings is followed */

/* ---- on already ---------------------------------------------------------------------------------------------------------- */

int effect_is_proved(const struct effects *effects, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX])
{
	uint32_t i;

	for (i = 0; i < knob->proofs; i++)
		if (stack_is_seen(effects->scene, knob->proof[i])) {
			snprintf(why, ADVISE_WORDS_MAX, "already on: %s is on the recorded stacks", knob->proof[i]);
			return 1;
		}
	return 0;
}

/* ---- settings that need it or exclude it ------------------------------------------------------------------------------- */

/* Whether the constraint needs, by key or value, a part of the configuration that the recording shows (seen 1) or does not show (0). */
static int needs_part(const struct effects *effects, const struct mt_knob_constraint *constraint, int seen)
{
	const struct advise_config *config = effects->config;
	const char *framework;
	uint32_t i;

	for (i = 1; constraint->kind == MT_KNOB_CONSTRAINT_NEEDS && i < config->parts; i++) {
		framework = config->part[i].file->framework;
		if (config->part[i].seen == seen &&
		    (!strcmp(constraint->value[0], framework) || (seen && strstr(constraint->key, framework))))
			return 1;
	}
	return 0;
}

/*
 * Returns 1: the stacks prove a switch that the setting needs; -1: one that excludes it; 0: neither, or a needed switch is missing. Needed settings
 * can need other settings, `depth` times.
 */
static int stacks_say(const struct effects *effects, const struct mt_knob *knob, int depth)
{
	const struct advise_part *part = advise_config_part(effects->config, knob);
	const struct mt_knob_constraint *constraint;
	const struct mt_knob *other;
	char why[ADVISE_WORDS_MAX];
	int say, all = 0, missing = 0;
	uint32_t i;

	for (i = 0; part && i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		other = constraint->key ? mt_knob_find(part->file, constraint->key) : NULL;
		if (!other)
			continue;
		if (constraint->kind == MT_KNOB_CONSTRAINT_EXCLUDES && effect_is_proved(effects, other, why) &&
		    (knob->proofs ? depth < NEEDS_DEPTH : !strcmp(constraint->value[0], "true")))
			return -1;
		if (constraint->kind != MT_KNOB_CONSTRAINT_NEEDS)
			continue;
		say = effect_is_proved(effects, other, why);
		missing |= !say && advise_constraint_holds(effects->config, knob, constraint, why) == ADVISE_HOLDS_NO;
		if (!say && depth)
			say = stacks_say(effects, other, depth - 1);
		if (say < 0)
			return say;
		all |= say;
	}
	return all && !missing;
}

int effect_backend(const struct effects *effects, const struct mt_knob *knob)
{
	int say = stacks_say(effects, knob, NEEDS_DEPTH);
	uint32_t i;

	for (i = 0; i < knob->constraints && !say; i++)
		say = needs_part(effects, &knob->constraint[i], 1);
	return say;
}

/* ---- here at all --------------------------------------------------------------------------------------------------------- */

/*
 * Whether a part below the main framework has settings here: its code was seen, or its class is the base of all frameworks. An engine alone has none:
 * the framework that starts the engine has the engine's settings.
 */
int effect_is_there(const struct effects *effects, uint32_t part)
{
	const struct advise_part *it = &effects->config->part[part], *first = effects->config->part;
	uint32_t i, own = 0;

	if (!part || !it->file->below)
		return 1;
	/* A main framework without flags cannot pass on another framework's flags. */
	if (it->file->written == MT_KNOB_WRITTEN_FLAG && first->file->written != MT_KNOB_WRITTEN_FLAG)
		return 0;
	for (i = 0; i < it->file->knobs; i++)
		own += (it->file->knob[i].processes & ~RUN_ROLE(ENGINE)) != 0;
	return own && (it->seen || it->file->class_);
}

/* Whether the user can add the call. A new call fits into a loop of the user's own; sharding is set up outside of any loop. */
static int can_be_added(const struct effects *effects, const struct advise_part *part, const struct mt_knob *knob)
{
	int is_call = knob->written == MT_KNOB_WRITTEN_CODE ||
		      (strchr(knob->name.key, '(') && islower((unsigned char)*knob->name.key));
	int shards = knob->seens &&
		     (effect_action(knob) == MT_ACTION_SHARD || effect_action(knob) == MT_ACTION_OFFLOAD);

	return !is_call || part->file->below || shards || effects->config->part[0].file->loop == MT_KNOB_LOOP_USER;
}

/* Whether the setting's model was seen. Only settings of one critic, reference or reward model can fail this. */
static int is_model_there(const struct advise_run *run, uint32_t roles)
{
	if (roles != RUN_ROLE(REFERENCE) && roles != RUN_ROLE(CRITIC) && roles != RUN_ROLE(REWARD))
		return 1;
	return run->models & roles ||
	       run->phases & 1u << (roles == RUN_ROLE(REFERENCE) ? MT_PHASE_REF : MT_PHASE_CRITIC);
}

/*
 * Whether the pieces that the setting cuts or frees sooner exist as a whole. Gathered weights are as large as the model. Gradients are at least
 * half as large as a gathered weight.
 */
static int is_whole(const struct effects *effects, const struct mt_knob *knob)
{
	const struct replay_site *site, *end = effects->run.replay.site + effects->run.replay.sites;
	uint64_t weights = 0, gathered = 0, gradient = 0;

	if (knob->leaves != MT_KNOB_LEAVES_LAYER)
		return 1;
	for (site = effects->run.replay.site; site < end; site++) {
		if (!site->ignored && (site->category == MT_CATEGORY_WEIGHTS || site->phase == MT_PHASE_INIT))
			weights += site->then;
		if (site->category == MT_CATEGORY_GATHER_BUFFERS && site->largest > gathered)
			gathered = site->largest;
		if (site->category == MT_CATEGORY_GRADIENTS && site->then && site->largest > gradient)
			gradient = site->largest;
	}
	if (knob->categories == 1u << MT_CATEGORY_GRADIENTS)
		return gathered && gradient >= gathered / 2;
	return !(knob->categories & 1u << MT_CATEGORY_GATHER_BUFFERS) || (weights && gathered >= weights);
}

/* Whether a file or a function on the stacks contains one of the backend's words. */
static int backend_is_seen(const struct scene *scene, const struct mt_knob_wrapper *backend)
{
	const struct scene_frame *at;
	uint32_t k;

	for (at = scene->frame; at < scene->frame + scene->frames; at++)
		for (k = 0; k < backend->seens; k++)
			if (strcasestr(at->frame.file, backend->seen[k]) ||
			    strcasestr(at->frame.function, backend->seen[k]))
				return 1;
	return 0;
}

/* Whether the key names a backend, and the stacks show only another backend. */
static int is_rivals(const struct effects *effects, const struct mt_knob_file *file, const struct mt_knob *knob)
{
	const struct mt_knob_wrapper *backend;
	int own = 0, own_seen = 0, rival = 0, seen, names;
	uint32_t k;

	for (backend = file->backend; backend < file->backend + file->backends; backend++) {
		for (names = 0, k = 0; k < backend->seens; k++)
			names |= strcasestr(knob->name.key, backend->seen[k]) != NULL;
		seen = backend_is_seen(effects->scene, backend);
		own |= names;
		own_seen |= seen && names;
		rival |= seen;
	}
	return own && rival && !own_seen;
}

int effect_is_meant(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(effects->config, knob);
	int is_seen = !knob->seens || !effects->scene->nodes; /* a recording without stacks excludes no setting */
	uint32_t i;

	for (i = 0; i < knob->constraints; i++)
		if (knob->constraint[i].values == 1 && needs_part(effects, &knob->constraint[i], 0))
			return 0;
	for (i = 0; i < knob->seens && !is_seen; i++)
		is_seen = stack_is_seen(effects->scene, knob->seen[i]);
	/* A row of one trainer counts only if the recording shows a trainer. The row's constraints name this trainer. */
	return part && is_seen && can_be_added(effects, part, knob) && (!knob->trainer || part->trainer) &&
	       !is_rivals(effects, part->file, knob) && is_model_there(&effects->run, knob->processes) &&
	       is_whole(effects, knob);
}
