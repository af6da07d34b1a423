/* Layers that keep all activations in a program that recomputes other layers: checkpointing should drop these until the backward. */
#include "detectors.h"

#define MANY 4    /* layers: embedding, head and loss alone are never recomputed */
#define LITTLE 10 /* divisor: the inputs that recomputed layers keep are below 1/10 of the device */

static int is_recomputed(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) &&
	       (site->category == MT_CATEGORY_RECOMPUTED || (site->tags & MT_TAG_BIT(RECOMPUTE)));
}

/* Whether layers keep all activations. Recomputed layers keep only inputs, and their stacks have a frame of the checkpoint. */
static int is_kept_whole(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_ACTIVATIONS &&
	       (site->phase == MT_PHASE_FORWARD || site->phase == MT_PHASE_CRITIC) &&
	       site->count_at[SCENE_NOW] >= MANY && !is_recomputed(scene, site) &&
	       !(site->tags & MT_TAG_BIT(EVALUATION));
}

void find_setting_ignored(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct find_how how = { .need = MT_NEED_LATER, .least = scene->request.total / LITTLE };
	size_t i = 0;

	while (i < scene->sites && !is_recomputed(scene, &scene->site[i]))
		i++;
	if (i < scene->sites)
		find_sites(find, &how, is_kept_whole);
}
