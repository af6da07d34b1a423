/* Joins settings with candidates. */
#include <stdlib.h>
#include <string.h>
#include "effect.h"
#include "memtrace/base.h"
#include "stack_words.h"
#include "why/rank/rank.h"

#define FIXES_MAX 8 /* most actions against a cause */

struct join {
	const struct candidate *candidate;
	uint32_t actions; /* bits 1 << enum mt_action */
};

_Static_assert(MT_ACTIONS <= 32, "a bit for each action");

static uint32_t actions_of(const struct scene *scene, const struct candidate *candidate)
{
	const struct mt_fix_question question = rank_question(scene, candidate);
	const struct mt_fix *fix[FIXES_MAX];
	size_t count = mt_why_fixes(scene->why, &question, fix, FIXES_MAX), i;
	uint32_t actions = 1u << mt_why_fix(scene->why, &question)->action; /* first the action that the page gives */

	for (i = 0; i < count; i++)
		actions |= 1u << fix[i]->action;
	return actions;
}

/* Bytes that are only much: whatever makes fewer of them helps. The other causes have bytes that need not be there at all. */
static int is_much(enum mt_cause cause)
{
	return cause == MT_CAUSE_LARGEST || cause == MT_CAUSE_LOGITS || cause == MT_CAUSE_OUTLIER ||
	       cause == MT_CAUSE_AT_ONCE || cause == MT_CAUSE_UNSHARDED || cause == MT_CAUSE_ENGINE_SHARE ||
	       cause == MT_CAUSE_UNEVEN;
}

/* A setting with a helpful action counts if it reaches some of the bytes. Another setting must remove most of them. */
static int is_against(const struct join *join, const struct effect *effect)
{
	const struct candidate *candidate = join->candidate;
	int helps = (join->actions & 1u << effect->action) != 0;
	uint64_t bytes;

	if (!effect->works || effect->process != candidate->process)
		return 0;
	if (!effect->parts || !candidate->parts)
		return helps;
	bytes = rank_shared(effect->part, effect->parts, candidate->part, candidate->parts);
	return helps ? bytes > 0 : is_much(candidate->cause) && bytes > candidate->bytes / 2;
}

struct found {
	const struct effect *effect;
	int is_own; /* 1: its action is the cause's action on the page */
};

/* First a setting that counts as it is, then one that fits, then one that does what is said, then by effect_order(). */
static int order(const void *one, const void *two)
{
	const struct found *a = one, *b = two;

	if (!*a->effect->only != !*b->effect->only)
		return *a->effect->only ? 1 : -1;
	if (a->effect->fits != b->effect->fits)
		return b->effect->fits - a->effect->fits;
	if (a->is_own != b->is_own)
		return b->is_own - a->is_own;
	return effect_order(&a->effect, &b->effect);
}

size_t effect_for(const struct effects *effects, const struct candidate *candidate, const struct effect **effect,
		  size_t room)
{
	struct join join = { candidate, actions_of(effects->scene, candidate) };
	struct found *found = calloc(effects->effects + 1, sizeof(*found));
	size_t count = 0, i;

	for (i = 0; found && i < effects->effects; i++)
		if (is_against(&join, effects->effect[i]))
			found[count++] = (struct found){ effects->effect[i],
							 candidate->fix &&
								 effects->effect[i]->action == candidate->fix->action };
	if (count)
		qsort(found, count, sizeof(*found), order);
	count = count < room ? count : room;
	for (i = 0; i < count; i++)
		effect[i] = found[i].effect;
	free(found);
	return count;
}

/* Whether the setting is about the candidate's category and process. */
static int is_about(const struct effects *effects, const struct candidate *candidate, const struct mt_knob *knob)
{
	const struct replay *replay = &effects->run.replay;
	int64_t id = candidate->parts ? effects->scene->site[candidate->part[0].site].id : 0;
	uint32_t i;

	if (candidate->cause == MT_CAUSE_HOST)
		return (knob->categories & 1u << MT_KNOB_HOST) != 0 &&
		       stack_is_within(effects->scene, candidate->node, knob->within, knob->withins, UINT32_MAX);
	if (candidate->cause == MT_CAUSE_ALLOCATOR_IDLE)
		return knob->method == MT_KNOB_METHOD_ALLOCATOR && knob->saves == MT_KNOB_SAVES_ON;
	if (!(knob->categories & 1u << candidate->category))
		return 0;
	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].id == id)
			return (knob->processes & advise_roles_of(&effects->run, &replay->site[i])) != 0;
	return 0;
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
