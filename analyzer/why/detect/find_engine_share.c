/*
 * engine_share: the pool of an inference engine or a library, sized by a setting: a KV cache, or one large piece at the start.
 */
#include "detectors.h"
#include "why/find/find.h"

#define POOL 10        /* divisor: a piece of an engine's start below 1/10 of the device can be anything */
#define LIBRARY_POOL 3 /* divisor: a library's piece of 1/3 of the device is a pool */

/* Engine code makes pools of any category. A KV cache of a model's own code has no setting of its size. */
int find_is_pool(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_KV_CACHE)
		return site->engine || scene->process[site->process].who == MT_WHO_ENGINE;
	if (site->category != MT_CATEGORY_OTHER)
		return 0;
	if (site->engine && (find_own_tags(scene, site->node) & MT_TAG_BIT(ENGINE_START)))
		return site->at[SCENE_NOW] >= scene->request.total / POOL;
	return site->driver && mt_phase_is_early(site->phase) && site->most >= scene->request.total / LIBRARY_POOL;
}

/* Whether a process that takes turns holds the missing bytes: peer_awake then explains more than the pool's size. */
static void say_pool(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	uint32_t i;

	candidate->fact[FACT_GPU] = (int64_t)scene->request.total;
	candidate->doubt = candidate->category != MT_CATEGORY_KV_CACHE && !(candidate->tags & MT_TAG_BIT(ENGINE));
	candidate->doubt |= find_takes_turns(scene, candidate->process);
	for (i = 0; i < scene->processes && candidate->process == scene->request.process; i++)
		candidate->doubt |= find_takes_turns(scene, i) && scene->process[i].in_use >= scene->request.missing;
}

/* After a failed request every pool is a candidate. The rank decides whether the pool left too little room. */
void find_engine_share(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_ENGINE_SHARE, .need = MT_NEEDS, .done = say_pool };
	const struct scene_request *request = &find->scene->request;
	const struct scene_site *site;
	size_t i;

	for (i = 0; request->failure && i < find->scene->sites; i++) {
		site = &find->scene->site[i];
		if (!find_is_here(find->scene, site) || !find_is_pool(find->scene, site))
			continue;
		find->take[i] = site->at[SCENE_NOW];
		if (request->from_driver && find_is_own(find->scene, site) && request->requested == site->asleep)
			find->take[i] += site->asleep; /* the request is to wake it */
	}
	find_groups(find, &how);
}
