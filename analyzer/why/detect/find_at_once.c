/* Many equal pieces at the same time, beyond layers and parameters: buffers, communicators, queue items, captured graphs. */
#include "detectors.h"
#include "why/find/find.h"

#define MANY 4        /* equal pieces: two or three are a pair and its sum */
#define ALIKE_PART 16 /* divisor: equal sizes differ by at most 1/16 */

static int is_asked(const struct scene *scene, const struct scene_site *site)
{
	return scene->request.failure && scene->request.node == site->node && find_is_own(scene, site) &&
	       scene->request.requested / ALIKE_PART == site->most / ALIKE_PART;
}

/* A model has many layers and parameters, and a cache many pages. find_logits.c finds chunks of logits. */
static int is_by_nature(const struct scene_site *site)
{
	switch (site->category) {
	case MT_CATEGORY_WEIGHTS:
	case MT_CATEGORY_GRADIENTS:
	case MT_CATEGORY_OPTIMIZER_STATE:
	case MT_CATEGORY_ACTIVATIONS:
	case MT_CATEGORY_RECOMPUTED:
	case MT_CATEGORY_KV_CACHE:
	case MT_CATEGORY_EVALUATION:
	case MT_CATEGORY_STATE_DICT:
	case MT_CATEGORY_LOGITS:
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

/* A piece for each parameter is a copy of the weights. Small groups, such as captured graphs, are normal in an engine. */
static int is_weak(const struct scene *scene, const struct scene_site *site)
{
	const uint64_t of_weights = MT_TAG_BIT(GATHER) | MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(CHECKPOINT_LOAD);

	return (is_buffer(scene, site) && site->at[SCENE_NOW] < scene->request.total / 10) ||
	       site->category == MT_CATEGORY_GATHER_BUFFERS || site->category == MT_CATEGORY_WEIGHT_BUFFERS ||
	       (!is_buffer(scene, site) && (find_own_tags(scene, site->node) & of_weights)) ||
	       (!is_asked(scene, site) && site->at[SCENE_NOW] < scene->request.total / 10);
}

/* Unknown memory of the start can be weights, unless the request is one more equal piece. */
static int may_be_weights(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase) && !is_asked(scene, site);
}

static int is_many(const struct scene *scene, const struct scene_site *site)
{
	uint64_t pieces = site->count_at[SCENE_NOW] + (uint64_t)is_asked(scene, site);

	return find_is_here(scene, site) && pieces >= MANY && site->most - site->least <= site->most / ALIKE_PART &&
	       site->first_step == site->last_step && !may_be_weights(scene, site);
}

static void say_weak(struct find *find, struct candidate *candidate)
{
	size_t i;

	candidate->doubt = 1;
	for (i = 0; i < candidate->parts; i++)
		candidate->doubt &= is_weak(find->scene, &find->scene->site[candidate->part[i].site]);
}

void find_at_once(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_AT_ONCE, .by_category = 1, .by_function = 1, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (is_many(scene, site) && (!is_by_nature(site) || is_buffer(scene, site)))
			find->take[i] = site->at[SCENE_NOW];
	}
	find_groups(find, &how, say_weak);
}
