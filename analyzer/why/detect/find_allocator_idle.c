/* Bytes that caching allocators reserve outside of tensors. They could serve the request if they were in one piece, or were given back. */
#include "detectors.h"

#define LITTLE 32 /* divisor: a cache below 1/32 of the device is normal */
#define ORDERLY 8 /* divisor: slack below 1/8 of the held bytes is normal */

/* Another allocator can give back only free segments. The requesting allocator has given these back: its slack is in segments with tensors. */
static void look_at(struct find *find, uint32_t index)
{
	const struct scene_request *request = &find->scene->request;
	const struct scene_process *process = &find->scene->process[index];
	int of_another = index != request->process || request->from_driver;
	uint64_t bytes = of_another ? process->idle : process->pinned + process->idle;
	uint32_t pin = of_another || process->pin == SCENE_NONE ? SCENE_NONE : find->scene->site[process->pin].node;
	struct candidate *candidate;

	if (bytes < find_least(find->scene) || bytes < request->total / LITTLE)
		return;
	candidate = find_add_at(find, index, pin, bytes);
	if (pin == SCENE_NONE)
		find_takers(find, candidate, 0);
	candidate->category = MT_CATEGORY_SLACK;
	candidate->doubt = bytes < request->missing || process->slack < process->held / ORDERLY;
	candidate->fact[FACT_HOLE] = index == request->process ? (int64_t)request->hole : 0;
}

/* Whether a library's own allocator took the bytes from the driver. The recording does not show how the library uses these bytes. */
static int is_arena(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return site->driver && !site->engine && site->category == MT_CATEGORY_OTHER && *site->owner &&
	       site->node != SCENE_NONE;
}

static int is_tensor(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return !site->driver;
}

/* Drops the candidate if the process has no tensors: the library is the program. Also drops a library with fewer bytes than the tensors. */
static void keep_main(struct find *find, struct candidate *candidate)
{
	uint64_t tensors = find_sum(find->scene, candidate->process, is_tensor);

	if (!tensors || candidate->bytes <= tensors)
		candidate->bytes = 0;
}

void find_allocator_idle(struct find *find)
{
	uint32_t i;

	/* Without a failed request, a cache is no cause: the allocator gives the cache back before a request fails. */
	for (i = 0; find->scene->request.failure && i < find->scene->processes; i++)
		look_at(find, i);
	find_sites(find, &(struct find_how){ .need = MT_NEED_NEVER, .done = keep_main }, is_arena);
}
