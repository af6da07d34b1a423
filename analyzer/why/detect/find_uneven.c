/* Bytes of a place beyond those of the same place on other ranks, at the same step. */
#include "detectors.h"
#include "why/find/find.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define EVEN 125 /* percent of the largest other rank: batches of ranks differ by less */

/* Bytes of a place on a rank. Nodes differ between processes, and stacks of one program are equal. */
struct place {
	uint64_t stack; /* hash of its functions and files */
	enum mt_category category;
	uint32_t process, site;
	uint64_t bytes; /* at the moment, or at a peer's reference */
};

static int place_order(const void *one, const void *two)
{
	const struct place *a = one, *b = two;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->category != b->category)
		return a->category < b->category ? -1 : 1;
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
	const struct scene_node *node;
	const struct callstack_frame *frame;
	uint32_t i;

	for (i = 0; i < scene->nodes; i++) {
		node = &scene->node[i];
		frame = &scene->frame[node->frame].frame;
		find->node_sum[i] = node->parent == SCENE_NONE ? 0xcbf29ce484222325ull : find->node_sum[node->parent];
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

static size_t collect(const struct find *find, struct place *place)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i, count = 0;

	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (bytes_of(scene, site))
			place[count++] = (struct place){
				.stack = find->node_sum[site->node == SCENE_NONE ? scene->nodes : site->node],
				.category = site->category,
				.process = site->process,
				.site = (uint32_t)i,
				.bytes = bytes_of(scene, site)
			};
	}
	if (count)
		qsort(place, count, sizeof(*place), place_order);
	return count;
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
	const struct find_how how = { .cause = MT_CAUSE_UNEVEN, .reference = REFERENCE_PEER, .need = MT_NEEDS };
	struct place *place = calloc(find->scene->sites + 1, sizeof(*place));
	size_t count, from, to;

	if (!place) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	number_stacks(find);
	count = find->scene->peers ? collect(find, place) : 0;
	for (from = 0; from < count; from = to) {
		for (to = from;
		     to < count && place[to].stack == place[from].stack && place[to].category == place[from].category;)
			to++;
		take_place(find, &place[from], &place[to]);
	}
	free(place);
	find_groups(find, &how, say_ranks);
}
