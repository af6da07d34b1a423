/*
 * unneeded: bytes of the requesting process that no work needs at the moment.
 *
 *     by need      categories that the phase does not need (formats/why/needs.yaml); copies of weights for a file
 *     other pass   a reference model, and what an evaluation left: only their own pass needs these
 *     dead         bytes of a forward after its backward
 *     attempt      resident bytes of an earlier attempt (find_over.c)
 *     idle         a model that no longer computes while another one works (find_over.c)
 */
#include "detectors.h"
#include "why/find/find.h"

#define PERCENT 100 /* divisor: less than 1/100 of the device is no cause */

static uint64_t request_tags(const struct scene *scene)
{
	return scene->request.node == SCENE_NONE ? 0 : scene->node[scene->request.node].tags;
}

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

/* Whether the site's owner works now: the requesting engine, or a model that generates without an engine. */
static int is_at_work(const struct scene *scene, const struct scene_site *site)
{
	int engine_asks = (request_tags(scene) & MT_TAG_BIT(ENGINE)) != 0;

	return site->engine ? engine_asks && site->category != MT_CATEGORY_KV_CACHE
			    : !engine_asks && site->category == MT_CATEGORY_WEIGHTS;
}

static int has_no_need(const struct scene *scene, const struct scene_site *site)
{
	enum mt_phase phase = scene->request.phase;

	if (!find_is_own(scene, site))
		return 0;
	if (site->category == MT_CATEGORY_STATE_DICT)
		return 1;
	if (site->category == MT_CATEGORY_OPTIMIZER_STATE || site->category == MT_CATEGORY_GRADIENTS)
		return is_other_work(phase) && find_need(scene, site) != MT_NEED_NOW;
	return find_need(scene, site) != MT_NEED_NOW && !is_at_work(scene, site) &&
	       !(find_is_of_forward(site->category) && trains(phase));
}

/* A phase of unknown work can need the bytes. An engine keeps its pool on purpose. Outputs of a forward can have a reader. */
static void say_category(struct find *find, struct candidate *candidate)
{
	if (candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
	candidate->doubt = find_is_of_forward(candidate->category) ||
			   (candidate->category == MT_CATEGORY_KV_CACHE &&
			    find->scene->process[candidate->process].who == MT_WHO_ENGINE);
}

/* ---- other passes ---- */

static int is_of_other_pass(const struct scene *scene, const struct scene_site *site)
{
	uint64_t other = ~request_tags(scene);

	if (scene->request.phase == MT_PHASE_REF)
		other &= ~MT_TAG_BIT(REFERENCE);
	if (find_is_of_forward(site->category))
		return find_is_own(scene, site) && other & MT_TAG_BIT(EVALUATION) &&
		       (site->tags & MT_TAG_BIT(EVALUATION) || site->category == MT_CATEGORY_EVALUATION);
	return find_is_own(scene, site) && (site->tags & other & MT_TAG_BIT(REFERENCE));
}

/* ---- dead ---- */

/* A site that usually frees in the same step has kept blocks of the time before the newest backward's end by accident. */
static void take_dead(struct find *find)
{
	const struct scene *scene = find->scene;
	int64_t over = scene->process[scene->request.process].backward_end;
	const struct scene_site *site;
	const struct scene_block *block;
	size_t i;

	for (i = 0; i < scene->blocks && scene->request.phase != MT_PHASE_BACKWARD; i++) {
		block = &scene->block[i];
		site = &scene->site[block->site];
		if (find_is_here(scene, site) && find_is_own(scene, site) && find_is_of_forward(site->category) &&
		    !mt_phase_is_early(site->phase) && block->seq <= over && site->freed_home > site->made / 2 &&
		    (!scene->request.has_before || site->at[SCENE_NOW] > site->at[SCENE_BEFORE]))
			find->take[block->site] += block->bytes;
	}
}

void find_unneeded(struct find *find)
{
	const struct find_how never = { .cause = MT_CAUSE_UNNEEDED, .need = MT_NEED_NEVER };
	const struct find_how later = { .cause = MT_CAUSE_UNNEEDED, .need = MT_NEED_LATER };
	const struct find_how attempt = { .cause = MT_CAUSE_UNNEEDED,
					  .need = MT_NEED_NEVER,
					  .least = find->scene->request.total / PERCENT };
	const struct find_how by_need = {
		.cause = MT_CAUSE_UNNEEDED, .need = MT_NEEDS, .by_category = 1, .done = say_category
	};

	find_sites(find, &by_need, has_no_need);
	find_sites(find, &later, is_of_other_pass);
	find_begin(find);
	take_dead(find);
	find_groups(find, &never);
	find_begin(find);
	find_attempt(find);
	find_whole(find, &attempt, find->scene->request.process);
	find_begin(find);
	find_idle(find);
	find_groups(find, &later);
}
