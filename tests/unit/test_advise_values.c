/* test_advise_values.c - values by their units, how knobs stand, and the text that changes them. */
#include "advise_kit.h"

static char words[ADVISE_WORDS_MAX];

static void check_bad(const char *text, const char *message)
{
	CHECK_EQ(advise_config_pair(config, text, ADVISE_SET), -MT_E_ARGUMENT);
	CHECK_STR(config->message, message);
}

TEST(values_are_held_against_the_unit)
{
	begin("verl");
	check_bad("use_dynamic_bsz", "--set use_dynamic_bsz: not KEY=VALUE");
	check_bad("=1", "--set =1: not KEY=VALUE");
	check_bad("use_dynamic_bsz=maybe",
		  "--set actor_rollout_ref.actor.use_dynamic_bsz=maybe: not a value of the unit switch");
	check_bad("ppo_mini_batch_size=1.5",
		  "--set actor_rollout_ref.actor.ppo_mini_batch_size=1.5: not a value of the unit samples");
	check_bad("gpu_memory_utilization=1.5",
		  "--set actor_rollout_ref.rollout.gpu_memory_utilization=1.5: not a value of the unit share");
	check_bad("param_offload=true", "--set param_offload: 2 keys of \"memana knobs verl\" end so: say more of it");
	CHECK_EQ(config->settings, 0);
	end_run();
}

static double number_of(const char *framework, const char *key, const char *text)
{
	double number;

	CHECK_EQ(advise_value_number(knob_of(framework, key), text, &number), 0);
	return number;
}

TEST(values_become_numbers_and_words_again)
{
	static const char bucket[] = ROLLOUT "checkpoint_engine.update_weights_bucket_megabytes";
	const struct mt_knob_file *file;
	char out[ADVISE_VALUE_MAX];
	const char *value;
	double number;
	uint32_t i, k, n;

	begin("verl");
	CHECK_EQ(number_of("verl", bucket, "1GiB"), 1 << 30);
	CHECK_EQ(number_of("verl", bucket, "512"), 512 << 20);
	CHECK_STR(advise_value_text(out, knob_of("verl", bucket), 1 << 30), "1024");
	CHECK_STR(advise_value_text(out, knob_of("slime", "--update-weight-buffer-size"), 1 << 30), "1073741824");
	CHECK_EQ(number_of("verl", ACTOR "use_dynamic_bsz", "on"), 1);
	CHECK_STR(advise_value_text(out, knob_of("verl", ACTOR "use_dynamic_bsz"), 0), "false");
	CHECK_EQ(number_of("verl", ACTOR "ppo_max_token_len_per_gpu", "16_384"), 16384);
	CHECK_EQ(number_of("deepspeed", "zero_optimization.reduce_bucket_size", "5e8"), 500000000);
	CHECK_EQ(advise_value_number(knob_of("verl", ACTOR "ppo_mini_batch_size"), "None", &number), 1);
	CHECK_EQ(advise_value_number(knob_of("verl", ACTOR "ppo_mini_batch_size"), "0x10", &number), -MT_E_ARGUMENT);
	CHECK_EQ(advise_value_number(knob_of("verl", ACTOR "ppo_mini_batch_size"), "inf", &number), -MT_E_ARGUMENT);
	CHECK_STR(advise_value_text(out, knob_of("verl", ROLLOUT "gpu_memory_utilization"), 0.45), "0.45");
	/* All defaults are values of their knobs. */
	for (i = 0; i < knobs->files; i++)
		for (k = 0; k < knobs->file[i].knobs; k++)
			for (n = 0; n < knobs->file[i].releases; n++) {
				file = &knobs->file[i];
				value = mt_knob_default_in(&file->knob[k].name, n);
				if (value && advise_value_number(&file->knob[k], value, &number) < 0) {
					printf("# %s: %s\n", file->knob[k].name.key, value);
					CHECK(0);
				}
			}
	end_run();
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

#define MiB 1048576.0
#define BUCKET ROLLOUT "checkpoint_engine.update_weights_bucket_megabytes"
#define MULTIPLE "GRPOConfig.generation_batch_size"

static enum advise_holds holds(const char *key, uint32_t number)
{
	const struct mt_knob *knob = knob_of(config->part[0].file->framework, key);

	return advise_constraint_holds(config, knob, &knob->constraint[number], words);
}

TEST(constraints_are_held_against_settings_and_the_largest_weight)
{
	const struct mt_knob *bucket;

	begin("verl");
	CHECK_EQ(advise_config_pair(config, "use_dynamic_bsz=true", ADVISE_NOW), 0);
	CHECK_EQ(holds(ACTOR "ppo_max_token_len_per_gpu", 1), ADVISE_HOLDS_YES);
	CHECK_EQ(advise_config_pair(config, "use_dynamic_bsz=0", ADVISE_NOW), 0);
	CHECK_EQ(holds(ACTOR "ppo_max_token_len_per_gpu", 1), ADVISE_HOLDS_NO);
	CHECK_STR(words, "counts with dynamic batches only: use_dynamic_bsz is 0 (--now)");
	CHECK_EQ(holds(ACTOR "ppo_max_token_len_per_gpu", 0), ADVISE_HOLDS_UNKNOWN);
	bucket = knob_of("verl", BUCKET);
	CHECK_EQ(advise_floor(config, bucket, 9000 * MiB), 9000 * MiB);
	CHECK_EQ(advise_floor(config, bucket, 0), 0);
	CHECK_EQ(advise_floor(config, knob_of("verl", ACTOR "ppo_max_token_len_per_gpu"), 9000 * MiB), 0);
	end_run();
	begin("trl");
	CHECK_EQ(advise_config_pair(config, "GRPOConfig.num_generations=6", ADVISE_SET), 0);
	CHECK_EQ(advise_floor(config, knob_of("trl", MULTIPLE), 0), 8); /* it is only asked what that would do */
	CHECK_EQ(advise_config_pair(config, "GRPOConfig.num_generations=6", ADVISE_NOW), 0);
	CHECK_EQ(advise_floor(config, knob_of("trl", MULTIPLE), 0), 6);
	end_run();
}

static enum advise_standing standing(const char *framework, const char *key)
{
	return advise_config_standing(config, knob_of(framework, key), 9000 * MiB, words);
}

TEST(how_a_knob_stands_is_said)
{
	begin("verl");
	CHECK_EQ(advise_config_command_line(config, verl_command), 0);
	CHECK_EQ(advise_config_pair(config, BUCKET "=9000", ADVISE_NOW), 0);
	CHECK_EQ(standing("verl", "actor_rollout_ref.model.enable_gradient_checkpointing"), ADVISE_STANDING_ALREADY);
	CHECK_STR(words, "already on (the command line)");
	CHECK_EQ(standing("verl", BUCKET), ADVISE_STANDING_FLOOR);
	CHECK_STR(words, "at its floor: 9000 (--now)");
	CHECK_EQ(standing("verl", ACTOR "ppo_micro_batch_size_per_gpu"), ADVISE_STANDING_NO_EFFECT);
	CHECK_STR(words, "is not read with dynamic batches: use_dynamic_bsz is True (the command line)");
	CHECK_EQ(standing("verl", ACTOR "megatron.tensor_model_parallel_size"), ADVISE_STANDING_NO_EFFECT);
	CHECK_STR(words, "of Megatron only: strategy is fsdp (default of verl 0.9.1, the newest read)");
	CHECK_EQ(standing("verl", ROLLOUT "gpu_memory_utilization"), ADVISE_STANDING_OPEN);
	CHECK_STR(words, "");
	CHECK_EQ(standing("verl", ACTOR "megatron.grad_offload"), ADVISE_STANDING_ABSENT);
	CHECK_EQ(standing("trl", "GRPOConfig.beta"), ADVISE_STANDING_ABSENT);
	end_run();
	begin_run("");
	add_frame(1, "/v/trl/trainer/grpo_trainer.py", 1);
	choose(NULL);
	CHECK_EQ(standing("trl", "SFTConfig.packing"), ADVISE_STANDING_ABSENT);
	CHECK_EQ(standing("trl", "GRPOConfig.max_completion_length"), ADVISE_STANDING_OPEN);
	end_run();
}

/* ---- pasting ----------------------------------------------------------------------------------------------------- */

/* All "KEY=VALUE" of --set: the text to paste. */
static void check_paste(const char *const *set, size_t count, const char *wanted)
{
	struct advise_change change[8];
	size_t i;
	char *text;

	config->settings = 0;
	for (i = 0; i < count; i++) {
		CHECK_EQ(advise_config_pair(config, set[i], ADVISE_SET), 0);
		CHECK_EQ(config->settings, i + 1);
		change[i].knob = config->setting[i].knob;
		change[i].value = config->setting[i].value;
	}
	text = advise_paste(config, change, count);
	CHECK_STR(text, wanted);
	free(text);
}

#define PASTE(wanted, ...)                                        \
	do {                                                      \
		static const char *const set[] = { __VA_ARGS__ }; \
		check_paste(set, MT_ARRAY_SIZE(set), wanted);     \
	} while (0)

TEST(overrides_are_pasted)
{
	begin("verl");
	PASTE("actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192\n"
	      "actor_rollout_ref.actor.fsdp_config.param_offload=True\n"
	      "++actor_rollout_ref.rollout.engine_kwargs.vllm.max_logprobs=1\n"
	      "'actor_rollout_ref.rollout.cudagraph_capture_sizes=[1, 2]'\n"
	      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n",
	      "ppo_max_token_len_per_gpu=8_192", "actor.fsdp_config.param_offload=1",
	      "actor_rollout_ref.rollout.engine_kwargs.vllm.max_logprobs=1", "cudagraph_capture_sizes=[1, 2]",
	      "expandable_segments=on");
	end_run();
}

TEST(paths_of_configurations_are_pasted_on_a_line)
{
	begin("areal");
	PASTE("actor: {mb_spec: {max_tokens_per_mb: 4096}}\nsglang: {mem_fraction_static: 0.6}\n"
	      "actor: {backend: \"fsdp:d8\"}\nactor: {gradient_checkpointing: true}\n",
	      "actor.mb_spec.max_tokens_per_mb=4096", "sglang.mem_fraction_static=0.6", "actor.backend=fsdp:d8",
	      "actor.gradient_checkpointing=true");
	PASTE("WeightUpdateMeta(weight_chunked_mem_mb=512)\n", "weight_chunked_mem_mb=512");
	end_run();
	begin("deepspeed");
	PASTE("{\"zero_optimization\": {\"stage\": 3}}\n"
	      "{\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}}\n",
	      "zero_optimization.stage=3", "zero_optimization.offload_optimizer.device=cpu");
	end_run();
}

TEST(flags_are_pasted)
{
	begin("slime");
	PASTE("--max-tokens-per-gpu 4096\n--recompute-loss-function\n# leave out --colocate\n--recompute-granularity full\n"
	      "--sglang-cuda-graph-bs-decode '[1, 2]'\n--recompute-method uniform\n--recompute-num-layers 1\n",
	      "max-tokens-per-gpu=4096", "recompute_loss_function=true", "colocate=false", "recompute-granularity=full",
	      "cuda_graph_bs_decode=[1, 2]");
	end_run();
	begin("openrlhf");
	PASTE("--train.max_tokens_per_gpu 8192\n--vllm.enable_sleep\n", "train.max_tokens_per_gpu=8192",
	      "vllm.enable_sleep=1");
	end_run();
	begin("vllm");
	PASTE("--gpu-memory-utilization 0.5\n--enforce-eager\n", "gpu_memory_utilization=0.5", "enforce_eager=true");
	end_run();
}

TEST(arguments_are_pasted)
{
	begin_run("");
	add_frame(1, "/v/trl/trainer/grpo_trainer.py", 1);
	choose(NULL);
	PASTE("GRPOConfig(max_completion_length=512)\nGRPOConfig(vllm_mode=\"colocate\")\n"
	      "GRPOConfig(per_device_train_batch_size=2)\nGRPOConfig(bf16=None)\n",
	      "max_completion_length=512", "vllm_mode=colocate", "per_device_train_batch_size=2", "bf16=null");
	end_run();
	begin("transformers");
	PASTE("TrainingArguments(gradient_checkpointing=True)\nTrainingArguments(optim=\"adamw_8bit\")\n"
	      "FullyShardedDataParallel(limit_all_gathers=True)\n",
	      "gradient_checkpointing=true", "optim=adamw_8bit", "limit_all_gathers=yes");
	end_run();
}

TEST(the_allocators_words_stay_together)
{
	begin("pytorch");
	CHECK_EQ(advise_config_command_line(config, "env PYTORCH_ALLOC_CONF=max_split_size_mb:128,backend:native,"
						    "expandable_segments:False python x.py"),
		 0);
	PASTE("PYTORCH_ALLOC_CONF=max_split_size_mb:128,backend:native,expandable_segments:True\n",
	      "expandable_segments=true");
	end_run();
}

TEST(an_engine_that_nobody_hands_keys_to_is_told_by_itself)
{
	begin("openrlhf");
	PASTE("# for vllm itself\n--max-num-seqs 64\n", "max_num_seqs=64");
	end_run();
}

TEST_MAIN()
