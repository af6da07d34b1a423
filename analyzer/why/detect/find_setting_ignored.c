/*
 * Activations that checkpointing should have dropped.
 *
 *     beside    layers keep all activations in a program that recomputes other layers: the setting does not reach them
 *     inside    a checkpoint keeps more than its input: the setting has no effect
 */
#include "detectors.h"
#include "why/find/find.h"

#define MANY 4   /* layers: embedding, head and loss are never recomputed */
#define KEPT 4   /* pieces of a layer: a checkpoint keeps one or two */
#define PLACES 3 /* in a layer: its input and an argument are two */

static int is_recomputed(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_RECOMPUTED || (site->tags & MT_TAG_BIT(RECOMPUTE));
}

static int has_recompute(const struct scene *scene, uint32_t process)
{
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].process == process && is_recomputed(&scene->site[i]))
			return 1;
	return 0;
}

/* Recomputed layers keep only their inputs, and a checkpoint's frame is on the stack of these. */
static int is_kept_whole(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && find_is_own(scene, site) && site->category == MT_CATEGORY_ACTIVATIONS &&
	       site->phase == MT_PHASE_FORWARD && site->count_at[SCENE_NOW] >= MANY && !is_recomputed(site) &&
	       !(site->tags & MT_TAG_BIT(EVALUATION));
}

/* Bytes of earlier steps belong to another detector. */
static int is_within_checkpoint(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && find_is_own(scene, site) && site->category == MT_CATEGORY_ACTIVATIONS &&
	       site->phase == MT_PHASE_FORWARD && site->count_at[SCENE_NOW] >= MANY &&
	       site->first_step == scene->request.step && (site->tags & MT_TAG_BIT(RECOMPUTE));
}

/* Each stack makes at least one piece for each layer: the fewest pieces of a stack give the number of layers. */
static void find_inside(struct find *find, const struct find_how *how)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	uint64_t layers = UINT64_MAX, pieces = 0, places = 0;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_within_checkpoint(scene, site))
			continue;
		find->take[i] = site->at[SCENE_NOW];
		pieces += site->count_at[SCENE_NOW];
		places++;
		layers = site->count_at[SCENE_NOW] < layers ? site->count_at[SCENE_NOW] : layers;
	}
	if (places >= PLACES && pieces / KEPT >= layers)
		find_groups(find, how, NULL);
}

void find_setting_ignored(struct find *find)
{
	/* Inputs of layers that a framework keeps are less than a tenth of the device. */
	const struct find_how how = { .cause = MT_CAUSE_SETTING_IGNORED,
				      .need = MT_NEED_LATER, /* the backward makes them anew */
				      .least = find->scene->request.total / 10 };
	const struct scene *scene = find->scene;
	size_t i;

	find_inside(find, &how);
	find_begin(find);
	if (!has_recompute(scene, scene->request.process))
		return;
	for (i = 0; i < scene->sites; i++)
		if (is_kept_whole(scene, &scene->site[i]))
			find->take[i] = scene->site[i].at[SCENE_NOW];
	find_groups(find, &how, NULL);
}
