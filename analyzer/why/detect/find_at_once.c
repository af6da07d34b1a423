/* Many equal pieces at the same time, beyond layers and parameters: buffers, communicators, queue items, captured graphs. */
#include "detectors.h"
#include "why/find/find.h"

#define MANY 4        /* equal pieces: two or three are a pair and its sum */
#define ALIKE_PART 16 /* divisor: equal sizes differ by at most 1/16 */
#define LITTLE 10     /* divisor: small groups, such as captured graphs, are normal */

/* A model has many layers and parameters. Unknown memory of the start can be weights. */
static int may_be_many(const struct scene_site *site)
{
	switch (site->category) {
	case MT_CATEGORY_OTHER:
		return !mt_phase_is_early(site->phase);
	case MT_CATEGORY_GRAPHS:
	case MT_CATEGORY_NCCL:
	case MT_CATEGORY_WORKSPACE:
	case MT_CATEGORY_WEIGHT_BUFFERS:
	case MT_CATEGORY_GATHER_BUFFERS:
		return 1;
	default:
		return 0;
	}
}

/* Gradients and activations of a collective or a loader can be its buffers. */
static int is_buffer(const struct scene *scene, const struct scene_site *site)
{
	return (site->category == MT_CATEGORY_GRADIENTS || site->category == MT_CATEGORY_ACTIVATIONS) &&
	       ((site->tags & MT_TAG_BIT(COLLECTIVE)) || (find_own_tags(scene, site->node) & MT_TAG_BIT(DATA)));
}

static int is_many(const struct scene *scene, const struct scene_site *site)
{
	return site->count_at[SCENE_NOW] >= MANY && site->most - site->least <= site->most / ALIKE_PART &&
	       site->first_step == site->last_step && (may_be_many(site) || is_buffer(scene, site));
}

/* A piece for each parameter is a copy of the weights. */
static void say_weak(struct find *find, struct candidate *candidate)
{
	const uint64_t of_weights = MT_TAG_BIT(GATHER) | MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(CHECKPOINT_LOAD);

	candidate->doubt = candidate->bytes < find->scene->request.total / LITTLE ||
			   candidate->category == MT_CATEGORY_GATHER_BUFFERS ||
			   candidate->category == MT_CATEGORY_WEIGHT_BUFFERS ||
			   (find_own_tags(find->scene, candidate->stack) & of_weights);
}

void find_at_once(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_AT_ONCE, .by_category = 1, .need = MT_NEEDS, .done = say_weak };

	find_sites(find, &how, is_many);
}
