/*
 * Whole tensors on a rank that should hold a shard.
 *
 *     whole     gathered parameters, gradients and state dicts with more bytes than the rank's shards explain
 *     gathered  a request that gathers shards of all ranks
 *     loading   a model that is loaded to the GPU before it is sharded
 */
#include "detectors.h"

#define WIDER 250       /* percent of the rank's weights: a float32 copy of 16-bit weights has 200 */
#define GATHERED 50     /* percent of the rank's weights: two of many layers have less */
#define GATHERED_MANY 3 /* pieces: the running layer and the next layer are only two */
#define NOTHING_ELSE 90 /* percent of the used bytes: with as many weights, the process has only loaded */

int find_is_whole(const struct scene *scene, const struct scene_site *site)
{
	uint64_t bytes = site->at[SCENE_NOW], weights = scene->process[site->process].weights;

	if (scene->process[site->process].rank < 0 || site->engine || !weights)
		return 0;
	switch (site->category) {
	case MT_CATEGORY_GATHER_BUFFERS:
		return bytes > weights ||
		       (site->count_at[SCENE_NOW] >= GATHERED_MANY && bytes > weights / 100 * GATHERED);
	case MT_CATEGORY_GRADIENTS:
	case MT_CATEGORY_STATE_DICT:
	case MT_CATEGORY_WEIGHT_BUFFERS:
		return bytes > weights / 100 * WIDER;
	default:
		return 0;
	}
}

/* Whether the request gathers more than a layer's weights, or is for all gradients: a rank with shards needs one part at a time. */
static int is_gathering(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;

	if (find_asks_for_model(scene) && request->category == MT_CATEGORY_GRADIENTS)
		return scene->process[request->process].rank >= 0;
	return request->failure && request->category != MT_CATEGORY_GATHER_BUFFERS &&
	       request->requested >= request->total / 100 && (scene_tags(scene, request->node) & MT_TAG_BIT(GATHER));
}

/* Whether a load has filled the device with weights. A lone process that moves a model to its GPU has no ranks that could share the model. */
static int is_loading(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];

	return request->failure && mt_phase_is_early(request->phase) && process->who == MT_WHO_MODEL &&
	       (process->rank >= 0 || (find_own_tags(scene, request->node) & MT_TAG_BIT(CHECKPOINT_LOAD))) &&
	       process->weights > request->total / 2 && process->weights >= process->in_use / 100 * NOTHING_ELSE;
}

static int is_loaded(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && scene_is_weights(site);
}

void find_unsharded(struct find *find)
{
	find_sites(find, &(struct find_how){ FIND_OF_MODEL }, find_is_whole);
	if (is_gathering(find->scene))
		find_add_request(find);
	if (is_loading(find->scene))
		find_sites(find, &(struct find_how){ .need = MT_NEEDS }, is_loaded);
}
