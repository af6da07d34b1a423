/*
 * Activations that forwards keep for a backward that does not come: gradients are on.
 *
 *     evaluation   an evaluation has no backward
 *     no training  nothing in the process trains: the first forward of a training looks alike, and the row is in doubt
 */
#include "detectors.h"
#include "why/find/find.h"

#define MANY 8 /* pieces of one place: without gradients, a piece goes after the next layer */

static int is_forward(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return site->category == MT_CATEGORY_ACTIVATIONS && !mt_phase_is_early(site->phase) && !site->engine &&
	       !(site->tags & MT_TAG_BIT(GENERATE));
}

static int is_evaluated(const struct scene *scene, const struct scene_site *site)
{
	return is_forward(scene, site) && (site->tags & MT_TAG_BIT(EVALUATION));
}

/* An evaluation keeps activations of many layers, and has no backward. */
static int is_kept(const struct scene *scene, const struct scene_site *site)
{
	return is_evaluated(scene, site) && site->count_at[SCENE_NOW] >= MANY;
}

/* Whether the pieces are outputs that a list keeps: of one place and size, while the forwards free more pieces than that. */
static int is_list(const struct scene *scene, const struct candidate *candidate)
{
	const struct scene_site *kept = &scene->site[candidate->part[0].site], *site;
	uint64_t freed = 0;
	size_t i;

	if (candidate->parts > 1 || kept->least != kept->most || kept->freed > kept->count_at[SCENE_NOW])
		return 0;
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		freed += site->process == kept->process && is_forward(scene, site) ? site->freed : 0;
	}
	return freed > kept->count_at[SCENE_NOW];
}

/* After the evaluation, anything can keep the activations. */
static void say_evaluation(struct find *find, struct candidate *candidate)
{
	const uint32_t node = find->scene->request.node;

	candidate->doubt = node == SCENE_NONE || !(find->scene->node[node].tags & MT_TAG_BIT(EVALUATION));
	if (is_list(find->scene, candidate))
		candidate->bytes = 0;
}

/* Without gradients, the pieces of a forward are few. A list of outputs is of one place. */
static void find_untrained(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_NO_BACKWARD, .need = MT_NEED_NEVER };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	struct candidate *candidate;
	size_t i;

	if (scene->process[scene->request.process].who != MT_WHO_MODEL)
		return;
	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_own(scene, site) && find_is_here(scene, site) && is_forward(scene, site) &&
		    !is_evaluated(scene, site))
			find->take[i] = site->at[SCENE_NOW];
	}
	candidate = find_whole(find, &how, scene->request.process);
	if (candidate && candidate->fact[FACT_PIECES] >= 2 * MANY && !is_list(scene, candidate))
		candidate->doubt = 1;
	else if (candidate)
		find_drop(find);
}

void find_no_backward(struct find *find)
{
	const struct find_how evaluation = { .cause = MT_CAUSE_NO_BACKWARD,
					     .need = MT_NEED_NEVER,
					     .done = say_evaluation };

	find_sites(find, &evaluation, is_kept);
	find_untrained(find);
}
