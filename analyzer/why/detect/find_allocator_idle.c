/* Bytes that caching allocators reserve and no tensor uses: in one piece, or given back, they could serve the request. */
#include "detectors.h"
#include "why/find/find.h"

#define LITTLE 32 /* divisor: 1/32 of the device is normal for a cache */
#define ORDERLY 8 /* divisor: slack below 1/8 of the held bytes is normal */

/*
 * Another process, or a library that asks the driver, can use a cache's bytes only after whole segments go back. The requesting
 * allocator has already given these back: its slack lies in pieces.
 */
static int is_cache_of_another(const struct scene *scene, uint32_t process)
{
	return process != scene->request.process || scene->request.from_driver;
}

void find_takers(struct find *find, struct candidate *candidate, uint32_t process, int with_tensors)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	uint64_t most = 0;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (site->process != process)
			continue;
		find->take[i] = site->idle + (with_tensors && find_is_here(scene, site) ? site->at[SCENE_NOW] : 0);
		if (find->take[i] > most) {
			most = find->take[i];
			candidate->stack = site->node;
		}
	}
	candidate->node = find_branch(find, process);
	candidate->tags = candidate->stack == SCENE_NONE ? 0 : scene->node[candidate->stack].tags;
}

static void look_at(struct find *find, uint32_t index)
{
	const struct scene_request *request = &find->scene->request;
	const struct scene_process *process = &find->scene->process[index];
	int of_another = is_cache_of_another(find->scene, index);
	uint64_t bytes = of_another ? process->idle : process->pinned + process->idle;
	uint32_t pin = of_another || process->pin == SCENE_NONE ? SCENE_NONE : find->scene->site[process->pin].node;
	struct candidate *candidate;

	if (!bytes || bytes < find_least(find->scene) || bytes < request->total / LITTLE)
		return;
	candidate = find_add_at(find, MT_CAUSE_ALLOCATOR_IDLE, index, pin, bytes);
	if (!candidate)
		return;
	if (pin == SCENE_NONE)
		find_takers(find, candidate, index, 0);
	candidate->category = MT_CATEGORY_SLACK;
	candidate->doubt = bytes < request->missing || process->slack < process->held / ORDERLY;
	candidate->fact[FACT_HOLE] = index == request->process ? (int64_t)request->hole : 0;
}

/* Whether a library's own allocator took the bytes from the driver: the recording does not show their use. */
static int is_arena(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && site->driver && !site->engine && site->category == MT_CATEGORY_OTHER &&
	       *site->owner && site->node != SCENE_NONE;
}

/* Without tensors, the library is the program. With more bytes in tensors, the library is their tool. */
static void look_for_arena(struct find *find, uint32_t process)
{
	const struct find_how how = { .cause = MT_CAUSE_ALLOCATOR_IDLE, .need = MT_NEED_NEVER };
	const struct scene *scene = find->scene;
	uint64_t tensors = 0, arena = 0;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		if (scene->site[i].process != process)
			continue;
		find->take[i] = is_arena(scene, &scene->site[i]) ? scene->site[i].at[SCENE_NOW] : 0;
		arena += find->take[i];
		tensors += scene->site[i].driver ? 0 : scene->site[i].at[SCENE_NOW];
	}
	if (tensors && arena > tensors)
		find_whole(find, &how, process);
}

void find_allocator_idle(struct find *find)
{
	uint32_t i;

	for (i = 0; i < find->scene->processes; i++) {
		if (find->scene->request
			    .failure) /* Without a failed request, a cache is no cause: it goes back before a request fails. */
			look_at(find, i);
		look_for_arena(find, i);
	}
}
