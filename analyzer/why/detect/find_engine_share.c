/*
 * engine_share: the pool of an inference engine or a library, sized by a setting: a KV cache, or one large piece at the start.
 */
#include "detectors.h"
#include "why/find/find.h"

#define POOL 3 /* divisor: a library's piece of 1/3 of the device is a pool */

/* Bytes of a pool that the failed request was about to wake: they count, although they are asleep. */
static uint64_t waking(const struct scene *scene, const struct scene_site *site)
{
	const struct scene_request *request = &scene->request;

	return request->from_driver && find_is_own(scene, site) && request->requested == site->asleep ? site->asleep
												      : 0;
}

/* Engine code makes pools of any category. A KV cache of a model's own code has no setting of its size. */
int find_is_pool(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_KV_CACHE)
		return site->engine || scene->process[site->process].who == MT_WHO_ENGINE;
	if (site->category != MT_CATEGORY_OTHER)
		return 0;
	if ((find_own_tags(scene, site->node) & MT_TAG_BIT(ENGINE_START)) && (site->tags & MT_TAG_BIT(ENGINE)))
		return site->at[SCENE_NOW] >= scene->request.total / 10;
	return site->driver && mt_phase_is_early(site->phase) && site->most >= scene->request.total / POOL;
}

/* Whether a process that takes turns holds the missing bytes: peer_awake then explains more than the pool's size. */
static int others_hold(const struct scene *scene, uint32_t process)
{
	uint32_t i;

	if (process != scene->request.process)
		return find_takes_turns(scene, process);
	for (i = 0; i < scene->processes; i++)
		if (find_takes_turns(scene, i) && scene->process[i].in_use >= scene->request.missing)
			return 1;
	return 0;
}

static void say_pool(struct find *find, struct candidate *candidate)
{
	candidate->fact[FACT_GPU] = (int64_t)find->scene->request.total;
	candidate->doubt = !(candidate->category == MT_CATEGORY_KV_CACHE || candidate->tags & MT_TAG_BIT(ENGINE)) ||
			   others_hold(find->scene, candidate->process);
}

/* After a failed request every pool is a candidate. The rank decides whether the pool left too little room. */
void find_engine_share(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_ENGINE_SHARE, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	if (!scene->request.failure)
		return;
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && find_is_pool(scene, site))
			find->take[i] = site->at[SCENE_NOW] + waking(scene, site);
	}
	find_groups(find, &how, say_pool);
}
