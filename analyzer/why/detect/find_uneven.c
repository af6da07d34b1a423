/* Bytes of a place beyond those of the same place on other ranks, at the same step. */
#include "detectors.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define EVEN 125 /* percent of the largest other rank: batches of ranks differ by less */

/* A site by its place. Nodes differ between processes, and stacks of one program are equal. */
struct place {
	uint64_t stack; /* hash of its functions, its files, category and phase */
	uint32_t site;
};

static int place_order(const void *one, const void *two)
{
	const struct place *a = one, *b = two;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static uint64_t mix(uint64_t sum, const char *text)
{
	while (*text)
		sum = (sum ^ (uint8_t)*text++) * 0x100000001b3ull;
	return (sum ^ '\n') * 0x100000001b3ull;
}

/* One pass is enough: a parent has a lower number than its children. */
static void number_stacks(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct callstack_frame *frame;
	uint32_t i, parent;

	for (i = 0; i < scene->nodes; i++) {
		parent = scene->node[i].parent;
		frame = &scene->frame[scene->node[i].frame].frame;
		find->node_sum[i] = parent == SCENE_NONE ? 0xcbf29ce484222325ull : find->node_sum[parent];
		find->node_sum[i] = mix(mix(find->node_sum[i], frame->function), frame->file);
	}
	find->node_sum[scene->nodes] = 0;
}

/* from..to are one place. Takes own sites with more bytes than any peer's. */
static void take_place(struct find *find, const struct place *from, const struct place *to)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	const struct place *it;
	uint64_t most = 0;

	for (it = from; it < to; it++) {
		site = &scene->site[it->site];
		if (!find_is_own(scene, site) && site->at[SCENE_PEER] > most)
			most = site->at[SCENE_PEER];
	}
	for (it = from; it < to && most; it++) {
		site = &scene->site[it->site];
		if (!find_is_own(scene, site) || !find_is_here(scene, site) || site->at[SCENE_NOW] / EVEN <= most / 100)
			continue;
		find->take[it->site] = site->at[SCENE_NOW];
		find->expect[it->site] = most;
	}
}

static void say_ranks(struct find *find, struct candidate *candidate)
{
	candidate->fact[FACT_RANKS] = (int64_t)find->scene->peers;
	candidate->fact[FACT_EARLIER] = (int64_t)candidate->expected;
}

void find_uneven(struct find *find)
{
	const struct scene *scene = find->scene;
	struct place *place = calloc(scene->sites + 1, sizeof(*place));
	size_t count = scene->peers ? scene->sites : 0, i, from, to;
	uint32_t node;

	if (!place) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	number_stacks(find);
	for (i = 0; i < count; i++) {
		node = scene->site[i].node == SCENE_NONE ? (uint32_t)scene->nodes : scene->site[i].node;
		place[i].stack = find->node_sum[node] + scene->site[i].category * MT_PHASE_COUNT + scene->site[i].phase;
		place[i].site = (uint32_t)i;
	}
	qsort(place, count, sizeof(*place), place_order);
	for (from = 0; from < count; from = to) {
		for (to = from; to < count && place[to].stack == place[from].stack;)
			to++;
		take_place(find, &place[from], &place[to]);
	}
	free(place);
	find_groups(find, &(struct find_how){ .reference = REFERENCE_PEER, .need = MT_NEEDS, .done = say_ranks });
}
