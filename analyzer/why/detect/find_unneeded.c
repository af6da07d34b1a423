/*
 * unneeded: bytes of the requesting process that no work needs at the moment.
 *
 *     by need      categories that the phase does not need (formats/why/needs.yaml); copies of weights for a file
 *     other pass   a reference model, and what an evaluation left: only their own pass needs these
 *     dead         bytes of a forward after its backward
 *     attempt      resident bytes of an earlier attempt (find_over.c)
 */
#include "detectors.h"

#define PERCENT 100 /* divisor: less than 1/100 of the device is no cause */

/* ---- by need ---- */

/* Whether a training step runs: bytes for the next phase of the step stay. */
static int trains(enum mt_phase phase)
{
	return phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD || phase == MT_PHASE_OPTIMIZER;
}

/* Whether the phase neither makes nor uses training states. */
static int is_other_work(enum mt_phase phase)
{
	return phase == MT_PHASE_ROLLOUT || phase == MT_PHASE_WEIGHT_UPDATE || phase == MT_PHASE_LOGPROB ||
	       phase == MT_PHASE_REF;
}

static int engine_asks(const struct scene *scene)
{
	return (scene_tags(scene, scene->request.node) & MT_TAG_BIT(ENGINE)) != 0;
}

/* Whether the site's owner works now: the requesting engine, or a model that generates without an engine. */
static int is_at_work(const struct scene *scene, const struct scene_site *site)
{
	return site->engine ? engine_asks(scene) && site->category != MT_CATEGORY_KV_CACHE
			    : !engine_asks(scene) && site->category == MT_CATEGORY_WEIGHTS;
}

static int has_no_need(const struct scene *scene, const struct scene_site *site)
{
	enum mt_phase phase = scene->request.phase;

	if (!find_is_own(scene, site))
		return 0;
	if (site->category == MT_CATEGORY_STATE_DICT)
		return (site->tags & MT_TAG_BIT(GATHER)) != 0; /* others are a second copy: find_twice.c */
	if (scene_is_of(site->category, SCENE_SET(OPTIMIZER_STATE) | SCENE_SET(GRADIENTS)))
		return is_other_work(phase) && find_need(scene, site) != MT_NEED_NOW;
	if (engine_asks(scene) && scene_is_weights(site))
		return 1;
	return find_need(scene, site) != MT_NEED_NOW && !is_at_work(scene, site) &&
	       !(scene_is_of(site->category, SCENE_OF_FORWARD) && trains(phase));
}

/* A phase of unknown work can need the bytes. An engine keeps its pool, beside a model. Outputs of a forward can have a reader. */
static void say_category(struct find *find, struct candidate *candidate)
{
	if (candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
	candidate->doubt = scene_is_of(candidate->category, SCENE_OF_FORWARD) ||
			   (candidate->category == MT_CATEGORY_WEIGHTS && engine_asks(find->scene)) ||
			   (candidate->category == MT_CATEGORY_KV_CACHE &&
			    find->scene->process[candidate->process].who == MT_WHO_ENGINE);
}

/* ---- other passes ---- */

#define PASSES (MT_TAG_BIT(EVALUATION) | MT_TAG_BIT(REFERENCE) | MT_TAG_BIT(CRITIC))

/* A forward does not use what another pass keeps: an evaluation, a reference, a score, or the training. A loss uses all of them. */
static int is_of_other_pass(const struct scene *scene, const struct scene_site *site)
{
	uint64_t asking = scene_tags(scene, scene->request.node), other = site->tags ^ asking;

	if (!find_is_own(scene, site) || (asking & MT_TAG_BIT(LOSS)))
		return 0;
	if (scene->request.phase == MT_PHASE_REF)
		other &= ~MT_TAG_BIT(REFERENCE);
	if (scene_is_of(site->category, SCENE_OF_FORWARD))
		return (other & PASSES) != 0;
	return (other & site->tags & MT_TAG_BIT(REFERENCE)) != 0;
}

/* ---- stages ---- */

#define MAKES_MODEL (MT_TAG_BIT(CHECKPOINT_LOAD) | MT_TAG_BIT(MODEL_INIT) | MT_TAG_BIT(MOVE))

static int is_model(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && !site->driver && !site->engine &&
	       (scene_is_weights(site) || (site->category == MT_CATEGORY_OTHER && (site->tags & MAKES_MODEL)));
}

/* Takes models of before the newest forward that ran before the newest model came: a program that trains nothing works in stages. */
static void take_stages(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct scene_span *span = &scene->span[process->first_span], *end = span + process->spans;
	const struct scene_block *block, *blocks = scene->block + scene->blocks;
	int64_t model = 0, began = 0;

	if (process->who != MT_WHO_MODEL || mt_phase_is_early(scene->request.phase))
		return; /* while a part of a model is loaded, the model before it can be the rest */
	for (block = scene->block; block < blocks; block++)
		if (block->seq > model && is_model(scene, &scene->site[block->site]))
			model = block->seq;
	for (; span < end && span->first_seq < model; span++)
		if (span->phase == MT_PHASE_FORWARD || span->phase == MT_PHASE_ROLLOUT)
			began = span->first_seq;
	for (block = scene->block; block < blocks; block++)
		if (block->seq < began && is_model(scene, &scene->site[block->site]))
			find->take[block->site] += block->bytes;
}

/* ---- dead ---- */

/* A site that usually frees in the same step has kept blocks of the time before the newest backward's end by accident. */
static void take_dead(struct find *find)
{
	const struct scene *scene = find->scene;
	int64_t over = scene->process[scene->request.process].backward_end;
	const struct scene_block *block;
	const struct scene_site *site;

	if (scene->request.phase == MT_PHASE_BACKWARD)
		return;
	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		site = &scene->site[block->site];
		if (find_is_own(scene, site) && scene_is_of(site->category, SCENE_OF_FORWARD) &&
		    !mt_phase_is_early(site->phase) && block->seq <= over && site->freed_home > site->made / 2 &&
		    (!scene->request.has_before || site->at[SCENE_NOW] > site->at[SCENE_BEFORE]))
			find->take[block->site] += block->bytes;
	}
}

void find_unneeded(struct find *find)
{
	const struct find_how by_need = { .need = MT_NEEDS, .by_category = 1, .done = say_category };
	const struct find_how attempt = { .need = MT_NEED_NEVER,
					  .whole = 1,
					  .least = find->scene->request.total / PERCENT };
	const struct find_how never = { .need = MT_NEED_NEVER }, later = { .need = MT_NEED_LATER };

	find_sites(find, &by_need, has_no_need);
	find_sites(find, &later, is_of_other_pass);
	take_stages(find);
	find_groups(find, &later);
	take_dead(find);
	find_groups(find, &never);
	find_attempt(find);
	find_groups(find, &attempt);
}
