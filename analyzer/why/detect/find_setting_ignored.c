/* Activations that checkpointing should have dropped: layers keep all of theirs in a program that recomputes other layers. */
#include "detectors.h"

#define MANY 4    /* layers: embedding, head and loss are never recomputed */
#define LITTLE 10 /* divisor: inputs of layers that a framework keeps are less than 1/10 of the device */

static int is_recomputed(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) &&
	       (site->category == MT_CATEGORY_RECOMPUTED || (site->tags & MT_TAG_BIT(RECOMPUTE)));
}

/* Recomputed layers keep only their inputs, and a checkpoint's frame is on the stack of these. */
static int is_kept_whole(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_ACTIVATIONS &&
	       site->phase == MT_PHASE_FORWARD && site->count_at[SCENE_NOW] >= MANY && !is_recomputed(scene, site) &&
	       !(site->tags & MT_TAG_BIT(EVALUATION));
}

void find_setting_ignored(struct find *find)
{
	const struct find_how how = { .need = MT_NEED_LATER, /* the backward makes them anew */
				      .least = find->scene->request.total / LITTLE };
	const struct scene *scene = find->scene;
	size_t i = 0;

	while (i < scene->sites && !is_recomputed(scene, &scene->site[i]))
		i++;
	if (i < scene->sites)
		find_sites(find, &how, is_kept_whole);
}
