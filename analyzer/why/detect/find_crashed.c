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

/* The next process from `at` that ended abruptly. Without a sample of its host, the recording cannot tell that memory had room. */
static size_t next_crash(const struct scene *scene, size_t at)
{
	while (at < scene->hosts && !scene->process[scene->host[at].process].killed)
		at++;
	return at;
}

void find_crashed(struct find *find)
{
	const struct scene *scene = find->scene;
	struct candidate *candidate;
	size_t i;

	if (scene->failures.count || host_was_full(scene) || device_was_full(scene))
		return;
	for (i = next_crash(scene, 0); i < scene->hosts; i = next_crash(scene, i + 1)) {
		candidate = find_add_at(find, MT_CAUSE_CRASHED, scene->host[i].process, SCENE_NONE, 0);
		if (candidate)
			candidate->fact[FACT_GPU] = (int64_t)scene->request.total;
	}
}

/* Bytes at the peak are a cause only after a failed request, a full host or an abrupt end. */
void find_no_evidence(struct find *find)
{
	const struct scene *scene = find->scene;
	const struct scene_request *request = &scene->request;
	uint64_t known = scene->held + request->requested, unknown;

	/* Bytes in use on the device that no recorded call explains. */
	unknown = request->failure && request->free < 0 && known < request->total ? request->total - known : 0;
	if (!request->failure && !host_was_full(scene) && next_crash(scene, 0) == scene->hosts)
		find_add_at(find, MT_CAUSE_NO_EVIDENCE, request->process, SCENE_NONE, 0);
	else if (unknown > request->total / 2)
		find_add_at(find, MT_CAUSE_NO_EVIDENCE, request->process, SCENE_NONE, unknown);
}
