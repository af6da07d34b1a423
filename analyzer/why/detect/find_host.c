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

/* Bytes before the newest phase; bytes of the first sample if the rise in this phase is small. */
static uint64_t base_of(const struct scene_host *host)
{
	return above(host->resident, host->before) >= host->resident / MUCH ? host->before : host->first;
}

static uint64_t rise_of(const struct scene_host *host)
{
	return above(host->resident, base_of(host));
}

static int rose(const struct scene_host *host)
{
	return rise_of(host) > 0 && rise_of(host) >= host->resident / MUCH;
}

/* ---- places ---- */

struct seen {
	const struct scene_host *host;
	const char *function;
};

static const char *function_of(const struct scene *scene, uint32_t node)
{
	node = scene_telling(scene, node);
	return node == SCENE_NONE ? "" : scene->frame[scene->node[node].frame].frame.function;
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
	if (rise_of(a->host) != rise_of(b->host))
		return rise_of(a->host) > rise_of(b->host) ? -1 : 1;
	return a->host->process < b->host->process ? -1 : a->host->process > b->host->process;
}

/* Whether the process rose for the same reason as the one with the largest rise at its place. */
static int is_near(const struct scene_host *host, const struct scene_host *most)
{
	return rise_of(host) >= rise_of(most) / NEAR_MOST && rose(host) == rose(most);
}

/* Makes one candidate of all processes that rose at one place. */
static void add_place(struct find *find, const struct seen *seen, size_t count)
{
	const struct scene_host *most = seen[0].host;
	struct candidate *candidate;
	uint64_t bytes = 0, base = 0, rate = 0;
	size_t i, near = 0;

	for (i = 0; i < count; i++) {
		if (!is_near(seen[i].host, most))
			continue;
		near++;
		bytes += seen[i].host->resident;
		base += base_of(seen[i].host);
		rate += seen[i].host->rate;
	}
	if (bytes < most->used / LITTLE)
		return;
	candidate = find_add_at(find, MT_CAUSE_HOST, most->process, most->node, bytes);
	if (!candidate)
		return;
	candidate->expected = base;
	candidate->reference = REFERENCE_BEFORE;
	candidate->phase = most->phase;
	candidate->doubt = !rose(most);
	candidate->fact[FACT_LIMIT] = (int64_t)most->room;
	candidate->fact[FACT_STEPS] = most->steps;
	candidate->fact[FACT_PROCESSES] = (int64_t)near;
	candidate->fact[FACT_RATE] = (int64_t)rate;
}

/* ---- others ---- */

/* Makes a candidate of used host memory beyond the recorded processes: their children can hold it. */
static void add_others(struct find *find, const struct seen *seen, size_t count)
{
	const struct scene_host *newest = seen[0].host;
	uint64_t own = 0, own_first = 0, first = UINT64_MAX, others;
	struct candidate *candidate;
	int own_rose = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		own += seen[i].host->resident;
		own_first += seen[i].host->first;
		own_rose |= rose(seen[i].host);
		first = seen[i].host->used_first < first ? seen[i].host->used_first : first;
		newest = seen[i].host->time > newest->time ? seen[i].host : newest;
	}
	others = above(newest->used, own);
	if (others < newest->used / LITTLE)
		return;
	candidate = find_add_at(find, MT_CAUSE_HOST, newest->process, SCENE_NONE, others);
	if (!candidate)
		return;
	candidate->expected = above(first, own_first) < others ? above(first, own_first) : others;
	candidate->reference = REFERENCE_BEFORE;
	candidate->doubt = own_rose;
	candidate->fact[FACT_LIMIT] = (int64_t)newest->room;
}

static void look_at_machine(struct find *find, const struct seen *seen, size_t count)
{
	size_t from, to;
	int is_full = 0;

	for (from = 0; from < count; from++)
		is_full |= seen[from].host->is_full;
	if (!is_full)
		return;
	for (from = 0; from < count; from = to) {
		for (to = from + 1; to < count && !strcmp(seen[to].function, seen[from].function);)
			to++;
		add_place(find, &seen[from], to - from);
	}
	add_others(find, seen, count);
}

/* ---- a request for host memory ---- */

/* A request for pinned memory fails on the device of kind cpu: the host. */
static void look_at_request(struct find *find)
{
	const struct scene_request *request = &find->scene->request;

	if (request->failure && !strcmp(request->kind, "cpu"))
		find_add_request(find, MT_CAUSE_HOST, request->requested);
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
		seen[i] = (struct seen){ &scene->host[i], function_of(scene, scene->host[i].node) };
	if (scene->hosts)
		qsort(seen, scene->hosts, sizeof(*seen), by_place);
	for (from = 0; from < scene->hosts; from = to) {
		for (to = from + 1; to < scene->hosts && seen[to].host->machine == seen[from].host->machine;)
			to++;
		look_at_machine(find, &seen[from], to - from);
	}
	free(seen);
	look_at_request(find);
}
