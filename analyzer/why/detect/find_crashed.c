/* Runs without a failed request: a process that ended abruptly while device and host had free memory. Also runs without any evidence. */
#include "detectors.h"

#define FULL 20 /* divisor: a device with less than 1/20 free may have ended the process */

/* A process without a sample of host memory is no candidate: the host may have been full. */
void find_crashed(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t total = scene->request.total, used = scene->held > scene->peak.used ? scene->held : scene->peak.used;
	size_t i;

	/* The peak is on the fullest device. No other device needs a look. */
	if (scene->failures.count || scene_host_is_full(scene) || (total && used >= total - total / FULL))
		return;
	for (i = 0; i < scene->hosts; i++)
		if (scene->process[scene->host[i].process].killed)
			find_add_at(find, scene->host[i].process, SCENE_NONE, 0)->fact[FACT_GPU] = (int64_t)total;
}

/* The candidate of a run without a failed request, a full host or an abrupt end: bytes at the peak alone are no cause. */
void find_no_evidence(struct find *find)
{
	const struct scene *scene = find->scene;
	int is_ended = scene->request.failure || scene_host_is_full(scene);
	size_t i;

	for (i = 0; i < scene->hosts; i++)
		is_ended |= scene->process[scene->host[i].process].killed;
	if (!is_ended)
		find_add_at(find, scene->request.process, SCENE_NONE, 0);
}
