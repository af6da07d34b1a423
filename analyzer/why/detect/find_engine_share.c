/* engine_share: a pool of an engine or a library with a setting for its size: a KV cache, or one large piece from the start. */
#include "detectors.h"

#define POOL 10        /* divisor: a piece of an engine's start is a pool from 1/10 of the device on */
#define LIBRARY_POOL 3 /* divisor: a library's piece is a pool from 1/3 of the device on */

/* A pool of an engine can have any category. A KV cache of a model's own code is no pool: no setting gives its size. */
static int is_pool(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_KV_CACHE)
		return site->engine ||
		       (scene->process[site->process].who == MT_WHO_ENGINE && !(site->tags & MT_TAG_BIT(GENERATE)));
	if (site->category != MT_CATEGORY_OTHER)
		return 0;
	if (site->engine && (find_own_tags(scene, site->node) & MT_TAG_BIT(ENGINE_START)))
		return site->at[SCENE_NOW] >= scene->request.total / POOL;
	return site->driver && mt_phase_is_early(site->phase) && site->most >= scene->request.total / LIBRARY_POOL;
}

static void say_pool(struct find *find, struct candidate *candidate)
{
	candidate->fact[FACT_GPU] = (int64_t)find->scene->request.total;
	candidate->doubt = candidate->category != MT_CATEGORY_KV_CACHE && !(candidate->tags & MT_TAG_BIT(ENGINE));
}

/* Whether the request is for a new pool: a KV cache, or a library's large piece during the start. */
static int asks_for_pool(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;

	if (request->failure && request->category == MT_CATEGORY_KV_CACHE)
		return scene->process[request->process].who == MT_WHO_ENGINE ||
		       (scene_tags(scene, request->node) & MT_TAG_BIT(ENGINE));
	return request->from_driver && mt_phase_is_early(request->phase) &&
	       request->requested >= request->total / LIBRARY_POOL;
}

/* Each pool is a candidate after a failed request. The rank decides whether the pool leaves too little room. */
void find_engine_share(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	const struct scene_site *site, *wakes = NULL;
	struct candidate *candidate;

	for (site = scene->site; request->failure && site < scene->site + scene->sites; site++) {
		if (!find_is_here(scene, site) || !is_pool(scene, site))
			continue;
		find->take[site - scene->site] = site->at[SCENE_NOW];
		if (request->from_driver && find_is_own(scene, site) && site->asleep == request->requested)
			wakes = site;
	}
	if ((wakes || asks_for_pool(scene)) && !find_sum(scene, request->process, is_pool)) {
		candidate = find_add_request(find);
		candidate->category = wakes ? wakes->category : request->category;
		candidate->fact[FACT_GPU] = (int64_t)request->total;
		candidate->doubt = request->category != MT_CATEGORY_KV_CACHE; /* a pool that wakes up fitted earlier */
	}
	find_groups(find, &(struct find_how){ .need = MT_NEEDS, .done = say_pool });
}
