/* Bytes of a place that exceed the bytes of the same place on other ranks, at the same step. */
#include "detectors.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define EVEN 125 /* percent of the largest other rank: below this, batches explain the difference */

/* A site with its place. Nodes differ between processes; functions of one program are equal. */
struct place {
	const struct callstack_frame *frame; /* frame of the telling function */
	uint32_t kind, site;                 /* kind: category and phase in one number */
};

static int place_order(const void *one, const void *two)
{
	const struct place *a = one, *b = two;
	int order = strcmp(a->frame->function, b->frame->function);

	order = order ? order : strcmp(a->frame->file, b->frame->file);
	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

/* The sites from..to have one place. Takes the requesting process's sites with more than 125 % of the largest peer's bytes. */
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
	size_t count = 0, i, from, to;
	uint32_t node;

	for (i = 0; place && scene->peers && i < scene->sites; i++) {
		node = scene_telling(scene, scene->site[i].node);
		if (node != SCENE_NONE)
			place[count++] = (struct place){ &scene->frame[scene->node[node].frame].frame,
							 scene->site[i].category * MT_PHASE_COUNT +
								 scene->site[i].phase,
							 (uint32_t)i };
	}
	if (!place) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	qsort(place, count, sizeof(*place), place_order);
	for (from = 0; from < count; from = to) {
		for (to = from; to < count && !place_order(&place[to], &place[from]);)
			to++;
		take_place(find, &place[from], &place[to]);
	}
	free(place);
	find_groups(find, &(struct find_how){ .reference = REFERENCE_PEER, .need = MT_NEEDS, .done = say_ranks });
}
