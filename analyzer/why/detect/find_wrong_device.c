/*
 * Other ranks of the same program on the device of the request: each rank should have its own device.
 *
 * The candidate has all bytes of these ranks on the device: tensors, cache and contexts.
 */
#include "detectors.h"
#include "why/find/find.h"

#include <stdlib.h>
#include "memtrace/error.h"

/* An engine and a trainer share a device on purpose, and so do processes that sleep. */
static int is_shared(const struct scene_process *one, const struct scene_process *two)
{
	return one->sleeps || two->sleeps ||
	       (one->who != two->who && (one->who == MT_WHO_ENGINE || two->who == MT_WHO_ENGINE));
}

/* 1 for each process of another rank with bytes on the device; NULL: out of memory. */
static unsigned char *find_ranks(const struct scene *scene)
{
	unsigned char *ranks = calloc(scene->processes + 1, 1);
	const struct scene_process *own = &scene->process[scene->request.process], *it;
	uint32_t i;

	for (i = 0; ranks && own->rank >= 0 && i < scene->processes; i++) {
		it = &scene->process[i];
		ranks[i] = it->on_device && !it->ended && it->rank >= 0 && it->rank != own->rank && !is_shared(own, it);
	}
	return ranks;
}

/* Bytes of the ranks' contexts, at most the outside bytes without the own context. */
static uint64_t contexts_of(const struct scene *scene, const unsigned char *ranks)
{
	uint64_t own = find_context(scene, scene->request.process), bytes = 0;
	uint64_t room = scene->request.outside > own ? scene->request.outside - own : 0;
	uint32_t i;

	for (i = 0; i < scene->processes; i++)
		bytes += ranks[i] ? find_context(scene, i) : 0;
	return bytes < room ? bytes : room;
}

/* Bytes of the ranks on the device: tensors, allocator caches and contexts. `most`: the process that holds most. */
static uint64_t bytes_of(const struct scene *scene, const unsigned char *ranks, uint32_t *most)
{
	uint64_t bytes = contexts_of(scene, ranks);
	uint32_t i;

	*most = SCENE_NONE;
	for (i = 0; i < scene->processes; i++) {
		if (!ranks[i])
			continue;
		bytes += scene->process[i].held;
		if (*most == SCENE_NONE || scene->process[i].held > scene->process[*most].held)
			*most = i;
	}
	return bytes;
}

/* The bytes of all other ranks are one cause: one line of code chose the device for all. */
static void add_ranks(struct find *find, const unsigned char *ranks, uint64_t bytes, uint32_t most)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate = find_add(find, MT_CAUSE_WRONG_DEVICE, most);
	uint32_t i;

	for (i = 0; candidate && i < scene->sites; i++)
		if (ranks[scene->site[i].process] && find_is_here(scene, &scene->site[i]) &&
		    scene->site[i].at[SCENE_NOW])
			find_part(find, candidate, i, scene->site[i].at[SCENE_NOW]);
	if (!candidate)
		return;
	candidate->category = MT_CATEGORY_SLACK;
	find_describe(find, candidate);
	for (i = 0; i < scene->processes; i++)
		candidate->fact[FACT_PROCESSES] += ranks[i];
	candidate->bytes = bytes;
	candidate->process = most;
	candidate->need = MT_NEED_NEVER;
	candidate->known = SCENE_CENSUS; /* certain for any category: these processes do not belong here */
	find_takers(find, candidate, most, 1);
}

void find_wrong_device(struct find *find)
{
	unsigned char *ranks = find_ranks(find->scene);
	uint64_t bytes;
	uint32_t most;

	if (!ranks) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	bytes = bytes_of(find->scene, ranks, &most);
	if (most != SCENE_NONE && bytes >= find_least(find->scene))
		add_ranks(find, ranks, bytes, most);
	free(ranks);
}
