/* Runs without a failed request: a process that ended abruptly while memory had room. Also runs without evidence. */
#include "detectors.h"

#define FULL 20 /* divisor: a device with less than 1/20 free can be the reason */

/* Without a sample of the host, the recording cannot tell that memory had room. */
void find_crashed(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t total = scene->request.total, used = scene->held > scene->peak.used ? scene->held : scene->peak.used;
	size_t i;

	/* One look at a device is enough: the peak is the fullest device's. */
	if (scene->failures.count || scene_host_is_full(scene) || (total && used >= total - total / FULL))
		return;
	for (i = 0; i < scene->hosts; i++)
		if (scene->process[scene->host[i].process].killed)
			find_add_at(find, scene->host[i].process, SCENE_NONE, 0)->fact[FACT_GPU] = (int64_t)total;
}

/* Bytes at the peak are a cause only after a failed request, a full host or an abrupt end. */
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
