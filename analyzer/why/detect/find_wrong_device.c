/*
 * Other ranks of the same program on the device of the request: each rank should have its own device.
 *
 * The candidate has all bytes of these ranks on the device: tensors, cache and contexts.
 */
#include "detectors.h"

static int is_of_role(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return (site->tags & (MT_TAG_BIT(REFERENCE) | MT_TAG_BIT(CRITIC))) != 0;
}

/* A worker of another role shares a device on purpose: an engine, a reference, a critic, and any process that sleeps. */
static int has_role(const struct scene *scene, uint32_t process)
{
	const struct scene_process *it = &scene->process[process];

	return it->sleeps || it->who == MT_WHO_ENGINE || find_sum(scene, process, is_of_role) > it->in_use / 2;
}

static int is_other_rank(const struct scene *scene, uint32_t process)
{
	const struct scene_process *own = &scene->process[scene->request.process], *it = &scene->process[process];

	return it->on_device && !it->ended && own->rank >= 0 && it->rank >= 0 && it->rank != own->rank && !it->sleeps &&
	       !own->sleeps && has_role(scene, process) == has_role(scene, scene->request.process);
}

/* The bytes of all other ranks are one cause: one line of code chose the device for all. */
void find_wrong_device(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t bytes = 0, contexts = 0, own = find_context(scene, scene->request.process);
	uint32_t i, most = SCENE_NONE;
	struct candidate *candidate;
	int64_t ranks = 0;

	for (i = 0; i < scene->processes; i++) {
		if (!is_other_rank(scene, i))
			continue;
		ranks++;
		bytes += scene->process[i].held;
		contexts += find_context(scene, i);
		if (most == SCENE_NONE || scene->process[i].held > scene->process[most].held)
			most = i;
	}
	own = scene->request.outside > own ? scene->request.outside - own : 0;
	bytes += contexts < own ? contexts : own;
	if (!ranks || bytes < find_least(scene))
		return;
	candidate = find_add(find, most);
	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].process == most && find_is_here(scene, &scene->site[i]) &&
		    scene->site[i].at[SCENE_NOW])
			find_part(find, candidate, i, scene->site[i].at[SCENE_NOW]);
	find_describe(find, candidate);
	candidate->bytes = bytes;
	candidate->need = MT_NEED_NEVER;
	candidate->known = SCENE_CENSUS; /* certain for any category: these processes do not belong here */
	candidate->fact[FACT_PROCESSES] = ranks;
	find_takers(find, candidate, 1);
}
