/* test_advise_config.c - whose knobs a run has, what is set, what is to be set, and the text that sets it. */
#include "advise_kit.h"
#include "report/settings/advise_config_impl.h"

static void check_unknown(const char *key)
{
	struct advise_value now = advise_config_value(config, knob_of(config->part[0].file->framework, key));

	CHECK(!now.text);
}

static void check_warning(const char *warning)
{
	CHECK_EQ(config->warnings, 1);
	CHECK_STR(config->warning[0], warning);
}

static void read_yaml(const char *text)
{
	int error = advise_config_yaml(config, "conf/config.yaml", text, strlen(text));

	if (error)
		printf("# %s\n", config->message);
	CHECK_EQ(error, 0);
}

/* ---- whose knobs ------------------------------------------------------------------------------------------------- */

static const struct advise_part *part_of(const char *framework)
{
	uint32_t i;

	for (i = 0; i < config->parts; i++)
		if (!strcmp(config->part[i].file->framework, framework))
			return &config->part[i];
	return NULL;
}

TEST(the_framework_is_the_one_that_is_built_on_the_others)
{
	begin_run("python train.py");
	add_frame(1, "/opt/venv/lib/python3.12/site-packages/transformers/trainer.py", 50);
	add_frame(2, "/opt/venv/lib/python3.12/site-packages/trl/trainer/grpo_trainer.py", 5);
	add_frame(3, "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", 90);
	choose("auto");
	CHECK_STR(config->part[0].file->framework, "trl");
	CHECK_STR(config->part[0].trainer, "GRPOConfig");
	CHECK(part_of("transformers")->seen);
	CHECK(part_of("vllm")->seen);
	CHECK(!part_of("deepspeed")->seen);
	CHECK(part_of("pytorch") != NULL);
	CHECK(!part_of("megatron"));
	end_run();
}

TEST(a_folder_of_the_user_is_no_framework)
{
	begin_run("python /home/me/verl/train.py");
	add_frame(1, "/home/me/verl/train.py", 50);
	add_frame(2, "/home/me/relax/model.py", 5);
	add_frame(3, "/usr/lib/python3/dist-packages/transformers/models/llama/modeling_llama.py", 5);
	choose(NULL);
	CHECK_STR(config->part[0].file->framework, "pytorch");
	end_run();
}

TEST(the_command_names_a_framework_where_no_stack_does)
{
	begin_run("/usr/bin/python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo");
	choose(NULL);
	CHECK_STR(config->part[0].file->framework, "verl");
	end_run();
}

TEST(a_framework_can_be_named)
{
	begin("slime");
	CHECK_STR(config->part[0].file->framework, "slime");
	CHECK_EQ(config->parts, 4);
	CHECK_EQ(advise_config_framework(config, db, "slyme"), -MT_E_ARGUMENT);
	CHECK(strstr(config->message, "--framework slyme: no file of knobs is about it (one of: verl areal ") != NULL);
	end_run();
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

/* areal-project/AReaL examples/math/gsm8k_grpo.yaml, shortened. */
static const char areal_yaml[] = "experiment_name: gsm8k-grpo\n"
				 "enable_offload: false\n"
				 "tokenizer_path: ${actor.path}\n"
				 "rollout:\n"
				 "  backend: \"sglang:d4p1t1\"\n"
				 "  experiment_name: ${experiment_name}\n"
				 "  max_concurrent_rollouts: 256\n"
				 "  consumer_batch_size: ${train_dataset.batch_size}\n"
				 "gconfig:\n"
				 "  n_samples: 4\n"
				 "  min_new_tokens: 0\n"
				 "  max_new_tokens: ${train_dataset.max_length}\n"
				 "actor:\n"
				 "  backend: \"fsdp:d4p1t1\"\n"
				 "  path: Qwen/Qwen2.5-1.5B-Instruct\n"
				 "  gradient_checkpointing: true\n"
				 "  mb_spec:\n"
				 "    max_tokens_per_mb: 10240\n"
				 "  optimizer:\n"
				 "    type: adam\n"
				 "ref:\n"
				 "  mb_spec:\n"
				 "    max_tokens_per_mb: ${actor.mb_spec.max_tokens_per_mb}\n"
				 "critic: {mb_spec: {max_tokens_per_mb: '${..n_mbs}'}}\n"
				 "sglang:\n"
				 "  mem_fraction_static: 0.8\n"
				 "  context_length: ${oc.env:LENGTH}\n"
				 "  max_running_requests: ${oc.select:nowhere.at_all, 64}\n"
				 "  cuda_graph_bs: [1, 2, 4]\n"
				 "vllm:\n"
				 "  max_num_seqs: ${sglang.max_running_requests}\n"
				 "train_dataset:\n"
				 "  batch_size: 256\n"
				 "  max_length: 1024\n";

TEST(yaml_is_read_as_paths_and_pointers_are_unknown)
{
	begin("areal");
	read_yaml(areal_yaml);
	check_now("actor.backend", "fsdp:d4p1t1", "config.yaml:14");
	check_now("actor.mb_spec.max_tokens_per_mb", "10240", "config.yaml:18");
	check_unknown("ref.mb_spec.max_tokens_per_mb");
	check_unknown("gconfig.max_new_tokens");
	check_now("sglang.mem_fraction_static", "0.8", "config.yaml:26");
	check_unknown("sglang.max_running_requests");
	check_unknown("sglang.cuda_graph_bs");
	check_unknown("vllm.max_num_seqs");
	check_unknown("sglang.context_length");
	check_unknown("critic.mb_spec.max_tokens_per_mb");
	check_now("actor.dtype", "bfloat16", "default of areal 2026-08-22, the newest read");
	CHECK_EQ(config->warnings, 0);
	end_run();
}

/* NVIDIA-NeMo/RL examples/configs/grpo_math_8B.yaml, shortened; an alias is what real files have, too. */
TEST(values_of_other_files_are_not_known_and_that_is_said)
{
	begin("nemo-rl");
	read_yaml("defaults: \"grpo_math_1B.yaml\"\n"
		  "grpo:\n  max_num_steps: 1000000\n"
		  "policy:\n  train_micro_batch_size: &size 1\n  logprob_batch_size: *size\n"
		  "  dtensor_cfg:\n    enabled: true\n    activation_checkpointing: true\n"
		  "  max_total_sequence_length: 4096\n");
	check_warning(
		"conf/config.yaml:1: takes values from other files, which are not read (--now says what is set there)");
	check_now("policy.train_micro_batch_size", "1", "config.yaml:5");
	check_unknown("policy.logprob_batch_size");
	check_now("policy.dtensor_cfg.cpu_offload", "false", "default of nemo-rl 2026-08-22, the newest read");
	end_run();
}

TEST(json_is_a_configuration_too)
{
	begin("deepspeed");
	/* huggingface/transformers tests/deepspeed/ds_config_zero3.json, shortened */
	read_yaml("{\n \"fp16\": {\"enabled\": \"auto\"},\n \"zero_optimization\": {\n  \"stage\": 3,\n"
		  "  \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true},\n"
		  "  \"reduce_bucket_size\": \"auto\", \"stage3_max_live_parameters\": 1e9}\n}\n");
	check_now("zero_optimization.stage", "3", "config.yaml:4");
	check_now("zero_optimization.offload_optimizer.device", "cpu", "config.yaml:5");
	check_now("zero_optimization.stage3_max_live_parameters", "1e9", "config.yaml:6");
	CHECK_EQ(config->warnings, 0);
	end_run();
}

static void check_refused(const char *text, size_t size, const char *message)
{
	CHECK_EQ(advise_config_yaml(config, "x.yaml", text, size), -MT_E_RULES);
	CHECK_STR(config->message, message);
}

TEST(hostile_configurations_are_one_line)
{
	static char text[ADVISE_FILE_MAX + 2];
	size_t used = 0, i;

	begin("verl");
	memset(text, 'a', sizeof(text) - 1);
	check_refused(text, sizeof(text) - 1, "x.yaml: larger than a configuration may be (4 MiB)");
	for (i = 0; i < 100; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "{a: ");
	check_refused(text, used, "x.yaml:1: more than 64 lists and mappings in each other");
	for (used = i = 0; i <= ADVISE_SETTINGS_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "ppo_max_tokens_%zu: 1\n", i);
	check_refused(text, used, "x.yaml:65537: more than 65536 keys");
	check_refused("a: [1\n", 6, "x.yaml:2: not YAML: did not find expected ',' or ']'");
	check_refused("- a\n", 4, "x.yaml:1: a mapping is expected here");
	check_refused("", 0, "x.yaml:1: the file is empty");
	memset(text, '[', sizeof(text) - 1);
	memcpy(text, "a: ", 3);
	CHECK_EQ(advise_config_yaml(config, "x.yaml", text, 1 << 20), -MT_E_RULES);
	end_run();
}

TEST(long_texts_and_odd_keys_are_passed_over)
{
	static char text[8192];
	size_t used;

	begin("areal");
	used = (size_t)snprintf(text, sizeof(text), "prompt: '");
	memset(text + used, 'p', 4000);
	used += 4000;
	used += (size_t)snprintf(text + used, sizeof(text) - used, "'\n? [a, {b: c}]\n: [d]\nactor:\n  ");
	memset(text + used, 'k', 600);
	used += 600;
	snprintf(text + used, sizeof(text) - used, ": {x: 1}\n  mb_spec: {max_tokens_per_mb: 7}\n");
	read_yaml(text);
	check_now("actor.mb_spec.max_tokens_per_mb", "7", "config.yaml:6");
	end_run();
}

TEST(nothing_harmful_reaches_a_terminal)
{
	begin("verl");
	read_yaml("actor_rollout_ref: {actor: {use_dynamic_bsz: \"\\e[31mtrue\"}}\n");
	check_now(ACTOR "use_dynamic_bsz", "?[31mtrue", "config.yaml:1");
	CHECK_EQ(advise_config_pair(config, "a\033b=1", ADVISE_NOW), 0);
	CHECK(!strchr(config->warning[0], '\033'));
	end_run();
}

/* ---- command lines ----------------------------------------------------------------------------------------------- */

TEST(overrides_of_hydra_are_read)
{
	begin("verl");
	CHECK_EQ(advise_config_command_line(config, verl_command), 0);
	check_now(ACTOR "use_dynamic_bsz", "True", "the command line");
	check_now(ACTOR "ppo_max_token_len_per_gpu", "24000", "the command line");
	check_now("actor_rollout_ref.model.use_liger", "True", "the command line");
	check_now(ROLLOUT "gpu_memory_utilization", "0.6", "the command line");
	check_unknown(ROLLOUT "cudagraph_capture_sizes");
	check_now(ROLLOUT "engine_kwargs.vllm.kv_cache_dtype", "fp8", "the command line");
	check_now(ROLLOUT "max_model_len", "null", "the command line");
	check_now(ROLLOUT "n", "5", "the command line");
	CHECK_STR(advise_config_value(config, knob_of("vllm", "max_logprobs")).text, "5");
	CHECK_STR(advise_config_value(config, knob_of("vllm", "gpu_memory_utilization")).text, "0.6");
	CHECK_EQ(config->warnings, 0);
	end_run();
}

/* THUDM/slime scripts/run-qwen3-4B.sh, shortened. */
TEST(flags_are_read_with_those_that_are_handed_on)
{
	begin("slime");
	CHECK_EQ(advise_config_command_line(
			 config,
			 "python3 train.py --actor-num-nodes 1 --colocate --hf-checkpoint Qwen3-4B --balance-data "
			 "--rollout-max-response-len 8192 --tensor-model-parallel-size 2 --sequence-parallel "
			 "--context-parallel-size 2 --recompute-granularity full --recompute-modules core_attn mlp "
			 "--use-dynamic-batch-size --max-tokens-per-gpu 9216 --log-probs-chunk-size -1 --lr 1e-6 "
			 "--sglang-mem-fraction-static=0.7 --no-offload-train"),
		 0);
	check_now("--colocate", "true", "the command line");
	check_now("--max-tokens-per-gpu", "9216", "the command line");
	check_now("--log-probs-chunk-size", "-1", "the command line");
	check_now("--context-parallel-size", "2", "the command line");
	check_now("--sglang-mem-fraction-static", "0.7", "the command line");
	check_now("--offload-train", "false", "the command line");
	check_now("--recompute-loss-function", "false", "default of slime 2026-08-21, the newest read");
	CHECK_STR(advise_config_value(config, knob_of("megatron", "--recompute-modules")).text, "core_attn");
	CHECK_STR(advise_config_value(config, knob_of("megatron", "--context-parallel-size")).text, "2");
	CHECK_STR(advise_config_value(config, knob_of("sglang", "mem_fraction_static")).text, "0.7");
	CHECK_EQ(config->warnings, 0);
	end_run();
}

TEST(fields_are_read_as_flags_with_true_or_alone)
{
	begin_run("python -m trl.scripts.grpo --max_completion_length 256 --bf16 True --gradient_checkpointing "
		  "--per_device_train_batch_size 4 --use_vllm=False --beta 0.04");
	add_frame(1, "/venv/trl/trainer/grpo_trainer.py", 1);
	choose(NULL);
	CHECK_EQ(advise_config_command(config, db), 0);
	check_now("GRPOConfig.max_completion_length", "256", "the command line");
	check_now("GRPOConfig.bf16", "True", "the command line");
	check_now("GRPOConfig.gradient_checkpointing", "true", "the command line");
	check_now("GRPOConfig.use_vllm", "False", "the command line");
	CHECK_STR(advise_config_value(config, knob_of("transformers", "per_device_train_batch_size")).text, "4");
	end_run();
}

TEST(the_allocators_variable_is_read_where_it_stands)
{
	begin("pytorch");
	CHECK_EQ(advise_config_command_line(config,
					    "sh -c PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,backend:native,"
					    "roundup_power2_divisions:[256:1,512:2],expandable_segments:False python x.py"),
		 0);
	check_now("max_split_size_mb", "128", "PYTORCH_CUDA_ALLOC_CONF");
	check_now("expandable_segments", "False", "PYTORCH_CUDA_ALLOC_CONF");
	CHECK_STR(config->variable, "PYTORCH_CUDA_ALLOC_CONF");
	end_run();
}

TEST(a_command_line_that_was_cut_ends_before_its_last_word)
{
	static char command[4096];
	static const char tail[] = " data.max_prompt_length=512 data.max_response_length=102";

	memset(command, 'x', sizeof(command) - 1);
	memcpy(command, "python ", 7);
	memcpy(command + sizeof(command) - sizeof(tail), tail, sizeof(tail));
	begin_run(command);
	choose("verl");
	CHECK_EQ(advise_config_command(config, db), 0);
	check_now("data.max_prompt_length", "512", "the command line");
	check_now("data.max_response_length", "512", "default of verl 0.9.1, the newest read");
	check_warning("the command line in the trace ends after 4095 bytes: what follows is not known (--config or --now says "
		      "it)");
	end_run();
}

TEST(hostile_command_lines_do_no_harm)
{
	static char text[(1 << 20) + 100];
	static const char *const pieces[] = { "--",
					      "=",
					      "~",
					      "++",
					      "[",
					      "'",
					      "--no-",
					      "a=[",
					      "--x={",
					      "\033",
					      "PYTORCH_ALLOC_CONF=",
					      "--use_dynamic_bsz",
					      "\xff",
					      " ",
					      ":",
					      "," };
	size_t used = 0, number = 1;

	begin("verl");
	while (used + 32 < sizeof(text)) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 pieces[(number >> 33) % MT_ARRAY_SIZE(pieces)], number >> 62 ? "" : " ");
	}
	CHECK_EQ(advise_config_command_line(config, text), 0);
	end_run();
	begin("verl");
	memset(text, '[', sizeof(text) - 1);
	for (used = 0; used + 4 < sizeof(text); used += 4)
		memcpy(text + used, "a=[ ", 4);
	CHECK_EQ(advise_config_command_line(config, text), 0);
	end_run();
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static const char *found(const char *key)
{
	struct advise_match match = advise_match(config, key);

	return match.knob ? match.knob->name.key : match.several ? "several" : "none";
}

TEST(keys_come_in_many_spellings)
{
	begin("verl");
	CHECK_STR(found("actor_rollout_ref.actor.use_dynamic_bsz"), ACTOR "use_dynamic_bsz");
	CHECK_STR(found("use_dynamic_bsz"), ACTOR "use_dynamic_bsz");
	CHECK_STR(found("--use-dynamic-bsz"), ACTOR "use_dynamic_bsz");
	CHECK_STR(found("actor.use_dynamic_bsz"), ACTOR "use_dynamic_bsz");
	CHECK_STR(found("args.actor_rollout_ref.actor.use_dynamic_bsz"), ACTOR "use_dynamic_bsz");
	CHECK_STR(found("dynamic_bsz"), "none");
	CHECK_STR(found("ppo_max_token_len_per_gpu"), ACTOR "ppo_max_token_len_per_gpu"); /* the trainer's own */
	CHECK_STR(found("critic.ppo_max_token_len_per_gpu"), "critic.ppo_max_token_len_per_gpu");
	CHECK_STR(found("param_offload"), "several");
	CHECK_STR(found("critic.model.fsdp_config.param_offload"),
		  "critic.fsdp.param_offload"); /* its name of before */
	CHECK_STR(found(ROLLOUT "engine_kwargs.vllm.max_logprobs"), "max_logprobs");
	CHECK_STR(found("gpu_memory_utilization"), ROLLOUT "gpu_memory_utilization"); /* not vLLM's */
	CHECK_STR(found("sglang.cpu_offload_gb"), "cpu_offload_gb");
	CHECK_STR(found("limit_all_gathers"), "FullyShardedDataParallel(limit_all_gathers)");
	end_run();
	begin("trl");
	CHECK_STR(found("max_completion_length"), "GRPOConfig.max_completion_length");
	CHECK_STR(found("max_length"), "several"); /* several, for SFT and DPO: the trainer is unknown */
	CHECK_STR(found("training_args.max_completion_length"), "GRPOConfig.max_completion_length");
	end_run();
	begin_run("");
	add_frame(1, "/v/trl/trainer/sft_trainer.py", 1);
	choose(NULL);
	CHECK_STR(found("max_length"), "SFTConfig.max_length");
	CHECK_STR(found("max_seq_length"), "SFTConfig.max_length"); /* its name of before */
	end_run();
}

TEST(an_engines_key_is_set_by_the_key_that_the_framework_has_for_it)
{
	begin("trl");
	CHECK_EQ(advise_config_pair(config, "gpu_memory_utilization=0.2", ADVISE_SET), 0);
	CHECK_STR(config->setting[0].knob->name.key, "GRPOConfig.vllm_gpu_memory_utilization");
	end_run();
}

TEST(everyday_words_mean_something_else)
{
	begin("areal");
	read_yaml("type: sgd\nscheduler: {type: slurm}\n");
	check_now("actor.optimizer.type", "adam", "default of areal 2026-08-22, the newest read");
	CHECK_EQ(config->warnings, 0);
	CHECK_EQ(advise_config_pair(config, "type=sgd", ADVISE_NOW), 0);
	check_now("actor.optimizer.type", "sgd", "--now");
	end_run();
}

TEST(what_is_said_by_hand_goes_before_files_and_those_before_the_command)
{
	begin("verl");
	CHECK_EQ(advise_config_pair(config, "use_dynamic_bsz=False", ADVISE_NOW), 0);
	read_yaml("actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: true\n    ppo_mini_batch_size: 64\n");
	CHECK_EQ(advise_config_command_line(config, verl_command), 0);
	CHECK_EQ(advise_config_pair(config, "gpu-memory-utilization=0.4", ADVISE_SET), 0);
	check_now(ACTOR "use_dynamic_bsz", "False", "--now");
	check_now(ACTOR "ppo_mini_batch_size", "64", "config.yaml:4");
	check_now(ROLLOUT "gpu_memory_utilization", "0.6", "the command line");
	CHECK_STR(config->setting[config->settings - 1].value, "0.4");
	end_run();
}

/* ---- wrong keys -------------------------------------------------------------------------------------------------- */

TEST(a_key_given_by_hand_is_always_answered)
{
	begin("trl");
	CHECK_EQ(advise_config_pair(config, "zzz=1", ADVISE_NOW), 0);
	CHECK_EQ(advise_config_pair(config, "max_completion_lenght=1", ADVISE_NOW), 0);
	CHECK_EQ(config->settings, 0);
	CHECK_EQ(config->warnings, 2);
	CHECK_STR(config->warning[0], "--now: zzz: not a key of \"memana knobs trl\"");
	CHECK_STR(config->warning[1],
		  "--now: max_completion_lenght: not a key of \"memana knobs trl\" (did you mean max_completion_length?)");
	end_run();
}

TEST(a_change_of_an_unknown_key_has_no_answer)
{
	begin("trl");
	CHECK_EQ(advise_config_pair(config, "ppo_max_token_len_per_gpu=1", ADVISE_SET), -MT_E_ARGUMENT);
	CHECK_STR(config->message, "--set: ppo_max_token_len_per_gpu: not a key of \"memana knobs trl\"");
	end_run();
}

TEST(an_older_key_sets_what_took_its_place)
{
	begin("verl");
	read_yaml("critic: {model: {fsdp_config: {param_offload: true}}}\n");
	check_now("critic.fsdp.param_offload", "true", "config.yaml:1");
	end_run();
}

TEST_MAIN()
