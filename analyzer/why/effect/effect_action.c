/* The action of a setting (include/memtrace/why.h), from its row and never from its key. */
#include "effect.h"
#include "method.h"

#define ONLY(name) (knob->categories == CATEGORY(name))
#define HAS(name) (knob->categories & CATEGORY(name))

static enum mt_action of_host(const struct mt_knob *knob)
{
	return knob->categories == 1u << MT_KNOB_HOST ? MT_ACTION_HOST_LESS : MT_ACTIONS;
}

/* The action of method `removed`: bytes go to the host, are recomputed, or are never made. */
static enum mt_action of_removed(const struct mt_knob *knob)
{
	int sleeps = knob->processes == RUN_ROLE(ENGINE) && HAS(KV_CACHE) && knob->saves == MT_KNOB_SAVES_ON;

	if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
		return MT_ACTION_CHECKPOINT;
	if (knob->leaves == MT_KNOB_LEAVES_ADAPTERS)
		return MT_ACTION_FEWER_PARAMETERS;
	if (ONLY(GRAPHS))
		return MT_ACTION_EAGER;
	if (sleeps)
		return MT_ACTION_RELEASE_PEER;
	if (HAS(WEIGHT_BUFFERS))
		return MT_ACTION_STREAMING_SYNC;
	if (HAS(GATHER_BUFFERS))
		return knob->leaves == MT_KNOB_LEAVES_LAYER || HAS(WEIGHTS) ? MT_ACTION_SHARD : MT_ACTION_FEWER_AT_ONCE;
	if (ONLY(GRADIENTS) && knob->leaves == MT_KNOB_LEAVES_LAYER)
		return MT_ACTION_SHARD;
	if (ONLY(WORKSPACE))
		return MT_ACTION_SMALLER_BUFFER;
	if (ONLY(STATE_DICT))
		return MT_ACTION_LOAD_ON_CPU;
	return MT_ACTION_OFFLOAD;
}

/* Whether the setting is about an engine's cache alone. */
static int is_of_cache(const struct mt_knob *knob)
{
	return knob->processes == RUN_ROLE(ENGINE) && ONLY(KV_CACHE);
}

static enum mt_action of_method(const struct mt_knob *knob)
{
	switch (knob->method) {
	case MT_KNOB_METHOD_LOGITS:
		return MT_ACTION_CHUNK_LOGITS;
	case MT_KNOB_METHOD_DIVIDED:
		return knob->weighs ? MT_ACTION_LOWER_PRECISION : MT_ACTION_SHARD;
	case MT_KNOB_METHOD_REMOVED:
		return of_removed(knob);
	case MT_KNOB_METHOD_BUCKET:
		return is_of_cache(knob) ? MT_ACTION_SMALLER_KV : MT_ACTION_SMALLER_BUFFER;
	case MT_KNOB_METHOD_SHARE:
		return MT_ACTION_SMALLER_SHARE;
	case MT_KNOB_METHOD_KEPT:
		return MT_ACTION_FEWER_AT_ONCE;
	case MT_KNOB_METHOD_ALLOCATOR:
		return MT_ACTION_EXPANDABLE_SEGMENTS;
	default:
		return is_of_cache(knob) ? MT_ACTION_SMALLER_KV : MT_ACTION_FEWER_TOKENS;
	}
}

enum mt_action effect_action(const struct mt_knob *knob)
{
	if (knob->does != MT_ACTIONS)
		return knob->does;
	return of_host(knob) != MT_ACTIONS ? of_host(knob) : of_method(knob);
}
