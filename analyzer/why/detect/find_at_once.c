/* Many equal pieces at the same time that are neither layers nor parameters: buffers, communicators, queue items, captured graphs. */
#include "detectors.h"

#define MANY 4        /* least number of pieces: two or three can be equal by chance */
#define ALIKE_PART 16 /* divisor: equal sizes differ by at most 1/16 */
#define WEIGHTS_COPIED (SCENE_SET(WEIGHT_BUFFERS) | SCENE_SET(GATHER_BUFFERS))
#define OF_WEIGHTS (MT_TAG_BIT(GATHER) | MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(CHECKPOINT_LOAD))
#define MADE_MANY (SCENE_SET(GRAPHS) | SCENE_SET(NCCL) | SCENE_SET(WORKSPACE) | WEIGHTS_COPIED)

/* Layers and parameters are always many. Gradients and activations count only in a collective or a data loader, where they can be buffers. */
static int is_many(const struct scene *scene, const struct scene_site *site)
{
	if (site->count_at[SCENE_NOW] < MANY || site->most - site->least > site->most / ALIKE_PART ||
	    site->first_step != site->last_step)
		return 0;
	if (scene_is_of(site->category, SCENE_SET(GRADIENTS) | SCENE_SET(ACTIVATIONS)))
		return (site->tags & MT_TAG_BIT(COLLECTIVE)) || (find_own_tags(scene, site->node) & MT_TAG_BIT(DATA));
	return scene_is_of(site->category, MADE_MANY) ||
	       (site->category == MT_CATEGORY_OTHER && !mt_phase_is_early(site->phase));
}

/* Copies of weights are weak evidence: one piece for each parameter. */
static void say_copies(struct find *find, struct candidate *candidate)
{
	candidate->doubt = scene_is_of(candidate->category, WEIGHTS_COPIED) ||
			   (find_own_tags(find->scene, candidate->stack) & OF_WEIGHTS);
}

void find_at_once(struct find *find)
{
	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .by_category = 1, .done = say_copies }, is_many);
}
