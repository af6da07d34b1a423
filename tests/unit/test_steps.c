/*
 * test_steps.c - where the steps of real training loops end, event by event.
 *
 * Each loop is played as the memory events that its process would send. The events are written down as a line of
 * letters, one for each function that was at work, and a bar at the end of a step. Readers of the trace, and
 * recordings that go on in the middle of it, must agree at every event.
 */
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "stack_builder.h"

#define TORCH "/v/torch/"
#define RAY                                                                                         \
	"<module> /v/ray/_private/workers/default_worker.py\nmain_loop /v/ray/_private/worker.py\n" \
	"actor_method_executor /v/ray/_private/function_manager.py\n_resume_span /v/ray/util/tracing/tracing_helper.py\n"
#define MODEL "_call_impl " TORCH "nn/modules/module.py\nforward /v/transformers/models/qwen2/modeling_qwen2.py\n"
#define BACKWARD "backward " TORCH "_tensor.py\nbackward " TORCH "autograd/__init__.py\n"
#define ADAM "wrapper " TORCH "optim/optimizer.py\nstep " TORCH "optim/adamw.py\n"
#define ZERO_GRAD "zero_grad " TORCH "optim/optimizer.py\n"
#define CUT "~\n" /* frames were left out here */

#define GOING_ON 9 /* recordings that go on after a multiple of 13 events */

static struct mt_rules *rules;
static struct mt_defs *defs;
static struct mt_tracker *tracker, *reader, *resumed[GOING_ON];
static uint32_t thread, other_thread, autograd;
static struct mt_label label;
static uint64_t sent;
static char line[4096]; /* the events */
static size_t used;

static void setup(const char *pattern)
{
	char message[512] = "";
	int i;

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	defs = mt_defs_new();
	tracker = mt_tracker_new(rules, defs);
	reader = mt_tracker_new(rules, defs);
	CHECK_EQ(mt_tracker_step_mark(tracker, pattern), 0);
	for (i = 0; i < GOING_ON; i++) {
		resumed[i] = mt_tracker_new(rules, defs);
		CHECK_EQ(mt_tracker_step_mark(resumed[i], pattern), 0);
	}
	thread = make_thread(defs, 10, "python", MT_THREAD_MAIN);
	autograd = make_thread(defs, 11, "pt_autograd_0", MT_THREAD_AUTOGRAD);
	other_thread = make_thread(defs, 12, "asyncio", 0);
}

static void teardown(void)
{
	int i;

	mt_tracker_free(tracker);
	mt_tracker_free(reader);
	for (i = 0; i < GOING_ON; i++)
		mt_tracker_free(resumed[i]);
	mt_defs_free(defs);
	mt_rules_free(rules);
}

/* A reader of the trace is told of the step before the event, as in the file. */
static void read_event(struct mt_tracker *by, const struct mt_event *event, int follow, uint32_t closed)
{
	struct mt_event step = { .kind = MT_STEP, .value = label.step - 1, .seq = event->seq };
	struct mt_label own;

	if (closed && !follow)
		mt_tracker_event(by, &step, 0, &own);
	mt_tracker_event(by, event, follow, &own);
	CHECK_EQ(own.step, label.step);
	CHECK_EQ(own.phase, label.phase);
	if (follow)
		CHECK_EQ(own.step_closed, closed);
}

static void send(struct mt_event event)
{
	uint64_t i;

	event.seq = ++sent;
	mt_tracker_event(tracker, &event, 1, &label);
	read_event(reader, &event, 0, label.step_closed);
	for (i = 0; i < GOING_ON; i++)
		read_event(resumed[i], &event, sent > 13 * i, label.step_closed);
	if (label.step_closed)
		line[used++] = '|';
	CHECK(used < sizeof(line) - 2);
}

/* One event of a function that `letter` stands for. */
static void on(uint32_t at, char letter, const char *stack)
{
	send((struct mt_event){ .kind = MT_TENSOR_ALLOC,
				.thread = at,
				.addr = 1,
				.size = 1,
				.stack = *stack ? make_stack(defs, stack) : 0 });
	if (letter && (!used || line[used - 1] != letter))
		line[used++] = letter;
}

static void work(char letter, const char *stack)
{
	on(thread, letter, stack);
}

static void tell(uint32_t kind)
{
	send((struct mt_event){ .kind = kind, .thread = thread });
}

/* `inner` below `outer`; either may be the result of an earlier call. */
static const char *below(const char *outer, const char *inner)
{
	static char text[4][8192];
	static unsigned int turn;
	char *to = text[++turn % 4];
	size_t size = strlen(outer), more = strlen(inner) + 1;

	CHECK(size + more <= sizeof(text[0]));
	memmove(to, outer, size);
	memmove(to + size, inner, more);
	return to;
}

/* Forward and backward, as on a GPU: the gradients are allocated by a thread without frames. */
static void micro_batch(char letter, const char *outer)
{
	work(letter, below(outer, MODEL));
	tell(MT_BACKWARD_BEGIN);
	on(autograd, letter, "");
	on(autograd, letter,
	   "unpack_hook " TORCH "utils/checkpoint.py\nrecompute_fn " TORCH "utils/checkpoint.py\n" MODEL);
	tell(MT_BACKWARD_END);
	work(letter, outer);
}

/* A role function that trains: mini-batches of micro-batches, an optimizer step after each. */
static void train(char letter, const char *outer, const char *optimizer, int minis, int micros)
{
	int mini, micro;

	work(letter, outer);
	for (mini = 0; mini < minis; mini++) {
		for (micro = 0; micro < micros; micro++)
			micro_batch(letter, outer);
		work(letter, below(outer, "clip_grad_norm_ " TORCH "nn/utils/clip_grad.py\n"));
		work(letter, below(outer, optimizer));
		work(letter, outer);
		work(letter, below(outer, ZERO_GRAD));
	}
}

static void expect(const char *want, const char *why)
{
	line[used] = 0;
	CHECK_STR(line, want);
	CHECK_STR(mt_tracker_step_why(tracker), why);
}

/* ---- verl ---- */

#define FSDP RAY "func /v/verl/single_controller/ray/base.py\ninner /v/verl/single_controller/base/decorator.py\n"
#define FSDP_WORKERS " /v/verl/workers/fsdp_workers.py\n"
#define DP_ACTOR " /v/verl/workers/actor/dp_actor.py\n"

/* 0.4 and 0.5: the engine in the same process; weights go to it when generation begins. */
static void verl_sharding_manager(int steps)
{
	static const char generate[] = FSDP "generate_sequences" FSDP_WORKERS;
	static const char enter[] = "__enter__ /v/verl/workers/sharding_manager/fsdp_vllm.py\n";

	while (steps--) {
		work('g', generate);
		work('w', below(generate, enter));
		work('w', below(below(generate, enter), "wake_up /v/vllm/v1/worker/gpu_worker.py\n"));
		work('g', below(generate, "execute_model /v/vllm/v1/worker/gpu_worker.py\n"));
		work('s', below(generate, "__exit__ /v/verl/workers/sharding_manager/fsdp_vllm.py\n"
					  "sleep /v/vllm/v1/worker/gpu_worker.py\n"));
		work('.', RAY);
		work('l', below(FSDP "compute_log_prob" FSDP_WORKERS "_forward_micro_batch" DP_ACTOR, MODEL));
		work('r', below(FSDP "compute_ref_log_prob" FSDP_WORKERS "compute_log_prob" DP_ACTOR, MODEL));
		work('v', below(FSDP "compute_values" FSDP_WORKERS, MODEL));
		train('c', FSDP "update_critic" FSDP_WORKERS "update_critic /v/verl/workers/critic/dp_critic.py\n",
		      ADAM, 2, 2);
		train('a', FSDP "update_actor" FSDP_WORKERS "update_policy" DP_ACTOR, "_optimizer_step" DP_ACTOR ADAM,
		      4, 2);
		work('.', RAY);
	}
}

TEST(verl_2025_colocated)
{
	setup(NULL);
	verl_sharding_manager(4);
	expect("gwgs.lrvca.gw|gs.lrvca.gw|gs.lrvca.gw|gs.lrvca.", "weight-update");
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	CHECK_STR(mt_tracker_step_why(tracker), "train");
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	teardown();
}

/* 0.6: the driver asks for the weights before each generation; validation generates, too, even before any training. */
TEST(verl_2025_rollout_mode)
{
	int i;

	setup(NULL);
	for (i = 0; i < 7; i++) {
		work('w', FSDP "rollout_mode" FSDP_WORKERS "wake_up /v/vllm/v1/worker/gpu_worker.py\n");
		work('g', FSDP "generate_sequences" FSDP_WORKERS "execute_model /v/vllm/v1/worker/gpu_worker.py\n");
		work('s', FSDP "trainer_mode" FSDP_WORKERS "sleep /v/vllm/v1/worker/gpu_worker.py\n");
		work('.', RAY);
		if (i % 2 == 0)
			continue;
		work('l', FSDP "compute_log_prob" FSDP_WORKERS);
		train('a', FSDP "update_actor" FSDP_WORKERS, ADAM, 2, 2);
		work('.', RAY);
	}
	expect("wgs.wgs.la.w|gs.wgs.la.w|gs.wgs.la.w|gs.", "weight-update");
	teardown();
}

#define ENGINE RAY "func /v/verl/single_controller/ray/base.py\n"
#define ENGINE_WORKERS " /v/verl/workers/engine_workers.py\n"
#define IMPL " /v/verl/workers/engine/fsdp/transformer_impl.py\n"

/* 0.8 and later: the engine is another process, weights go to it by IPC, in a coroutine. `update`: 0 where not at all. */
static void verl_engine_workers(int steps, int update)
{
	static const char critic[] = ENGINE "train_mini_batch" ENGINE_WORKERS "train_batch" ENGINE_WORKERS
					    "forward_backward_batch" IMPL;
	static const char actor[] = ENGINE "update_actor" ENGINE_WORKERS "train_mini_batch" ENGINE_WORKERS
					   "train_batch" ENGINE_WORKERS "forward_backward_batch" IMPL;

	while (steps--) {
		work('l', below(ENGINE "compute_log_prob" ENGINE_WORKERS "infer_batch" ENGINE_WORKERS, MODEL));
		work('r', below(ENGINE "compute_ref_log_prob" ENGINE_WORKERS "infer_batch" ENGINE_WORKERS, MODEL));
		work('v', below(ENGINE "infer_batch" ENGINE_WORKERS, MODEL));
		train('c', critic, "optimizer_step" IMPL ADAM, 1, 2);
		train('a', actor, "optimizer_step" IMPL ADAM, 4, 2);
		work('.', RAY);
		if (!update)
			continue;
		work('w', ENGINE "update_weights" ENGINE_WORKERS "get_per_tensor_param" IMPL);
		work('w', "send_weights /v/verl/workers/rollout/vllm_rollout/bucketed_weight_transfer.py\n");
		work('.', RAY);
	}
}

TEST(verl_2026_colocated)
{
	setup(NULL);
	work('i', ENGINE "init_model" ENGINE_WORKERS "initialize" IMPL);
	work('w', ENGINE "update_weights" ENGINE_WORKERS); /* before the first rollout: ends nothing */
	work('.', RAY);
	verl_engine_workers(3, 1);
	expect("iw.lrvca.w|.lrvca.w|.lrvca.w|.", "weight-update");
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	teardown();
}

TEST(verl_disaggregated_trainer)
{
	setup(NULL);
	verl_engine_workers(3, 0);
	expect("lrvca.|lrvca.|lrvca.", "next logprob");
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	teardown();
}

/* Weights go out after every third training only: each training is a step all the same. */
TEST(weights_not_sent_every_step)
{
	setup(NULL);
	verl_engine_workers(2, 0);
	verl_engine_workers(1, 1);
	verl_engine_workers(2, 0);
	expect("lrvca.|lrvca.|lrvca.w|.lrvca.|lrvca.", "next logprob");
	teardown();
}

/* While the actor is not trained yet (critic warm-up) the critic is all there is. */
TEST(verl_critic_alone)
{
	static const char values[] = FSDP "compute_values" FSDP_WORKERS;
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		work('v', below(values, MODEL));
		train('c', FSDP "update_critic" FSDP_WORKERS, ADAM, 2, 2);
	}
	expect("vc|vc|vc", "next critic");
	teardown();
}

/* Deep stacks: the role function is among the frames that were left out. */
TEST(role_functions_left_out)
{
	static const char actor[] = FSDP "update_actor" FSDP_WORKERS, deep[] = FSDP CUT "step " DP_ACTOR;
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		work('l', FSDP "compute_log_prob" FSDP_WORKERS);
		work('l', below(FSDP CUT, MODEL));
		CHECK_STR(mt_phase_name(label.phase), "logprob");
		work('a', actor);
		work('a', below(deep, MODEL));
		CHECK_STR(mt_role_name(label.role), "train");
		work('a', below(deep, ADAM));
		work('a', below(deep, MODEL));
		work('.', RAY);
		work('w', FSDP "rollout_mode" FSDP_WORKERS);
		work('w', FSDP CUT "gather /v/x.py\n");
		CHECK_STR(mt_phase_name(label.phase), "weight-update");
		work('.', RAY);
	}
	expect("la.w|.la.w|.la.w|.", "weight-update");
	teardown();
}

/* ---- AReaL ---- */

#define AREAL "main /v/areal/infra/rpc/rpc_server.py\nrun /v/areal/infra/rpc/rpc_server.py\n"
#define AREAL_ENGINE " /v/areal/engine/fsdp_engine.py\n"
#define PPO_ACTOR " /v/areal/trainer/ppo/actor.py\n"

TEST(areal_actor)
{
	static const char update[] = AREAL "ppo_update" AREAL_ENGINE "ppo_update" PPO_ACTOR "train_batch" AREAL_ENGINE;
	int i;

	setup(NULL);
	work('i', AREAL "initialize" AREAL_ENGINE);
	for (i = 0; i < 3; i++) {
		work('l', below(AREAL "compute_logp" AREAL_ENGINE "compute_logp" PPO_ACTOR "forward_batch" AREAL_ENGINE,
				MODEL));
		train('a', update, "optimizer_step" AREAL_ENGINE ADAM, 4, 2);
		work('.', AREAL);
		work('w', AREAL "update_weights" AREAL_ENGINE "_update_weights_from_distributed" AREAL_ENGINE);
		work('.', AREAL);
		work('o', AREAL "offload" AREAL_ENGINE);
	}
	expect("ila.w|.ola.w|.ola.w|.o", "weight-update");
	teardown();
}

/* The same methods on a pool of threads. */
TEST(role_functions_on_several_threads)
{
	static const char update[] = AREAL "ppo_update" PPO_ACTOR;
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		work('l', AREAL "compute_logp" PPO_ACTOR);
		train('a', update, ADAM, 2, 1);
		on(other_thread, 'w', AREAL "update_weights" AREAL_ENGINE);
		on(other_thread, 'w', AREAL "update_weights" AREAL_ENGINE);
	}
	work('l', AREAL "compute_logp" PPO_ACTOR);
	expect("law|law|law|l", "weight-update");
	teardown();
}

TEST(areal_critic)
{
	static const char critic[] = " /v/areal/trainer/ppo/critic.py\n";
	char values[1024], update[1024];
	int i;

	setup(NULL);
	snprintf(values, sizeof(values), "%s%s%s", AREAL, "compute_values", critic);
	snprintf(update, sizeof(update), "%s%s%s", AREAL, "ppo_update", critic);
	for (i = 0; i < 3; i++) {
		work('v', below(values, MODEL));
		work('.', AREAL);
		train('c', update, ADAM, 4, 1);
		work('.', AREAL);
	}
	expect("v.c.|v.c.|v.c.", "next critic");
	teardown();
}

/* A reference only computes: no steps, however long. */
TEST(log_probs_alone_are_no_steps)
{
	int i;

	setup(NULL);
	for (i = 0; i < 9; i++) {
		work('l', below(AREAL "compute_logp" PPO_ACTOR, MODEL));
		work('.', AREAL);
	}
	CHECK_EQ(label.step, 1);
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	teardown();
}

/* ---- slime, Relax ---- */

#define SLIME_ACTOR " /opt/slime/slime/backends/megatron_utils/actor.py\n"
#define SLIME_MODEL " /opt/slime/slime/backends/megatron_utils/model.py\n"
#define SCHEDULES " /v/megatron/core/pipeline_parallel/schedules.py\n"
#define MEGATRON_OPTIMIZER "step /v/megatron/core/optimizer/distrib_optimizer.py\n"

TEST(slime_colocated)
{
	static const char outer[] = RAY "train" SLIME_ACTOR;
	static const char actor[] = RAY "train" SLIME_ACTOR "train_actor" SLIME_ACTOR;
	static const char model[] = RAY "train" SLIME_ACTOR "train_actor" SLIME_ACTOR "train" SLIME_MODEL
					"train_one_step" SLIME_MODEL;
	int i;

	setup(NULL);
	work('i', RAY "init" SLIME_ACTOR "initialize_model_and_optimizer" SLIME_MODEL);
	work('w', RAY "update_weights" SLIME_ACTOR);
	work('.', RAY);
	for (i = 0; i < 3; i++) {
		work('u', below(outer, "wake_up" SLIME_ACTOR));
		work('t', actor);
		work('l',
		     below(actor, "compute_log_prob" SLIME_ACTOR "forward_only" SLIME_MODEL "forward_step" SCHEDULES));
		CHECK_STR(mt_phase_name(label.phase), "logprob");
		train('t', model, MEGATRON_OPTIMIZER, 4, 2);
		work('s', below(outer, "sleep" SLIME_ACTOR));
		work('.', RAY);
		work('w', RAY "update_weights" SLIME_ACTOR "update_weights /opt/slime/slime/backends/megatron_utils/"
			      "update_weight/update_weight_from_tensor.py\n");
		work('.', RAY);
	}
	expect("iw.utlts.w|.utlts.w|.utlts.w|.", "weight-update");
	teardown();
}

/* Relax with its log-probs elsewhere, and weights that other processes fetch. */
TEST(relax_train_async_alone)
{
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		train('t', RAY "train_async /v/relax/backends/megatron/actor.py\n", MEGATRON_OPTIMIZER, 2, 3);
		work('.', RAY);
	}
	expect("t.|t.|t.", "next train");
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	teardown();
}

/* ---- OpenRLHF, NeMo-RL ---- */

#define OPENRLHF " /v/openrlhf/trainer/ray/ppo_actor.py\n"
#define DEEPSPEED                                                                                        \
	"optimizer_step /v/openrlhf/utils/deepspeed/deepspeed.py\nstep /v/deepspeed/runtime/engine.py\n" \
	"_take_model_step /v/deepspeed/runtime/engine.py\nstep /v/deepspeed/runtime/zero/stage3.py\n"

TEST(openrlhf_policy)
{
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		work('l', below(RAY "forward" OPENRLHF, MODEL));
		train('t', RAY "fit" OPENRLHF "ppo_train" OPENRLHF "training_step" OPENRLHF, DEEPSPEED, 8, 1);
		work('.', RAY "fit" OPENRLHF);
		work('w', RAY "broadcast_to_vllm" OPENRLHF "broadcast_to_vllm" OPENRLHF);
		work('.', RAY);
	}
	expect("lt.w|.lt.w|.lt.w|.", "weight-update");
	teardown();
}

#define NEMO " /opt/nemo-rl/nemo_rl/models/policy/workers/dtensor_policy_worker_v2.py\n"

TEST(nemo_rl_policy)
{
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		work('p', RAY "prepare_for_lp_inference" NEMO);
		work('l', below(RAY "get_logprobs" NEMO, MODEL));
		work('r', below(RAY "get_reference_policy_logprobs" NEMO "get_logprobs" NEMO, MODEL));
		work('p', RAY "prepare_for_training" NEMO);
		train('t', RAY "train" NEMO, ADAM, 2, 4);
		work('o', RAY "offload_before_refit" NEMO);
		work('w', RAY "stream_weights_via_ipc_zmq" NEMO);
		work('o', RAY "offload_after_refit" NEMO);
	}
	expect("plrptow|oplrptow|oplrptow|o", "weight-update");
	teardown();
}

/* ---- TRL ---- */

#define TRAINER \
	"<module> /home/me/grpo.py\ntrain /v/transformers/trainer.py\n_inner_training_loop /v/transformers/trainer.py\n"
#define GRPO " /v/trl/trainer/grpo_trainer.py\n"

/* A step is a global step, however many micro-batches it has, and however many steps a rollout serves. */
TEST(trl_grpo)
{
	static const char training[] = TRAINER "training_step" GRPO "training_step /v/transformers/trainer.py\n";
	static const char scored[] = TRAINER "training_step" GRPO "_prepare_inputs" GRPO
					     "_generate_and_score_completions" GRPO;
	int i, micro;

	setup(NULL);
	for (i = 0; i < 4; i++) {
		for (micro = 0; micro < 3; micro++) {
			if (i % 2 == 0 && !micro) {
				work('w', below(scored, "sync_weights /v/trl/generation/vllm_generation.py\n"));
				CHECK_STR(mt_phase_name(label.phase), "weight-update");
				work('g', below(scored, "execute_model /v/vllm/v1/worker/gpu_worker.py\n"));
				CHECK_STR(mt_phase_name(label.phase), "rollout");
				work('l', below(below(scored, "_get_per_token_logps_and_entropies" GRPO), MODEL));
				CHECK_STR(mt_phase_name(label.phase), "logprob");
			}
			work('t', below(below(training, "_compute_loss" GRPO "_get_per_token_logps_and_entropies" GRPO),
					MODEL));
			CHECK_STR(mt_phase_name(label.phase), "forward");
			micro_batch('t', training);
		}
		work('o', TRAINER "step /v/accelerate/optimizer.py\n" ADAM);
		work('z', TRAINER "zero_grad " TORCH "nn/modules/module.py\n");
	}
	expect("wglto|zto|zwglto|zto|z", "optimizer");
	teardown();
}

/* ---- engines ---- */

#define CORE                                                                                   \
	"run_engine_core /v/vllm/v1/engine/core.py\nrun_busy_loop /v/vllm/v1/engine/core.py\n" \
	"collective_rpc /v/vllm/v1/executor/uniproc_executor.py\n"
#define GPU_WORKER " /v/vllm/v1/worker/gpu_worker.py\n"
#define FROM_IPC "update_weights_from_ipc /v/verl/workers/rollout/vllm_rollout/utils.py\n"

TEST(vllm_engine_that_sleeps)
{
	int i;

	setup(NULL);
	work('i', CORE "load_model" GPU_WORKER);
	work('i', below(CORE "determine_available_memory" GPU_WORKER "profile_run" GPU_WORKER, MODEL));
	work('s', CORE "sleep" GPU_WORKER); /* until it is needed */
	work('.', CORE);
	for (i = 0; i < 3; i++) {
		work('u', CORE "wake_up" GPU_WORKER "wake_up /v/vllm/device_allocator/cumem.py\n");
		work('w', CORE FROM_IPC);
		work('u', CORE "wake_up" GPU_WORKER);
		work('g', below(CORE "execute_model" GPU_WORKER, MODEL));
		work('.', CORE);
		work('g', CORE "sample_tokens" GPU_WORKER);
		work('s', CORE "sleep" GPU_WORKER "sleep /v/vllm/device_allocator/cumem.py\n");
		work('.', CORE);
	}
	expect("is.uwug.gs|.uwug.gs|.uwug.gs|.", "sleep");
	teardown();
}

TEST(vllm_engine_that_does_not)
{
	int i;

	setup(NULL);
	work('i', CORE "load_model" GPU_WORKER);
	work('w', CORE FROM_IPC); /* the first weights */
	for (i = 0; i < 3; i++) {
		work('g', below(CORE "execute_model" GPU_WORKER, MODEL));
		work('.', CORE);
		work('w', CORE FROM_IPC);
		work('.', CORE);
		work('w', CORE FROM_IPC "_update_weights /v/verl/workers/rollout/vllm_rollout/utils.py\n");
	}
	expect("iwg.w.w|g.w.w|g.w.w", "weight-update");
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	teardown();
}

#define SCHEDULER " /v/sglang/srt/managers/scheduler.py\n"
#define UPDATES " /v/sglang/srt/managers/scheduler_update_weights_mixin.py\n"
#define LOOP "run_scheduler_process" SCHEDULER "event_loop_overlap" SCHEDULER

TEST(sglang_engine)
{
	int i;

	setup(NULL);
	work('i', "run_scheduler_process" SCHEDULER "__init__" SCHEDULER
		  "init_memory_pool /v/sglang/srt/model_executor/model_runner.py\n");
	work('g', LOOP "run_batch" SCHEDULER); /* the warm-up request */
	work('s', LOOP "process_input_requests" SCHEDULER "release_memory_occupation" UPDATES);
	for (i = 0; i < 3; i++) {
		work('u', LOOP "process_input_requests" SCHEDULER "resume_memory_occupation" UPDATES);
		work('w', LOOP "process_input_requests" SCHEDULER "update_weights_from_tensor" UPDATES);
		work('g', LOOP "run_batch" SCHEDULER);
		work('g', LOOP);
		work('s', LOOP "process_input_requests" SCHEDULER "release_memory_occupation" UPDATES);
	}
	work('g', LOOP);
	expect("igsuwgs|uwgs|uwgs|g", "sleep");
	teardown();
}

/* A draft model that learns while it rolls out: what a role function does inside is no step. */
TEST(training_inside_a_rollout)
{
	static const char rollout[] = FSDP "generate_sequences" FSDP_WORKERS;
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++)
		train('g', rollout, ADAM, 2, 200);
	CHECK_EQ(label.step, 1);
	work('.', RAY);
	work('g', rollout);
	CHECK_EQ(label.step, 1);
	teardown();
}

/* ---- plain training ---- */

#define MINE "<module> /home/me/train.py\nmain /home/me/train.py\n"

TEST(three_hundred_accumulated_passes)
{
	int i, pass;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		for (pass = 0; pass < 300; pass++)
			micro_batch('m', MINE);
		work('o', MINE ADAM);
		work('z', MINE ZERO_GRAD);
	}
	expect("mo|zmo|zmo|z", "optimizer");
	teardown();
}

/* An optimizer that works in place: the first step makes its state, then only thrown away gradients are left to see. */
TEST(optimizers_in_place)
{
	int i, pass;

	setup(NULL);
	for (i = 0; i < 4; i++) {
		for (pass = 0; pass < 5; pass++)
			micro_batch('m', MINE);
		if (!i)
			work('o', MINE ADAM);
		work('z', MINE ZERO_GRAD);
	}
	expect("mo|zm|zm|zm|z", "zero_grad");
	teardown();
}

/* The framework tells of each step. Neither the optimizer nor zero_grad(set_to_none=False) allocates or frees anything. */
TEST(optimizers_that_allocate_nothing)
{
	int i, pass;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		for (pass = 0; pass < 5; pass++)
			micro_batch('m', MINE);
		tell(MT_OPTIMIZER_STEP);
	}
	micro_batch('m', MINE);
	expect("m|m|m|m", "optimizer");
	teardown();
}

/* An optimizer of each parameter steps as soon as the gradient is there. */
static void in_backward(const char *optimizer, int is_told)
{
	int i, parameter;

	setup(NULL);
	for (i = 0; i < 4; i++) {
		work('m', MINE MODEL);
		tell(MT_BACKWARD_BEGIN);
		for (parameter = 0; parameter < 3; parameter++) {
			on(autograd, 'b', "");
			on(autograd, 'b', optimizer);
			on(autograd, 'b', *optimizer ? ZERO_GRAD : "");
			if (is_told)
				send((struct mt_event){ .kind = MT_OPTIMIZER_STEP, .thread = autograd });
		}
		tell(MT_BACKWARD_END);
	}
	work('m', MINE MODEL);
	expect("mb|mb|mb|mb|m", "optimizer");
	teardown();
	used = sent = 0;
}

TEST(optimizers_inside_a_backward)
{
	in_backward("hook /home/me/train.py\n" ADAM, 0);
	in_backward("hook /home/me/train.py\n" ADAM, 1);
	in_backward("", 1);
}

/* Each optimizer after a backward of its own is a step: they cannot be told from two steps of one. */
TEST(two_optimizers)
{
	int i;

	setup(NULL);
	for (i = 0; i < 2; i++) {
		micro_batch('d', MINE);
		work('D', MINE "step_d /home/me/train.py\n" ADAM);
		micro_batch('g', MINE);
		work('G', MINE "step_g /home/me/train.py\n" ADAM);
	}
	work('.', MINE);
	expect("dD|gG|dD|gG|.", "optimizer");
	teardown();
	used = sent = 0;
	setup("step_g");
	for (i = 0; i < 2; i++) {
		micro_batch('d', MINE);
		work('D', MINE "step_d /home/me/train.py\n" ADAM);
		micro_batch('g', MINE);
		work('G', MINE "step_g /home/me/train.py\n" ADAM);
	}
	work('.', MINE);
	expect("dDgG|dDgG|.", "function");
	teardown();
}

/* The user's word beats the frameworks'. */
TEST(marks_beat_role_functions)
{
	int i;

	setup(NULL);
	for (i = 0; i < 3; i++) {
		verl_engine_workers(1, 1);
		tell(MT_STEP_MARK);
	}
	work('.', RAY);
	/* The first step had ended with its weight update when the first mark came. */
	expect("lrvca.w|.lrvca.w.|lrvca.w.|.", "memrec_step");
	teardown();
	used = sent = 0;
	setup("update_critic");
	verl_sharding_manager(2);
	expect("gwgs.lrvc|a.gwgs.lrvc|a.", "function");
	teardown();
}

/* Its frame may be among those left out: that is no end of it. */
TEST(a_named_function_left_out)
{
	int i;

	setup("ActorWorker.update_actor");
	for (i = 0; i < 2; i++) {
		work('a', FSDP "ActorWorker.update_actor" FSDP_WORKERS);
		work('a', below(FSDP CUT, MODEL));
		work('a', FSDP "ActorWorker.update_actor" FSDP_WORKERS ADAM);
		work('a', "");
		work('.', RAY);
	}
	expect("a|.a|.", "function");
	teardown();
}

TEST_MAIN()
