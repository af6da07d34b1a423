/*
 * peer_awake: a process that takes turns with the requesting one holds bytes that only its own phase needs.
 *
 *     by category   optimizer states, gradients, KV cache: each could go alone
 *     all of it     the process frees everything but its context and its communicators
 */
#include "detectors.h"
#include "why/find/find.h"

static int is_of_forward(const struct scene *scene, const struct scene_site *site)
{
	(void)scene;
	return find_is_of_forward(site->category);
}

/* A process with few bytes of a forward does not compute. */
static int is_idle(const struct scene *scene, uint32_t process)
{
	return find_sum(scene, process, is_of_forward) < scene->process[process].in_use / 16;
}

/* Two processes take turns if one has slept, if one is an engine and one is not, or if one computes and one waits. */
int find_takes_turns(const struct scene *scene, uint32_t index)
{
	const struct scene_process *peer = &scene->process[index], *mine = &scene->process[scene->request.process];

	if (index == scene->request.process || peer->ended || !peer->in_use)
		return 0;
	if (peer->sleeps || mine->sleeps)
		return 1;
	if (peer->who == mine->who)
		return 0;
	return peer->who == MT_WHO_ENGINE || mine->who == MT_WHO_ENGINE || is_idle(scene, index);
}

/* Context and communicators stay as long as the process. */
static int can_go(const struct scene *scene, const struct scene_site *site)
{
	return find_is_here(scene, site) && site->at[SCENE_NOW] && site->category != MT_CATEGORY_NCCL &&
	       !(site->driver && site->category == MT_CATEGORY_OTHER);
}

/* Both sides of a weight update need the weights. */
static int is_sync(const struct scene *scene, const struct scene_site *site)
{
	return scene->request.phase == MT_PHASE_WEIGHT_UPDATE && site->category == MT_CATEGORY_WEIGHTS;
}

static void take_peer(struct find *find, uint32_t process)
{
	const struct scene *scene = find->scene;
	const struct scene_site *site;
	size_t i;

	find_begin(find);
	for (i = 0; i < scene->sites; i++) {
		site = &scene->site[i];
		if (site->process != process || !can_go(scene, site) || is_sync(scene, site))
			continue;
		/* Bytes that were resident when the same request succeeded do not explain the failure. */
		find->expect[i] = scene->request.has_before == SCENE_SAME_PLACE ? site->at[SCENE_BEFORE] : 0;
		find->take[i] = site->at[SCENE_NOW] > find->expect[i] ? site->at[SCENE_NOW] : 0;
		find->expect[i] = find->take[i] ? find->expect[i] : 0;
	}
}

static int can_go_beside_weights(const struct scene *scene, const struct scene_site *site)
{
	return can_go(scene, site) && site->category != MT_CATEGORY_WEIGHTS;
}

/* All of the peer's bytes and its weights rank last if the other bytes are enough. */
static int others_are_enough(const struct scene *scene, uint32_t process)
{
	return scene->request.missing && find_sum(scene, process, can_go_beside_weights) >= scene->request.missing;
}

static void say_peer(struct find *find, struct candidate *candidate)
{
	candidate->doubt = candidate->category == MT_CATEGORY_WEIGHTS &&
			   others_are_enough(find->scene, candidate->process);
}

void find_peer_awake(struct find *find)
{
	const struct scene *scene = find->scene;
	int has_before = scene->request.has_before == SCENE_SAME_PLACE;
	const struct find_how how = { .cause = MT_CAUSE_PEER_AWAKE,
				      .reference = has_before ? REFERENCE_BEFORE : REFERENCE_NONE,
				      .by_category = 1,
				      .need = MT_NEED_LATER,
				      .done = say_peer };
	struct candidate *all;
	uint32_t i;

	for (i = 0; i < scene->processes; i++) {
		if (!find_takes_turns(scene, i))
			continue;
		take_peer(find, i);
		all = find_whole(find, &how, i);
		if (all)
			all->doubt = !has_before && others_are_enough(scene, i);
		take_peer(find, i);
		find_groups(find, &how);
	}
}
