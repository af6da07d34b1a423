/* Device bytes beyond recorded calls: contexts, other programs, other APIs. */
#include "detectors.h"

#define CONTEXT ((uint64_t)1 << 30) /* bytes: estimate of a context with the code of its libraries, without NVML */
#define SMALL 10                    /* divisor: below 1/10 of the device, a desktop or the driver can hold the bytes */

uint64_t find_context(const struct scene *scene, uint32_t process)
{
	const struct scene_process *it = &scene->process[process];

	return it->has_context ? it->context - it->unexplained : it->on_device ? CONTEXT : 0;
}

/* The holders of the bytes beyond recorded calls. */
struct holders {
	uint64_t contexts;    /* bytes of contexts of all processes with bytes on the device */
	uint64_t empty;       /* bytes of contexts of processes without other bytes */
	uint64_t unexplained; /* bytes that recorded processes took by another API */
	uint32_t owner;       /* the only process that can hold most of these bytes; else the requesting one */
	int64_t idle;         /* number of processes with a context and no other bytes */
};

/* A process can own most of the bytes if NVML counts more than half for it, or if NVML has no sample of it. */
static struct holders look_at(const struct scene *scene)
{
	struct holders holders = { .owner = scene->request.process };
	const struct scene_process *it;
	uint32_t i, owners = 0;

	for (i = 0; i < scene->processes; i++) {
		it = &scene->process[i];
		holders.contexts += it->on_device ? find_context(scene, i) : 0;
		holders.idle += !it->on_device && it->context;
		holders.empty += it->on_device ? 0 : it->context;
		holders.unexplained += it->unexplained;
		if (it->has_context ? it->context > scene->request.outside / 2 : it->on_device)
			holders.owner = owners++ ? scene->request.process : i;
	}
	return holders;
}

/* now: recorded processes use the bytes by another API; later: contexts of recorded processes; never: other programs. */
static enum mt_need need_of(const struct holders *holders, uint64_t excess)
{
	if (holders->unexplained > excess / 2)
		return MT_NEED_NOW;
	return holders->contexts + holders->empty > excess / 2 ? MT_NEED_LATER : MT_NEED_NEVER;
}

/* Expected are the own context and the bytes that were there when the request had room. Other contexts are weak evidence unless they hold most. */
void find_outside(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	struct holders holders = look_at(find->scene);
	uint64_t expected = find_context(find->scene, request->process), rise = 0;
	struct candidate *candidate;

	if (request->outside_steps && request->outside > request->outside_first)
		rise = request->outside - request->outside_first;
	if (rise && rise >= (request->outside - holders.contexts) / 2)
		expected = request->outside_first;
	else if (request->outside_before > expected && request->outside_before < request->outside)
		expected = request->outside_before;
	if (request->outside <= expected || request->outside - expected < request->total / SMALL)
		return;
	candidate = find_add_at(find, holders.owner, SCENE_NONE, request->outside);
	candidate->expected = expected;
	candidate->need = need_of(&holders, request->outside - expected);
	candidate->reference = request->outside_before || rise ? REFERENCE_BEFORE : REFERENCE_MODEL;
	candidate->doubt = request->outside_before >= request->outside ||
			   (request->outside < holders.contexts + find_least(find->scene) &&
			    holders.contexts < find->scene->held);
	candidate->fact[FACT_PROCESSES] = holders.idle;
	if (expected == request->outside_first && request->outside_steps) {
		candidate->fact[FACT_STEPS] = request->outside_steps;
		candidate->fact[FACT_RATE] = (int64_t)(rise / (uint64_t)request->outside_steps);
	}
}
