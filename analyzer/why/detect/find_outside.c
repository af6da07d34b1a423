/* Bytes beyond recorded calls: contexts, other programs, other APIs. */
#include "detectors.h"
#include "why/find/find.h"

#define CONTEXT ((uint64_t)1 << 30) /* bytes: estimate of a context with its libraries' code, without NVML */

#define SMALL 10 /* divisor: a desktop or the driver holds less than 1/10 of the device */

uint64_t find_context(const struct scene *scene, uint32_t process)
{
	const struct scene_process *it = &scene->process[process];

	return it->has_context ? it->context - it->unexplained : it->on_device ? CONTEXT : 0;
}

/* Bytes of the contexts of processes on the device, at most request.outside. */
static uint64_t contexts(const struct scene *scene, int64_t *holders)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (*holders = i = 0; i < scene->processes; i++) {
		if (!scene->process[i].on_device)
			continue;
		++*holders;
		bytes += find_context(scene, i);
	}
	return bytes < scene->request.outside ? bytes : scene->request.outside;
}

/* Bytes of the requesting process's own context. */
static uint64_t own_context(const struct scene *scene, uint64_t all)
{
	uint64_t own = find_context(scene, scene->request.process);

	return own < all ? own : all;
}

/* Whether more than half of the outside bytes can be this process's: NVML says so, or has no sample. */
static int could_have(const struct scene *scene, uint32_t process)
{
	const struct scene_process *it = &scene->process[process];

	return it->has_context ? it->context > scene->request.outside / 2 : it->on_device;
}

/* The only recorded process that can hold most outside bytes; SCENE_NONE: none, or several can. */
static uint32_t process_of(const struct scene *scene)
{
	uint32_t i, found = SCENE_NONE;

	for (i = 0; i < scene->processes; i++) {
		if (!could_have(scene, i))
			continue;
		if (found != SCENE_NONE)
			return SCENE_NONE;
		found = i;
	}
	return found;
}

/* Number of processes with a context and no other bytes. */
static int64_t idle_contexts(const struct scene *scene)
{
	int64_t count = 0;
	uint32_t i;

	for (i = 0; i < scene->processes; i++)
		count += !scene->process[i].on_device && scene->process[i].context;
	return count;
}

static void add(struct find *find, uint64_t expected, enum reference reference, int doubt, int64_t processes)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	uint32_t owner = process_of(scene);
	struct candidate *candidate;

	if (scene->request.outside <= expected || scene->request.outside - expected < scene->request.total / SMALL)
		return;
	candidate = find_add_at(find, MT_CAUSE_OUTSIDE, owner == SCENE_NONE ? scene->request.process : owner,
				SCENE_NONE, scene->request.outside);
	if (!candidate)
		return;
	candidate->expected = expected;
	candidate->reference = reference;
	candidate->doubt = doubt;
	candidate->fact[FACT_PROCESSES] = processes;
	if (request->outside_steps && expected == request->outside_first) {
		candidate->fact[FACT_STEPS] = request->outside_steps;
		candidate->fact[FACT_RATE] = (int64_t)((request->outside - expected) /
						       (uint64_t)request->outside_steps);
	}
}

/* Whether the steps added at least half of the bytes that no context explains. Code that is loaded late adds less. */
static int rises(const struct scene_request *request, uint64_t needed)
{
	return request->outside_steps && request->outside > request->outside_first &&
	       request->outside - request->outside_first >= (request->outside - needed) / 2;
}

/*
 * Each process needs its context. Outside bytes at the reference left room for the request, and are expected. Contexts are a cause
 * if they hold more than all allocations.
 */
void find_outside(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	int64_t holders;
	uint64_t needed, own;

	if (!request->outside)
		return;
	needed = contexts(scene, &holders);
	own = own_context(scene, needed);
	if (request->outside - needed >= find_least(scene)) {
		if (rises(request, needed))
			add(find, request->outside_first, REFERENCE_BEFORE, 0, 0);
		else if (request->outside_before > needed && request->outside_before < request->outside)
			add(find, request->outside_before, REFERENCE_BEFORE, 0, idle_contexts(scene));
		else
			add(find, own, REFERENCE_MODEL, request->outside_before >= request->outside,
			    idle_contexts(scene));
	} else if (holders > 1) {
		add(find, own, REFERENCE_MODEL, needed < scene->held, holders);
	}
}
