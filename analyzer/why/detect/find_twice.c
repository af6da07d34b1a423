/*
 * The same data a second time.
 *
 *     copies      blocks with the sizes of earlier weights, in the same or another dtype
 *     in transit  weights on their way to an engine, state dicts, and a request as large as all weights
 */
#include "detectors.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define MOST 75          /* percent of a site's bytes: a copy may be unfinished, or have other blocks, too */
#define MANY 4           /* least number of equal pieces: two or three can be equal by chance */
#define SMALL (1u << 20) /* bytes: smaller blocks often have equal sizes by chance */

/* Sizes of copy and original: equal; double and half (float32 and 16 bits); four and eight times (4 or 8 bits to 16 or 32). */
static const unsigned ratios[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 4, 1 }, { 1, 4 }, { 8, 1 } };

/* A block of a model, or of a site that may be a copy of a model. */
struct piece {
	uint64_t owner;       /* the stack; in a model: a number for the process and the engine inside it */
	uint64_t each, count; /* count: of a model, pieces of its size up to this one, in order of birth; else 1 */
	int64_t seq;
	uint32_t site;
};

struct pieces {
	struct piece *at;
	size_t count;
};

static int by_size(const void *one, const void *two)
{
	const struct piece *a = one, *b = two;
	int order = MT_ORDER(a->owner, b->owner);

	order = order ? order : MT_ORDER(a->each, b->each);
	return order ? order : MT_ORDER(a->seq, b->seq);
}

static void add_piece(struct pieces *pieces, const struct scene_block *block, uint64_t owner)
{
	pieces->at[pieces->count++] = (struct piece){ owner, block->bytes, 1, block->seq, block->site };
}

/* The owner of weights or states. An engine in a trainer has weights of its own by design: a copy is compared with its own owner only. */
static uint64_t owner_of(const struct scene_site *site, int states)
{
	return 4 * (uint64_t)site->process + 2 * (uint64_t)states + site->engine;
}

static int is_of_model(const struct scene_site *site)
{
	return !site->driver && (scene_is_of(site->category, SCENE_SET(WEIGHTS) | SCENE_SET(OPTIMIZER_STATE)) ||
				 (site->category == MT_CATEGORY_OTHER && mt_phase_is_early(site->phase)));
}

static int is_made_by_copy(const struct scene *scene, const struct scene_site *site)
{
	return (find_own_tags(scene, site->node) & MT_TAG_BIT(COPY)) != 0;
}

/* Whether a load made the optimizer states. They are compared with other states; other copied states are compared with weights. */
static int is_loaded_state(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_OPTIMIZER_STATE && (site->tags & MT_TAG_BIT(CHECKPOINT_LOAD)) &&
	       !is_made_by_copy(scene, site);
}

/* Whether the site may be a copy. An optimizer makes workspace in the sizes of weights. Bytes from before the recording have no order. */
static int may_be_copy(const struct scene *scene, const struct scene_site *site)
{
	return !site->driver && site->phase != MT_PHASE_BEFORE && !(site->tags & MT_TAG_BIT(CRITIC)) &&
	       (scene_is_of(site->category, SCENE_SET(WEIGHTS) | SCENE_SET(OTHER)) ||
		(site->category == MT_CATEGORY_WORKSPACE && site->phase != MT_PHASE_OPTIMIZER) ||
		(site->category == MT_CATEGORY_OPTIMIZER_STATE &&
		 (is_made_by_copy(scene, site) || is_loaded_state(scene, site))));
}

/* Sorts all pieces. No copy has a small piece of a model, in any ratio. */
static void load_pieces(const struct scene *scene, struct pieces *models, struct pieces *copies)
{
	const struct scene_block *block;
	const struct scene_site *site;
	struct packed_walk walk;
	size_t i;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		site = &scene->site[block->site];
		if (block->bytes >= SMALL / 8 && is_of_model(site))
			add_piece(models, block, owner_of(site, site->category == MT_CATEGORY_OPTIMIZER_STATE));
		if (may_be_copy(scene, site) && block->step == site->last_step)
			add_piece(copies, block, (uint64_t)site->process << 32 | site->node);
	}
	qsort(models->at, models->count, sizeof(*models->at), by_size);
	qsort(copies->at, copies->count, sizeof(*copies->at), by_size);
	for (i = 1; i < models->count; i++)
		if (models->at[i].owner == models->at[i - 1].owner && models->at[i].each == models->at[i - 1].each)
			models->at[i].count += models->at[i - 1].count;
}

/* Returns the number of the owner's model pieces of `each` bytes before `seq`. */
static uint64_t count_before(const struct pieces *models, uint64_t owner, uint64_t each, int64_t seq)
{
	const struct piece wanted = { .owner = owner, .each = each, .seq = seq }, *found;
	size_t low = 0, high = models->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (by_size(&models->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? &models->at[low - 1] : NULL;
	return found && found->owner == owner && found->each == each ? found->count : 0;
}

/* ---- copies ---- */

/* Returns the bytes of a stack's pieces, from..to, if most have sizes that the model had before the first one; else 0. With `take`, takes them. */
static uint64_t copied(struct find *find, const struct pieces *models, const struct piece *from, const struct piece *to,
		       const unsigned *ratio, int take)
{
	const struct scene_site *site = &find->scene->site[from->site];
	uint64_t owner = owner_of(site, is_loaded_state(find->scene, site)), bytes = 0, of = 0, pieces = 0, same = 0;
	int64_t since = INT64_MAX;
	const struct piece *it;

	for (it = from; it < to; it++)
		since = it->seq < since ? it->seq : since;
	for (it = from; it < to; it++) {
		if (it->each < SMALL)
			continue;
		of += it->each;
		same = it > from && it->each == it[-1].each ? same + 1 : 1;
		/* The n-th piece of a size is a copy only if the model had n pieces of this size. */
		if (count_before(models, owner, it->each / ratio[0] * ratio[1], since) < same)
			continue;
		bytes += it->each;
		pieces++;
		find->take[it->site] += take ? it->each : 0;
	}
	return is_made_by_copy(find->scene, site) || (bytes >= of / 100 * MOST && pieces >= MANY) ? bytes : 0;
}

static void take_copies(struct find *find, const struct pieces *models, const struct pieces *copies)
{
	const struct piece *from, *to, *end = copies->at + copies->count;
	size_t i, best;

	for (from = copies->at; from < end; from = to) {
		for (to = from; to < end && to->owner == from->owner;)
			to++;
		for (i = best = 0; i < MT_ARRAY_SIZE(ratios); i++)
			if (copied(find, models, from, to, ratios[i], 0) >
			    copied(find, models, from, to, ratios[best], 0))
				best = i;
		if (copied(find, models, from, to, ratios[best], 0))
			copied(find, models, from, to, ratios[best], 1);
	}
}

/* A copy below a hundredth of the device is no cause. */
static void find_copies(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct find_how how = { FIND_OF_MODEL, .least = scene->request.total / 100 };
	struct pieces copies = { calloc(scene->blocks.rows + 1, sizeof(*copies.at)), 0 };
	struct pieces models = { calloc(scene->blocks.rows + 1, sizeof(*models.at)), 0 };

	if (copies.at && models.at) {
		load_pieces(scene, &models, &copies);
		take_copies(find, &models, &copies);
	} else {
		find->failed = -MT_E_MEMORY;
	}
	free(copies.at);
	free(models.at);
	find_groups(find, &how);
}

/*
 * Weights on their way to an engine, and buckets from the start that repeat the gradients of a backward. A state dict that allocates has copied,
 * unless it is whole: find_unsharded.c.
 */
static int is_in_transit(const struct scene *scene, const struct scene_site *site)
{
	return site->category == MT_CATEGORY_WEIGHT_BUFFERS ||
	       (site->category == MT_CATEGORY_GRADIENTS && mt_phase_is_early(site->phase) &&
		scene->process[site->process].gradients >= site->at[SCENE_NOW]) ||
	       (site->category == MT_CATEGORY_STATE_DICT && !(site->tags & MT_TAG_BIT(GATHER)) &&
		!find_is_whole(scene, site));
}

void find_twice(struct find *find)
{
	find_copies(find);
	find_sites(find, &(struct find_how){ FIND_OF_MODEL }, is_in_transit);
	/* Gradients and states have as many bytes as weights, and are no copy of them. */
	if (find_asks_for_model(find->scene) &&
	    !scene_is_of(find->scene->request.category, SCENE_SET(GRADIENTS) | SCENE_SET(OPTIMIZER_STATE)))
		find_add_request(find);
}
