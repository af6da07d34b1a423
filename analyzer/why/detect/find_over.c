/*
 * find_over.c - resident bytes of finished work: earlier attempts, and models that no longer compute.
 *
 * An earlier attempt is a trial of a search, a fold, or a batch that ran out of memory and was tried again.
 *
 *     states    an optimizer makes its states once: a second set, beside the first, shows another attempt
 *     failure   a forward began after an earlier failed request: nothing reads the bytes that the failed attempt made
 *
 * A model no longer computes if another model began to work after its last work.
 *
 * A training's own model in its first step still computes: its activations are resident, or no other model has begun.
 */
#include "detectors.h"
#include "why/find/find.h"

/* ---- attempts ---- */

int64_t find_attempt_step(const struct scene *scene)
{
	const struct scene_block *block;
	const struct scene_site *site;
	uint64_t older = 0, newest = 0;
	int64_t step = -1;
	size_t i;

	for (i = 0; i < scene->blocks; i++) {
		site = &scene->site[scene->block[i].site];
		if (find_is_own(scene, site) && site->category == MT_CATEGORY_OPTIMIZER_STATE &&
		    find_is_here(scene, site) && site->last_step > step)
			step = site->last_step;
	}
	for (i = 0; i < scene->blocks; i++) {
		block = &scene->block[i];
		site = &scene->site[block->site];
		if (!find_is_own(scene, site) || site->category != MT_CATEGORY_OPTIMIZER_STATE ||
		    !find_is_here(scene, site) || site->first_step == site->last_step)
			continue;
		*(block->step < step ? &older : &newest) += block->bytes;
	}
	return newest && older >= newest / 4 * 3 ? step : -1;
}

/* The newest failed request of the process before its newest forward; 0: none. */
static int64_t failed_before(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];
	const struct scene_span *span = &scene->span[process->first_span];
	const struct oom_failure *failure;
	int64_t began = 0, failed = 0;
	size_t i;

	for (i = 0; i < process->spans && span[i].first_seq < request->when.seq; i++)
		if (span[i].phase == MT_PHASE_FORWARD)
			began = span[i].first_seq;
	for (i = 0; i < scene->failures.count; i++) {
		failure = &scene->failures.failure[i];
		if (failure->process == process->id && !failure->is_part && !failure->had && failure->seq < began)
			failed = failure->seq;
	}
	return failed;
}

/* Only the attempt itself reads the bytes of its forward and backward. */
static int is_of_attempt(const struct scene_site *site)
{
	return !mt_phase_is_early(site->phase) &&
	       (find_is_of_forward(site->category) || site->category == MT_CATEGORY_GATHER_BUFFERS ||
		site->category == MT_CATEGORY_WORKSPACE);
}

/* A new attempt makes its own states. */
static int is_of_states(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_GRADIENTS ||
	       (site->first_step < site->last_step &&
		(site->category == MT_CATEGORY_OPTIMIZER_STATE || site->category == MT_CATEGORY_WEIGHTS));
}

void find_attempt(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_block *block;
	const struct scene_site *site;
	int64_t step = find_attempt_step(scene), failed = failed_before(scene);
	size_t i;

	for (i = 0; i < scene->blocks; i++) {
		block = &scene->block[i];
		site = &scene->site[block->site];
		if (!find_is_own(scene, site) || !find_is_here(scene, site))
			continue;
		if ((block->seq < failed && is_of_attempt(site)) || (block->step < step && is_of_states(site)))
			find->take[block->site] += block->bytes;
	}
}

/* ---- models ---- */

static int is_weights(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && find_is_here(scene, site) && !site->driver && !site->engine &&
	       (site->category == MT_CATEGORY_WEIGHTS ||
		(site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase)));
}

static int is_work(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->last_seq && find_is_of_forward(site->category) &&
	       !mt_phase_is_early(site->phase);
}

static uint64_t bytes_of(const struct scene *scene, uint64_t model)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].model == model && is_weights(scene, &scene->site[i]))
			bytes += scene->site[i].at[SCENE_NOW];
	return bytes;
}

/* The newest event of the model's work; 0: no work, or its outputs are resident and can still be read. */
static int64_t last_work(const struct scene *scene, uint64_t model)
{
	const struct scene_site *site;
	uint64_t kept = 0;
	int64_t last = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_work(scene, site) || !(site->code & model))
			continue;
		last = site->last_seq > last ? site->last_seq : last;
		kept += site->at[SCENE_NOW];
	}
	return kept < find_least(scene) ? last : 0;
}

/* Models that have worked after `last` and not before. */
static uint64_t began_since(const struct scene *scene, uint64_t model, int64_t last)
{
	const struct scene_site *site;
	uint64_t since = 0, before = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (!is_work(scene, site) || site->code & model)
			continue;
		since |= site->last_seq > last ? site->code : 0;
		before |= site->first_seq <= last ? site->code : 0;
	}
	return since & ~before;
}

static int has_weights(const struct scene *scene, uint64_t models)
{
	uint64_t model;

	for (; models; models &= models - 1) {
		model = models & -models;
		if (bytes_of(scene, model) >= find_least(scene))
			return 1;
	}
	return 0;
}

/* A trainer's model can wait for its backward. The model is idle after the end of the step of its last work. */
static int is_over(const struct scene *scene, int64_t last)
{
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct scene_span *span = &scene->span[process->first_span];
	uint32_t i;

	if (process->who != MT_WHO_TRAINER && process->who != MT_WHO_ENGINE)
		return 1;
	for (i = 0; i < process->spans && span[i].first_seq < scene->request.when.seq; i++)
		if (span[i].last_seq >= last)
			return span[i].step < scene->request.step;
	return 0;
}

static int is_idle(const struct scene *scene, uint64_t model)
{
	int64_t last = last_work(scene, model);

	return last && is_over(scene, last) && has_weights(scene, began_since(scene, model, last));
}

void find_idle(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t seen = 0, idle = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		const struct scene_site *site = &scene->site[i];

		if (!site->model || !is_weights(scene, site))
			continue;
		if (!(seen & site->model) && is_idle(scene, site->model))
			idle |= site->model;
		seen |= site->model;
		if (idle & site->model)
			find->take[i] = site->at[SCENE_NOW];
	}
}
