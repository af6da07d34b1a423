#include "find.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define DOMINANT 75 /* percent of a node's bytes: a branch with this part is their source */

/* ---- candidates ---- */

struct candidate *find_add(struct find *find, enum mt_cause cause, uint32_t process)
{
	size_t count = find->candidates;
	struct candidate *grown = find->candidate;

	if (!(count & (count - 1)) || !count)
		grown = realloc(grown, (count ? 2 * count : 1) * sizeof(*grown));
	if (!grown) {
		find->failed = -MT_E_MEMORY;
		return NULL;
	}
	find->candidate = grown;
	memset(&grown[count], 0, sizeof(*grown));
	grown[count].cause = cause;
	grown[count].process = process;
	grown[count].node = grown[count].stack = grown[count].within = SCENE_NONE;
	grown[count].need = MT_NEED_NOW;
	find->candidates++;
	return &grown[count];
}

void find_part(struct find *find, struct candidate *candidate, uint32_t site, uint64_t bytes)
{
	size_t count = candidate->parts;
	struct candidate_part *grown = candidate->part;

	if (!(count & (count - 1)) || !count)
		grown = realloc(grown, (count ? 2 * count : 1) * sizeof(*grown));
	if (!grown) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	candidate->part = grown;
	grown[count] = (struct candidate_part){ .site = site, .bytes = bytes };
	candidate->parts++;
	candidate->bytes += bytes;
}

/* A candidate below a sixteenth of the missing bytes, or below one percent of the device, is not worth a row. */
uint64_t find_least(const struct scene *scene)
{
	uint64_t missing = scene->request.missing / 16, share = scene->request.total / 100;

	return !missing || (share && share < missing) ? share : missing;
}

enum mt_need find_need(const struct scene *scene, const struct scene_site *site)
{
	const struct scene_process *process = &scene->process[site->process];

	return mt_why_need(scene->why, site->category, site->engine ? MT_WHO_ENGINE : process->who, process->phase);
}

/* ---- bytes without a site: the request itself, and bytes at a node ---- */

struct candidate *find_add_at(struct find *find, enum mt_cause cause, uint32_t process, uint32_t node, uint64_t bytes)
{
	struct candidate *candidate = find_add(find, cause, process);

	if (!candidate)
		return NULL;
	candidate->bytes = bytes;
	candidate->node = candidate->stack = node;
	candidate->category = MT_CATEGORY_OTHER;
	candidate->phase = find->scene->process[process].phase;
	candidate->tags = node == SCENE_NONE ? 0 : find->scene->node[node].tags;
	candidate->known = SCENE_CENSUS;
	candidate->need = MT_NEED_NEVER;
	return candidate;
}

struct candidate *find_add_request(struct find *find, enum mt_cause cause, uint64_t bytes)
{
	const struct scene_request *request = &find->scene->request;
	struct candidate *candidate = find_add_at(find, cause, request->process, request->node, bytes);

	if (!candidate)
		return NULL;
	candidate->category = request->category;
	candidate->phase = request->phase;
	candidate->need = MT_NEED_NOW;
	candidate->fact[FACT_REQUESTED] = (int64_t)request->requested;
	return candidate;
}

/* ---- facts that follow from the parts ---- */

/* Tags of the frames up to the telling function. */
uint64_t find_own_tags(const struct scene *scene, uint32_t node)
{
	uint32_t telling = scene_telling(scene, node);
	uint64_t tags = 0;

	for (; node != SCENE_NONE; node = scene->node[node].parent) {
		tags |= scene->frame[scene->node[node].frame].tags;
		if (node == telling)
			break;
	}
	return tags;
}

/* Bytes of each value of an enum; `best` has most. */
struct tally {
	uint64_t bytes[64];
	unsigned best;
};

static void tally_add(struct tally *tally, unsigned word, uint64_t bytes)
{
	tally->bytes[word] += bytes;
	if (tally->bytes[word] > tally->bytes[tally->best])
		tally->best = word;
}

static void count_pieces(const struct scene *scene, struct candidate *candidate)
{
	const struct scene_site *site;
	uint64_t least = UINT64_MAX, most = 0, pieces = 0;
	size_t i;

	for (i = 0; i < candidate->parts; i++) {
		site = &scene->site[candidate->part[i].site];
		pieces += site->count_at[SCENE_NOW];
		least = site->least < least ? site->least : least;
		most = site->most > most ? site->most : most;
	}
	if (!candidate->fact[FACT_PIECES])
		candidate->fact[FACT_PIECES] = (int64_t)pieces;
	if (!candidate->fact[FACT_EACH] && pieces > 1 && most - least <= most / 16)
		candidate->fact[FACT_EACH] = (int64_t)most;
}

void find_describe(struct find *find, struct candidate *candidate)
{
	const struct scene *scene = find->scene;
	struct tally category = { .best = 0 }, phase = { .best = 0 }, known = { .best = 0 }, need = { .best = 0 };
	const struct scene_site *site;
	uint64_t most = 0, bytes;
	size_t i;

	candidate->tags = candidate->parts ? UINT64_MAX : 0;
	for (i = 0; i < candidate->parts; i++) {
		site = &scene->site[candidate->part[i].site];
		bytes = candidate->part[i].bytes;
		tally_add(&category, site->category, bytes);
		tally_add(&phase, site->phase, bytes);
		tally_add(&known, site->known, bytes);
		tally_add(&need, find_need(scene, site), bytes);
		candidate->tags &= site->tags;
		if (bytes > most) {
			most = bytes;
			candidate->stack = site->node;
		}
		candidate->node = i ? scene_common(scene, candidate->node, site->node) : site->node;
		candidate->process = site->process;
	}
	if (!candidate->parts)
		return;
	candidate->category = (enum mt_category)category.best;
	candidate->phase = (enum mt_phase)phase.best;
	candidate->known = (enum scene_known)known.best;
	if (candidate->need == MT_NEEDS)
		candidate->need = (enum mt_need)need.best;
	if (candidate->node == SCENE_NONE)
		candidate->node = candidate->stack;
	count_pieces(scene, candidate);
}

/* ---- groups ---- */

void find_begin(struct find *find)
{
	memset(find->take, 0, find->scene->sites * sizeof(*find->take));
	memset(find->expect, 0, find->scene->sites * sizeof(*find->expect));
}

/* The taken sites of one process and category. */
struct slice {
	uint32_t process;
	int category; /* -1: all */
};

static int is_in_slice(const struct find *find, const struct slice *slice, size_t i)
{
	const struct scene_site *site = &find->scene->site[i];

	return find->take[i] && site->process == slice->process &&
	       (slice->category < 0 || (int)site->category == slice->category);
}

/* Sums the bytes below each node. The loop goes down: a parent has a lower number than its children. */
static void sum_up(struct find *find, const struct slice *slice)
{
	const struct scene *scene = find->scene;
	uint32_t node;
	size_t i;

	memset(find->node_sum, 0, (scene->nodes + 1) * sizeof(*find->node_sum));
	for (i = 0; i < scene->sites; i++)
		if (is_in_slice(find, slice, i))
			find->node_sum[scene->site[i].node == SCENE_NONE ? scene->nodes : scene->site[i].node] +=
				find->take[i];
	for (node = (uint32_t)scene->nodes; node-- > 0;)
		if (scene->node[node].parent != SCENE_NONE)
			find->node_sum[scene->node[node].parent] += find->node_sum[node];
}

/* The child of `node` with most bytes; `node` SCENE_NONE: the outermost node with most bytes. */
static uint32_t largest_child(const struct find *find, uint32_t node)
{
	const struct scene *scene = find->scene;
	uint32_t best = SCENE_NONE, i = node == SCENE_NONE ? scene->outermost : scene->node[node].child;

	for (; i != SCENE_NONE; i = scene->node[i].next)
		if (find->node_sum[i] && (best == SCENE_NONE || find->node_sum[i] >= find->node_sum[best]))
			best = i;
	return best;
}

/* A main loop holds all bytes below it and names no cause. */
static int names_something(const struct scene *scene, uint32_t node)
{
	return node != SCENE_NONE && scene_telling(scene, node) != SCENE_NONE;
}

/*
 * Goes inwards from the outermost frame while one branch has most bytes, or the function names nothing. Bytes of the node's own
 * sites end the walk.
 */
static uint32_t branch_of(const struct find *find)
{
	uint32_t node = SCENE_NONE, child;

	while ((child = largest_child(find, node)) != SCENE_NONE) {
		if (names_something(find->scene, node) && find->node_sum[child] < find->node_sum[node] / 100 * DOMINANT)
			break;
		node = child;
	}
	return node;
}

/* The node of the largest site that was taken. */
static uint32_t largest_of(const struct find *find, const struct slice *slice)
{
	size_t i, best = SIZE_MAX;

	for (i = 0; i < find->scene->sites; i++)
		if (is_in_slice(find, slice, i) && (best == SIZE_MAX || find->take[i] > find->take[best]))
			best = i;
	return best == SIZE_MAX ? SCENE_NONE : find->scene->site[best].node;
}

/* A function that is called from two places is one function. */
static int is_same_function(const struct scene *scene, uint32_t one, uint32_t two)
{
	const struct callstack_frame *a, *b;

	one = scene_telling(scene, one);
	two = scene_telling(scene, two);
	if (one == SCENE_NONE || two == SCENE_NONE)
		return one == two;
	a = &scene->frame[scene->node[one].frame].frame;
	b = &scene->frame[scene->node[two].frame].frame;
	return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

static int is_in_group(const struct scene *scene, const struct find_how *how, uint32_t site, uint32_t node)
{
	if (how->by_function)
		return is_same_function(scene, site, node);
	return node == SCENE_NONE ? site == SCENE_NONE : scene_is_in(scene, site, node);
}

/* Makes one candidate from the taken bytes below `node`, or of its function. The bytes are no longer taken. */
static struct candidate *make_group(struct find *find, const struct find_how *how, const struct slice *slice,
				    uint32_t node)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate = find_add(find, how->cause, slice->process);
	size_t i;

	if (!candidate)
		return NULL;
	candidate->reference = how->reference;
	candidate->need = how->need;
	for (i = 0; i < scene->sites; i++) {
		if (!is_in_slice(find, slice, i) || !is_in_group(scene, how, scene->site[i].node, node))
			continue;
		find_part(find, candidate, (uint32_t)i, find->take[i]);
		candidate->expected += find->expect[i];
		find->take[i] = 0;
	}
	find_describe(find, candidate);
	return candidate;
}

static uint64_t taken(const struct find *find, const struct slice *slice)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < find->scene->sites; i++)
		bytes += is_in_slice(find, slice, i) ? find->take[i] : 0;
	return bytes;
}

#define GROUPS_MAX 8 /* most candidates of one process and category: the rest is small */

static void split_slice(struct find *find, const struct find_how *how, const struct slice *slice,
			void (*done)(struct find *, struct candidate *))
{
	uint64_t least = how->least ? how->least : find_least(find->scene);
	struct candidate *candidate;
	int groups;

	for (groups = 0; groups < GROUPS_MAX && taken(find, slice) >= least && taken(find, slice) > 0; groups++) {
		sum_up(find, slice);
		candidate = make_group(find, how, slice, how->by_function ? largest_of(find, slice) : branch_of(find));
		if (!candidate)
			return;
		if (candidate->bytes < least || candidate->bytes <= candidate->expected) {
			free(candidate->part);
			find->candidates--;
		} else if (done) {
			done(find, candidate);
		}
	}
}

/* A run has many ranks, and few of them have bytes on the device. */
static void sum_processes(struct find *find)
{
	size_t i;

	memset(find->process_sum, 0, find->scene->processes * sizeof(*find->process_sum));
	for (i = 0; i < find->scene->sites; i++)
		find->process_sum[find->scene->site[i].process] += find->take[i];
}

void find_groups(struct find *find, const struct find_how *how, void (*done)(struct find *, struct candidate *))
{
	struct slice slice;
	int category;

	sum_processes(find);
	for (slice.process = 0; slice.process < find->scene->processes && !find->failed; slice.process++) {
		if (!find->process_sum[slice.process])
			continue;
		for (category = how->by_category ? 0 : -1; category < (how->by_category ? MT_CATEGORY_COUNT : 0);
		     category++) {
			slice.category = category;
			split_slice(find, how, &slice, done);
		}
	}
}

uint32_t find_branch(struct find *find, uint32_t process)
{
	const struct slice slice = { process, -1 };

	sum_up(find, &slice);
	return branch_of(find);
}

struct candidate *find_whole(struct find *find, const struct find_how *how, uint32_t process)
{
	const struct slice slice = { process, -1 };
	uint64_t bytes = taken(find, &slice), least = how->least ? how->least : find_least(find->scene);
	struct candidate *candidate;
	size_t i;

	if (!bytes || bytes < least)
		return NULL;
	candidate = find_add(find, how->cause, process);
	for (i = 0; candidate && i < find->scene->sites; i++) {
		if (!is_in_slice(find, &slice, i))
			continue;
		find_part(find, candidate, (uint32_t)i, find->take[i]);
		candidate->expected += find->expect[i];
	}
	if (!candidate)
		return NULL;
	candidate->reference = how->reference;
	candidate->need = how->need;
	find_describe(find, candidate);
	candidate->node = find_branch(find, process);
	return candidate;
}

/* ---- the end ---- */

void find_release(struct find *find)
{
	size_t i;

	for (i = 0; i < find->candidates; i++)
		free(find->candidate[i].part);
	free(find->candidate);
	free(find->take);
	free(find->expect);
	free(find->node_sum);
	free(find->process_sum);
	memset(find, 0, sizeof(*find));
}
