#include "find.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define DOMINANT 75 /* percent of a node's bytes: a branch with as much is the source of the bytes */

/* ---- candidates ---- */

struct candidate *find_add(struct find *find, uint32_t process)
{
	struct candidate *it = scene_add(&find->candidate, &find->candidates, sizeof(*it));

	if (!it) {
		find->failed = -MT_E_MEMORY;
		free(find->spare.part);
		it = memset(&find->spare, 0, sizeof(find->spare));
	}
	it->cause = find->cause;
	it->process = process;
	it->node = it->stack = it->within = SCENE_NONE;
	it->need = MT_NEED_NOW;
	return it;
}

void find_part(struct find *find, struct candidate *candidate, uint32_t site, uint64_t bytes)
{
	struct candidate_part *part = scene_add(&candidate->part, &candidate->parts, sizeof(*part));

	if (!part) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	*part = (struct candidate_part){ .site = site, .bytes = bytes };
	candidate->bytes += bytes;
}

uint64_t find_least(const struct scene *scene)
{
	uint64_t missing = scene->request.missing / 16, share = scene->request.total / 100;
	uint64_t least = !missing || (share && share < missing) ? share : missing;

	return least ? least : 1;
}

enum mt_need find_need(const struct scene *scene, const struct scene_site *site)
{
	const struct scene_process *process = &scene->process[site->process];

	return mt_why_need(scene->why, site->category, site->engine ? MT_WHO_ENGINE : process->who, process->phase);
}

#define NEAR 2 /* percent: padding of buckets, and adapters of a model, make up to as much */

static int is_near(uint64_t bytes, uint64_t other)
{
	return bytes >= other / 100 * (100 - NEAR) && bytes <= other / 100 * (100 + NEAR);
}

/* The bytes of the model: one buffer that has all weights if there is one, else the sum of all weights. */
static uint64_t model_bytes(const struct scene *scene)
{
	const struct scene_site *site;

	for (site = scene->site; site < scene->site + scene->sites; site++)
		if (find_is_own(scene, site) && scene_is_weights(site) && site->most >= scene->request.total / 10)
			return site->most;
	return scene->process[scene->request.process].weights;
}

int find_asks_for_model(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t all = model_bytes(scene);

	return request->failure && request->node != SCENE_NONE && !request->from_driver && all >= request->total / 10 &&
	       !scene_is_of(request->category, SCENE_OF_FORWARD) &&
	       (is_near(request->requested, all) || is_near(request->requested, 2 * all));
}

/* ---- bytes without a site: the request itself, and bytes at a node ---- */

struct candidate *find_add_at(struct find *find, uint32_t process, uint32_t node, uint64_t bytes)
{
	struct candidate *candidate = find_add(find, process);

	candidate->bytes = bytes;
	candidate->node = candidate->stack = node;
	candidate->category = MT_CATEGORY_OTHER;
	candidate->phase = find->scene->process[process].phase;
	candidate->tags = scene_tags(find->scene, node);
	candidate->known = SCENE_CENSUS;
	candidate->need = MT_NEED_NEVER;
	return candidate;
}

struct candidate *find_add_request(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	struct candidate *candidate = find_add_at(find, request->process, request->node, request->requested);

	candidate->category = request->category;
	candidate->phase = request->phase;
	candidate->need = MT_NEED_NOW;
	candidate->fact[FACT_REQUESTED] = (int64_t)request->requested;
	return candidate;
}

/* ---- facts that follow from the parts ---- */

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

/* Sum of the bytes for each value of an enum; `best` is the value with most bytes. */
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
	candidate->mixed = category.bytes[category.best] < candidate->bytes / 100 * DOMINANT;
	candidate->phase = (enum mt_phase)phase.best;
	candidate->known = (enum scene_known)known.best;
	if (candidate->need == MT_NEEDS)
		candidate->need = (enum mt_need)need.best;
	if (candidate->node == SCENE_NONE)
		candidate->node = candidate->stack;
	count_pieces(scene, candidate);
}

void find_say_not_now(struct find *find MT_UNUSED, struct candidate *candidate)
{
	if (candidate->need == MT_NEED_NOW && candidate->category != MT_CATEGORY_WEIGHT_BUFFERS)
		candidate->need = MT_NEED_LATER;
}

/* ---- groups ---- */

/* The sites of one process and category with bytes in find->take. */
struct slice {
	uint32_t process;
	int category; /* -1: all categories */
};

static int is_in_slice(const struct find *find, const struct slice *slice, size_t i)
{
	const struct scene_site *site = &find->scene->site[i];

	return find->take[i] && site->process == slice->process &&
	       (slice->category < 0 || (int)site->category == slice->category);
}

/* Sums the bytes below each node and returns the total. The loop runs backwards: a parent has a lower index than its children. */
static uint64_t sum_up(struct find *find, const struct slice *slice)
{
	const struct scene *scene = find->scene;
	uint64_t sum = 0;
	uint32_t node;
	size_t i;

	memset(find->node_sum, 0, (scene->nodes + 1) * sizeof(*find->node_sum));
	for (i = 0; i < scene->sites; i++) {
		if (!is_in_slice(find, slice, i))
			continue;
		node = scene->site[i].node;
		find->node_sum[node == SCENE_NONE ? scene->nodes : node] += find->take[i];
		sum += find->take[i];
	}
	for (node = (uint32_t)scene->nodes; node-- > 0;)
		if (scene->node[node].parent != SCENE_NONE)
			find->node_sum[scene->node[node].parent] += find->node_sum[node];
	return sum;
}

/* Returns the child of `node` with most bytes; for SCENE_NONE, the outermost node with most bytes. */
static uint32_t largest_child(const struct find *find, uint32_t node)
{
	const struct scene *scene = find->scene;
	uint32_t best = SCENE_NONE, i = node == SCENE_NONE ? scene->outermost : scene->node[node].child;

	for (; i != SCENE_NONE; i = scene->node[i].next)
		if (find->node_sum[i] && (best == SCENE_NONE || find->node_sum[i] >= find->node_sum[best]))
			best = i;
	return best;
}

/* Whether the walk can stop at the node: a function names it, or the rest is compiled code. A main loop has all bytes below it and names no cause. */
static int names_something(const struct scene *scene, uint32_t node, uint32_t child)
{
	return node != SCENE_NONE && (scene_telling(scene, node) != SCENE_NONE ||
				      callstack_is_compiled(&scene->frame[scene->node[child].frame].frame));
}

/* Walks inwards while one branch has most of the bytes, or while the functions so far name nothing. Returns the innermost node of the walk. */
static uint32_t branch_of(const struct find *find)
{
	uint32_t node = SCENE_NONE, child;

	while ((child = largest_child(find, node)) != SCENE_NONE) {
		if (names_something(find->scene, node, child) &&
		    find->node_sum[child] < find->node_sum[node] / 100 * DOMINANT)
			break;
		node = child;
	}
	return node;
}

/* Whether two telling nodes are calls of one line from one caller: the layers of a model are nodes of their own. */
static int is_same_line(const struct scene *scene, uint32_t one, uint32_t two)
{
	return one == two ||
	       (one != SCENE_NONE && two != SCENE_NONE && scene->node[one].frame == scene->node[two].frame &&
		scene_telling(scene, scene->node[one].parent) == scene_telling(scene, scene->node[two].parent));
}

/* Makes one candidate of the slice's bytes in its largest branch and at its telling node (how->whole: of all bytes), and takes them out of find->take. */
static struct candidate *make_group(struct find *find, const struct find_how *how, const struct slice *slice)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate = find_add(find, slice->process);
	uint32_t branch = branch_of(find), told = scene_telling(scene, branch), its;
	size_t i;

	candidate->reference = how->reference;
	candidate->need = how->need;
	for (i = 0; i < scene->sites; i++) {
		its = scene->site[i].node;
		if (!is_in_slice(find, slice, i) ||
		    (!how->whole && its != branch && !scene_is_in(scene, its, branch) &&
		     (told == SCENE_NONE || !is_same_line(scene, told, scene_telling(scene, its)))))
			continue;
		find_part(find, candidate, (uint32_t)i, find->take[i]);
		candidate->expected += find->expect[i];
		find->take[i] = 0;
	}
	find_describe(find, candidate);
	if (how->whole)
		candidate->node = branch;
	else if (told != SCENE_NONE && scene_is_in(scene, told, candidate->node))
		candidate->node = told;
	return candidate;
}

#define GROUPS_MAX 8 /* largest number of candidates of one process and category */

static void split_slice(struct find *find, const struct find_how *how, const struct slice *slice)
{
	uint64_t least = how->least ? how->least : find_least(find->scene);
	struct candidate *candidate;
	int groups;

	for (groups = how->whole ? GROUPS_MAX - 1 : 0;
	     groups < GROUPS_MAX && sum_up(find, slice) >= least && !find->failed; groups++) {
		candidate = make_group(find, how, slice);
		if (how->done)
			how->done(find, candidate);
		if ((candidate->bytes < least || candidate->bytes <= candidate->expected) && !find->failed)
			free(find->candidate[--find->candidates].part);
	}
}

void find_groups(struct find *find, const struct find_how *how)
{
	const struct scene *scene = find->scene;
	struct slice slice;
	size_t i;

	/* Skip ranks without bytes on the device: a run can have many of them. */
	memset(find->process_sum, 0, scene->processes * sizeof(*find->process_sum));
	for (i = 0; i < scene->sites; i++)
		find->process_sum[scene->site[i].process] += find->take[i];
	for (slice.process = 0; slice.process < scene->processes; slice.process++)
		for (slice.category = how->by_category ? 0 : -1;
		     find->process_sum[slice.process] && slice.category < (how->by_category ? MT_CATEGORY_COUNT : 0);
		     slice.category++)
			split_slice(find, how, &slice);
	memset(find->take, 0, scene->sites * sizeof(*find->take));
	memset(find->expect, 0, scene->sites * sizeof(*find->expect));
}

void find_sites(struct find *find, const struct find_how *how, find_is *is)
{
	const struct scene *scene = find->scene;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		if (!find_is_here(scene, &scene->site[i]) || (is && !is(scene, &scene->site[i])))
			continue;
		find->take[i] = scene->site[i].at[SCENE_NOW];
		find->expect[i] = how->expect ? how->expect(scene, &scene->site[i]) : 0;
	}
	find_groups(find, how);
}

uint64_t find_sum(const struct scene *scene, uint32_t process, find_is *is)
{
	const struct scene_site *site;
	uint64_t bytes = 0;

	for (site = scene->site; site < scene->site + scene->sites; site++)
		if (site->process == process && find_is_here(scene, site) && is(scene, site))
			bytes += site->at[SCENE_NOW];
	return bytes;
}

void find_takers(struct find *find, struct candidate *candidate, int with_tensors)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	uint64_t most = 0, *take;

	for (site = scene->site; site < scene->site + scene->sites; site++) {
		if (site->process != candidate->process)
			continue;
		take = &find->take[site - scene->site];
		*take = site->idle + (with_tensors && find_is_here(scene, site) ? site->at[SCENE_NOW] : 0);
		if (*take > most) {
			most = *take;
			candidate->stack = site->node;
		}
	}
	sum_up(find, &(struct slice){ candidate->process, -1 });
	memset(find->take, 0, scene->sites * sizeof(*find->take));
	candidate->node = branch_of(find);
	candidate->tags = scene_tags(scene, candidate->stack);
}

void find_release(struct find *find)
{
	size_t i;

	for (i = 0; i < find->candidates; i++)
		free(find->candidate[i].part);
	free(find->candidate);
	free(find->spare.part);
	free(find->take);
	free(find->expect);
	free(find->node_sum);
	free(find->process_sum);
	memset(find, 0, sizeof(*find));
}
