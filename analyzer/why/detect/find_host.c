/* Host memory: its holders, and the places of its rise. */
#include "detectors.h"
#include "why/find/find.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define MUCH 8      /* divisor: a rise of 1/8 of the resident bytes is no noise */
#define LITTLE 16   /* divisor: less than 1/16 of the used bytes is no cause */
#define NEAR_MOST 2 /* divisor: a rise of at least 1/2 of the largest rise has the same reason */

static uint64_t above(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* A process of a host, with the place of its newest allocation. */
struct seen {
	const struct scene_host *host;
	const char *function;
	uint64_t base, rise; /* base: bytes before the newest phase, or of the first sample if the phase added little */
	int rose;
};

static struct seen look_at(const struct scene *scene, const struct scene_host *host)
{
	uint32_t node = scene_telling(scene, host->node);
	uint64_t much = host->resident / MUCH;
	struct seen seen = { .host = host, .function = "" };

	if (node != SCENE_NONE)
		seen.function = scene->frame[scene->node[node].frame].frame.function;
	seen.base = above(host->resident, host->before) >= much ? host->before : host->first;
	seen.rise = above(host->resident, seen.base);
	seen.rose = seen.rise > 0 && seen.rise >= much;
	return seen;
}

/* By machine and place, largest rise first. */
static int by_place(const void *one, const void *two)
{
	const struct seen *a = one, *b = two;
	int order = strcmp(a->function, b->function);

	if (a->host->machine != b->host->machine)
		return a->host->machine < b->host->machine ? -1 : 1;
	if (order)
		return order;
	if (a->rise != b->rise)
		return a->rise > b->rise ? -1 : 1;
	return a->host->process < b->host->process ? -1 : a->host->process > b->host->process;
}

/* A candidate of used bytes, `base` of them there before. NULL: few bytes of the machine, or out of memory. */
static struct candidate *add(struct find *find, const struct scene_host *host, uint32_t node, uint64_t bytes,
			     uint64_t base)
{
	struct candidate *candidate;

	if (bytes < host->used / LITTLE)
		return NULL;
	candidate = find_add_at(find, MT_CAUSE_HOST, host->process, node, bytes);
	if (!candidate)
		return NULL;
	candidate->expected = base < bytes ? base : bytes;
	candidate->reference = REFERENCE_BEFORE;
	candidate->fact[FACT_LIMIT] = (int64_t)host->room;
	return candidate;
}

/* Makes one candidate of all processes that rose at one place for the reason of the first. */
static void add_place(struct find *find, const struct seen *seen, size_t count)
{
	struct candidate *candidate;
	uint64_t bytes = 0, base = 0, rate = 0;
	size_t i, near = 0;

	for (i = 0; i < count; i++) {
		if (seen[i].rise < seen->rise / NEAR_MOST || seen[i].rose != seen->rose)
			continue;
		near++;
		bytes += seen[i].host->resident;
		base += seen[i].base;
		rate += seen[i].host->rate;
	}
	candidate = add(find, seen->host, seen->host->node, bytes, base);
	if (!candidate)
		return;
	candidate->phase = seen->host->phase;
	candidate->doubt = !seen->rose;
	candidate->fact[FACT_STEPS] = seen->host->steps;
	candidate->fact[FACT_PROCESSES] = (int64_t)near;
	candidate->fact[FACT_RATE] = (int64_t)rate;
}

/* Makes a candidate of used host memory beyond the recorded processes: their children can hold it. */
static void add_others(struct find *find, const struct seen *seen, size_t count)
{
	const struct scene_host *newest = seen[0].host;
	uint64_t own = 0, own_first = 0, first = UINT64_MAX;
	struct candidate *candidate;
	int own_rose = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		own += seen[i].host->resident;
		own_first += seen[i].host->first;
		own_rose |= seen[i].rose;
		first = seen[i].host->used_first < first ? seen[i].host->used_first : first;
		newest = seen[i].host->time > newest->time ? seen[i].host : newest;
	}
	candidate = add(find, newest, SCENE_NONE, above(newest->used, own), above(first, own_first));
	if (candidate)
		candidate->doubt = own_rose;
}

static void look_at_machine(struct find *find, const struct seen *seen, size_t count)
{
	size_t from, to;
	int is_full = 0;

	for (from = 0; from < count; from++)
		is_full |= seen[from].host->is_full;
	for (from = 0; is_full && from < count; from = to) {
		for (to = from + 1; to < count && !strcmp(seen[to].function, seen[from].function);)
			to++;
		add_place(find, &seen[from], to - from);
	}
	if (is_full)
		add_others(find, seen, count);
}

void find_host(struct find *find)
{
	const struct scene *scene = find->scene;
	struct seen *seen = calloc(scene->hosts + 1, sizeof(*seen));
	size_t i, from, to;

	if (!seen) {
		find->failed = -MT_E_MEMORY;
		return;
	}
	for (i = 0; i < scene->hosts; i++)
		seen[i] = look_at(scene, &scene->host[i]);
	qsort(seen, scene->hosts, sizeof(*seen), by_place);
	for (from = 0; from < scene->hosts; from = to) {
		for (to = from + 1; to < scene->hosts && seen[to].host->machine == seen[from].host->machine;)
			to++;
		look_at_machine(find, &seen[from], to - from);
	}
	free(seen);
	/* A request for pinned memory fails on the device of kind cpu: the host. */
	if (scene->request.failure && !strcmp(scene->request.kind, "cpu"))
		find_add_request(find, MT_CAUSE_HOST, scene->request.requested);
}
