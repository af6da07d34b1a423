/* Other ranks of the program on the device of the request. The candidate has all bytes of these ranks, with caches and contexts. */
#include "detectors.h"

/* Whether the process is another rank. A trainer shares a device with an engine or a sleeping process on purpose. */
static int is_other_rank(const struct scene *scene, uint32_t process)
{
	const struct scene_process *own = &scene->process[scene->request.process], *it = &scene->process[process];

	return it->on_device && !it->ended && own->rank >= 0 && it->rank >= 0 && it->rank != own->rank && !it->sleeps &&
	       !own->sleeps && (it->who == MT_WHO_ENGINE) == (own->who == MT_WHO_ENGINE);
}

/* Returns the owner of the device: a rank with 25 % more bytes than each other rank; without such a rank, the requesting one. */
static uint32_t find_owner(const struct scene *scene)
{
	uint32_t most = scene->request.process, i;
	uint64_t second = 0, held;

	for (i = 0; i < scene->processes; i++) {
		held = scene->process[i].held;
		if (i == most || !is_other_rank(scene, i))
			continue;
		if (held > scene->process[most].held) {
			held = scene->process[most].held;
			most = i;
		}
		second = held > second ? held : second;
	}
	return scene->process[most].held / 5 * 4 > second ? most : scene->request.process;
}

/* All ranks but the owner are one cause: one line of code chose the device of all ranks. */
void find_wrong_device(struct find *find)
{
	const struct scene *scene = find->scene;
	uint64_t bytes = 0, contexts = 0, outside;
	uint32_t i, owner = find_owner(scene), most = SCENE_NONE;
	struct candidate *candidate;
	int64_t ranks = 0;

	for (i = 0; i < scene->processes; i++) {
		if (i == owner || (i != scene->request.process && !is_other_rank(scene, i)))
			continue;
		ranks++;
		bytes += scene->process[i].held;
		contexts += find_context(scene, i);
		if (most == SCENE_NONE || scene->process[i].held > scene->process[most].held)
			most = i;
	}
	outside = find_context(scene, owner);
	outside = scene->request.outside > outside ? scene->request.outside - outside : 0;
	bytes += contexts < outside ? contexts : outside;
	if (!ranks || bytes < find_least(scene))
		return;
	candidate = find_add(find, most);
	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].process == most && find_is_here(scene, &scene->site[i]) &&
		    scene->site[i].at[SCENE_NOW])
			find_part(find, candidate, i, scene->site[i].at[SCENE_NOW]);
	find_describe(find, candidate);
	candidate->bytes = bytes;
	candidate->need = MT_NEED_NEVER;
	candidate->known = SCENE_CENSUS; /* certain for each category: these processes are on the wrong device */
	candidate->fact[FACT_PROCESSES] = ranks;
	find_takers(find, candidate, 1);
}
