/*
 * The same data a second time.
 *
 *     copies      blocks with the sizes of earlier weights, in the same or another dtype
 *     buckets     gradients in buckets and outside of them
 *     in transit  weights on their way to an engine, and state dicts
 *     request     the failed request is a copy of resident bytes
 */
#include "detectors.h"
#include "why/find/find.h"

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

/* A block of a model. */
struct size {
	uint64_t each;
	int64_t there;  /* seq at which its site had most of its blocks */
	uint64_t count; /* blocks of this size up to this one, in the order of `there` */
};

struct sizes {
	struct size *at; /* by size, then there */
	size_t count;
};

static int by_size(const void *one, const void *two)
{
	const struct size *a = one, *b = two;

	if (a->each != b->each)
		return a->each < b->each ? -1 : 1;
	return a->there < b->there ? -1 : a->there > b->there;
}

/* The end of the site's blocks that begin at `from`. */
static size_t site_end(const struct scene *scene, size_t from)
{
	size_t to = from;

	while (to < scene->blocks && scene->block[to].site == scene->block[from].site)
		to++;
	return to;
}

/* Adds the site's blocks. A quarter of them can come late: a partial reload makes no new model. */
static void add_sizes(struct sizes *sizes, const struct scene *scene, size_t from, size_t to)
{
	int64_t there = scene->block[from + (to - from - 1) * 3 / 4].seq;
	const struct scene_block *block;

	for (; from < to; from++) {
		block = &scene->block[from];
		sizes->at[sizes->count++] = (struct size){ .each = block->bytes / (block->count ? block->count : 1),
							   .there = there,
							   .count = block->count };
	}
}

static void sort_sizes(struct sizes *sizes)
{
	size_t i;

	if (sizes->count)
		qsort(sizes->at, sizes->count, sizeof(*sizes->at), by_size);
	for (i = 1; i < sizes->count; i++)
		sizes->at[i].count += sizes->at[i].each == sizes->at[i - 1].each ? sizes->at[i - 1].count : 0;
}

static int is_of_model(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return !site->driver && (site->category == MT_CATEGORY_WEIGHTS ||
				 (site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase)));
}

static void load_sizes(struct sizes *sizes, const struct scene *scene, uint32_t process, int engine)
{
	const struct scene_site *site;
	size_t from, to;

	sizes->count = 0;
	for (from = 0; from < scene->blocks; from = to) {
		to = site_end(scene, from);
		site = &scene->site[scene->block[from].site];
		if (site->process == process && site->engine == engine && find_is_here(scene, site) &&
		    is_of_model(scene, site))
			add_sizes(sizes, scene, from, to);
	}
	sort_sizes(sizes);
}

/* The first block at or after the size and the time. */
static size_t first_from(const struct sizes *sizes, uint64_t each, int64_t there)
{
	const struct size wanted = { .each = each, .there = there };
	size_t low = 0, high = sizes->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (by_size(&sizes->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Number of blocks of this size, up to rounding, of sites that were complete before `since`. */
static uint64_t count_before(const struct sizes *sizes, uint64_t each, int64_t since)
{
	uint64_t slack = each / ROUNDING, count = 0;
	size_t i = first_from(sizes, each - slack, INT64_MIN), end;

	while (i < sizes->count && sizes->at[i].each <= each + slack) {
		end = first_from(sizes, sizes->at[i].each, since);
		count += end > i ? sizes->at[end - 1].count : 0;
		i = first_from(sizes, sizes->at[i].each + 1, INT64_MIN);
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

/* site: the sizes of one site; since: seq of its first block. */
static struct match match_sizes(const struct sizes *sizes, const struct sizes *site, const unsigned *ratio,
				int64_t since)
{
	struct match match = { 0, 0, 0, 0, 0 };
	uint64_t there, each, count;
	size_t i;

	for (i = 0; i < site->count; i++) {
		each = site->at[i].each;
		if (each < SMALL || (i + 1 < site->count && site->at[i + 1].each == each))
			continue; /* the last block of a size has the count of all */
		count = site->at[i].count;
		match.of += each * count;
		there = count_before(sizes, each / ratio[0] * ratio[1], since);
		if (!there)
			continue;
		match.bytes += each * count;
		match.pieces += count;
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
	return find_is_here(scene, site) && !site->driver &&
	       (site->category == MT_CATEGORY_WEIGHTS || site->category == MT_CATEGORY_OTHER ||
		site->category == MT_CATEGORY_WORKSPACE ||
		(site->category == MT_CATEGORY_OPTIMIZER_STATE && is_made_by_copy(scene, site)));
}

/* An engine inside a trainer has its own weights by design: compare each with itself. `room`: a size for each block. */
static void take_copies(struct find *find, uint32_t process, int engine, struct sizes *weights, struct sizes *room)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	struct match match, best;
	size_t from, to, i;

	load_sizes(weights, scene, process, engine);
	for (from = 0; from < scene->blocks; from = to) {
		to = site_end(scene, from);
		site = &scene->site[scene->block[from].site];
		if (site->process != process || site->engine != engine || !may_be_copy(scene, site))
			continue;
		room->count = 0;
		add_sizes(room, scene, from, to);
		sort_sizes(room);
		best.bytes = 0;
		for (i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
			match = match_sizes(weights, room, ratios[i], scene->block[from].seq);
			best = !i || match.bytes > best.bytes ? match : best;
		}
		find->take[scene->block[from].site] = is_copy(scene, &best, site) ? best.bytes : 0;
	}
}

/* The process needs bytes of the category, but not the second set. A model computes with one set, and never with a state dict. */
static void say_not_now(struct find *find, struct candidate *candidate)
{
	(void)find;
	if (candidate->need == MT_NEED_NOW && candidate->category != MT_CATEGORY_WEIGHT_BUFFERS)
		candidate->need = MT_NEED_LATER;
}

/* A copy of less than a hundredth of the device is no cause. */
static void find_copies(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct find_how how = { .cause = MT_CAUSE_TWICE,
				      .reference = REFERENCE_MODEL,
				      .by_category = 1,
				      .need = MT_NEEDS,
				      .least = scene->request.total / 100,
				      .done = say_not_now };
	struct sizes weights = { calloc(scene->blocks + 1, sizeof(*weights.at)), 0 };
	struct sizes room = { calloc(scene->blocks + 1, sizeof(*room.at)), 0 };
	uint32_t i;

	if (!weights.at || !room.at)
		find->failed = -MT_E_MEMORY;
	for (i = 0; i < scene->processes && !find->failed; i++) {
		if (scene->process[i].in_use)
			take_copies(find, i, 0, &weights, &room);
		if (scene->process[i].engine)
			take_copies(find, i, 1, &weights, &room);
	}
	free(weights.at);
	free(room.at);
	find_groups(find, &how);
}

/* Weights on their way to an engine are also in the trainer or in the engine. A state dict of the model's own tensors allocates nothing. */
static int is_in_transit(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return site->category == MT_CATEGORY_WEIGHT_BUFFERS ||
	       (site->category == MT_CATEGORY_STATE_DICT && !(site->tags & MT_TAG_BIT(GATHER)));
}

static int is_near(uint64_t bytes, uint64_t other)
{
	return bytes >= other / 100 * (100 - NEAR) && bytes <= other / 100 * (100 + NEAR);
}

/* ---- gradients ---- */

static int is_bucket(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_GRADIENTS && mt_phase_is_early(site->phase);
}

static int is_gradient(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && site->category == MT_CATEGORY_GRADIENTS && !mt_phase_is_early(site->phase);
}

static void say_doubt(struct find *find, struct candidate *candidate)
{
	(void)find;
	candidate->doubt = 1;
}

/* Buckets that were made at the start, beside gradients of as many bytes that the backward made: a communication can need both. */
static void find_buckets(struct find *find)
{
	const struct find_how how = {
		.cause = MT_CAUSE_TWICE, .reference = REFERENCE_MODEL, .need = MT_NEED_LATER, .done = say_doubt
	};
	const struct scene *scene = find->scene;
	uint64_t buckets = find_sum(scene, scene->request.process, is_bucket);

	if (buckets && is_near(find_sum(scene, scene->request.process, is_gradient), buckets))
		find_sites(find, &how, is_bucket);
}

/* ---- the request ---- */

static int is_weights(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return !site->driver && site->category == MT_CATEGORY_WEIGHTS;
}

/* Whether the request has the bytes of all weights, or double (float32 beside 16 bits). */
static int is_all_weights(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t all = find_sum(scene, request->process, is_weights);

	return request->category != MT_CATEGORY_GRADIENTS && request->category != MT_CATEGORY_OPTIMIZER_STATE &&
	       !request->from_driver && all >= request->total / 10 &&
	       (is_near(request->requested, all) || is_near(request->requested, 2 * all));
}

/* Whether a copying function asks for the size of a block that another stack made in the same step and phase. */
static int is_there(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_site *site;
	uint64_t slack = request->requested / ROUNDING;
	size_t i;

	if (request->category != MT_CATEGORY_WEIGHT_BUFFERS && !(scene->node[request->node].tags & MT_TAG_BIT(COPY)))
		return 0;
	slack = slack > ROUNDING ? slack : ROUNDING;
	for (i = 0; i < scene->blocks; i++) {
		site = &scene->site[scene->block[i].site];
		if (find_is_own(scene, site) && find_is_here(scene, site) && site->phase == request->phase &&
		    site->node != request->node && scene->block[i].step == request->step &&
		    request->requested <= scene->block[i].bytes + slack &&
		    scene->block[i].bytes <= request->requested + slack)
			return 1;
	}
	return 0;
}

void find_twice(struct find *find)
{
	const struct find_how transit = { .cause = MT_CAUSE_TWICE,
					  .reference = REFERENCE_MODEL,
					  .by_category = 1,
					  .need = MT_NEEDS,
					  .done = say_not_now };
	const struct scene_request *request = &find->scene->request;

	find_copies(find);
	find_sites(find, &transit, is_in_transit);
	find_buckets(find);
	if (request->failure && request->node != SCENE_NONE && request->requested >= request->total / 100 &&
	    (is_all_weights(find->scene) || is_there(find->scene)))
		find_add_request(find, MT_CAUSE_TWICE, request->requested);
}
