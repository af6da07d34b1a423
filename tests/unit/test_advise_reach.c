/*
 * test_advise_reach.c - whose bytes a setting reaches: of its process, in its phases, at its places, at the moment in question.
 */
#include "advise_sites.h"

enum { OURS = 1, THEIRS, ENGINE };

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

/* Two that train and an engine, on one GPU, where one of the first asks for something in `phase`. */
static void begin_places(const char *framework, int64_t asker, uint8_t category, uint8_t phase)
{
	static struct advise_role role[] = { { OURS, ROLE(TRAINER) },
					     { THEIRS, ROLE(TRAINER) },
					     { ENGINE, ROLE(ENGINE) } };
	static struct replay_process process[] = { { .id = OURS }, { .id = THEIRS }, { .id = ENGINE } };

	begin(framework);
	run = (struct advise_run){ .db = db, .device = 1, .total = 80ull << 30, .failed = 1, .gpus = 1, .role = role };
	run.replay = (struct replay){ .db = db, .device = 1, .site = place, .process = process, .processes = 3 };
	put(asker, category, phase, 1);
	run.replay.request.phase = phase;
	run.replay.request.bytes = MIB;
}

static struct advise_reach reached(const char *framework, const char *key)
{
	const struct advise_turn turn = { knob_of(framework, key), "false", "true" };
	enum advise_silence silence = ADVISE_SILENT_NONE;
	struct advise_scenario scenario;
	struct advise_reach reach;

	CHECK_EQ(advise_scenario_init(&scenario, &run), 0);
	CHECK(advise_model_turn(&scenario, &run, config, &turn, &silence) >= 0);
	advise_reach(&reach, &run, &scenario);
	advise_scenario_release(&scenario);
	return reach;
}

TEST(an_offload_of_the_trainer_reaches_no_weights_of_an_engine)
{
	struct advise_reach reach;

	begin_places("verl", ENGINE, MT_CATEGORY_KV_CACHE, MT_PHASE_ROLLOUT);
	put(OURS, MT_CATEGORY_WEIGHTS, MT_PHASE_INIT, 15);
	put(ENGINE, MT_CATEGORY_WEIGHTS, MT_PHASE_INIT, 14)->engine = 1;
	reach = reached("verl", "actor_rollout_ref.actor.fsdp_config.param_offload");
	CHECK_EQ(reach.bytes[MT_CATEGORY_WEIGHTS], 15 * MIB);
	CHECK_EQ(reach.all, 15 * MIB);
	CHECK_EQ(place[reach.largest[MT_CATEGORY_WEIGHTS]].process, OURS);
	end_run();
}

TEST(what_is_not_reached_at_that_moment_does_not_count)
{
	begin_places("verl", OURS, MT_CATEGORY_ACTIVATIONS, MT_PHASE_FORWARD);
	put(OURS, MT_CATEGORY_OPTIMIZER_STATE, MT_PHASE_OPTIMIZER, 20);
	put(OURS, MT_CATEGORY_ACTIVATIONS, MT_PHASE_FORWARD, 3);
	/* In an update its states are on the GPU: the row is about other phases. */
	CHECK_EQ(reached("verl", "actor_rollout_ref.actor.fsdp_config.optimizer_offload").all, 0);
	run.replay.request.phase = MT_PHASE_ROLLOUT;
	CHECK_EQ(reached("verl", "actor_rollout_ref.actor.fsdp_config.optimizer_offload").all, 20 * MIB);
	end_run();
}

/* Memory that goes to the host while a process computes log-probs itself is there while another one does. */
TEST(what_a_process_does_in_a_phase_of_its_own_is_not_done_in_anothers)
{
	static const char key[] = "policy.offload_optimizer_for_logprob";

	begin_places("nemo-rl", THEIRS, MT_CATEGORY_LOGITS, MT_PHASE_LOGPROB);
	put(OURS, MT_CATEGORY_OPTIMIZER_STATE, MT_PHASE_OPTIMIZER, 20);
	run.replay.peak[MT_PHASE_REF] = (struct replay_peak){ .bytes = MIB, .process = THEIRS };
	CHECK_EQ(reached("nemo-rl", key).all, 0);
	run.replay.request.phase = MT_PHASE_REF; /* the request is another one's, whoever has the peak */
	run.replay.peak[MT_PHASE_REF].process = OURS;
	CHECK_EQ(reached("nemo-rl", key).all, 0);
	run.failed = 0;
	CHECK_EQ(reached("nemo-rl", key).all, 20 * MIB);
	end_run();
	begin_places("nemo-rl", OURS, MT_CATEGORY_LOGITS, MT_PHASE_LOGPROB);
	put(OURS, MT_CATEGORY_OPTIMIZER_STATE, MT_PHASE_OPTIMIZER, 20);
	CHECK_EQ(reached("nemo-rl", key).bytes[MT_CATEGORY_OPTIMIZER_STATE], 20 * MIB);
	end_run();
}

TEST_MAIN()
