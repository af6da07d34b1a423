/* Questions about the sites of a run: model, kind of bytes, bytes held. The file is apart from advise_run.c, which needs their users. */
#include <stdlib.h>
#include <string.h>
#include "advise_run.h"
#include "memtrace/base.h"
#include "memtrace/knobs.h"

#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define LIKE_LOGITS 2 /* factor: logits have between half and twice as many rows */
#define TRAINERS (ROLE(TRAINER) | ROLE(REFERENCE) | ROLE(CRITIC) | ROLE(REWARD))

uint64_t advise_tags(const struct advise_run *run, const struct replay_site *site)
{
	uint32_t at = run->scene ? scene_site_of(run->scene, site->id) : SCENE_NONE;

	return at == SCENE_NONE ? 0 : run->scene->site[at].tags;
}

/* Graphs of the start are an engine's: a trainer captures graphs after some steps. */
int advise_is_engines(const struct replay_site *site)
{
	return (site->category == MT_CATEGORY_KV_CACHE && !site->own_cache) ||
	       (site->category == MT_CATEGORY_GRAPHS && mt_phase_is_early(site->phase)) || site->engine;
}

int advise_has_model(const struct advise_run *run, enum mt_knob_process process)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].roles & 1u << process)
			return 1;
	return 0;
}

/* The part of weights that is a copy, without a census: two places have equal bytes in equally many pieces. */
static double copied(const struct advise_run *run)
{
	const struct replay *replay = &run->replay;
	const struct replay_site *site, *first = NULL, *copy = NULL;
	uint64_t all = 0;
	uint32_t i;

	for (i = 0; i < replay->sites; i++) {
		site = &replay->site[i];
		if (site->category != MT_CATEGORY_WEIGHTS || site->process != run->it->process || site->engine)
			continue;
		all += site->then;
		if (first && site->then == first->then && site->then_count == first->then_count)
			copy = site;
		first = !first || site->then > first->then ? site : first;
	}
	return copy && copy->then > all / 4 ? (double)copy->then / (double)all : 0;
}

double advise_untrained(const struct advise_run *run)
{
	if (run->model.weights)
		return (double)run->model.untrained / (double)run->model.weights;
	if (!run->failed || (!(run->phases & 1u << MT_PHASE_REF) && !advise_has_model(run, MT_KNOB_PROCESS_REFERENCE)))
		return 0;
	return copied(run);
}

uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site)
{
	uint32_t roles = TRAINERS;
	size_t i;

	for (i = 0; i < run->replay.processes; i++)
		if (run->role[i].process == site->process)
			roles = run->role[i].roles;
	roles = site->roles ? site->roles : roles & ~run->elsewhere;
	if (!advise_is_engines(site))
		return roles;
	/* A trainer that generates without an engine has its own cache. */
	return ROLE(ENGINE) | (site->category == MT_CATEGORY_KV_CACHE && !site->engine ? roles : 0);
}

/* The vocabulary of logits: of their site, of the census, or of the failed request. */
static uint64_t words_of(const struct advise_run *run, const struct replay_site *site)
{
	if (site->words)
		return site->words;
	return run->model.words ? run->model.words : run->asked.words;
}

uint64_t advise_element(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t words = words_of(run, site);

	if (site->element || !words)
		return site->element;
	return site->largest % (words * 4) ? site->largest % (words * 2) ? 0 : 2 : 4;
}

uint64_t advise_rows(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t row = words_of(run, site) * advise_element(run, site);

	return site->category == MT_CATEGORY_LOGITS && row && !(site->largest % row) ? site->largest / row : 0;
}

int advise_is_logits(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t row = words_of(run, site) * advise_element(run, site), rows;
	uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER;

	if (site->category == MT_CATEGORY_LOGITS)
		return 1;
	if (!(passing & 1u << site->category) || !run->tokens || !row || site->largest % row)
		return 0;
	rows = site->largest / row;
	return rows >= run->tokens / LIKE_LOGITS && rows <= run->tokens * LIKE_LOGITS;
}

double advise_later_of(const struct advise_run *run, uint32_t site)
{
	double bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.later.changes; i++)
		bytes += run->replay.later.change[i].site == site ? run->replay.later.change[i].bytes : 0;
	return bytes;
}

uint64_t advise_held(const struct advise_run *run, uint32_t roles, uint32_t categories, uint8_t phase)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (categories & 1u << run->replay.site[i].category &&
		    roles & advise_roles_of(run, &run->replay.site[i]))
			bytes += run->replay.site[i].held[phase];
	return bytes;
}

uint64_t advise_held_then(const struct advise_run *run, uint32_t categories)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (categories & 1u << run->replay.site[i].category)
			bytes += run->replay.site[i].then;
	return bytes;
}
