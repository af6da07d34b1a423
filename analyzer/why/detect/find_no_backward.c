/*
 * Activations that forwards keep for a backward that does not come. They are kept because gradients are on.
 *
 *     evaluation   an evaluation has no backward
 *     no training  nothing in the process trains; weak evidence, because the first forward of a training looks the same
 *     new place    a forward at a place that earlier steps did not have, and whose pieces no backward has freed
 */
#include "detectors.h"

#define FEW 3    /* pieces of one place that a forward without gradients keeps: input, output, residual */
#define STEPS 2  /* the first step can lack a place that all later steps have */
#define LAYERS 4 /* pieces that a forward frees for each output in a list, at least */
#define MANY 8   /* pieces of one place: without gradients, a piece is freed after the next layer */

static int is_forward(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_ACTIVATIONS && !mt_phase_is_early(site->phase) && !site->engine &&
	       !(site->tags & MT_TAG_BIT(GENERATE));
}

/* An evaluation keeps activations of many layers without a backward. A few pieces are evidence only at a place that has freed none. */
static int is_evaluated(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return is_forward(site) && (site->tags & MT_TAG_BIT(EVALUATION)) &&
	       site->count_at[SCENE_NOW] > (site->freed ? MANY - 1 : FEW);
}

/* Whether a trainer's forward has a place that no backward has freed, after steps without this place. */
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

/* Whether the pieces are outputs in lists: a few places never free theirs, while the forwards free many pieces for each output. */
static int is_list(const struct scene *scene, const struct candidate *candidate)
{
	const struct scene_site *site = &scene->site[candidate->part[0].site], *end = scene->site + scene->sites;
	uint64_t tags = site->tags, freed = 0, kept = 0, lists = 0;
	int differ = candidate->parts > 1 || site->least != site->most;
	size_t i;

	for (i = 0; i < candidate->parts; i++) {
		site = &scene->site[candidate->part[i].site];
		kept += site->count_at[SCENE_NOW];
		lists += site->count_at[SCENE_NOW] > FEW;
		if (site->count_at[SCENE_NOW] > FEW && site->freed > site->count_at[SCENE_NOW])
			return 0;
	}
	for (site = scene->site; site < end; site++)
		if (site->process == candidate->process && is_forward(site) &&
		    !((site->tags ^ tags) & MT_TAG_BIT(EVALUATION)))
			freed += site->freed;
	return lists <= FEW && freed > kept * (differ ? LAYERS : 1);
}

/* The evidence is weak if the request is outside of an evaluation: other code can keep the activations. A list of outputs is no candidate. */
static void say_evaluation(struct find *find, struct candidate *candidate)
{
	candidate->doubt = !(scene_tags(find->scene, find->scene->request.node) & MT_TAG_BIT(EVALUATION));
	if (is_list(find->scene, candidate))
		candidate->bytes = 0;
}

/* Drops a candidate with few pieces, as forwards without gradients have them, and a list of outputs. */
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
