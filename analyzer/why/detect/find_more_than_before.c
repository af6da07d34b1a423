/* more_than_before: bytes that are resident now, and were not at the reference (scene.h). */
#include "detectors.h"
#include "why/find/find.h"

#define SHARE 4 /* divisor: less than 1/4 of the missing bytes is noise of another batch */

/* Bytes of a batch follow its size and the order of layers (find_outlier.c, find_largest.c). */
static int is_of_batch(const struct scene *scene, const struct scene_site *site)
{
	return find_need(scene, site) == MT_NEED_NOW &&
	       (site->category == MT_CATEGORY_ACTIVATIONS || site->category == MT_CATEGORY_RECOMPUTED ||
		site->category == MT_CATEGORY_LOGITS || site->category == MT_CATEGORY_GATHER_BUFFERS ||
		site->category == MT_CATEGORY_WORKSPACE);
}

/* The first steps make states and gradients, and a training needs these. */
static int comes_anyway(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && find_need(scene, site) != MT_NEED_NEVER &&
	       (site->category == MT_CATEGORY_OPTIMIZER_STATE || site->category == MT_CATEGORY_GRADIENTS);
}

/* The rise chose the branches. The candidate has all resident bytes of these branches. */
static void say_all(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	candidate->bytes = candidate->expected = 0;
	for (i = 0; i < candidate->parts; i++) {
		site = &scene->site[candidate->part[i].site];
		candidate->part[i].bytes = site->at[SCENE_NOW];
		candidate->bytes += site->at[SCENE_NOW];
		candidate->expected += site->at[SCENE_BEFORE];
	}
	candidate->doubt = scene->request.has_before != SCENE_SAME_PLACE ||
			   candidate->bytes - candidate->expected < scene->request.missing;
}

void find_more_than_before(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t least = scene->request.missing / SHARE;
	const struct find_how how = { .cause = MT_CAUSE_MORE_THAN_BEFORE,
				      .reference = REFERENCE_BEFORE,
				      .need = MT_NEEDS,
				      .least = least > find_least(scene) ? least : find_least(scene) };
	const struct scene_site *site;
	size_t i;

	for (i = 0; scene->request.has_before && i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && !is_of_batch(scene, site) && !comes_anyway(scene, site) &&
		    site->at[SCENE_NOW] > site->at[SCENE_BEFORE])
			find->take[i] = site->at[SCENE_NOW] - site->at[SCENE_BEFORE];
	}
	find_groups(find, &how, say_all);
}
