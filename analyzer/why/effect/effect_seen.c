/* The evidence of recorded stacks for a setting: whether its code runs here, and whether it is on. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "advise_turn.h"
#include "effect_impl.h"
#include "memtrace/base.h"
#include "report/answer.h"

#define NEEDS_DEPTH 3 /* most levels of settings that need settings */
#define ONE_UNIT 4ull /* most gathers in a step of a model that is one unit */

/* ---- words of stacks ----------------------------------------------------------------------------------------------------- */

/* Whether `text` ends with the word, after a separator or at its begin. */
static int ends_with(const char *text, const char *word, size_t size, char separator)
{
	size_t length = strlen(text);

	return length >= size && !memcmp(text + length - size, word, size) &&
	       (length == size || text[length - size - 1] == separator);
}

/* "step" and "AdamW.step" are functions, "x_worker.py" is a file, "liger_kernel/" a folder. */
static int is_word_of(const struct callstack_frame *frame, const char *word, size_t size)
{
	const char *at;

	if (!size)
		return 0;
	if (word[size - 1] != '/')
		return ends_with(frame->function, word, size, '.') || ends_with(frame->file, word, size, '/');
	for (at = frame->file; *at; at++)
		if ((at == frame->file || at[-1] == '/') && !strncmp(at, word, size))
			return 1;
	return 0;
}

static const char *arrow_of(const char *word)
{
	return strstr(word, " > ");
}

/* Whether the node is at the word. In "update_actor > load_weights" the second function is the node's, below the first. */
static int is_at(const struct scene *scene, uint32_t node, const char *word)
{
	const char *arrow = arrow_of(word), *inner = arrow ? arrow + 3 : word;
	uint32_t up;

	if (!is_word_of(&scene->frame[scene->node[node].frame].frame, inner, strlen(inner)))
		return 0;
	for (up = scene->node[node].parent; arrow && up != SCENE_NONE; up = scene->node[up].parent)
		if (is_word_of(&scene->frame[scene->node[up].frame].frame, word, (size_t)(arrow - word)))
			return 1;
	return !arrow;
}

/* Whether a stack has the word. */
static int is_seen(const struct scene *scene, const char *word)
{
	const char *arrow = arrow_of(word), *inner = arrow ? arrow + 3 : word;
	int seen = 0;
	size_t i;

	for (i = 0; i < scene->frames && !seen; i++)
		seen = is_word_of(&scene->frame[i].frame, inner, strlen(inner));
	if (!seen || !arrow)
		return seen;
	for (i = 0; i < scene->nodes; i++)
		if (is_at(scene, (uint32_t)i, word))
			return 1;
	return 0;
}

/* Whether a stack has one of the words. A recording without stacks refutes nothing. */
static int any_is_seen(const struct effects *effects, const char *const *word, uint32_t words)
{
	uint32_t i;

	for (i = 0; i < words; i++)
		if (is_seen(effects->scene, word[i]))
			return 1;
	return !words || !effects->run.stacks;
}

/* The roles that the site's bytes belong to, bits 1 << enum mt_knob_process. On another GPU: the roles of the process. */
static uint32_t roles_of(const struct effects *effects, const struct scene_site *site)
{
	const struct advise_run *run = &effects->run;
	uint32_t at = site->id > 0 && site->id < run->replay.ids ? run->replay.index[site->id] : UINT32_MAX;
	size_t i;

	if (at != UINT32_MAX)
		return advise_roles_of(run, &run->replay.site[at]);
	for (i = 0; i < run->replay.processes; i++)
		if (run->role[i].process == effects->scene->process[site->process].id)
			return run->role[i].roles & ~run->elsewhere;
	return UINT32_MAX;
}

static int is_below(const struct scene *scene, uint32_t node, const char *word)
{
	for (; node != SCENE_NONE; node = scene->node[node].parent)
		if (is_at(scene, node, word))
			return 1;
	return 0;
}

/*
 * Whether the word is on stacks of the setting's processes: a critic's recomputation proves nothing about the actor. A word without
 * allocations below it counts for all.
 */
static int is_seen_of(const struct effects *effects, const char *word, uint32_t roles)
{
	const struct scene *scene = effects->scene;
	int any = 0;
	size_t i;

	if (!is_seen(scene, word))
		return 0;
	for (i = 0; i < scene->sites; i++) {
		if (!is_below(scene, scene->site[i].node, word))
			continue;
		if (roles_of(effects, &scene->site[i]) & roles)
			return 1;
		any = 1;
	}
	return !any;
}

/* ---- on already ---------------------------------------------------------------------------------------------------------- */

int effect_lets_sleep(const struct mt_knob *knob)
{
	return knob->proofs && knob->processes == 1u << MT_KNOB_PROCESS_ENGINE &&
	       knob->method == MT_KNOB_METHOD_REMOVED && knob->saves == MT_KNOB_SAVES_ON &&
	       knob->categories & 1u << MT_CATEGORY_KV_CACHE;
}

struct sleepers {
	const struct effects *effects;
	uint32_t roles; /* roles to look for */
	int own;        /* 1: a site of these roles slept */
};

static int take_sleeper(void *context, struct db_stmt *row)
{
	struct sleepers *sleepers = context;
	uint32_t site = scene_site_of(sleepers->effects->scene, db_int(row, 0));

	if (site != SCENE_NONE)
		sleepers->own |= (roles_of(sleepers->effects, &sleepers->effects->scene->site[site]) &
				  sleepers->roles) != 0;
	return 0;
}

/* Whether pages of the setting's bytes went while their allocations lived: a pool slept. */
static int has_slept(const struct effects *effects, const struct mt_knob *knob)
{
	static const char sql[] =
		"SELECT DISTINCT slept.site FROM resident_span JOIN allocation_raw AS slept ON slept.id = allocation "
		"WHERE resident_span.bytes = 0 AND since_seq > alloc_seq";
	struct sleepers sleepers = { .effects = effects, .roles = knob->processes };

	return effect_lets_sleep(knob) && !answer_rows(effects->run.db, sql, NULL, take_sleeper, &sleepers) &&
	       sleepers.own;
}

/* Whether a trainer's weights went, and came back for the failed phase. */
static int has_come_back(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_run *run = &effects->run;

	return run->failed && run->came_back && advise_waits_on_host(knob) &&
	       knob->categories & 1u << MT_CATEGORY_WEIGHTS && knob->processes & 1u << MT_KNOB_PROCESS_TRAINER &&
	       !turn_is_of_reference(knob) && knob->phases & 1u << run->replay.request.phase;
}

int effect_is_proved(const struct effects *effects, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX])
{
	uint32_t i;

	for (i = 0; i < knob->proofs; i++)
		if (is_seen_of(effects, knob->proof[i], knob->processes)) {
			snprintf(why, ADVISE_WORDS_MAX, "already on: %s is on the recorded stacks", knob->proof[i]);
			return 1;
		}
	if (has_come_back(effects, knob)) {
		snprintf(why, ADVISE_WORDS_MAX, "already on: the weights had gone, and came back for this");
		return 1;
	}
	if (!has_slept(effects, knob))
		return 0;
	snprintf(why, ADVISE_WORDS_MAX, "already on: a pool of the engine slept in this recording");
	return 1;
}

/* ---- here at all --------------------------------------------------------------------------------------------------------- */

/* Whether the part is the base of the other frameworks. */
static int is_base(const struct advise_part *part)
{
	return !part->file->below;
}

/*
 * Settings of unseen code have no effect. A framework that starts an engine has the engine's settings. The base runs in the process
 * of the framework above it.
 */
int effect_is_there(const struct effects *effects, uint32_t part)
{
	const struct advise_part *it = &effects->config->part[part], *first = effects->config->part;
	uint32_t i, own = 0;

	if (!part || is_base(it))
		return 1;
	/* A main framework without flags cannot pass another framework's flags. */
	if (it->file->written == MT_KNOB_WRITTEN_FLAG && first->file->written != MT_KNOB_WRITTEN_FLAG)
		return 0;
	for (i = 0; i < it->file->knobs; i++)
		own += (it->file->knob[i].processes & ~(1u << MT_KNOB_PROCESS_ENGINE)) != 0;
	return own && (it->seen || it->file->class_);
}

/* Whether the setting needs a backend that the recorded stacks show. */
static int is_seen_backend(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_config *config = effects->config;
	uint32_t i, part;

	for (i = 0; i < knob->constraints; i++)
		for (part = 1; knob->constraint[i].kind == MT_KNOB_CONSTRAINT_NEEDS && part < config->parts; part++)
			if (config->part[part].seen &&
			    (strstr(knob->constraint[i].key, config->part[part].file->framework) ||
			     !strcmp(knob->constraint[i].value[0], config->part[part].file->framework)))
				return 1;
	return 0;
}

/* Whether the setting needs a backend that the recorded stacks do not show. */
static int needs_unseen(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_config *config = effects->config;
	const struct mt_knob_constraint *constraint;
	uint32_t i, part;

	for (i = 0; i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if (constraint->kind != MT_KNOB_CONSTRAINT_NEEDS || constraint->values != 1)
			continue;
		for (part = 1; part < config->parts; part++)
			if (!config->part[part].seen &&
			    !strcmp(constraint->value[0], config->part[part].file->framework))
				return 1;
	}
	return 0;
}

/* Whether a row's trainer ran: such a row counts only for a seen trainer. Constraints check which one. */
static int is_trainer_seen(const struct advise_part *part, const struct mt_knob *knob)
{
	return !knob->trainer || part->trainer;
}

/*
 * Whether the user can add the call: only a user's own loop can get a new call. Sharding is set up outside of the loop.
 */
static int can_be_added(const struct effects *effects, const struct advise_part *part, const struct mt_knob *knob)
{
	int is_call = knob->written == MT_KNOB_WRITTEN_CODE ||
		      (strchr(knob->name.key, '(') && islower((unsigned char)*knob->name.key));
	int shards = knob->seens &&
		     (effect_action(knob) == MT_ACTION_SHARD || effect_action(knob) == MT_ACTION_OFFLOAD);

	return !is_call || !is_base(part) || shards || effects->config->part[0].file->loop == MT_KNOB_LOOP_USER;
}

/* Whether the setting's model was seen, for settings of a critic, a reference or a reward model alone. */
static int is_model_there(const struct effects *effects, const struct mt_knob *knob)
{
	static const enum mt_knob_process models[] = { MT_KNOB_PROCESS_REFERENCE, MT_KNOB_PROCESS_CRITIC,
						       MT_KNOB_PROCESS_REWARD };
	static const enum mt_phase phases[] = { MT_PHASE_REF, MT_PHASE_CRITIC, MT_PHASE_CRITIC };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(models); i++)
		if (knob->processes == 1u << models[i])
			return advise_has_model(&effects->run, models[i]) || effects->run.phases & 1u << phases[i];
	return 1;
}

static const struct mt_knob *knob_of(const struct advise_part *part, const char *key)
{
	uint32_t i;

	for (i = 0; i < part->file->knobs; i++)
		if (!strcmp(part->file->knob[i].name.key, key))
			return &part->file->knob[i];
	return NULL;
}

/* The row of the next constraint of this kind, from `at` on; NULL: none. */
static const struct mt_knob *related(const struct advise_part *part, const struct mt_knob *knob,
				     enum mt_knob_constraint_kind kind, uint32_t *at)
{
	const struct mt_knob *other = NULL;

	while (!other && *at < knob->constraints) {
		if (knob->constraint[*at].kind == kind)
			other = knob_of(part, knob->constraint[*at].key);
		(*at)++;
	}
	return other;
}

/* 1: the recorded stacks prove the switch; -1: they prove a switch that excludes it; 0: neither. */
static int stacks_say_of(const struct effects *effects, const struct advise_part *part, const struct mt_knob *knob)
{
	const struct mt_knob *rival;
	char why[ADVISE_WORDS_MAX];
	uint32_t at = 0;

	if (effect_is_proved(effects, knob, why))
		return 1;
	while (knob->proofs && (rival = related(part, knob, MT_KNOB_CONSTRAINT_EXCLUDES, &at)))
		if (effect_is_proved(effects, rival, why))
			return -1;
	return 0;
}

/* Whether the constraint fails, by configuration or default. */
static int is_missing(const struct effects *effects, const struct mt_knob *knob,
		      const struct mt_knob_constraint *constraint)
{
	char why[ADVISE_WORDS_MAX];

	return advise_constraint_holds(effects->config, knob, constraint, why) == ADVISE_HOLDS_NO;
}

/* Like stacks_say_of(), for all settings that the knob needs, to the given depth. One missing setting gives 0. */
static int stacks_say(const struct effects *effects, const struct mt_knob *knob, int depth)
{
	const struct advise_part *part = advise_config_part(effects->config, knob);
	const struct mt_knob *needed;
	uint32_t at = 0;
	int say, all = 0, missing = 0;

	while (part && depth && (needed = related(part, knob, MT_KNOB_CONSTRAINT_NEEDS, &at))) {
		say = stacks_say_of(effects, part, needed);
		missing |= !say && is_missing(effects, knob, &knob->constraint[at - 1]);
		say = say ? say : stacks_say(effects, needed, depth - 1);
		if (say < 0)
			return say;
		all |= say;
	}
	return all && !missing;
}

/* Whether the recorded stacks prove a switch that excludes the setting. */
static int is_excluded(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(effects->config, knob);
	char why[ADVISE_WORDS_MAX];
	const struct mt_knob *rival;
	uint32_t at = 0;

	while (part && !knob->proofs && (rival = related(part, knob, MT_KNOB_CONSTRAINT_EXCLUDES, &at)))
		if (!strcmp(knob->constraint[at - 1].value[0], "true") && effect_is_proved(effects, rival, why))
			return 1;
	return 0;
}

int effect_backend(const struct effects *effects, const struct mt_knob *knob)
{
	int say = is_excluded(effects, knob) ? -1 : stacks_say(effects, knob, NEEDS_DEPTH);

	return say ? say : is_seen_backend(effects, knob);
}

/* Whether whole gradients wait: one is about as large as a gathered weight. Only then a row that shards them sooner counts. */
static int is_waited_for(const struct effects *effects, const struct mt_knob *knob)
{
	const struct replay *replay = &effects->run.replay;
	uint64_t gathered = 0, gradient = 0;
	uint32_t i;

	if (knob->categories != 1u << MT_CATEGORY_GRADIENTS || knob->leaves != MT_KNOB_LEAVES_LAYER)
		return 1;
	for (i = 0; i < replay->sites; i++) {
		if (replay->site[i].category == MT_CATEGORY_GATHER_BUFFERS && replay->site[i].largest > gathered)
			gathered = replay->site[i].largest;
		if (replay->site[i].category == MT_CATEGORY_GRADIENTS && replay->site[i].then &&
		    replay->site[i].largest > gradient)
			gradient = replay->site[i].largest;
	}
	return gathered && gradient >= gathered / 2;
}

/* Bytes of weights, and of all other allocations of the start: some of these are weights, too. */
static uint64_t made_first(const struct advise_run *run)
{
	const struct replay_site *site;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		bytes += !site->ignored && (site->category == MT_CATEGORY_WEIGHTS || site->phase == MT_PHASE_INIT)
				 ? site->then
				 : 0;
	}
	return bytes;
}

/* Whether the model is one unit: it gathers pieces as large as all weights, a few times in a step. Only then cutting it counts. */
static int is_whole(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_run *run = &effects->run;
	uint64_t weights = made_first(run), steps = (uint64_t)(run->steps > 0 ? run->steps : 0) + 1;
	const struct replay_site *site;
	uint32_t i;

	if (knob->leaves != MT_KNOB_LEAVES_LAYER || !(knob->categories & 1u << MT_CATEGORY_GATHER_BUFFERS))
		return 1;
	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (site->category == MT_CATEGORY_GATHER_BUFFERS && weights && site->largest >= weights &&
		    site->births <= ONE_UNIT * steps)
			return 1;
	}
	return 0;
}

static int backend_is_seen(const struct scene *scene, const struct mt_knob_wrapper *backend)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < scene->frames; i++)
		for (k = 0; k < backend->seens; k++)
			if (strcasestr(scene->frame[i].frame.file, backend->seen[k]) ||
			    strcasestr(scene->frame[i].frame.function, backend->seen[k]))
				return 1;
	return 0;
}

static int backend_has(const struct mt_knob_wrapper *backend, const char *key)
{
	uint32_t k;

	for (k = 0; k < backend->seens; k++)
		if (strcasestr(key, backend->seen[k]))
			return 1;
	return 0;
}

/* Whether the key names a backend that the stacks do not show, while they show another one. */
static int is_rivals(const struct effects *effects, const struct advise_part *part, const struct mt_knob *knob)
{
	const struct mt_knob_file *file = part->file;
	int own = 0, rival = 0;
	uint32_t i;

	for (i = 0; i < file->backends && !own; i++)
		own = backend_has(&file->backend[i], knob->name.key);
	for (i = 0; i < file->backends && own; i++) {
		if (!backend_is_seen(effects->scene, &file->backend[i]))
			continue;
		if (backend_has(&file->backend[i], knob->name.key))
			return 0;
		rival = 1;
	}
	return rival;
}

int effect_is_meant(const struct effects *effects, const struct mt_knob *knob)
{
	const struct advise_part *part = advise_config_part(effects->config, knob);

	return part && any_is_seen(effects, knob->seen, knob->seens) && can_be_added(effects, part, knob) &&
	       is_trainer_seen(part, knob) && !is_rivals(effects, part, knob) && is_model_there(effects, knob) &&
	       !needs_unseen(effects, knob) && is_waited_for(effects, knob) && is_whole(effects, knob);
}
