/* A piece larger than earlier pieces of the same place: one long sequence, one large batch. */
#include "detectors.h"
#include "why/find/find.h"

#define USUAL 125 /* percent of the place's largest earlier piece: padded batches differ by less */

/* Functions whose sizes follow the weights. */
#define OF_WEIGHTS                                                                                    \
	(MT_TAG_BIT(WAKE) | MT_TAG_BIT(CHECKPOINT_LOAD) | MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(SAVE) | \
	 MT_TAG_BIT(WEIGHT_SYNC) | MT_TAG_BIT(OFFLOAD) | MT_TAG_BIT(OPTIMIZER) | MT_TAG_BIT(MODEL_INIT))

static int is_unusual(uint64_t now, uint64_t before)
{
	return before && now / USUAL > before / 100;
}

/*
 * Random batches differ by up to a factor of two. Less than a tenth of the device fails more often by chance. A piece that was
 * freed in the same part of the run can be another size of the same batch.
 */
static int is_weak(const struct scene *scene, uint64_t bytes, uint64_t now, uint64_t before)
{
	return now < 2 * before || bytes < scene->request.total / 10 || scene->request.earlier_freed;
}

/* Sizes of weights and buffers do not follow the batch. */
static int is_of_batch(const struct scene *scene, const struct scene_site *site)
{
	if (find_own_tags(scene, site->node) & OF_WEIGHTS)
		return 0;
	return site->category != MT_CATEGORY_WEIGHTS && site->category != MT_CATEGORY_OPTIMIZER_STATE &&
	       site->category != MT_CATEGORY_GRAPHS && site->category != MT_CATEGORY_NCCL &&
	       site->category != MT_CATEGORY_WEIGHT_BUFFERS && site->category != MT_CATEGORY_GATHER_BUFFERS &&
	       site->category != MT_CATEGORY_STATE_DICT && !mt_phase_is_early(site->phase);
}

static int is_outlier(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && is_of_batch(scene, site) && is_unusual(site->most, site->most_before);
}

/* A gradient whose size follows the batch is an activation's gradient, not a weight's. */
static void name_gradients(struct candidate *candidate)
{
	if (candidate->category == MT_CATEGORY_GRADIENTS)
		candidate->category = MT_CATEGORY_ACTIVATIONS;
}

static void find_asked_outlier(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	uint64_t before = request->earlier_most;
	struct candidate *candidate;

	if (!request->failure || mt_phase_is_early(request->phase) || request->node == SCENE_NONE ||
	    (find_own_tags(find->scene, request->node) & OF_WEIGHTS) || !is_unusual(request->requested, before))
		return;
	candidate = find_add_request(find, MT_CAUSE_OUTLIER, find->scene->request.requested);
	if (!candidate)
		return;
	name_gradients(candidate);
	candidate->reference = REFERENCE_BEFORE;
	candidate->expected = before;
	candidate->doubt = is_weak(find->scene, request->requested - before, request->requested, before);
	candidate->fact[FACT_EARLIER] = (int64_t)before;
}

/* Notes the place's largest piece, and its largest earlier piece. */
static void say_history(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site = &scene->site[candidate->part[0].site];
	size_t i;

	for (i = 1; i < candidate->parts; i++)
		if (scene->site[candidate->part[i].site].most > site->most)
			site = &scene->site[candidate->part[i].site];
	candidate->doubt = is_weak(scene, candidate->bytes - candidate->expected, site->most, site->most_before);
	candidate->fact[FACT_EARLIER] = (int64_t)site->most_before;
	candidate->fact[FACT_EACH] = (int64_t)site->most;
	name_gradients(candidate);
}

void find_outlier(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_OUTLIER, .reference = REFERENCE_BEFORE, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_asked_outlier(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_outlier(scene, site))
			continue;
		find->take[i] = site->at[SCENE_NOW];
		find->expect[i] = (uint64_t)((double)site->at[SCENE_NOW] * site->most_before / site->most);
	}
	find_groups(find, &how, say_history);
}
