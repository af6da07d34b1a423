/*
 * find_over.c - resident bytes of earlier attempts: a trial of a search, a fold, or a batch that ran out of memory and was repeated.
 *
 *     states    an optimizer makes its states once: a second set at one site shows another attempt, which can be unfinished
 *     failure   the program continued after a failed request: no code reads the bytes of the failed attempt
 */
#include "detectors.h"

static int is_state(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_OPTIMIZER_STATE && site->node != SCENE_NONE;
}

#define STATES 2 /* states of a parameter (Adam's): more belong to an optimizer of an earlier attempt */

/* Returns the newest step in which the line of the first state made another, if older weights have fewer states; 0: no earlier attempt. */
static int64_t attempt_step(const struct scene *scene)
{
	const struct scene_block *block;
	struct packed_walk walk;
	uint64_t states = 0, weights = 0;
	uint32_t line = SCENE_NONE;
	const struct scene_site *site;
	int64_t step = 0;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		site = &scene->site[block->site];
		weights += line == SCENE_NONE && find_is_own(scene, site) && scene_is_weights(site);
		if (!is_state(scene, site))
			continue;
		line = line == SCENE_NONE ? scene->node[site->node].frame : line;
		states++;
		if (scene->node[site->node].frame == line)
			step = block->step;
	}
	return states > STATES * weights ? step : 0;
}

/* Whether only the attempt reads the bytes: they are of its forward or backward. */
static int is_of_attempt(const struct scene_site *site)
{
	return !mt_phase_is_early(site->phase) &&
	       scene_is_of(site->category, SCENE_OF_FORWARD | SCENE_SET(GATHER_BUFFERS) | SCENE_SET(WORKSPACE));
}

/* Returns the birth of the newest block at the site of the step's first block of a forward: another forward began there. */
static int64_t forward_began(const struct scene *scene)
{
	const struct scene_block *block;
	struct packed_walk walk;
	uint32_t first = SCENE_NONE;
	int64_t began = 0;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		if (block->step != scene->request.step || !find_is_own(scene, &scene->site[block->site]) ||
		    !is_of_attempt(&scene->site[block->site]))
			continue;
		first = first == SCENE_NONE ? block->site : first;
		began = block->site == first ? block->seq : began;
	}
	return began;
}

/* Returns the event of the newest failed request before the newest forward of the process; 0: no failed request. */
static int64_t failed_before(const struct scene *scene)
{
	const struct oom_failure *failure = scene->failures.failure, *last = failure + scene->failures.count;
	int64_t began = forward_began(scene), failed = 0;

	for (; failure < last; failure++)
		if (failure->process == scene->request.when.process && !failure->is_part && !failure->had &&
		    failure->seq < began)
			failed = failure->seq;
	return failed;
}

/* Whether each attempt makes the bytes anew: gradients, optimizer states, and weights from several steps. */
static int is_of_states(const struct scene_site *site)
{
	return scene_is_of(site->category, SCENE_SET(GRADIENTS) | SCENE_SET(OPTIMIZER_STATE)) ||
	       (site->category == MT_CATEGORY_WEIGHTS && site->first_step < site->last_step);
}

void find_attempt(struct find *find)
{
	const struct scene *scene = find->scene;
	int64_t step = attempt_step(scene), failed = failed_before(scene);
	const struct scene_block *block;
	const struct scene_site *site;
	struct packed_walk walk;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		site = &scene->site[block->site];
		if (find_is_own(scene, site) &&
		    ((block->step < step && is_of_states(site)) || (block->seq < failed && is_of_attempt(site))))
			find->take[block->site] += block->bytes;
	}
}
