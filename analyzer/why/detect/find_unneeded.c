/*
 * unneeded: bytes of the requesting process that no work needs at the moment.
 *
 *     by need      categories that the phase does not need (formats/why/needs.yaml); copies of weights for a file
 *     dead         bytes of a forward after its backward, or of a finished evaluation
 *     reference    a model that only its own pass needs
 *     idle         a model that no longer computes while another one works (find_over.c)
 *     attempt      resident bytes of an earlier attempt (find_over.c)
 *     gathered     gathered parameters of many layers, kept after use
 */
#include "detectors.h"
#include "why/find/find.h"

#define GATHERED 8  /* layers: the running one and a few ahead are needed; more were not freed */
#define PERCENT 100 /* divisor: less than 1/100 of the device is no cause */

static uint64_t request_tags(const struct scene *scene)
{
	return scene->request.node == SCENE_NONE ? 0 : scene->node[scene->request.node].tags;
}

/* Whether a training step runs: bytes for the next phase of the step stay. */
static int trains(const struct scene *scene)
{
	enum mt_phase phase = scene->request.phase;

	return phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD || phase == MT_PHASE_OPTIMIZER;
}

/* ---- by need ---- */

static int is_state(enum mt_category category)
{
	return category == MT_CATEGORY_OPTIMIZER_STATE || category == MT_CATEGORY_GRADIENTS;
}

/* Whether the phase neither makes nor uses training states. */
static int is_other_work(const struct scene *scene)
{
	enum mt_phase phase = scene->request.phase;

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

static uint64_t of_no_need(const struct scene *scene, const struct scene_site *site)
{
	if (site->category == MT_CATEGORY_STATE_DICT)
		return site->at[SCENE_NOW];
	if (find_need(scene, site) == MT_NEED_NOW || is_at_work(scene, site) ||
	    (find_is_of_forward(site->category) && trains(scene)) ||
	    (is_state(site->category) && !is_other_work(scene)))
		return 0;
	return site->at[SCENE_NOW];
}

/* ---- dead ---- */

/* The last event of the newest finished backward: the spans after it have no backward yet. */
static int64_t newest_forward(const struct scene *scene)
{
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct scene_span *span = &scene->span[process->first_span];
	int64_t after = 0;
	uint32_t i;

	for (i = 0; i < process->spans && span[i].last_seq < scene->request.when.seq; i++)
		if (span[i].phase == MT_PHASE_BACKWARD)
			after = span[i].last_seq;
	return after;
}

/* A pipeline runs several forwards before a backward, equally many each time: its bytes do not rise. */
static int is_more(const struct scene *scene, const struct scene_site *site)
{
	return !scene->request.has_before || site->at[SCENE_NOW] > site->at[SCENE_BEFORE];
}

static void take_dead(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	const struct scene_block *block;
	int64_t alive_from = newest_forward(scene);
	size_t i;

	if (scene->request.phase == MT_PHASE_BACKWARD || !alive_from)
		return;
	for (i = 0; i < scene->blocks; i++) {
		block = &scene->block[i];
		site = &scene->site[block->site];
		/* A site that usually frees in the same step has kept these blocks by accident. */
		if (find_is_here(scene, site) && find_is_own(scene, site) && find_is_of_forward(site->category) &&
		    !mt_phase_is_early(site->phase) && block->seq <= alive_from && site->freed_home > site->made / 2 &&
		    is_more(scene, site))
			find->take[block->site] += block->bytes;
	}
}

static uint64_t of_evaluation(const struct scene *scene, const struct scene_site *site)
{
	if (request_tags(scene) & MT_TAG_BIT(EVALUATION) || !find_is_of_forward(site->category))
		return 0;
	return site->tags & MT_TAG_BIT(EVALUATION) || site->category == MT_CATEGORY_EVALUATION ? site->at[SCENE_NOW]
											       : 0;
}

/* ---- reference ---- */

static uint64_t of_reference(const struct scene *scene, const struct scene_site *site)
{
	if (scene->request.phase == MT_PHASE_REF || request_tags(scene) & MT_TAG_BIT(REFERENCE))
		return 0;
	return site->tags & MT_TAG_BIT(REFERENCE) ? site->at[SCENE_NOW] : 0;
}

/* ---- gathered ---- */

static uint64_t of_gathered(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return site->category == MT_CATEGORY_GATHER_BUFFERS && site->count_at[SCENE_NOW] >= GATHERED
		       ? site->at[SCENE_NOW]
		       : 0;
}

/* ---- all ---- */

/* A phase of unknown work can need the bytes, and host memory could hold them until then. */
static void say_later(struct find *find, struct candidate *candidate)
{
	(void)find;
	if (candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
}

/* An engine keeps its own pool on purpose, and outputs of a forward can still have a reader. */
static void say_category(struct find *find, struct candidate *candidate)
{
	say_later(find, candidate);
	candidate->doubt = find_is_of_forward(candidate->category) ||
			   (candidate->category == MT_CATEGORY_KV_CACHE &&
			    find->scene->process[candidate->process].who == MT_WHO_ENGINE);
}

static void say_doubt(struct find *find, struct candidate *candidate)
{
	say_later(find, candidate);
	candidate->doubt = 1;
}

static void take_sites(struct find *find, uint64_t (*of)(const struct scene *, const struct scene_site *))
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (find_is_here(scene, site) && find_is_own(scene, site))
			find->take[i] = of(scene, site);
	}
}

void find_unneeded(struct find *find)
{
	const struct find_how never = { .cause = MT_CAUSE_UNNEEDED, .need = MT_NEED_NEVER };
	const struct find_how later = { .cause = MT_CAUSE_UNNEEDED, .need = MT_NEED_LATER };
	const struct find_how attempt = { .cause = MT_CAUSE_UNNEEDED,
					  .need = MT_NEED_NEVER,
					  .least = find->scene->request.total / PERCENT };
	const struct find_how by_need = { .cause = MT_CAUSE_UNNEEDED, .need = MT_NEEDS, .by_category = 1 };

	take_sites(find, of_no_need);
	find_groups(find, &by_need, say_category);
	find_begin(find);
	take_dead(find);
	find_groups(find, &never, NULL);
	take_sites(find, of_evaluation);
	find_groups(find, &never, NULL);
	take_sites(find, of_reference);
	find_groups(find, &later, NULL);
	find_begin(find);
	find_attempt(find);
	find_whole(find, &attempt, find->scene->request.process);
	find_begin(find);
	find_idle(find);
	find_groups(find, &later, NULL);
	take_sites(find, of_gathered);
	find_groups(find, &later, say_doubt);
}
