/* Runs without a failed request: a process that ended abruptly while device and host had free memory. */
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
