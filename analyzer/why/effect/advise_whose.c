/* Finds the owner of bytes: an engine, or a critic, reference, teacher or reward model. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "advise_run.h"
#include "memtrace/base.h"
#include "stack_words.h"

/* ---- engines --------------------------------------------------------------------------------------------------------- */

/* Whether an engine owns the site. Graphs of the start are an engine's: a trainer captures graphs after some steps. */
static int is_engines(const struct replay_site *site)
{
	return (site->category == MT_CATEGORY_KV_CACHE && !site->own_cache) ||
	       (site->category == MT_CATEGORY_GRAPHS && mt_phase_is_early(site->phase)) || site->engine;
}

int advise_is_set_aside(const struct replay_site *site)
{
	return site->phase == MT_PHASE_ROLLOUT && site->category == MT_CATEGORY_OTHER;
}

int advise_generates_itself(const struct advise_run *run, int64_t process)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].own_cache && (!process || run->replay.site[i].process == process))
			return 1;
	return 0;
}

/* A process trains if it has weights of an engine and of its own. A process with an engine and no other weights is only an engine. */
static void find_role(struct advise_run *run, uint32_t process)
{
	int64_t id = run->scene->process[process].id;
	const struct replay_site *site;
	int own = 0, engine = 0, any = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (site->process != id)
			continue;
		any |= is_engines(site);
		if (site->category == MT_CATEGORY_WEIGHTS && !site->ignored) {
			own |= !site->engine;
			engine |= site->engine;
		}
	}
	run->role[process] = any && !(own && engine) ? RUN_ROLE(ENGINE) : RUN_TRAINERS;
}

void advise_find_engine_sites(struct advise_run *run)
{
	const uint32_t loaded = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_GRAPHS;
	const struct scene *scene = run->scene;
	const struct scene_site *from;
	struct replay_site *site;
	char owner[64];
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		if (!site->id)
			continue;
		from = &scene->site[scene_site_of(scene, site->id)];
		snprintf(owner, sizeof(owner), "%.*s/", (int)strcspn(from->owner, " "), from->owner); /* as a folder */
		site->engine = (mt_why_tags(scene->why, "", owner, "") & MT_TAG_BIT(ENGINE)) ||
			       (from->engine &&
				(loaded & 1u << site->category ||
				 (site->phase == MT_PHASE_ROLLOUT && RUN_PASSING & 1u << site->category)));
		site->own_cache = site->category == MT_CATEGORY_KV_CACHE && !from->engine &&
				  from->tags & MT_TAG_BIT(GENERATE);
	}
	for (i = 0; i < scene->processes; i++)
		if (!run->role[i])
			find_role(run, i);
}

/* ---- models ---------------------------------------------------------------------------------------------------------- */

uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site)
{
	uint32_t process = scene_process_of(run->scene, site->process);
	uint32_t roles = process == SCENE_NONE ? RUN_TRAINERS : run->role[process];

	roles = site->roles ? site->roles : roles & ~run->elsewhere;
	if (!is_engines(site))
		return roles;
	/* A trainer that generates without an engine owns its cache. */
	return RUN_ROLE(ENGINE) | (site->category == MT_CATEGORY_KV_CACHE && !site->engine ? roles : 0);
}

/* If all marked bytes of a process are one model's, and it runs no other work, its unmarked bytes (loaded weights) are this model's, too. */
static void mark_process(struct advise_run *run, int64_t process)
{
	const uint32_t others = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OPTIMIZER |
				1u << MT_PHASE_ROLLOUT;
	struct replay_site *site, *end = run->replay.site + run->replay.sites;
	uint32_t roles = 0;

	for (site = run->replay.site; site < end; site++) {
		if (site->process == process && !site->roles && others & 1u << site->phase)
			return;
		roles |= site->process == process ? site->roles : 0;
	}
	if (!roles || roles & (roles - 1))
		return;
	run->elsewhere |= roles;
	for (site = run->replay.site; site < end; site++)
		site->roles = site->process == process ? roles : site->roles;
}

void advise_find_models(struct advise_run *run, const struct mt_knob_file *file)
{
	const struct mt_knob_model *model;
	struct replay_site *site;
	uint32_t i, k;

	for (site = run->replay.site; site < run->replay.site + run->replay.sites; site++) {
		for (model = file->model, i = 0; i < file->models; i++, model++)
			for (k = 0; k < model->seens; k++)
				if (stack_has(run->scene, site->node, model->seen[k]))
					site->roles |= 1u << model->process;
		run->models |= site->roles;
	}
	for (i = 0; i < run->scene->processes && file->models; i++)
		mark_process(run, run->scene->process[i].id);
}

/* ---- the engine with a share of the GPU -------------------------------------------------------------------------------- */

#define ENGINE_LEAST 200 /* divisor: less than 1/200 of the device is not an engine */

/*
 * Raises the engine's bytes to the ones at the peak of a phase; MT_PHASE_COUNT: at the moment. If a process is only an engine, all its sites count.
 * The weights and cache of a draft model count only in `all`: the share does not include a draft model.
 */
static void note_moment(struct advise_engine *engine, const struct advise_run *run, uint32_t phase)
{
	const struct replay *replay = &run->replay;
	double bytes, cache = 0, weights = 0, all = 0;
	const struct replay_site *site;
	uint32_t i;
	int is_cache;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (site->process != engine->process || site->ignored ||
		    (!is_engines(site) && !advise_is_set_aside(site) && advise_roles_of(run, site) != RUN_ROLE(ENGINE)))
			continue;
		bytes = (double)(phase < MT_PHASE_COUNT ? site->held[phase] : site->then);
		bytes += replay->later.phase == phase ? replay_later_of(replay, i) : 0;
		all += bytes;
		is_cache = (site->category == MT_CATEGORY_KV_CACHE && !site->own_cache) || advise_is_set_aside(site);
		if (site->tags & MT_TAG_BIT(DRAFT))
			continue;
		cache += is_cache ? bytes : 0;
		weights += !is_cache && site->category == MT_CATEGORY_WEIGHTS ? bytes : 0;
	}
	engine->has_cache |= cache > 0;
	engine->all = (uint64_t)fmax((double)engine->all, all);
	engine->certain = (uint64_t)fmax((double)engine->certain, cache + weights);
	engine->weights = (uint64_t)fmax((double)engine->weights, weights);
}

void advise_find_engine(struct advise_run *run)
{
	struct advise_engine engine, *most = &run->engine;
	uint32_t engines = 0, phase, i;

	for (i = 0; i < run->scene->processes; i++) {
		engine = (struct advise_engine){ .process = run->scene->process[i].id };
		for (phase = 0; phase <= MT_PHASE_COUNT; phase++)
			note_moment(&engine, run, phase);
		if (advise_generates_itself(run, engine.process) || engine.all <= run->total / ENGINE_LEAST)
			continue;
		engines++;
		if (!most->process || engine.certain - engine.weights > most->certain - most->weights ||
		    (engine.certain - engine.weights == most->certain - most->weights && engine.all > most->all))
			*most = engine;
	}
	most->engines = engines;
}
