/* more_than_before: bytes that are resident now, and were not at the reference (scene.h). */
#include "detectors.h"
#include "why/find/find.h"

#define SHARE 4 /* divisor: less than 1/4 of the missing bytes is noise of another batch */

/*
 * Bytes of a batch follow its size, unless a training's forward comes through a new place. The first steps make states and
 * gradients, and a training needs these.
 */
static int comes_anyway(const struct scene *scene, const struct scene_site *site)
{
	enum mt_need need = find_need(scene, site);

	if (site->category == MT_CATEGORY_OPTIMIZER_STATE || site->category == MT_CATEGORY_GRADIENTS)
		return need != MT_NEED_NEVER && find_is_own(scene, site);
	return need == MT_NEED_NOW && (site->freed || !scene->process[site->process].backward_end) &&
	       (find_is_of_forward(site->category) || site->category == MT_CATEGORY_GATHER_BUFFERS ||
		site->category == MT_CATEGORY_WORKSPACE);
}

/* The candidate has all resident bytes of its branches. */
static void say_enough(struct find *find, struct candidate *candidate)
{
	candidate->doubt = find->scene->request.has_before != SCENE_SAME_PLACE ||
			   candidate->bytes - candidate->expected < find->scene->request.missing;
}

void find_more_than_before(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t least = scene->request.missing / SHARE;
	const struct find_how how = { .cause = MT_CAUSE_MORE_THAN_BEFORE,
				      .reference = REFERENCE_BEFORE,
				      .need = MT_NEEDS,
				      .least = least > find_least(scene) ? least : find_least(scene),
				      .done = say_enough };
	const struct scene_site *site;
	size_t i;

	for (i = 0; scene->request.has_before && i < scene->sites; i++) {
		site = &scene->site[i];
		if (!find_is_here(scene, site) || comes_anyway(scene, site) ||
		    site->at[SCENE_NOW] <= site->at[SCENE_BEFORE])
			continue;
		find->take[i] = site->at[SCENE_NOW];
		find->expect[i] = site->at[SCENE_BEFORE];
	}
	find_groups(find, &how);
}
