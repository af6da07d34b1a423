/* Activations of an evaluation with gradients on: no backward comes and frees them. */
#include "detectors.h"
#include "why/find/find.h"

#define MANY 8 /* pieces of one place: without gradients, a piece goes after the next layer */

/* An evaluation keeps activations of many layers, and has no backward. */
static int is_kept(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && site->category == MT_CATEGORY_ACTIVATIONS &&
	       site->count_at[SCENE_NOW] >= MANY && (site->tags & MT_TAG_BIT(EVALUATION)) &&
	       !(site->tags & MT_TAG_BIT(GENERATE)) && !site->engine;
}

static int evaluates_now(const struct scene *scene)
{
	const uint32_t node = scene->request.node;

	return node != SCENE_NONE && (scene->node[node].tags & MT_TAG_BIT(EVALUATION));
}

/* After the evaluation, anything can keep the activations. */
static void doubt_later(struct find *find, struct candidate *candidate)
{
	candidate->doubt = !evaluates_now(find->scene);
}

void find_no_backward(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_NO_BACKWARD, .need = MT_NEED_NEVER };
	const struct scene *scene = find->scene;
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (is_kept(scene, &scene->site[i]))
			find->take[i] = scene->site[i].at[SCENE_NOW];
	find_groups(find, &how, doubt_later);
}
