/* The action of a setting by its row; the order of effects; and which of them are against a candidate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "test.h"
#include "why/effect/effect.h"

#define EFFECTS 40
#define SHUFFLES 50

static const struct mt_knob *row(const struct mt_knobs *knobs, const char *framework, const char *key)
{
	const struct mt_knob_file *file = mt_knobs_find(knobs, framework);
	uint32_t i;

	for (i = 0; file && i < file->knobs; i++)
		if (!strcmp(file->knob[i].name.key, key))
			return &file->knob[i];
	printf("no such row: %s\n", key);
	exit(1);
}

TEST(a_row_tells_what_its_setting_does)
{
	static const struct {
		const char *framework, *key;
		enum mt_action action;
	} rows[] = {
		{ "transformers", "per_device_train_batch_size", MT_ACTION_FEWER_TOKENS },
		{ "transformers", "gradient_checkpointing", MT_ACTION_CHECKPOINT },
		{ "transformers", "optim", MT_ACTION_LOWER_PRECISION },
		{ "trl", "DPOConfig.precompute_ref_log_probs", MT_ACTION_DROP_COPY },
		{ "trl", "SFTConfig.activation_offloading", MT_ACTION_OFFLOAD },
		{ "deepspeed", "zero_optimization.stage", MT_ACTION_SHARD },
		{ "deepspeed", "zero_optimization.reduce_bucket_size", MT_ACTION_SMALLER_BUFFER },
		{ "pytorch", "expandable_segments", MT_ACTION_EXPANDABLE_SEGMENTS },
		{ "pytorch", "DataLoader(num_workers)", MT_ACTION_HOST_LESS },
		{ "verl", "actor_rollout_ref.rollout.gpu_memory_utilization", MT_ACTION_SMALLER_SHARE },
		{ "verl", "actor_rollout_ref.rollout.free_cache_engine", MT_ACTION_RELEASE_PEER },
		{ "verl", "actor_rollout_ref.actor.fsdp_config.optimizer_offload", MT_ACTION_OFFLOAD },
		{ "verl", "actor_rollout_ref.rollout.enforce_eager", MT_ACTION_EAGER },
		{ "vllm", "max_model_len", MT_ACTION_SMALLER_KV },
		{ "vllm", "quantization", MT_ACTION_LOWER_PRECISION },
		{ "megatron", "--recompute-granularity", MT_ACTION_CHECKPOINT },
	};
	char message[256];
	struct mt_knobs *knobs;
	size_t i;

	CHECK_EQ(mt_knobs_new(&knobs, message, sizeof(message)), 0);
	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		CHECK_STR(mt_action_word(effect_action(row(knobs, rows[i].framework, rows[i].key))),
			  mt_action_word(rows[i].action));
	mt_knobs_free(knobs);
}

static struct mt_knob knob[EFFECTS];
static char key[EFFECTS][16];

/* Many are equal but for their keys. */
static void fill(struct effect *all, struct effect **effect)
{
	int i;

	for (i = 0; i < EFFECTS; i++) {
		snprintf(key[i], sizeof(key[i]), "key%d", i);
		knob[i].name.key = key[i];
		all[i] = (struct effect){ .knob = &knob[i],
					  .works = i % 7 != 0,
					  .fits = i % 2,
					  .cost = (enum mt_knob_cost)(i % 3),
					  .saved = { (uint64_t)(i % 4), 10 } };
		effect[i] = &all[i];
	}
}

TEST(the_order_of_effects_is_strict)
{
	struct effect *all = calloc(EFFECTS, sizeof(*all)), *effect[EFFECTS], *shuffled[EFFECTS], *other;
	int i, k, round, different = 0;

	CHECK(all);
	fill(all, effect);
	qsort(effect, EFFECTS, sizeof(*effect), effect_order);
	memcpy(shuffled, effect, sizeof(effect));
	srand(1);
	for (round = 0; round < SHUFFLES; round++) {
		for (i = EFFECTS - 1; i > 0; i--) {
			k = rand() % (i + 1);
			other = shuffled[i];
			shuffled[i] = shuffled[k];
			shuffled[k] = other;
		}
		qsort(shuffled, EFFECTS, sizeof(*shuffled), effect_order);
		different += memcmp(shuffled, effect, sizeof(effect)) != 0;
	}
	CHECK_EQ(different, 0);
	free(all);
}

/* One process has activations: the second effect takes most of them, and the third a little. */
TEST(a_setting_is_against_what_it_takes_away)
{
	struct scene_site site[] = { { .process = 0, .category = MT_CATEGORY_ACTIVATIONS },
				     { .process = 0, .category = MT_CATEGORY_ACTIVATIONS } };
	struct scene_process process[] = { { .id = 1, .who = MT_WHO_TRAINER }, { .id = 2 } };
	struct scene scene = { .site = site, .sites = 2, .process = process, .processes = 2 };
	struct candidate_part bytes[] = { { 0, 800 }, { 1, 200 } };
	struct candidate candidate = { .cause = MT_CAUSE_LARGEST,
				       .category = MT_CATEGORY_ACTIVATIONS,
				       .phase = MT_PHASE_FORWARD,
				       .bytes = 1000,
				       .part = bytes,
				       .parts = 2 };
	struct candidate_part most = { 0, 800 }, little = { 1, 100 };
	struct effect all[4] = {
		{ .works = 1, .action = MT_ACTION_EAGER, .part = &little, .parts = 1 },
		{ .works = 1, .action = MT_ACTION_EAGER, .part = &most, .parts = 1, .saved = { 1, 2 } },
		{ .works = 1, .action = MT_ACTION_CHECKPOINT, .part = &little, .parts = 1 },
		{ .works = 1, .action = MT_ACTION_CHECKPOINT, .part = &most, .parts = 1, .process = 1 }
	};
	struct effect *effect[] = { &all[0], &all[1], &all[2], &all[3] };
	struct effects effects = { .scene = &scene, .effect = effect, .effects = 4 };
	const struct effect *found[4];
	char message[256];
	struct mt_why *why;
	size_t i;

	for (i = 0; i < 4; i++) {
		snprintf(key[i], sizeof(key[i]), "key%zu", i);
		knob[i].name.key = key[i];
		all[i].knob = &knob[i];
	}
	CHECK_EQ(mt_why_new(&why, message, sizeof(message)), 0);
	scene.why = why;
	CHECK_EQ(effect_for(&effects, &candidate, found, 4), 2);
	CHECK(found[0] == &all[1]);
	CHECK(found[1] == &all[2]);
	CHECK_EQ(effect_for(&effects, &candidate, found, 1), 1);
	mt_why_free(why);
}

TEST_MAIN()
