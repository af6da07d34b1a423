/*
 * peer_awake: a process that takes turns with the requesting process holds bytes that only its own phase needs.
 *
 *     by category   optimizer states, gradients, KV cache: one candidate for each category
 *     all bytes     the process frees everything but its context and its communicators
 */
#include "detectors.h"

/* Whether the process takes turns with the requesting one: one of the two has slept, or they do different work, or it holds most of the device. */
static int takes_turns(const struct scene *scene, uint32_t index)
{
	const struct scene_process *peer = &scene->process[index], *mine = &scene->process[scene->request.process];

	if (peer == mine || peer->ended || !peer->in_use)
		return 0;
	return peer->sleeps || mine->sleeps || peer->who != mine->who ||
	       (peer->who != MT_WHO_ENGINE && peer->in_use > scene->request.total / 2);
}

/* Whether the process can free the bytes. Context and communicators stay as long as the process. */
static int can_go(const struct scene *scene MT_UNUSED, const struct scene_site *site)
{
	return site->category != MT_CATEGORY_NCCL && !(site->driver && site->category == MT_CATEGORY_OTHER);
}

static int can_go_beside_weights(const struct scene *scene, const struct scene_site *site)
{
	return can_go(scene, site) && site->category != MT_CATEGORY_WEIGHTS;
}

/* Bytes that were resident at an earlier call of the same place do not explain the failure. */
static uint64_t before(const struct scene *scene, const struct scene_site *site)
{
	return scene->request.has_before == SCENE_SAME_PLACE ? site->at[SCENE_BEFORE] : 0;
}

/* Whether the site has bytes that its process can free. In a weight update, both processes need their weights. */
static int is_awake(const struct scene *scene, const struct scene_site *site)
{
	return takes_turns(scene, site->process) && site->at[SCENE_NOW] > before(scene, site) &&
	       (scene->request.phase == MT_PHASE_WEIGHT_UPDATE ? can_go_beside_weights : can_go)(scene, site);
}

/* Whether the bytes besides weights reach the missing bytes. All bytes, and weights alone, are then weak evidence. */
static int others_are_enough(const struct scene *scene, uint32_t process)
{
	return scene->request.missing && find_sum(scene, process, can_go_beside_weights) >= scene->request.missing;
}

static void say_all(struct find *find, struct candidate *candidate)
{
	candidate->doubt = candidate->reference == REFERENCE_NONE && others_are_enough(find->scene, candidate->process);
}

static void say_peer(struct find *find, struct candidate *candidate)
{
	candidate->doubt = candidate->category == MT_CATEGORY_WEIGHTS &&
			   others_are_enough(find->scene, candidate->process);
}

void find_peer_awake(struct find *find)
{
	int has_before = find->scene->request.has_before == SCENE_SAME_PLACE;
	struct find_how how = { .reference = has_before ? REFERENCE_BEFORE : REFERENCE_NONE,
				.need = MT_NEED_LATER,
				.whole = 1,
				.expect = before,
				.done = say_all };

	find_sites(find, &how, is_awake);
	how.whole = 0;
	how.by_category = 1;
	how.done = say_peer;
	find_sites(find, &how, is_awake);
}
