/*
 * test_advise_reach.c - whose bytes a setting reaches: of its process, in its phases, at its places, at the moment in question.
 */
#include "advise_sites.h"

enum { OURS = 1, ENGINE };

static struct replay_site place[8];
static struct advise_run run;

static struct replay_site *put(int64_t process, uint8_t category, uint8_t phase, uint64_t mib)
{
	struct replay_site *site = &place[run.replay.sites++];
	uint32_t i;

	*site = (struct replay_site){ .id = run.replay.sites,
				      .process = process,
				      .category = category,
				      .phase = phase,
				      .node = SCENE_NONE,
				      .known = 1,
				      .largest = MIB,
				      .smallest = MIB,
				      .births = mib,
				      .then = mib * MIB,
				      .then_count = (uint32_t)mib };
	for (i = 0; i < MT_PHASE_COUNT; i++) {
		site->held[i] = site->then;
		site->count[i] = site->then_count;
	}
	return site;
}

/* A trainer and an engine on one GPU, where one of them asks for something in `phase`. */
static void begin_places(const char *framework, int64_t asker, uint8_t category, uint8_t phase)
{
	static uint32_t role[] = { ROLE(TRAINER), ROLE(ENGINE) };
	static struct scene_process process[] = { { .id = OURS }, { .id = ENGINE } };
	static struct scene scene = { .process = process, .processes = 2 };
	static const struct oom_failure failed;

	begin(framework);
	scene.db = db;
	run = (struct advise_run){ .db = db, .scene = &scene, .total = 80ull << 30, .it = &failed, .role = role };
	run.replay = (struct replay){ .scene = &scene, .device = 1, .site = place };
	put(asker, category, phase, 1);
	run.replay.request.phase = phase;
	run.replay.request.bytes = MIB;
}

/* MiB of a category, MT_CATEGORY_COUNT: of all, that the switch removes at the moment in question. */
static uint64_t removed(const char *framework, const char *key, uint32_t category)
{
	struct advise_trial trial = { .move = { knob_of(framework, key), "false", "true" }, .itemized = 1 };
	uint64_t bytes = 0;
	size_t i;

	CHECK_EQ(advise_try(&run, config, NULL, 0, &trial, 1), 0);
	for (i = 0; i < trial.parts; i++)
		if (category == MT_CATEGORY_COUNT || place[trial.part[i].site].category == category)
			bytes += trial.part[i].bytes;
	free(trial.part);
	return bytes / MIB;
}

TEST(an_offload_of_the_trainer_reaches_no_weights_of_an_engine)
{
	static const char key[] = "actor_rollout_ref.actor.fsdp_config.param_offload";

	begin_places("verl", ENGINE, MT_CATEGORY_KV_CACHE, MT_PHASE_ROLLOUT);
	put(OURS, MT_CATEGORY_WEIGHTS, MT_PHASE_INIT, 15);
	put(ENGINE, MT_CATEGORY_WEIGHTS, MT_PHASE_INIT, 14)->engine = 1;
	CHECK_EQ(removed("verl", key, MT_CATEGORY_WEIGHTS), 15);
	CHECK_EQ(removed("verl", key, MT_CATEGORY_COUNT), 15);
	end_run();
}

TEST(what_is_not_reached_at_that_moment_does_not_count)
{
	static const char key[] = "actor_rollout_ref.actor.fsdp_config.optimizer_offload";

	begin_places("verl", OURS, MT_CATEGORY_ACTIVATIONS, MT_PHASE_FORWARD);
	put(OURS, MT_CATEGORY_OPTIMIZER_STATE, MT_PHASE_OPTIMIZER, 20);
	put(OURS, MT_CATEGORY_ACTIVATIONS, MT_PHASE_FORWARD, 3);
	/* In an update its states are on the GPU: the row is about other phases. */
	CHECK_EQ(removed("verl", key, MT_CATEGORY_COUNT), 0);
	run.replay.request.phase = MT_PHASE_ROLLOUT;
	CHECK_EQ(removed("verl", key, MT_CATEGORY_COUNT), 20);
	end_run();
}

TEST_MAIN()
