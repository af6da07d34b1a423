/* A piece that is much larger than earlier pieces of the same place: one long sequence, or one large batch. */
#include "detectors.h"

#define USUAL 125                 /* percent of the place's largest earlier piece: padding alone causes less */
#define OTHER 32                  /* times: a batch is not this much larger than the one before */
#define CUBLAS (8320u << 10)      /* bytes of cuBLAS's workspace as PyTorch sets it (":4096:2:16:8") */
#define CUBLAS_HOPPER (32u << 20) /* the same on GPUs since Hopper */

/* Whether the size follows the batch. Sizes of weights and optimizer states do not. */
static int is_of_batch(enum mt_phase phase, enum mt_category category)
{
	return !mt_phase_is_early(phase) &&
	       scene_is_of(category, SCENE_OF_FORWARD | SCENE_SET(OTHER) | SCENE_SET(GRADIENTS) | SCENE_SET(WORKSPACE) |
					     SCENE_SET(KV_CACHE));
}

/* Small earlier pieces of a run without steps are of other operations on the line. A matrix product takes and frees cuBLAS's workspace there. */
static int is_unusual(const struct scene *scene, uint64_t now, uint64_t before)
{
	return before && now / USUAL > before / 100 &&
	       (scene->process[scene->request.process].steps ||
		(now / OTHER <= before && before != CUBLAS && before != CUBLAS_HOPPER));
}

/* Weak evidence: less than twice the earlier size, as in random batches, or an excess below a tenth of the device. */
static void say_history(struct find *find, struct candidate *candidate, uint64_t now, uint64_t before)
{
	const struct scene_request *request = &find->scene->request;

	candidate->reference = REFERENCE_BEFORE;
	candidate->doubt = now < 2 * before || candidate->bytes - candidate->expected < request->total / 10;
	candidate->fact[FACT_EARLIER] = (int64_t)before;
	/* A gradient whose size follows the batch belongs to an activation, not to a weight. */
	if (candidate->category == MT_CATEGORY_GRADIENTS)
		candidate->category = MT_CATEGORY_ACTIVATIONS;
}

static int is_larger(const struct scene *scene, const struct scene_site *site)
{
	return is_unusual(scene, site->most, site->most_before) && is_of_batch(site->phase, site->category);
}

static uint64_t usual(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return (uint64_t)((double)site->at[SCENE_NOW] * site->most_before / site->most);
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
	const struct scene_request *request = &find->scene->request;
	struct candidate *candidate;

	if (request->failure && request->node != SCENE_NONE &&
	    is_unusual(find->scene, request->requested, request->earlier_most) &&
	    is_of_batch(request->phase, request->category)) {
		candidate = find_add_request(find);
		candidate->expected = request->earlier_most;
		say_history(find, candidate, request->requested, request->earlier_most);
	}
	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .expect = usual, .done = say_largest }, is_larger);
}
