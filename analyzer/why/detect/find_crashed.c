/* Runs without a failed request: a process that ended abruptly while memory had room. Also runs without evidence. */
#include "detectors.h"
#include "why/find/find.h"

#define FULL 20 /* divisor: a device with less than 1/20 free can be the reason */

static int host_was_full(const struct scene *scene)
{
	size_t i;

	for (i = 0; i < scene->hosts; i++)
		if (scene->host[i].is_full)
			return 1;
	return 0;
}

/* One look is enough: the peak is the fullest device's. */
static int device_was_full(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t used = scene->held + request->outside;

	return request->total && used >= request->total - request->total / FULL;
}

/* Without a sample of its host, the recording cannot tell that memory had room. */
static int was_sampled(const struct scene *scene, uint32_t process)
{
	size_t i;

	for (i = 0; i < scene->hosts; i++)
		if (scene->host[i].process == process)
			return 1;
	return 0;
}

static int is_crash(const struct scene *scene, uint32_t process)
{
	return scene->process[process].killed && was_sampled(scene, process);
}

void find_crashed(struct find *find)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate;
	uint32_t i;

	if (scene->failures.count || host_was_full(scene) || device_was_full(scene))
		return;
	for (i = 0; i < scene->processes; i++) {
		if (!is_crash(scene, i))
			continue;
		candidate = find_add_at(find, MT_CAUSE_CRASHED, i, SCENE_NONE, 0);
		if (!candidate)
			return;
		candidate->fact[FACT_GPU] = (int64_t)scene->request.total;
	}
}

static int any_crashed(const struct scene *scene)
{
	uint32_t i;

	for (i = 0; i < scene->processes; i++)
		if (is_crash(scene, i))
			return 1;
	return 0;
}

/* Bytes at the peak are a cause only after a failed request, a full host or an abrupt end. */
static int request_or_loss(const struct scene *scene)
{
	return scene->request.failure || host_was_full(scene) || any_crashed(scene);
}

/* Bytes in use on the device that no recorded call explains. */
static uint64_t unknown_bytes(const struct scene *scene)
{
	const struct scene_request *request = &scene->request;
	uint64_t known = scene->held + request->requested;

	return request->failure && request->free < 0 && known < request->total ? request->total - known : 0;
}

void find_no_evidence(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t unknown = unknown_bytes(scene);

	if (!scene->processes)
		return;
	if (!request_or_loss(scene))
		find_add_at(find, MT_CAUSE_NO_EVIDENCE, scene->request.process, SCENE_NONE, 0);
	else if (unknown > scene->request.total / 2)
		find_add_at(find, MT_CAUSE_NO_EVIDENCE, scene->request.process, SCENE_NONE, unknown);
}
