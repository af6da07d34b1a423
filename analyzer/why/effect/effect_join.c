/* Finds the action of a setting (memtrace/why.h) by its row and never by its key, and the settings against a candidate. */
#include <string.h>
#include "effect.h"
#include "memtrace/base.h"
#include "method.h"
#include "stack_words.h"
#include "why/rank/rank.h"

#define FIXES_MAX 8 /* largest number of actions against a cause */

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

#define WEIGHT_PARTS (CATEGORY(WEIGHTS) | CATEGORY(GATHER_BUFFERS))

/* The first row whose conditions hold gives the action. 0: no condition. */
static const struct {
	enum mt_knob_method method;
	uint32_t has, only; /* categories: the knob has all of `has`, and exactly `only` */
	enum mt_knob_leaves leaves;
	uint32_t processes; /* exactly these processes */
	enum mt_action action;
} action_of[] = {
	{ 0, 0, 1u << MT_KNOB_HOST, 0, 0, MT_ACTION_HOST_LESS },
	{ MT_KNOB_METHOD_LOGITS, 0, 0, 0, 0, MT_ACTION_CHUNK_LOGITS },
	{ MT_KNOB_METHOD_DIVIDED, 0, 0, 0, 0, MT_ACTION_SHARD },
	{ MT_KNOB_METHOD_SHARE, 0, 0, 0, 0, MT_ACTION_SMALLER_SHARE },
	{ MT_KNOB_METHOD_KEPT, 0, 0, 0, 0, MT_ACTION_FEWER_AT_ONCE },
	{ MT_KNOB_METHOD_ALLOCATOR, 0, 0, 0, 0, MT_ACTION_EXPANDABLE_SEGMENTS },
	{ MT_KNOB_METHOD_REMOVED, 0, 0, MT_KNOB_LEAVES_BOUNDARIES, 0, MT_ACTION_CHECKPOINT },
	{ MT_KNOB_METHOD_REMOVED, 0, 0, MT_KNOB_LEAVES_ADAPTERS, 0, MT_ACTION_FEWER_PARAMETERS },
	{ MT_KNOB_METHOD_REMOVED, 0, CATEGORY(GRAPHS), 0, 0, MT_ACTION_EAGER },
	{ MT_KNOB_METHOD_REMOVED, CATEGORY(KV_CACHE), 0, 0, RUN_ROLE(ENGINE), MT_ACTION_RELEASE_PEER },
	{ MT_KNOB_METHOD_REMOVED, CATEGORY(WEIGHT_BUFFERS), 0, 0, 0, MT_ACTION_STREAMING_SYNC },
	{ MT_KNOB_METHOD_REMOVED, CATEGORY(GATHER_BUFFERS), 0, MT_KNOB_LEAVES_LAYER, 0, MT_ACTION_SHARD },
	{ MT_KNOB_METHOD_REMOVED, WEIGHT_PARTS, 0, 0, 0, MT_ACTION_SHARD },
	{ MT_KNOB_METHOD_REMOVED, CATEGORY(GATHER_BUFFERS), 0, 0, 0, MT_ACTION_FEWER_AT_ONCE },
	{ MT_KNOB_METHOD_REMOVED, 0, CATEGORY(GRADIENTS), MT_KNOB_LEAVES_LAYER, 0, MT_ACTION_SHARD },
	{ MT_KNOB_METHOD_REMOVED, 0, CATEGORY(WORKSPACE), 0, 0, MT_ACTION_SMALLER_BUFFER },
	{ MT_KNOB_METHOD_REMOVED, 0, CATEGORY(STATE_DICT), 0, 0, MT_ACTION_LOAD_ON_CPU },
	{ MT_KNOB_METHOD_REMOVED, 0, 0, 0, 0, MT_ACTION_OFFLOAD },
	{ 0, 0, CATEGORY(KV_CACHE), 0, RUN_ROLE(ENGINE), MT_ACTION_SMALLER_KV },
	{ MT_KNOB_METHOD_BUCKET, 0, 0, 0, 0, MT_ACTION_SMALLER_BUFFER },
};

enum mt_action effect_action(const struct mt_knob *knob)
{
	size_t i;

	if (knob->does != MT_ACTIONS)
		return knob->does;
	if (knob->method == MT_KNOB_METHOD_DIVIDED && knob->weighs)
		return MT_ACTION_LOWER_PRECISION;
	for (i = 0; i < MT_ARRAY_SIZE(action_of); i++)
		if ((!action_of[i].method || knob->method == action_of[i].method) &&
		    (knob->categories & action_of[i].has) == action_of[i].has &&
		    (!action_of[i].only || knob->categories == action_of[i].only) &&
		    (!action_of[i].leaves || knob->leaves == action_of[i].leaves) &&
		    (!action_of[i].processes || knob->processes == action_of[i].processes))
			return action_of[i].action;
	return MT_ACTION_FEWER_TOKENS;
}

/* ---- against a candidate ---------------------------------------------------------------------------------------------- */

_Static_assert(MT_ACTIONS <= 32, "a bit for each action");
_Static_assert(MT_CAUSES <= 32, "a bit for each cause");

/* Causes whose bytes are needed but large: any setting that makes fewer of them helps. Bytes of the other causes are not needed at all. */
#define MUCH                                                                                                \
	(1u << MT_CAUSE_LARGEST | 1u << MT_CAUSE_LOGITS | 1u << MT_CAUSE_OUTLIER | 1u << MT_CAUSE_AT_ONCE | \
	 1u << MT_CAUSE_UNSHARDED | 1u << MT_CAUSE_ENGINE_SHARE | 1u << MT_CAUSE_UNEVEN)

/* Returns the helpful actions, bits 1 << enum mt_action: the page's action, and the actions of all other matching fixes. */
static uint32_t actions_of(const struct scene *scene, const struct candidate *candidate)
{
	const struct mt_fix_question question = rank_question(scene, candidate);
	const struct mt_fix *fix[FIXES_MAX];
	size_t count = mt_why_fixes(scene->why, &question, fix, FIXES_MAX), i;
	uint32_t actions = 1u << mt_why_fix(scene->why, &question)->action;

	for (i = 0; i < count; i++)
		actions |= 1u << fix[i]->action;
	return actions;
}

/* Whether the setting is against the candidate: it has a helpful action and removes some of the bytes, or it removes most of them. */
static int is_against(const struct candidate *candidate, uint32_t actions, const struct effect *effect)
{
	int helps = (actions & 1u << effect->action) != 0;
	uint64_t bytes;

	if (!effect->works || effect->process != candidate->process)
		return 0;
	if (!effect->parts || !candidate->parts)
		return helps;
	bytes = rank_shared(effect->part, effect->parts, candidate->part, candidate->parts);
	return helps ? bytes > 0 : MUCH & 1u << candidate->cause && bytes > candidate->bytes / 2;
}

int effect_order(const void *one, const void *two)
{
	const struct effect *a = *(struct effect *const *)one, *b = *(struct effect *const *)two;

	if (a->works != b->works)
		return b->works - a->works;
	if (!*a->only != !*b->only)
		return *a->only ? 1 : -1;
	if (a->fits != b->fits)
		return b->fits - a->fits;
	if (a->fits && a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->saved.low != b->saved.low)
		return a->saved.low > b->saved.low ? -1 : 1;
	if (a->saved.high != b->saved.high)
		return a->saved.high > b->saved.high ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return strcmp(a->knob->name.key, b->knob->name.key);
}

/* Rank of a setting against the candidate: without a condition, then fitting, then with the action of the page. */
static int worth(const struct candidate *candidate, const struct effect *effect)
{
	return 4 * !*effect->only + 2 * effect->fits + (candidate->fix && effect->action == candidate->fix->action);
}

size_t effect_for(const struct effects *effects, const struct candidate *candidate, const struct effect **effect,
		  size_t room)
{
	uint32_t actions = actions_of(effects->scene, candidate);
	const struct effect *it;
	size_t count = 0, i, k;

	/* effects->effect is sorted by effect_order(): settings of equal rank keep this order. */
	for (i = 0; i < effects->effects; i++) {
		it = effects->effect[i];
		if (!is_against(candidate, actions, it))
			continue;
		for (k = count; k && worth(candidate, effect[k - 1]) < worth(candidate, it); k--)
			if (k < room)
				effect[k] = effect[k - 1];
		if (k < room)
			effect[k] = it;
		count += count < room;
	}
	return count;
}

/* Whether the setting is for the candidate's category and process. */
static int is_about(const struct effects *effects, const struct candidate *candidate, const struct mt_knob *knob)
{
	const struct replay *replay = &effects->run.replay;
	uint32_t first;

	if (candidate->cause == MT_CAUSE_HOST)
		return (knob->categories & 1u << MT_KNOB_HOST) != 0 &&
		       stack_is_within(effects->scene, candidate->node, knob->within, knob->withins, UINT32_MAX);
	if (candidate->cause == MT_CAUSE_ALLOCATOR_IDLE)
		return knob->method == MT_KNOB_METHOD_ALLOCATOR && knob->saves == MT_KNOB_SAVES_ON;
	if (!candidate->parts || !(knob->categories & 1u << candidate->category))
		return 0;
	first = replay_index(replay, effects->scene->site[candidate->part[0].site].id);
	return first != SCENE_NONE && knob->processes & advise_roles_of(&effects->run, &replay->site[first]);
}

const struct effect *effect_without_bytes(const struct effects *effects, const struct candidate *candidate)
{
	const struct effect *it, *best = NULL;
	size_t i;

	for (i = 0; i < effects->effects; i++) {
		it = effects->effect[i];
		if (!it->works && (it->untold || *it->why) && it->action == candidate->fix->action &&
		    is_about(effects, candidate, it->knob) && (!best || it->untold > best->untold))
			best = it;
	}
	return best;
}
