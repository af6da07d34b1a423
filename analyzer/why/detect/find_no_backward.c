/*
 * Activations that forwards keep for a backward that does not come: gradients are on.
 *
 *     evaluation   an evaluation has no backward
 *     no training  nothing in the process trains: the first forward of a training looks alike, and the row is in doubt
 *     new place    a forward that comes after steps without it, and that no backward freed
 */
#include "detectors.h"

#define FEW 3   /* pieces of one place that a forward without gradients keeps: input, output, residual */
#define STEPS 2 /* the first step can lack a place that all later ones have */
#define MANY 8  /* pieces of one place: without gradients, a piece goes after the next layer */

static int is_forward(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_ACTIVATIONS && !mt_phase_is_early(site->phase) && !site->engine &&
	       !(site->tags & MT_TAG_BIT(GENERATE));
}

/* An evaluation keeps activations of many layers, and has no backward. A few pieces tell if their place has freed none so far. */
static int is_evaluated(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return is_forward(site) && (site->tags & MT_TAG_BIT(EVALUATION)) &&
	       site->count_at[SCENE_NOW] > (site->freed ? MANY - 1 : FEW);
}

/* A trainer's forward through a place that no backward has freed so far, after steps that came without this place. */
static int is_new(const struct scene *scene, const struct scene_site *site)
{
	const struct scene_process *process = &scene->process[site->process];

	return process->who == MT_WHO_TRAINER && process->steps >= STEPS && !site->freed &&
	       site->phase == MT_PHASE_FORWARD && site->count_at[SCENE_NOW] >= MANY;
}

static int is_untrained(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && is_forward(site) && !(site->tags & MT_TAG_BIT(EVALUATION)) &&
	       (scene->process[site->process].who == MT_WHO_MODEL || is_new(scene, site));
}

/* Whether the pieces are outputs that a list keeps: of one place and size, while the forwards free more pieces than that. */
static int is_list(const struct scene *scene, const struct candidate *candidate)
{
	const struct scene_site *kept = &scene->site[candidate->part[0].site], *site;
	uint64_t freed = 0;

	if (candidate->parts > 1 || kept->least != kept->most || kept->freed > kept->count_at[SCENE_NOW])
		return 0;
	for (site = scene->site; site < scene->site + scene->sites; site++)
		freed += site->process == kept->process && is_forward(site) &&
					 (site->tags & MT_TAG_BIT(EVALUATION)) == (kept->tags & MT_TAG_BIT(EVALUATION))
				 ? site->freed
				 : 0;
	return freed > kept->count_at[SCENE_NOW];
}

/* After the evaluation, anything can keep the activations. */
static void say_evaluation(struct find *find, struct candidate *candidate)
{
	candidate->doubt = !(scene_tags(find->scene, find->scene->request.node) & MT_TAG_BIT(EVALUATION));
	if (is_list(find->scene, candidate))
		candidate->bytes = 0;
}

/* Without gradients, the pieces of a forward are few. A list of outputs is of one place. */
static void say_untrained(struct find *find, struct candidate *candidate)
{
	candidate->doubt = find->scene->process[candidate->process].who == MT_WHO_MODEL;
	if (candidate->fact[FACT_PIECES] < 2 * MANY || is_list(find->scene, candidate))
		candidate->bytes = 0;
}

void find_no_backward(struct find *find)
{
	find_sites(find, &(struct find_how){ .need = MT_NEED_NEVER, .done = say_evaluation }, is_evaluated);
	find_sites(find, &(struct find_how){ .need = MT_NEED_NEVER, .whole = 1, .done = say_untrained }, is_untrained);
}
