/* more_than_before: bytes that are resident now and were not resident at the reference (scene.h). */
#include "detectors.h"

/* Forward bytes vary with the batch; they count only at a place that is new in a training. A trainer needs its states from the first steps on. */
static int comes_anyway(const struct scene *scene, const struct scene_site *site)
{
	return scene_is_of(site->category, SCENE_SET(OPTIMIZER_STATE) | SCENE_SET(GRADIENTS)) ||
	       (find_need(scene, site) == MT_NEED_NOW && (site->freed || !scene->process[site->process].backward_end) &&
		scene_is_of(site->category, SCENE_OF_FORWARD | SCENE_SET(GATHER_BUFFERS) | SCENE_SET(WORKSPACE)));
}

static int is_more(const struct scene *scene, const struct scene_site *site)
{
	return site->at[SCENE_NOW] > site->at[SCENE_BEFORE] && !comes_anyway(scene, site);
}

static uint64_t before(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return site->at[SCENE_BEFORE];
}

/* Weak evidence, unless the reference is the same place and the added bytes reach the missing bytes. */
static void say_enough(struct find *find, struct candidate *candidate)
{
	candidate->doubt = find->scene->request.has_before != SCENE_SAME_PLACE ||
			   candidate->bytes - candidate->expected < find->scene->request.missing;
}

void find_more_than_before(struct find *find)
{
	const struct find_how how = {
		.reference = REFERENCE_BEFORE, .need = MT_NEEDS, .expect = before, .done = say_enough
	};

	if (find->scene->request.has_before)
		find_sites(find, &how, is_more);
}
