/*
 * find_over.c - resident bytes of earlier attempts: a trial of a search, a fold, or a batch that ran out of memory and was tried again.
 *
 *     states    an optimizer makes its states once: a second set, beside the first, shows another attempt
 *     failure   the program went on after a failed request: nothing reads the bytes that the failed attempt made
 */
#include "detectors.h"

static int is_state(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_OPTIMIZER_STATE;
}

/* The step of the newest set of optimizer states, if older sets of about equal bytes are resident; 0: none. */
static int64_t attempt_step(const struct scene *scene)
{
	const struct scene_block *block, *end = scene->block + scene->blocks;
	uint64_t older = 0, newest = 0;
	int64_t step = 0, first = INT64_MAX;

	for (block = scene->block; block < end; block++) {
		if (!is_state(scene, &scene->site[block->site]))
			continue;
		step = block->step > step ? block->step : step;
		first = block->step < first ? block->step : first;
	}
	for (block = scene->block; block < end; block++)
		if (is_state(scene, &scene->site[block->site]))
			*(block->step < step ? &older : &newest) += block->bytes;
	/* A few parameters that get their first gradient late make no second set. */
	return older >= newest / 4 * 3 && older / 4 * 3 <= newest * (uint64_t)(step - first) ? step : 0;
}

/* The newest failed request of the process that it survived; NULL: none. */
static const struct oom_failure *failed_before(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct oom_failure *failure, *found = NULL;
	size_t i;

	for (i = 0; i < scene->failures.count; i++) {
		failure = &scene->failures.failure[i];
		if (failure->process == request->when.process && !failure->is_part && !failure->had &&
		    failure->seq < request->when.seq)
			found = failure;
	}
	return found;
}

/* The begin of the process's newest forward. */
static int64_t newest_forward(const struct scene *scene)
{
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct scene_span *span = &scene->span[process->first_span];
	int64_t began = 0;
	uint32_t i;

	for (i = 0; i < process->spans && span[i].first_seq < scene->request.when.seq; i++)
		if (span[i].phase == MT_PHASE_FORWARD)
			began = span[i].first_seq;
	return began;
}

/* Only the attempt itself reads the bytes of its forward and backward. */
static int is_of_attempt(const struct scene_site *site)
{
	return !mt_phase_is_early(site->phase) &&
	       scene_is_of(site->category, SCENE_OF_FORWARD | SCENE_SET(GATHER_BUFFERS) | SCENE_SET(WORKSPACE));
}

/* A new attempt makes its own states. */
static int is_of_states(const struct scene_site *site)
{
	return scene_is_of(site->category, SCENE_SET(GRADIENTS) | SCENE_SET(OPTIMIZER_STATE)) ||
	       (site->category == MT_CATEGORY_WEIGHTS && site->first_step < site->last_step);
}

/* Whether the frames ended with the failed request, in a branch that the newer one is not in. A handled exception keeps frames. */
static int is_of_failed(const struct scene *scene, uint32_t failed, const struct scene_site *site)
{
	uint32_t now = scene_common(scene, failed, scene->request.node), its = scene_common(scene, failed, site->node);

	return now != SCENE_NONE && its != SCENE_NONE && now != failed && now != scene->request.node &&
	       scene->node[its].depth > scene->node[now].depth;
}

void find_attempt(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct oom_failure *failure = failed_before(scene);
	uint32_t node = failure ? scene_node_of(scene, failure->node) : SCENE_NONE;
	int64_t step = attempt_step(scene), failed = failure ? failure->seq : 0;
	int is_over = failed < newest_forward(scene);
	const struct scene_block *block;
	const struct scene_site *site;

	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		site = &scene->site[block->site];
		if (!find_is_own(scene, site))
			continue;
		if ((block->step < step && is_of_states(site)) ||
		    (block->seq < failed && is_of_attempt(site) && (is_over || is_of_failed(scene, node, site))))
			find->take[block->site] += block->bytes;
	}
}
