/*
 * find_over.c - resident bytes of finished work: earlier attempts, and models that no longer compute.
 *
 * An earlier attempt is a trial of a search, a fold, or a batch that ran out of memory and was tried again.
 *
 *     states    an optimizer makes its states once: a second set, beside the first, shows another attempt
 *     failure   the program went on after a failed request: nothing reads the bytes that the failed attempt made
 *
 * A model no longer computes if another model began to work after its last work. Packages on the stacks tell models apart.
 */
#include "detectors.h"

/* ---- attempts ---- */

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

/*
 * Whether the site's frames ended with the failed request: they are inside of the branch that the newer request does not come
 * through. An exception that is handled keeps the frames of its traceback.
 */
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

/* ---- models ---- */

#define MODELS 64 /* bits of scene_site.model */

struct model {
	uint64_t weights, kept; /* kept: outputs of its work, which can still be read */
	int64_t first, last;    /* its work; last 0: none */
};

static int is_weights(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && find_is_here(scene, site) && !site->driver && !site->engine &&
	       (site->category == MT_CATEGORY_WEIGHTS ||
		(site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase)));
}

static void look_at(struct model *model, const struct scene *scene, const struct scene_site *site)
{
	int is_work = find_is_own(scene, site) && site->last_seq && scene_is_of(site->category, SCENE_OF_FORWARD) &&
		      !mt_phase_is_early(site->phase);
	uint64_t bit = 1;
	int i;

	for (i = 0; i < MODELS; i++, bit <<= 1) {
		if (site->model & bit && is_weights(scene, site))
			model[i].weights += site->at[SCENE_NOW];
		if (!is_work || !(site->code & bit))
			continue;
		model[i].kept += site->at[SCENE_NOW];
		model[i].first = !model[i].last || site->first_seq < model[i].first ? site->first_seq : model[i].first;
		model[i].last = site->last_seq > model[i].last ? site->last_seq : model[i].last;
	}
}

/* Whether another model with weights began to work after the model's last work. */
static int is_idle(const struct model *model, const struct model *it, uint64_t least, int64_t over)
{
	int i;

	for (i = 0; i < MODELS && it->last && it->last < over && it->kept < least; i++)
		if (model[i].weights >= least && model[i].first > it->last)
			return 1;
	return 0;
}

void find_idle(struct find *find)
{
	const struct scene *scene = find->scene;
	struct model model[MODELS] = { { 0, 0, 0, 0 } };
	const struct scene_process *process = &scene->process[scene->request.process];
	/* The model of a training waits for its backward. */
	int64_t over = process->who == MT_WHO_TRAINER ? process->backward_end : INT64_MAX;
	uint64_t idle = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++)
		look_at(model, scene, &scene->site[i]);
	for (i = 0; i < MODELS; i++)
		idle |= (uint64_t)is_idle(model, &model[i], find_least(scene), over) << i;
	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].model & idle && is_weights(scene, &scene->site[i]))
			find->take[i] = scene->site[i].at[SCENE_NOW];
}
