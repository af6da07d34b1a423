/*
 * The same data a second time.
 *
 *     copies      blocks with the sizes of earlier weights, in the same or another dtype
 *     buckets     gradients in buckets and outside of them
 *     in transit  weights on their way to an engine, and state dicts
 *     request     the failed request is a copy of resident bytes
 */
#include "detectors.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define MOST 75          /* percent of a site: an unfinished copy, or one with more blocks, is a copy */
#define MANY 4           /* pieces: two or three can have equal sizes by chance */
#define SMALL (1u << 20) /* bytes: smaller blocks often have equal sizes by chance */
#define NEAR 2           /* percent: padding of buckets and adapters of a model take less */
#define ROUNDING 1024    /* bytes, and part of a size: allocators round by less */

/* Ratios of copy and original: equal; double and half (float32 and 16 bits); four and eight (8 or 4 bits made 16 or 32). */
static const unsigned ratios[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 4, 1 }, { 1, 4 }, { 8, 1 } };

/* ---- sizes ---- */

/*
 * Blocks of one size and site. An engine inside a trainer has its own weights by design: each owner is compared with itself. A quarter
 * of a site's blocks can come late: a partial reload makes no new model.
 */
struct size {
	uint64_t owner; /* a number, equal for the blocks of a process, or of the engine inside it */
	uint64_t each, count;
	int64_t since, there; /* seq of the first block of the site, and of the one that completed it */
	uint32_t site;
};

struct sizes {
	struct size *at;
	size_t count;
};

static int by_site(const void *one, const void *two)
{
	const struct size *a = one, *b = two;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->each < b->each ? -1 : a->each > b->each;
}

static int by_size(const void *one, const void *two)
{
	const struct size *a = one, *b = two;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->each != b->each)
		return a->each < b->each ? -1 : 1;
	return a->there < b->there ? -1 : a->there > b->there;
}

/* Sorts, and makes one of those that are equal. */
static void merge(struct sizes *sizes)
{
	size_t i, count = 0;

	qsort(sizes->at, sizes->count, sizeof(*sizes->at), by_site);
	for (i = 0; i < sizes->count; i++) {
		if (count && !by_site(&sizes->at[count - 1], &sizes->at[i]))
			sizes->at[count - 1].count += sizes->at[i].count;
		else
			sizes->at[count++] = sizes->at[i];
	}
	sizes->count = count;
}

/* The sizes of all blocks, site by site. `sizes` has room for each block. */
static void load_sizes(struct sizes *sizes, const struct scene *scene)
{
	const struct scene_block *end = scene->block + scene->blocks, *first, *block, *to;
	const struct scene_site *site;

	for (first = scene->block; first < end; first = to) {
		for (to = first; to < end && to->site == first->site;)
			to++;
		site = &scene->site[first->site];
		for (block = first; block < to; block++)
			sizes->at[sizes->count++] = (struct size){ .owner = 2 * (uint64_t)site->process + site->engine,
								   .each = block->bytes /
									   (block->count ? block->count : 1),
								   .count = block->count,
								   .since = first->seq,
								   .there = first[(to - first - 1) * 3 / 4].seq,
								   .site = block->site };
	}
	merge(sizes);
}

static int is_of_model(const struct scene_site *site)
{
	return !site->driver && (site->category == MT_CATEGORY_WEIGHTS ||
				 (site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase)));
}

/* Takes the sizes of models. `count` becomes the number of blocks of the size up to this one, in the order of `there`. */
static void load_models(struct sizes *models, const struct sizes *sizes, const struct scene *scene)
{
	struct size *at = models->at;
	size_t i;

	for (i = 0; i < sizes->count; i++)
		if (is_of_model(&scene->site[sizes->at[i].site]))
			at[models->count++] = sizes->at[i];
	qsort(at, models->count, sizeof(*at), by_size);
	for (i = 1; i < models->count; i++)
		at[i].count += at[i].owner == at[i - 1].owner && at[i].each == at[i - 1].each ? at[i - 1].count : 0;
}

/* The first model size at or after the owner, size and time. */
static size_t first_from(const struct sizes *models, uint64_t owner, uint64_t each, int64_t there)
{
	const struct size wanted = { .owner = owner, .each = each, .there = there };
	size_t low = 0, high = models->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (by_size(&models->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Number of model blocks of this size, up to rounding, of sites that were complete before `since`. */
static uint64_t count_before(const struct sizes *models, uint64_t owner, uint64_t each, int64_t since)
{
	uint64_t slack = each / ROUNDING, count = 0;
	size_t i = first_from(models, owner, each - slack, INT64_MIN), end;

	while (i < models->count && models->at[i].owner == owner && models->at[i].each <= each + slack) {
		end = first_from(models, owner, models->at[i].each, since);
		count += end > i ? models->at[end - 1].count : 0;
		i = first_from(models, owner, models->at[i].each + 1, INT64_MIN);
	}
	return count;
}

/* ---- copies ---- */

/* Blocks of a site with sizes that were resident before the site's first block. */
struct match {
	uint64_t bytes, pieces, kinds; /* kinds: number of different sizes */
	uint64_t of;                   /* bytes of the site in blocks that are not small */
	uint64_t there;                /* number of earlier blocks of these sizes */
};

static struct match match_sizes(const struct sizes *models, const struct size *from, const struct size *to,
				const unsigned *ratio)
{
	struct match match = { 0, 0, 0, 0, 0 };
	uint64_t there;

	for (; from < to; from++) {
		if (from->each < SMALL)
			continue;
		match.of += from->each * from->count;
		there = count_before(models, from->owner, from->each / ratio[0] * ratio[1], from->since);
		if (!there)
			continue;
		match.bytes += from->each * from->count;
		match.pieces += from->count;
		match.there += there;
		match.kinds++;
	}
	return match;
}

static int is_made_by_copy(const struct scene *scene, const struct scene_site *site)
{
	return (find_own_tags(scene, site->node) & MT_TAG_BIT(COPY)) != 0;
}

/*
 * A copy matches in several sizes, or has at most as many pieces of one size as its original. An embedding and a head of equal size
 * are no copies, unless a copying function made the second.
 */
static int is_copy(const struct scene *scene, const struct match *match, const struct scene_site *site)
{
	return match->bytes > 0 && match->bytes >= match->of / 100 * MOST &&
	       (match->pieces >= MANY || is_made_by_copy(scene, site)) &&
	       (match->kinds > 1 || match->pieces <= match->there);
}

/* Whether the site's category is, or can be, a part of a model. A copying function makes copies of optimizer states, too. */
static int may_be_copy(const struct scene *scene, const struct scene_site *site)
{
	return !site->driver &&
	       (scene_is_of(site->category, SCENE_SET(WEIGHTS) | SCENE_SET(OTHER) | SCENE_SET(WORKSPACE)) ||
		(site->category == MT_CATEGORY_OPTIMIZER_STATE && is_made_by_copy(scene, site)));
}

static void take_copies(struct find *find, const struct sizes *sizes, const struct sizes *models)
{
	const struct size *from, *to, *end = sizes->at + sizes->count;
	const struct scene_site *site;
	struct match match, best;
	size_t i;

	for (from = sizes->at; from < end; from = to) {
		site = &find->scene->site[from->site];
		for (to = from; to < end && to->site == from->site;)
			to++;
		if (!may_be_copy(find->scene, site))
			continue;
		for (best.bytes = i = 0; i < MT_ARRAY_SIZE(ratios); i++) {
			match = match_sizes(models, from, to, ratios[i]);
			best = !i || match.bytes > best.bytes ? match : best;
		}
		find->take[from->site] = is_copy(find->scene, &best, site) ? best.bytes : 0;
	}
}

/* A copy of less than a hundredth of the device is no cause. */
static void find_copies(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct find_how how = { .reference = REFERENCE_MODEL,
				      .need = MT_NEEDS,
				      .by_category = 1,
				      .least = scene->request.total / 100,
				      .done = find_say_not_now };
	struct sizes sizes = { calloc(scene->blocks + 1, sizeof(*sizes.at)), 0 };
	struct sizes models = { calloc(scene->blocks + 1, sizeof(*models.at)), 0 };

	if (sizes.at && models.at) {
		load_sizes(&sizes, scene);
		load_models(&models, &sizes, scene);
		take_copies(find, &sizes, &models);
	} else {
		find->failed = -MT_E_MEMORY;
	}
	free(sizes.at);
	free(models.at);
	find_groups(find, &how);
}

/* Weights on their way to an engine are also in the trainer or in the engine. A state dict of the model's own tensors allocates nothing. */
static int is_in_transit(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_WEIGHT_BUFFERS ||
	       (site->category == MT_CATEGORY_STATE_DICT && !(site->tags & MT_TAG_BIT(GATHER)));
}

static int is_near(uint64_t bytes, uint64_t other)
{
	return bytes >= other / 100 * (100 - NEAR) && bytes <= other / 100 * (100 + NEAR);
}

/* ---- gradients ---- */

static int is_gradient(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_GRADIENTS;
}

static int is_bucket(const struct scene *scene, const struct scene_site *site)
{
	return is_gradient(scene, site) && mt_phase_is_early(site->phase);
}

/* Buckets that were made at the start, beside gradients of as many bytes that the backward made: a communication can need both. */
static void say_buckets(struct find *find, struct candidate *candidate)
{
	uint64_t buckets = find_sum(find->scene, candidate->process, is_bucket);

	candidate->doubt = 1;
	if (!is_near(find_sum(find->scene, candidate->process, is_gradient) - buckets, buckets))
		candidate->bytes = 0;
}

/* ---- the request ---- */

/* Whether the request has the bytes of all weights, or double (float32 beside 16 bits). */
static int is_all_weights(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t all = scene->process[request->process].weights;

	return !scene_is_of(request->category, SCENE_SET(GRADIENTS) | SCENE_SET(OPTIMIZER_STATE)) &&
	       !request->from_driver && all >= request->total / 10 &&
	       (is_near(request->requested, all) || is_near(request->requested, 2 * all));
}

/* Whether a copying function asks for the size of a block that another stack made in the same step and phase. */
static int is_there(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t slack = request->requested / ROUNDING;
	const struct scene_block *block;
	const struct scene_site *site;

	if (request->category != MT_CATEGORY_WEIGHT_BUFFERS && !(scene_tags(scene, request->node) & MT_TAG_BIT(COPY)))
		return 0;
	slack = slack > ROUNDING ? slack : ROUNDING;
	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		site = &scene->site[block->site];
		if (find_is_own(scene, site) && site->phase == request->phase && site->node != request->node &&
		    block->step == request->step && request->requested <= block->bytes + slack &&
		    block->bytes <= request->requested + slack)
			return 1;
	}
	return 0;
}

void find_twice(struct find *find)
{
	const struct find_how transit = {
		.reference = REFERENCE_MODEL, .need = MT_NEEDS, .by_category = 1, .done = find_say_not_now
	};
	const struct find_how buckets = { .reference = REFERENCE_MODEL, .need = MT_NEED_LATER, .done = say_buckets };
	const struct scene_request *request = &find->scene->request;

	find_copies(find);
	find_sites(find, &transit, is_in_transit);
	find_sites(find, &buckets, is_bucket);
	if (request->failure && request->node != SCENE_NONE && request->requested >= request->total / 100 &&
	    (is_all_weights(find->scene) || is_there(find->scene)))
		find_add_request(find);
}
