/* Slack: bytes that caching allocators reserve outside of tensors. */
#include <string.h>
#include "report/frag/frag.h"
#include "scene_impl.h"

/* Adds the free bytes of each segment with tensors to the site with most bytes in the segment. */
static void add_pinned(struct scene *scene, struct scene_process *process, const struct frag_map *map)
{
	struct scene_site *all = scene->site;
	const struct segment *segment;
	const struct frag_tensor *holder;
	uint32_t site;
	size_t k;

	for (k = 0; k < map->map.count; k++) {
		segment = &map->map.segment[k];
		if (!segment->used)
			continue;
		process->pinned += segment->bytes - segment->used;
		holder = frag_holder(map, segment);
		site = holder ? scene_site_of(scene, holder->site) : SCENE_NONE;
		if (site == SCENE_NONE)
			continue;
		all[site].pinned += segment->bytes - segment->used;
		if (process->pin == SCENE_NONE || all[site].pinned > all[process->pin].pinned)
			process->pin = site;
	}
	if (process->pin != SCENE_NONE && all[process->pin].pinned < process->pinned / 2)
		process->pin = SCENE_NONE;
}

/* Adds the bytes of each empty segment to the site that took the segment from the driver. */
static void add_idle(struct scene *scene, const struct frag_map *map)
{
	uint32_t site;
	size_t k;

	for (k = 0; k < map->pieces; k++) {
		site = map->piece[k].used ? SCENE_NONE : scene_site_of(scene, map->piece[k].id);
		if (site != SCENE_NONE)
			scene->site[site].idle += map->piece[k].bytes;
	}
}

static int load_process(struct scene *scene, struct scene_process *process)
{
	struct scene_request *request = &scene->request;
	int is_own = process == &scene->process[request->process];
	struct frag_map map;
	size_t k;
	int error;

	memset(&map, 0, sizeof(map));
	error = frag_load(&map, scene->db, request->device, process->id, &request->when);
	if (!error) {
		process->idle = map.map.free_pieces < process->slack ? map.map.free_pieces : process->slack;
		add_pinned(scene, process, &map);
		add_idle(scene, &map);
	}
	for (k = 0; k < map.map.count && !error; k++)
		if (is_own && map.map.segment[k].largest_hole > request->hole)
			request->hole = map.map.segment[k].largest_hole;
	if (!error)
		error = frag_modes(scene->db, &map, request->device, process->id, &process->expandable,
				   &process->has_pool);
	frag_release(&map);
	return error;
}

int scene_load_slack(struct scene *scene, int for_advice)
{
	int is_cause = scene->request.failure || scene->processes > 1, error = 0;
	size_t i;

	for (i = 0; i < scene->processes && is_cause != for_advice && !error; i++)
		if (scene->process[i].slack)
			error = load_process(scene, &scene->process[i]);
	return error;
}
