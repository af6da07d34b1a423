/*
 * Whole tensors on a rank that should hold a shard.
 *
 *     whole     weights, gradients and states that are larger than the rank's shards explain
 *     gathered  a request that gathers shards from all ranks
 *     loading   a model that is loaded to the GPU before sharding
 */
#include <stdlib.h>
#include <string.h>
#include "detectors.h"
#include "memtrace/error.h"
#include "why/find/find_sizes.h"

#define WIDER 250       /* percent of the own weights: a float32 copy of 16-bit weights is 200 */
#define GATHERED 50     /* percent of the own weights: two of a model's many layers are less */
#define GATHERED_MANY 3 /* pieces: the running layer and the next one are two */
#define NOTHING_ELSE 90 /* percent of the bytes in use that must be weights */

/* ---- own shards ---- */

/* Weights of one site, and of all sites before it. */
struct part {
	int64_t there; /* seq at which the site had most of its blocks */
	uint64_t bytes;
};

struct parts {
	struct part *part; /* by `there`; bytes: sum of all parts up to this one */
	size_t parts;
};

static int by_time(const void *one, const void *two)
{
	const struct part *a = one, *b = two;

	return a->there < b->there ? -1 : a->there > b->there;
}

static int is_of(const struct scene *scene, const struct scene_site *site, uint32_t process)
{
	return site->process == process && !site->engine && !site->driver && find_is_here(scene, site);
}

static int load_parts(struct parts *parts, const struct scene *scene, uint32_t process)
{
	const struct scene_site *site;
	size_t from, to, i;

	memset(parts, 0, sizeof(*parts));
	parts->part = calloc(scene->sites + 1, sizeof(*parts->part));
	if (!parts->part)
		return -MT_E_MEMORY;
	for (from = 0; from < scene->blocks; from = to) {
		to = find_site_end(scene, from);
		site = &scene->site[scene->block[from].site];
		if (is_of(scene, site, process) && site->category == MT_CATEGORY_WEIGHTS)
			parts->part[parts->parts++] = (struct part){ .there = find_site_there(scene, from, to),
								     .bytes = site->at[SCENE_NOW] };
	}
	qsort(parts->part, parts->parts, sizeof(*parts->part), by_time);
	for (i = 1; i < parts->parts; i++)
		parts->part[i].bytes += parts->part[i - 1].bytes;
	return 0;
}

/* Bytes of weights that were resident before `seq`. */
static uint64_t parts_before(const struct parts *parts, int64_t seq)
{
	size_t low = 0, high = parts->parts, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (parts->part[middle].there < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? parts->part[low - 1].bytes : 0;
}

/* ---- larger than the shards ---- */

/*
 * The optimizer's states are many times the weights; its temporaries are not. Weights count only if they come from other ranks:
 * norms, made earlier, are no shards of later layers.
 */
static int is_like_weights(const struct scene_site *site)
{
	const uint64_t comes = MT_TAG_BIT(GATHER) | MT_TAG_BIT(COLLECTIVE) | MT_TAG_BIT(STATE_DICT);

	switch (site->category) {
	case MT_CATEGORY_WEIGHTS:
		return (site->tags & comes) != 0;
	case MT_CATEGORY_GRADIENTS:
	case MT_CATEGORY_STATE_DICT:
	case MT_CATEGORY_WEIGHT_BUFFERS:
		return 1;
	case MT_CATEGORY_WORKSPACE:
		return site->phase == MT_PHASE_OPTIMIZER;
	default:
		return 0;
	}
}

static int is_whole(const struct scene_site *site, uint64_t parts)
{
	uint64_t bytes = site->at[SCENE_NOW];

	if (!parts)
		return 0;
	if (site->category != MT_CATEGORY_GATHER_BUFFERS)
		return is_like_weights(site) && bytes > parts / 100 * WIDER;
	return site->count_at[SCENE_NOW] >= GATHERED_MANY ? bytes > parts / 100 * GATHERED : bytes > parts;
}

static void take_whole(struct find *find, uint32_t process, const struct parts *parts)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t from, to;

	for (from = 0; from < scene->blocks; from = to) {
		to = find_site_end(scene, from);
		site = &scene->site[scene->block[from].site];
		if (is_of(scene, site, process) && is_whole(site, parts_before(parts, scene->block[from].seq)))
			find->take[scene->block[from].site] = site->at[SCENE_NOW];
	}
}

/* A model needs one layer at a time, and no tensors for a file. An engine needs the weights that it receives. */
static void describe_whole(struct find *find, struct candidate *candidate)
{
	(void)find;
	if (candidate->category != MT_CATEGORY_WEIGHT_BUFFERS)
		find_not_now(candidate);
}

/* Only a rank can have shards. */
static void find_kept_whole(struct find *find)
{
	const struct find_how how = {
		.cause = MT_CAUSE_UNSHARDED, .reference = REFERENCE_MODEL, .by_category = 1, .need = MT_NEEDS
	};
	struct parts parts;
	uint32_t process;

	for (process = 0; process < find->scene->processes && !find->failed; process++) {
		if (find->scene->process[process].rank < 0 || !find->scene->process[process].in_use)
			continue;
		find->failed = load_parts(&parts, find->scene, process);
		if (!find->failed)
			take_whole(find, process, &parts);
		free(parts.part);
	}
	find_groups(find, &how, describe_whole);
}

/* Makes a candidate of a request that gathers, unless it gathers one layer's weights. */
static void find_gathering(struct find *find)
{
	const struct scene_request *request = &find->scene->request;

	if (!request->failure || request->node == SCENE_NONE || request->category == MT_CATEGORY_GATHER_BUFFERS ||
	    request->requested < request->total / 100 || !(find->scene->node[request->node].tags & MT_TAG_BIT(GATHER)))
		return;
	find_add_request(find, MT_CAUSE_UNSHARDED, request->requested);
}

/* ---- a whole model ---- */

/* Whether weights fill the device while a model is loaded: the whole model does not fit. */
static int is_loading(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *process = &scene->process[request->process];
	const struct scene_site *site;
	uint64_t weights = 0;
	size_t i;

	if (!request->failure || !mt_phase_is_early(request->phase) || process->who != MT_WHO_MODEL)
		return 0;
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (is_of(scene, site, request->process) && site->category == MT_CATEGORY_WEIGHTS)
			weights += site->at[SCENE_NOW];
	}
	return weights > request->total / 2 && weights >= process->in_use / 100 * NOTHING_ELSE;
}

static void find_loading(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_UNSHARDED, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	if (!is_loading(scene))
		return;
	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (is_of(scene, site, scene->request.process) && site->category == MT_CATEGORY_WEIGHTS)
			find->take[i] = site->at[SCENE_NOW];
	}
	find_groups(find, &how, NULL);
}

void find_unsharded(struct find *find)
{
	find_kept_whole(find);
	find_gathering(find);
	find_loading(find);
}
