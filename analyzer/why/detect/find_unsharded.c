/*
 * Whole tensors on a rank that should hold a shard.
 *
 *     whole     gathered parameters, gradients and state dicts that are larger than the rank's shards explain
 *     gathered  a request that gathers shards from all ranks
 *     loading   a model that is loaded to the GPU before sharding
 */
#include "detectors.h"
#include "why/find/find.h"

#define WIDER 250       /* percent of the own weights: a float32 copy of 16-bit weights is 200 */
#define GATHERED 50     /* percent of the own weights: two of a model's many layers are less */
#define GATHERED_MANY 3 /* pieces: the running layer and the next one are two */
#define NOTHING_ELSE 90 /* percent of the bytes in use that must be weights */

static int is_weights(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return site->category == MT_CATEGORY_WEIGHTS && !site->engine && !site->driver;
}

static int is_whole(const struct scene_site *site, uint64_t weights)
{
	uint64_t bytes = site->at[SCENE_NOW];

	switch (site->category) {
	case MT_CATEGORY_GATHER_BUFFERS:
		return bytes > weights ||
		       (site->count_at[SCENE_NOW] >= GATHERED_MANY && bytes > weights / 100 * GATHERED);
	case MT_CATEGORY_WORKSPACE:
		return site->phase == MT_PHASE_OPTIMIZER && bytes > weights / 100 * WIDER;
	case MT_CATEGORY_GRADIENTS:
	case MT_CATEGORY_STATE_DICT:
	case MT_CATEGORY_WEIGHT_BUFFERS:
		return bytes > weights / 100 * WIDER;
	default:
		return 0;
	}
}

/* A model needs one layer at a time, and no tensors for a file. An engine needs the weights that it receives. */
static void describe_whole(struct find *find, struct candidate *candidate)
{
	(void)find;
	if (candidate->category != MT_CATEGORY_WEIGHT_BUFFERS && candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
}

/* Only a rank with weights can have shards. */
static void find_kept_whole(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_UNSHARDED,
				      .reference = REFERENCE_MODEL,
				      .by_category = 1,
				      .need = MT_NEEDS,
				      .done = describe_whole };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_begin(find);
	find_sums(find, is_weights);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (scene->process[site->process].rank >= 0 && find_is_here(scene, site) && !site->engine &&
		    find->process_sum[site->process] && is_whole(site, find->process_sum[site->process]))
			find->take[i] = site->at[SCENE_NOW];
	}
	find_groups(find, &how);
}

/* A request that gathers, unless it gathers one layer's weights. */
static int is_gathering(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;

	return request->failure && request->node != SCENE_NONE && request->category != MT_CATEGORY_GATHER_BUFFERS &&
	       request->requested >= request->total / 100 && (scene->node[request->node].tags & MT_TAG_BIT(GATHER));
}

/* Whether weights fill the device while a model is loaded: the whole model does not fit. */
static int is_loading(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];
	uint64_t weights = find_sum(scene, request->process, is_weights);

	return request->failure && mt_phase_is_early(request->phase) && process->who == MT_WHO_MODEL &&
	       weights > request->total / 2 && weights >= process->in_use / 100 * NOTHING_ELSE;
}

static int is_loaded(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && is_weights(scene, site);
}

void find_unsharded(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_UNSHARDED, .need = MT_NEEDS };

	find_kept_whole(find);
	if (is_gathering(find->scene))
		find_add_request(find, MT_CAUSE_UNSHARDED, find->scene->request.requested);
	if (is_loading(find->scene))
		find_sites(find, &how, is_loaded);
}
