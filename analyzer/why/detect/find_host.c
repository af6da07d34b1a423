/* Host memory: its holders, and the places where it rose. */
#include <string.h>
#include "detectors.h"

#define LITTLE 16   /* divisor: a candidate below 1/16 of the used bytes is no cause */
#define NEAR_MOST 2 /* divisor: a rise of at least 1/2 of the largest one has the same reason */

/* Adds a candidate of `bytes` used bytes; `base` of these were used before. Returns NULL below 1/LITTLE of the host's used bytes. */
static struct candidate *add(struct find *find, const struct scene_host *host, uint32_t node, uint64_t bytes,
			     uint64_t base)
{
	struct candidate *candidate;

	if (bytes < host->used / LITTLE)
		return NULL;
	candidate = find_add_at(find, host->process, node, bytes);
	candidate->expected = base < bytes ? base : bytes;
	candidate->reference = REFERENCE_BEFORE;
	candidate->fact[FACT_LIMIT] = (int64_t)host->room;
	return candidate;
}

/* Makes one candidate of the processes at one place that rose by at least half as much as the first one. The first one rose most. */
static void add_place(struct find *find, const struct scene_host *host, const struct scene_host *end)
{
	const struct scene_host *it;
	struct candidate *candidate;
	uint64_t bytes = 0, base = 0, rate = 0;
	int64_t near = 0;

	for (it = host; it < end; it++) {
		if (it->rise < host->rise / NEAR_MOST || it->rose != host->rose)
			continue;
		near++;
		bytes += it->resident;
		base += it->resident - it->rise;
		rate += it->rate;
	}
	candidate = add(find, host, host->node, bytes, base);
	if (!candidate)
		return;
	candidate->phase = host->phase;
	candidate->doubt = !host->rose;
	candidate->fact[FACT_STEPS] = host->steps;
	candidate->fact[FACT_PROCESSES] = near;
	candidate->fact[FACT_RATE] = (int64_t)rate;
}

/* Makes a candidate of the used host memory outside of the recorded processes. Child processes can hold this memory. */
static void add_others(struct find *find, const struct scene_host *host, const struct scene_host *end)
{
	const struct scene_host *newest = host, *it;
	uint64_t own = 0, own_first = 0, first = UINT64_MAX;
	struct candidate *candidate;
	int own_rose = 0;

	for (it = host; it < end; it++) {
		own += it->resident;
		own_first += it->first;
		own_rose |= it->rose;
		first = it->used_first < first ? it->used_first : first;
		newest = it->time > newest->time ? it : newest;
	}
	candidate = add(find, newest, SCENE_NONE, newest->used > own ? newest->used - own : 0,
			first > own_first ? first - own_first : 0);
	if (candidate)
		candidate->doubt = own_rose;
}

static void look_at_machine(struct find *find, const struct scene_host *host, const struct scene_host *end)
{
	const struct scene_host *from, *to;
	int is_full = 0;

	for (from = host; from < end; from++)
		is_full |= from->is_full;
	for (from = host; is_full && from < end; from = to) {
		for (to = from + 1; to < end && !strcmp(to->function, from->function);)
			to++;
		add_place(find, from, to);
	}
	if (is_full)
		add_others(find, host, end);
}

void find_host(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_host *end = scene->host + scene->hosts, *from, *to;

	for (from = scene->host; from < end; from = to) {
		for (to = from + 1; to < end && to->machine == from->machine;)
			to++;
		look_at_machine(find, from, to);
	}
	/* A request for pinned memory fails on the device of kind "cpu": the host. */
	if (scene->request.failure && !strcmp(scene->request.kind, "cpu"))
		find_add_request(find);
}
