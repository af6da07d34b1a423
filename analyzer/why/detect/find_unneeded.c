/*
 * unneeded: bytes of the requesting process that no work needs at the moment.
 *
 *     by need      categories that the phase does not need (formats/why/needs.yaml); weights that were gathered for a file
 *     other pass   bytes of a reference model or an evaluation: only their own pass needs these
 *     stages       models of an earlier stage; models of a package that runs no forward any more
 *     attempt      resident bytes of an earlier attempt (find_over.c)
 */
#include "detectors.h"

#include <string.h>
#include "query/package.h"

/* ---- by need ---- */

/* Whether a training step runs. Its later phases need the bytes of its earlier ones. */
static int trains(enum mt_phase phase)
{
	return phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD || phase == MT_PHASE_OPTIMIZER;
}

/* Whether the phase neither makes nor uses gradients and optimizer states. */
static int is_other_work(enum mt_phase phase)
{
	return phase == MT_PHASE_ROLLOUT || phase == MT_PHASE_WEIGHT_UPDATE || phase == MT_PHASE_LOGPROB ||
	       phase == MT_PHASE_REF;
}

static int engine_asks(const struct scene *scene)
{
	return (scene_tags(scene, scene->request.node) & MT_TAG_BIT(ENGINE)) != 0;
}

/* Whether the site's owner runs now: the requesting engine, or a model outside of an engine. */
static int is_at_work(const struct scene *scene, const struct scene_site *site)
{
	return site->engine ? engine_asks(scene) && (site->category != MT_CATEGORY_KV_CACHE || site->asleep)
			    : !engine_asks(scene) && site->category == MT_CATEGORY_WEIGHTS;
}

static int has_no_need(const struct scene *scene, const struct scene_site *site)
{
	enum mt_phase phase = scene->request.phase;

	if (!find_is_own(scene, site))
		return 0;
	if (site->category == MT_CATEGORY_STATE_DICT)
		return (site->tags & MT_TAG_BIT(GATHER)) != 0; /* others are copies: find_twice.c */
	if (scene_is_of(site->category, SCENE_SET(OPTIMIZER_STATE) | SCENE_SET(GRADIENTS)))
		return is_other_work(phase) && find_need(scene, site) != MT_NEED_NOW;
	if (engine_asks(scene) && scene_is_weights(site))
		return 1;
	return find_need(scene, site) != MT_NEED_NOW && !is_at_work(scene, site) &&
	       !(scene_is_of(site->category, SCENE_OF_FORWARD) && trains(phase));
}

static int is_activation(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_ACTIVATIONS && !site->engine;
}

/* Whether a backward needs the bytes of a cache: attention's backward reads the keys and values of a forward that keeps activations. */
static int is_kept_by_graph(const struct find *find, const struct candidate *candidate)
{
	return candidate->category == MT_CATEGORY_KV_CACHE && trains(candidate->phase) &&
	       candidate->bytes < find_sum(find->scene, candidate->process, is_activation);
}

/* Weak evidence: code may still read outputs of a forward, a model may stay in use while an engine runs, and an engine keeps its pool. */
static void say_category(struct find *find, struct candidate *candidate)
{
	if (candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
	candidate->doubt = scene_is_of(candidate->category, SCENE_OF_FORWARD) ||
			   (candidate->category == MT_CATEGORY_WEIGHTS && engine_asks(find->scene)) ||
			   (candidate->category == MT_CATEGORY_KV_CACHE &&
			    find->scene->process[candidate->process].who == MT_WHO_ENGINE);
	if (is_kept_by_graph(find, candidate))
		candidate->bytes = 0;
}

/* ---- other passes ---- */

#define PASSES (MT_TAG_BIT(EVALUATION) | MT_TAG_BIT(REFERENCE) | MT_TAG_BIT(CRITIC))

/* Whether the bytes are of another pass (evaluation, reference, score, training): a forward does not read them. A loss may read all. */
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

#define LATER 32 /* divisor: an adapter has less than 1/32 of the bytes of its model */

/* Takes models that came before the newest forward, if another model came after this forward. Only the time before the first backward counts. */
static void take_stages(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_process *process = &scene->process[scene->request.process];
	const struct scene_span *first = &scene->span[process->first_span], *end = first + process->spans,
				*span = first;
	const struct scene_block *block;
	struct packed_walk walk;
	int64_t model = 0, began = 0;
	uint64_t earlier = 0, later = 0;

	while (span < end && span->phase != MT_PHASE_BACKWARD)
		span++;
	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk))
		if (block->seq > model && (span == end || block->seq < span->first_seq) &&
		    is_model(scene, &scene->site[block->site]))
			model = block->seq;
	for (span = first; span < end && span->first_seq < model; span++)
		if (span->phase == MT_PHASE_FORWARD || span->phase == MT_PHASE_ROLLOUT)
			began = span->first_seq;
	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		if (!is_model(scene, &scene->site[block->site]))
			continue;
		*(block->seq < began ? &earlier : &later) += block->bytes;
		find->take[block->site] += block->seq < began ? block->bytes : 0;
	}
	if (later < earlier / LATER)
		memset(find->take, 0, scene->sites * sizeof(*find->take));
}

/* ---- packages ---- */

#define CODES 16 /* largest number of packages that are compared */
#define KEPT 16  /* divisor: forwards that keep more than 1/16 of the device belong to a model that trains */

struct code {
	char package[PACKAGE_MAX];
	size_t last;    /* 1 + index of the newest site of a forward in the package; SIZE_MAX: the package still runs */
	uint64_t bytes; /* bytes that its forwards keep */
};

static const char *file_of(const struct scene *scene, uint32_t node)
{
	return node == SCENE_NONE ? "" : scene->frame[scene->node[node].frame].frame.file;
}

/* Returns the entry of the file's package; NULL: the file is of no package, or there are more than CODES packages. */
static struct code *code_of(struct code *code, const char *file)
{
	char package[PACKAGE_MAX];
	int i = 0;

	if (!*package_of(file, package))
		return NULL;
	while (i < CODES && *code[i].package && strcmp(code[i].package, package) != 0)
		i++;
	return i < CODES ? mt_copy_text(code[i].package, PACKAGE_MAX, package), &code[i] : NULL;
}

/* Notes a site of a forward. A package that the requesting file calls still runs. */
static void note_forward(const struct scene *scene, size_t i, struct code *its, const char *asks)
{
	uint32_t node = scene->site[i].node;

	while (node != SCENE_NONE && strcmp(file_of(scene, node), asks) != 0)
		node = scene->node[node].parent;
	its->bytes += scene->site[i].at[SCENE_NOW];
	its->last = node != SCENE_NONE || its->last == SIZE_MAX ? SIZE_MAX : i + 1;
}

/*
 * In a forward: takes models of packages whose forwards came before the first forward of the requesting file. A loss may need all models.
 * Sites are in the order of their first bytes.
 */
static void take_passed(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site = scene->site;
	uint32_t node = scene->request.node;
	const char *asks = file_of(scene, scene_telling(scene, node)), *file;
	struct code code[CODES] = { { .last = 0 } }, *its;
	size_t first = 0, i;

	if (!scene_is_of(scene->request.category, SCENE_OF_FORWARD) || (scene_tags(scene, node) & MT_TAG_BIT(LOSS)))
		return;
	for (i = 0; i < scene->sites; i++) {
		if (!find_is_own(scene, &site[i]) || !scene_is_of(site[i].category, SCENE_OF_FORWARD))
			continue;
		file = file_of(scene, scene_telling(scene, site[i].node));
		first = first || strcmp(file, asks) != 0 ? first : i + 1;
		its = code_of(code, file);
		if (its)
			note_forward(scene, i, its, asks);
	}
	for (; node != SCENE_NONE; node = scene->node[node].parent)
		if ((its = code_of(code, file_of(scene, node))))
			its->last = SIZE_MAX;
	for (i = 0; i < scene->sites; i++) {
		its = is_model(scene, &site[i]) ? code_of(code, file_of(scene, scene_telling(scene, site[i].node)))
						: NULL;
		if (its && its->last && its->last < first && its->bytes < scene->request.total / KEPT)
			find->take[i] = site[i].at[SCENE_NOW];
	}
}

void find_unneeded(struct find *find)
{
	const struct find_how by_need = { .need = MT_NEEDS, .done = say_category };
	const struct find_how later = { .need = MT_NEED_LATER };

	find_sites(find, &by_need, has_no_need);
	find_sites(find, &later, is_of_other_pass);
	take_stages(find);
	find_groups(find, &later);
	take_passed(find);
	find_groups(find, &later);
	find_attempt(find);
	find_groups(find, &(struct find_how){ .need = MT_NEED_NEVER, .whole = 1 });
}
