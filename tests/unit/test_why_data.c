/* test_why_data.c - the built-in data about causes, what a row says, and how bad files are refused. */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/why.h"
#include "test.h"
#include "why/why_impl.h"

static char message[512];

static int read_text(const struct why_file *file, const char *text, size_t size)
{
	struct mt_why *why = calloc(1, sizeof(*why));
	int error;

	CHECK(why != NULL);
	message[0] = '\0';
	error = why_read(why, file, text, size, message, sizeof(message));
	mt_why_free(why);
	return error;
}

static void check_refused(const struct why_file *file, const char *text, const char *words)
{
	CHECK_EQ(read_text(file, text, strlen(text)), -MT_E_RULES);
	CHECK_STR(message, words);
}

static struct mt_why *builtin(void)
{
	struct mt_why *why;
	int error = mt_why_new(&why, message, sizeof(message));

	if (error)
		printf("# %s\n", message);
	CHECK_EQ(error, 0);
	return why;
}

TEST(built_in_files_are_good)
{
	struct mt_why *why = builtin();
	struct mt_fix_question question = { 0 };
	int i;

	for (i = 0; i < MT_CAUSES; i++) {
		question.cause = (enum mt_cause)i;
		CHECK(mt_why_fix(why, &question) != NULL);
	}
	mt_why_free(why);
}

/* Frames as they are on stacks, of frameworks and of programs of one's own. */
TEST(frames_have_their_tags)
{
	static const struct {
		const char *function, *file, *module;
		uint64_t has, lacks;
	} frames[] = {
		{ "load_state_dict", "torch/nn/modules/module.py", "", MT_TAG_BIT(CHECKPOINT_LOAD),
		  MT_TAG_BIT(STATE_DICT) | MT_TAG_BIT(SAVE) },
		{ "_load", "torch/serialization.py", "", MT_TAG_BIT(CHECKPOINT_LOAD), MT_TAG_BIT(SAVE) },
		{ "load_my_checkpoint", "mine/train.py", "", MT_TAG_BIT(CHECKPOINT_LOAD), MT_TAG_BIT(LOOP) },
		{ "from_pretrained", "transformers/modeling_utils.py", "",
		  MT_TAG_BIT(CHECKPOINT_LOAD) | MT_TAG_BIT(MODEL_INIT), 0 },
		{ "Worker.wake_up", "vllm/v1/worker/gpu_worker.py", "", MT_TAG_BIT(WAKE) | MT_TAG_BIT(ENGINE), 0 },
		{ "resume_memory_occupation", "sglang/srt/managers/scheduler.py", "",
		  MT_TAG_BIT(WAKE) | MT_TAG_BIT(ENGINE), 0 },
		{ "initialize_kv_cache", "vllm/v1/worker/gpu_model_runner.py", "", MT_TAG_BIT(ENGINE_START), 0 },
		{ "init_memory_pool", "sglang/srt/model_executor/model_runner.py", "", MT_TAG_BIT(ENGINE_START), 0 },
		{ "profile_run", "vllm/v1/worker/gpu_model_runner.py", "", MT_TAG_BIT(PROFILE_RUN), 0 },
		{ "capture_model", "vllm/v1/worker/gpu_model_runner.py", "", MT_TAG_BIT(GRAPH_CAPTURE), 0 },
		{ "generate", "transformers/generation/utils.py", "", MT_TAG_BIT(GENERATE), MT_TAG_BIT(ENGINE) },
		{ "do_bench", "triton/testing.py", "", MT_TAG_BIT(COMPILE), 0 },
		{ "_fn", "torch/_dynamo/eval_frame.py", "", MT_TAG_BIT(LOOP), MT_TAG_BIT(COMPILE) },
		{ "_full_post_state_dict_hook", "torch/distributed/fsdp/_state_dict_utils.py", "",
		  MT_TAG_BIT(STATE_DICT), MT_TAG_BIT(CHECKPOINT_LOAD) },
		{ "save_checkpoint", "mine/io.py", "", MT_TAG_BIT(SAVE), MT_TAG_BIT(CHECKPOINT_LOAD) },
		{ "save_for_backward", "mine/ops.py", "", 0, MT_TAG_BIT(SAVE) },
		{ "update_weights", "verl/workers/engine_workers.py", "", MT_TAG_BIT(WEIGHT_SYNC), 0 },
		{ "update_policy", "mine/ppo.py", "", MT_TAG_BIT(LOOP), MT_TAG_BIT(WEIGHT_SYNC) },
		{ "_fn", "torch/_dynamo/eval_frame.py", "", 0, MT_TAG_BIT(EVALUATION) },
		{ "forward", "torch/nn/parallel/data_parallel.py", "", 0, MT_TAG_BIT(DATA) },
		{ "ActorRolloutRefWorker.update_actor", "mine/workers.py", "", 0, MT_TAG_BIT(REFERENCE) },
		{ "setup_model_and_optimizer", "megatron/training/training.py", "", MT_TAG_BIT(MODEL_INIT),
		  MT_TAG_BIT(OPTIMIZER) },
		{ "broadcast_weights_to_engine", "mine/rl.py", "", MT_TAG_BIT(WEIGHT_SYNC), 0 },
		{ "full_tensor", "torch/distributed/tensor/api.py", "", MT_TAG_BIT(GATHER), 0 },
		{ "all_gather_into_tensor", "torch/distributed/distributed_c10d.py", "",
		  MT_TAG_BIT(GATHER) | MT_TAG_BIT(COLLECTIVE), 0 },
		{ "", "", "/usr/lib/libnccl.so.2", MT_TAG_BIT(COLLECTIVE), 0 },
		{ "offload_fsdp_optimizer", "verl/utils/fsdp_utils.py", "", MT_TAG_BIT(OFFLOAD), 0 },
		{ "AdamW.step", "torch/optim/adamw.py", "", MT_TAG_BIT(OPTIMIZER), MT_TAG_BIT(BACKWARD) },
		{ "clip_grad_norm_", "torch/nn/utils/clip_grad.py", "", MT_TAG_BIT(CLIP), 0 },
		{ "backward", "torch/_tensor.py", "", MT_TAG_BIT(BACKWARD), 0 },
		{ "forward_backward_batch", "mine/engine.py", "", MT_TAG_BIT(LOOP), MT_TAG_BIT(BACKWARD) },
		{ "MulBackward0", "", "", MT_TAG_BIT(AUTOGRAD), MT_TAG_BIT(BACKWARD) },
		{ "torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)", "Functions.cpp", "",
		  MT_TAG_BIT(AUTOGRAD), 0 },
		{ "backward", "deepspeed/runtime/engine.py", "", MT_TAG_BIT(BACKWARD), MT_TAG_BIT(AUTOGRAD) },
		{ "unpack_hook", "torch/utils/checkpoint.py", "", MT_TAG_BIT(RECOMPUTE), 0 },
		{ "cross_entropy", "torch/nn/functional.py", "", MT_TAG_BIT(LOSS), 0 },
		{ "logprobs_from_logits", "mine/ppo.py", "", MT_TAG_BIT(LOSS), 0 },
		{ "selective_log_softmax", "trl/trainer/utils.py", "", MT_TAG_BIT(LOSS), 0 },
		{ "_selected_logprobs", "mine/rl.py", "", MT_TAG_BIT(WORDS), MT_TAG_BIT(LOSS) },
		{ "__init__", "sglang/srt/weight_sync/tensor_bucket.py", "", MT_TAG_BIT(WEIGHT_SYNC),
		  MT_TAG_BIT(ENGINE) },
		{ "load_model", "vllm/distributed/parallel_state.py", "", MT_TAG_BIT(ENGINE), 0 },
		{ "DistributedLogprob.forward", "mine/rl.py", "", MT_TAG_BIT(WORDS), 0 },
		{ "sde_step_with_logprob", "mine/flow.py", "", 0, MT_TAG_BIT(WORDS) },
		{ "fp8_paged_mqa_logits", "mine/kernels.py", "", MT_TAG_BIT(ATTENTION), MT_TAG_BIT(WORDS) },
		{ "compute_loss", "transformers/trainer.py", "", 0, MT_TAG_BIT(LOSS) },
		{ "compute_log_prob", "verl/workers/actor/dp_actor.py", "", 0, MT_TAG_BIT(LOSS) },
		{ "compute_ref_log_prob", "verl/workers/fsdp_workers.py", "", MT_TAG_BIT(REFERENCE), 0 },
		{ "compute_values", "mine/ppo.py", "", MT_TAG_BIT(CRITIC), 0 },
		{ "compute_logits", "vllm/model_executor/models/llama.py", "", MT_TAG_BIT(HEAD), 0 },
		{ "scaled_dot_product_attention", "mine/model.py", "", MT_TAG_BIT(ATTENTION), 0 },
		{ "forward", "transformers/models/mixtral/moe.py", "", MT_TAG_BIT(MOE), 0 },
		{ "evaluation_loop", "transformers/trainer.py", "", MT_TAG_BIT(EVALUATION), 0 },
		{ "validate", "mine/train.py", "", MT_TAG_BIT(EVALUATION), MT_TAG_BIT(LOOP) },
		{ "update_metrics", "mine/train.py", "", MT_TAG_BIT(METRICS), 0 },
		{ "__deepcopy__", "torch/nn/parameter.py", "", MT_TAG_BIT(COPY), 0 },
		{ "ema_update", "mine/train.py", "", MT_TAG_BIT(EMA), 0 },
		{ "schema_of", "mine/train.py", "", 0, MT_TAG_BIT(EMA) },
		{ "build_model", "mine/model.py", "", MT_TAG_BIT(MODEL_INIT), 0 },
		{ "get_model_state_dict", "torch/distributed/checkpoint/state_dict.py", "", MT_TAG_BIT(STATE_DICT),
		  MT_TAG_BIT(MODEL_INIT) },
		{ "to", "torch/nn/modules/module.py", "", MT_TAG_BIT(MOVE) | MT_TAG_BIT(LOOP), 0 },
		{ "get_batch", "mine/train.py", "", MT_TAG_BIT(DATA), 0 },
		{ "prefetch", "mine/loader.py", "", MT_TAG_BIT(PREFETCH), 0 },
		{ "_init_buffer", "mine/transfer.py", "", MT_TAG_BIT(BUFFER), 0 },
		{ "encode_images", "llava/model.py", "", MT_TAG_BIT(IMAGES), 0 },
		{ "decode", "diffusers/models/autoencoders/vae.py", "", MT_TAG_BIT(IMAGES), 0 },
		{ "<module>", "train.py", "", MT_TAG_BIT(LOOP), 0 },
		{ "forward", "mine/model.py", "", 0, ~(uint64_t)0 },
		{ "", "", "", 0, ~(uint64_t)0 },
	};
	struct mt_why *why = builtin();
	uint64_t tags;
	size_t i;
	int t;

	for (i = 0; i < MT_ARRAY_SIZE(frames); i++) {
		tags = mt_why_tags(why, frames[i].function, frames[i].file, frames[i].module);
		if ((tags & frames[i].has) != frames[i].has || tags & frames[i].lacks) {
			printf("# %s %s:", frames[i].function, frames[i].file);
			for (t = 0; t < MT_TAGS; t++)
				if (tags & (uint64_t)1 << t)
					printf(" %s", why_tag_words[t]);
			printf("\n");
			CHECK(!"the tags of the frame");
		}
	}
	mt_why_free(why);
}

TEST(each_tag_is_given_by_some_row)
{
	struct mt_why *why = builtin();
	uint64_t tags = 0;
	size_t i;

	for (i = 0; i < why->tags; i++)
		tags |= why->tag[i].tags;
	CHECK_EQ(tags, ((uint64_t)1 << MT_TAGS) - 1);
	mt_why_free(why);
}

TEST(needs_follow_who_and_phase)
{
	struct mt_why *why = builtin();

#define NEED(category, who, phase) mt_why_need(why, MT_CATEGORY_##category, MT_WHO_##who, MT_PHASE_##phase)
	CHECK_EQ(NEED(WEIGHTS, TRAINER, BACKWARD), MT_NEED_NOW);
	CHECK_EQ(NEED(WEIGHTS, TRAINER, ROLLOUT), MT_NEED_LATER);
	CHECK_EQ(NEED(WEIGHTS, MODEL, ROLLOUT), MT_NEED_NOW);
	CHECK_EQ(NEED(WEIGHTS, ENGINE, ROLLOUT), MT_NEED_NOW);
	CHECK_EQ(NEED(WEIGHTS, ENGINE, FORWARD), MT_NEED_LATER);
	CHECK_EQ(NEED(GRADIENTS, TRAINER, FORWARD), MT_NEED_LATER);
	CHECK_EQ(NEED(OPTIMIZER_STATE, ANY, OPTIMIZER), MT_NEED_NOW);
	CHECK_EQ(NEED(OPTIMIZER_STATE, TRAINER, WEIGHT_UPDATE), MT_NEED_LATER);
	CHECK_EQ(NEED(ACTIVATIONS, TRAINER, FORWARD), MT_NEED_NOW);
	CHECK_EQ(NEED(ACTIVATIONS, TRAINER, OPTIMIZER), MT_NEED_NEVER);
	CHECK_EQ(NEED(KV_CACHE, ENGINE, WEIGHT_UPDATE), MT_NEED_LATER);
	CHECK_EQ(NEED(STATE_DICT, TRAINER, FORWARD), MT_NEED_NEVER);
	CHECK_EQ(NEED(EVALUATION, TRAINER, BACKWARD), MT_NEED_NEVER);
	CHECK_EQ(NEED(OTHER, ANY, FORWARD), MT_NEED_NOW);
#undef NEED
	mt_why_free(why);
}

/* Kinds of causes, and the action that goes first. */
TEST(fixes_are_those_of_the_kind)
{
#define ASK(of, kind, made, asked, whose, tagged)                                                      \
	{                                                                                              \
		.cause = MT_CAUSE_##of, .category = MT_CATEGORY_##kind, .phase = MT_PHASE_##made,      \
		.asking = MT_PHASE_##asked, .who = MT_WHO_##whose, .need = MT_NEED_NOW, .tags = tagged \
	}
	static const struct {
		struct mt_fix_question question;
		enum mt_action action;
	} rows[] = {
		{ ASK(GROWS, GRAPHS, ROLLOUT, ROLLOUT, ENGINE, 0), MT_ACTION_FEWER_AT_ONCE },
		{ ASK(GROWS, ACTIVATIONS, FORWARD, FORWARD, TRAINER, 0), MT_ACTION_DROP_REFERENCE },
		{ ASK(GROWS, OTHER, FORWARD, FORWARD, TRAINER, MT_TAG_BIT(COLLECTIVE)), MT_ACTION_DROP_REFERENCE },
		{ ASK(GROWS, OTHER, ROLLOUT, ROLLOUT, ENGINE, 0), MT_ACTION_FIX_BUG },
		{ ASK(GROWS, EVALUATION, OTHER, OTHER, TRAINER, MT_TAG_BIT(EVALUATION)), MT_ACTION_DROP_REFERENCE },
		{ ASK(UNNEEDED, STATE_DICT, WEIGHT_UPDATE, FORWARD, TRAINER, 0), MT_ACTION_LOAD_ON_CPU },
		{ ASK(UNNEEDED, OPTIMIZER_STATE, OPTIMIZER, WEIGHT_UPDATE, TRAINER, 0), MT_ACTION_OFFLOAD },
		{ ASK(TWICE, WEIGHTS, INIT, INIT, TRAINER, MT_TAG_BIT(REFERENCE)), MT_ACTION_DROP_COPY },
		{ ASK(TWICE, WEIGHTS, INIT, INIT, TRAINER, MT_TAG_BIT(CHECKPOINT_LOAD)), MT_ACTION_LOAD_ON_CPU },
		{ ASK(TWICE, WEIGHTS, INIT, FORWARD, TRAINER, MT_TAG_BIT(CHECKPOINT_LOAD) | MT_TAG_BIT(MODEL_INIT)),
		  MT_ACTION_DROP_COPY },
		{ ASK(UNNEEDED, WEIGHTS, INIT, ROLLOUT, TRAINER, MT_TAG_BIT(CHECKPOINT_LOAD)), MT_ACTION_OFFLOAD },
		{ ASK(UNSHARDED, WEIGHTS, INIT, FORWARD, TRAINER, MT_TAG_BIT(CHECKPOINT_LOAD)), MT_ACTION_SHARD },
		{ ASK(UNSHARDED, WEIGHTS, INIT, INIT, TRAINER, MT_TAG_BIT(CHECKPOINT_LOAD)), MT_ACTION_LOAD_ON_CPU },
		{ ASK(OUTSIDE, OTHER, OTHER, FORWARD, ANY, 0), MT_ACTION_FEWER_AT_ONCE },
		{ ASK(PEER_AWAKE, KV_CACHE, ROLLOUT, FORWARD, ENGINE, 0), MT_ACTION_RELEASE_PEER },
		{ ASK(PEER_AWAKE, OPTIMIZER_STATE, OPTIMIZER, ROLLOUT, TRAINER, 0), MT_ACTION_OFFLOAD },
		{ ASK(LOGITS, LOGITS, FORWARD, FORWARD, TRAINER, 0), MT_ACTION_CHUNK_LOGITS },
		{ ASK(LOGITS, LOGITS, BACKWARD, BACKWARD, TRAINER, 0), MT_ACTION_FEWER_TOKENS },
		{ ASK(OUTLIER, ACTIVATIONS, FORWARD, FORWARD, TRAINER, 0), MT_ACTION_FEWER_TOKENS },
		{ ASK(ALLOCATOR_IDLE, SLACK, OTHER, BACKWARD, TRAINER, 0), MT_ACTION_EXPANDABLE_SEGMENTS },
		{ ASK(ALLOCATOR_IDLE, OTHER, OTHER, BACKWARD, TRAINER, 0), MT_ACTION_SMALLER_SHARE },
		{ ASK(ALLOCATOR_IDLE, NCCL, OTHER, BACKWARD, TRAINER, 0), MT_ACTION_EMPTY_CACHE },
		{ ASK(LARGEST, ACTIVATIONS, FORWARD, FORWARD, TRAINER, 0), MT_ACTION_CHECKPOINT },
		{ ASK(LARGEST, OPTIMIZER_STATE, OPTIMIZER, OPTIMIZER, TRAINER, 0), MT_ACTION_SHARD },
		{ ASK(LARGEST, WEIGHTS, INIT, FORWARD, TRAINER, 0), MT_ACTION_SHARD },
		{ ASK(LARGEST, KV_CACHE, INIT, ROLLOUT, ENGINE, 0), MT_ACTION_SMALLER_SHARE },
		{ ASK(LARGEST, WEIGHTS, INIT, ROLLOUT, ENGINE, 0), MT_ACTION_LOWER_PRECISION },
		{ ASK(NO_BACKWARD, ACTIVATIONS, FORWARD, FORWARD, MODEL, 0), MT_ACTION_NO_GRAD },
		{ ASK(CRASHED, OTHER, OTHER, OTHER, ANY, 0), MT_ACTION_NOT_MEMORY },
	};
#undef ASK
	struct mt_why *why = builtin();
	const struct mt_fix *fix;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rows); i++) {
		fix = mt_why_fix(why, &rows[i].question);
		if (fix->action != rows[i].action)
			printf("# row %zu of the test: %s\n", i, fix->text);
		CHECK_STR(mt_action_word(fix->action), mt_action_word(rows[i].action));
	}
	mt_why_free(why);
}

TEST(the_next_fixes_have_other_actions)
{
	struct mt_fix_question question = { .cause = MT_CAUSE_LARGEST,
					    .category = MT_CATEGORY_ACTIVATIONS,
					    .phase = MT_PHASE_FORWARD,
					    .asking = MT_PHASE_FORWARD,
					    .who = MT_WHO_TRAINER,
					    .need = MT_NEED_NOW };
	const struct mt_fix *fix[32];
	struct mt_why *why = builtin();
	uint64_t seen = (uint64_t)1 << mt_why_fix(why, &question)->action;
	size_t count = mt_why_fixes(why, &question, fix, MT_ARRAY_SIZE(fix)), i;

	CHECK(count >= 2);
	CHECK_EQ(fix[0]->action, MT_ACTION_FEWER_TOKENS);
	for (i = 0; i < count; i++) {
		CHECK(!(seen & (uint64_t)1 << fix[i]->action));
		seen |= (uint64_t)1 << fix[i]->action;
	}
	CHECK_EQ(mt_why_fixes(why, &question, fix, 1), 1);
	CHECK_EQ(mt_why_fixes(why, &question, fix, 0), 0);
	mt_why_free(why);
}

TEST(a_text_has_facts)
{
	static const char text[] = "fixes:\n  - { cause: host, action: record, text: 'Look at {bytes} of {place}.' }\n";
	struct mt_why *why = calloc(1, sizeof(*why));

	CHECK(why != NULL);
	CHECK_EQ(why_read(why, &why_fixes_file, text, strlen(text), message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, "fixes.yaml:1: too_large has no row without conditions");
	CHECK_EQ(why->fixes, 1);
	CHECK_STR(why->fix[0].fix.text, "Look at {bytes} of {place}.");
	mt_why_free(why);
}

#define TAG "tags:\n  - "
TEST(bad_tags_are_refused)
{
	check_refused(&why_tags_file, "", "tags.yaml:1: the file is empty");
	check_refused(&why_tags_file, "rows: []\n", "tags.yaml:1: the file begins with \"rows\", not \"tags\"");
	check_refused(&why_tags_file, "tags: x\n", "tags.yaml:1: a list of rows is expected here");
	check_refused(&why_tags_file, "tags: [x]\n", "tags.yaml:1: each of tags is a mapping");
	check_refused(&why_tags_file, TAG "tags: loop\n",
		      "tags.yaml:2: the row matches nothing (give function, file or module)");
	check_refused(&why_tags_file, TAG "file: x\n", "tags.yaml:2: a row has no \"tags\"");
	check_refused(&why_tags_file, TAG "{ file: x, file: y }\n", "tags.yaml:2: \"file\" is there twice");
	check_refused(&why_tags_file, TAG "mark: x\n", "tags.yaml:2: a row has no key \"mark\"");
	check_refused(&why_tags_file, TAG "{ file: '(', tags: loop }\n",
		      "tags.yaml:2: file is no pattern: a ( that is never closed, at byte 1");
	check_refused(&why_tags_file, TAG "{ file: x, tags: [loop, loop] }\n", "tags.yaml:2: loop is there twice");
	check_refused(&why_tags_file, TAG "{ file: x, tags: [] }\n", "tags.yaml:2: tags is an empty list");
	check_refused(&why_tags_file, TAG "{ file: x, tags: { a: b } }\n",
		      "tags.yaml:2: tags is a word, or a list of words");
	check_refused(&why_tags_file, TAG "&a { file: x, tags: loop }\n  - *a\n",
		      "tags.yaml:3: aliases are not allowed here");
	CHECK_EQ(read_text(&why_tags_file, TAG "{ file: x, tags: loops }\n", strlen(TAG "{ file: x, tags: loops }\n")),
		 -MT_E_RULES);
	CHECK(strstr(message, "tags.yaml:2: ") == message && strstr(message, "loops"));
}

#define NEEDS "needs:\n  - "
TEST(bad_needs_are_refused)
{
	check_refused(&why_needs_file, NEEDS "{ category: nccl, now: [forward] }\n",
		      "needs.yaml:2: the row does not say when other needs the bytes");
	check_refused(&why_needs_file, NEEDS "{ category: nccl, now: [forward], later: [forward], never: rest }\n",
		      "needs.yaml:2: forward is there twice");
	check_refused(&why_needs_file, NEEDS "{ category: nccl, now: rest, later: rest }\n",
		      "needs.yaml:2: \"rest\" is there twice: also for now");
	check_refused(&why_needs_file, NEEDS "{ category: nccl, now: rest }\n  - { category: nccl, never: rest }\n",
		      "needs.yaml:3: nccl of any has a row already");
	check_refused(&why_needs_file, NEEDS "{ category: nccl, now: rest }\n",
		      "needs.yaml:1: other has no row for anybody");
	check_refused(&why_needs_file, NEEDS "{ now: rest }\n", "needs.yaml:2: a row has no \"category\"");
}

#define FIX "fixes:\n  - { cause: host, action: record, "
TEST(bad_fixes_are_refused)
{
	static const char twins[] = FIX "text: 'Do.' }\n  - { cause: host, action: record, text: 'Do more.' }\n";

	check_refused(&why_fixes_file, FIX "text: 'do it.' }\n",
		      "fixes.yaml:2: text is a sentence, with a capital letter and a full stop");
	check_refused(&why_fixes_file, FIX "text: 'Do it' }\n",
		      "fixes.yaml:2: text is a sentence, with a capital letter and a full stop");
	check_refused(&why_fixes_file, FIX "text: 'Do {it}.' }\n", "fixes.yaml:2: unknown fact \"{it}.\"");
	check_refused(&why_fixes_file, FIX "text: 'Do {bytes.' }\n", "fixes.yaml:2: unknown fact \"{bytes.\"");
	check_refused(&why_fixes_file, FIX "text: 'A b c d e f g h i j k l m n o p q r s t u v w.' }\n",
		      "fixes.yaml:2: text has 23 words, more than 22");
	check_refused(&why_fixes_file, FIX "who: any, text: 'Do.' }\n", "fixes.yaml:2: who: any is no condition");
	check_refused(&why_fixes_file, twins, "fixes.yaml:3: the row in line 2 has the same conditions and action");
	check_refused(&why_fixes_file, FIX "}\n", "fixes.yaml:2: a row has no \"text\"");
	check_refused(&why_fixes_file, "fixes: []\nmore: 1\n", "fixes.yaml:2: the end of the file is expected here");
}

/* Any beginning of a good file is refused, or good, and leaks nothing. */
TEST(cut_files_are_refused)
{
	static const char text[] = "tags:\n  - { function: '^a$', file: 'b', tags: [loop, data] }\n"
				   "  - { module: 'c', tags: loop }\n";
	size_t size;

	for (size = 0; size < sizeof(text) - 1; size++)
		(void)read_text(&why_tags_file, text, size);
	CHECK_EQ(read_text(&why_tags_file, text, sizeof(text) - 1), 0);
}

TEST_MAIN()
