/* A piece larger than earlier pieces of the same place: one long sequence, one large batch. */
#include "detectors.h"
#include "why/find/find.h"

#define USUAL 125 /* percent of the place's largest earlier piece: padded batches differ by less */

/* Functions whose sizes follow the weights. */
#define OF_WEIGHTS                                                                                    \
	(MT_TAG_BIT(WAKE) | MT_TAG_BIT(CHECKPOINT_LOAD) | MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(SAVE) | \
	 MT_TAG_BIT(WEIGHT_SYNC) | MT_TAG_BIT(OFFLOAD) | MT_TAG_BIT(OPTIMIZER) | MT_TAG_BIT(MODEL_INIT))

/* Sizes of weights and buffers do not follow the batch. */
static int is_of_batch(const struct scene *scene, uint32_t node, enum mt_phase phase, enum mt_category category)
{
	return !mt_phase_is_early(phase) && !(find_own_tags(scene, node) & OF_WEIGHTS) &&
	       (find_is_of_forward(category) || category == MT_CATEGORY_OTHER || category == MT_CATEGORY_GRADIENTS ||
		category == MT_CATEGORY_WORKSPACE || category == MT_CATEGORY_KV_CACHE);
}

static int is_unusual(uint64_t now, uint64_t before)
{
	return before && now / USUAL > before / 100;
}

/*
 * Random batches differ by up to a factor of two. Less than a tenth of the device fails more often by chance. A piece that was
 * freed in the same part of the run can be another size of the same batch.
 */
static void say_history(struct find *find, struct candidate *candidate, uint64_t now, uint64_t before)
{
	const struct scene_request *request = &find->scene->request;

	candidate->reference = REFERENCE_BEFORE;
	candidate->doubt = now < 2 * before || candidate->bytes - candidate->expected < request->total / 10 ||
			   request->earlier_freed;
	candidate->fact[FACT_EARLIER] = (int64_t)before;
	/* A gradient whose size follows the batch is an activation's gradient, not a weight's. */
	if (candidate->category == MT_CATEGORY_GRADIENTS)
		candidate->category = MT_CATEGORY_ACTIVATIONS;
}

static void say_largest(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site = &scene->site[candidate->part[0].site];
	size_t i;

	for (i = 1; i < candidate->parts; i++)
		if (scene->site[candidate->part[i].site].most > site->most)
			site = &scene->site[candidate->part[i].site];
	candidate->fact[FACT_EACH] = (int64_t)site->most;
	say_history(find, candidate, site->most, site->most_before);
}

void find_outlier(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_OUTLIER, .need = MT_NEEDS, .done = say_largest };
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	const struct scene_site *site;
	struct candidate *candidate;
	size_t i;

	if (request->failure && request->node != SCENE_NONE && is_unusual(request->requested, request->earlier_most) &&
	    is_of_batch(scene, request->node, request->phase, request->category)) {
		candidate = find_add_request(find, MT_CAUSE_OUTLIER, request->requested);
		if (!candidate)
			return;
		candidate->expected = request->earlier_most;
		say_history(find, candidate, request->requested, request->earlier_most);
	}
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!find_is_here(scene, site) || !is_unusual(site->most, site->most_before) ||
		    !is_of_batch(scene, site->node, site->phase, site->category))
			continue;
		find->take[i] = site->at[SCENE_NOW];
		find->expect[i] = (uint64_t)((double)site->at[SCENE_NOW] * site->most_before / site->most);
	}
	find_groups(find, &how);
}
