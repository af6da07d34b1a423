/* Bytes of a place beyond those of the same place on other ranks, at the same step. */
#include "detectors.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define EVEN 125 /* percent of the largest other rank: batches of ranks differ by less */

/* Bytes of a place on a rank, of one phase. Nodes differ between processes, and stacks of one program are equal. */
struct place {
	uint64_t stack; /* hash of its functions, its files and the category */
	uint32_t process, site;
	uint64_t bytes; /* at the moment, or at a peer's reference */
};

static int place_order(const void *one, const void *two)
{
	const struct place *a = one, *b = two;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
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

static uint64_t bytes_of(const struct scene *scene, const struct scene_site *site)
{
	size_t i;

	if (find_is_own(scene, site))
		return find_is_here(scene, site) ? site->at[SCENE_NOW] : 0;
	for (i = 0; i < scene->peers; i++)
		if (scene->peer[i] == site->process)
			return site->at[SCENE_PEER + i];
	return 0;
}

/* from..to are one place. Takes own sites with more bytes than any peer's sum over its phases. */
static void take_place(struct find *find, const struct place *from, const struct place *to)
{
	const uint32_t own = find->scene->request.process;
	uint64_t sum = 0, most = 0;
	const struct place *it;

	for (it = from; it < to; it++) {
		sum = it > from && it[-1].process == it->process ? sum + it->bytes : it->bytes;
		most = it->process != own && sum > most ? sum : most;
	}
	for (it = from; it < to && most; it++) {
		if (it->process != own || it->bytes / EVEN <= most / 100)
			continue;
		find->take[it->site] = it->bytes;
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
	size_t count = 0, i, from, to;
	uint64_t bytes;
	uint32_t node;

	if (!place) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	number_stacks(find);
	for (i = 0; scene->peers && i < scene->sites; i++) {
		bytes = bytes_of(scene, &scene->site[i]);
		node = scene->site[i].node == SCENE_NONE ? (uint32_t)scene->nodes : scene->site[i].node;
		if (bytes)
			place[count++] = (struct place){ find->node_sum[node] + scene->site[i].category,
							 scene->site[i].process, (uint32_t)i, bytes };
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
