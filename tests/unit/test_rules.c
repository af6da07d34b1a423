/* test_rules.c - what the built-in rules say of real stacks and names, and how bad rule files are refused. */
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "rules/rules.h"
#include "stack_builder.h"

#define LIB "/usr/lib/python3/dist-packages/torch/"
#define MAIN "<module> /home/me/train.py\nmain /home/me/train.py\n"
#define CALL_113 "Module._call_impl " LIB "nn/modules/module.py\n"
#define CALL_2 "_wrapped_call_impl " LIB "nn/modules/module.py\n_call_impl " LIB "nn/modules/module.py\n"
#define BACKWARD "Tensor.backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
#define STEP_113                                                                                      \
	"_LRScheduler.__init__.<locals>.with_counter.<locals>.wrapper " LIB "optim/lr_scheduler.py\n" \
	"Optimizer._hook_for_profile.<locals>.profile_hook_step.<locals>.wrapper " LIB "optim/optimizer.py\n"

static struct mt_rules *rules;
static struct mt_defs *defs;

static void setup(void)
{
	char message[512] = "";

	if (mt_rules_new(&rules, message, sizeof(message)))
		printf("# %s\n", message);
	CHECK(rules != NULL);
	defs = mt_defs_new();
	CHECK(defs != NULL);
}

static void teardown(void)
{
	mt_defs_free(defs);
	mt_rules_free(rules);
}

/* The label of one allocation with that stack on the main thread, after something else than init has run. */
static struct mt_label label_of(const char *stack)
{
	struct mt_tracker *tracker = mt_tracker_new(rules, defs);
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .addr = 1, .size = 1 };
	struct mt_label label;

	CHECK(tracker != NULL);
	event.thread = make_thread(defs, 1, "python", MT_THREAD_MAIN);
	event.stack = make_stack(defs, "forward /x.py\n");
	mt_tracker_event(tracker, &event, 1, &label);
	CHECK_EQ(label.phase, MT_PHASE_FORWARD);
	event.stack = make_stack(defs, stack);
	mt_tracker_event(tracker, &event, 1, &label);
	mt_tracker_free(tracker);
	return label;
}

#define CHECK_LABEL(stack, phase_, role_, part_, category_)              \
	do {                                                             \
		struct mt_label label_ = label_of(stack);                \
		CHECK_STR(mt_phase_name(label_.phase), phase_);          \
		CHECK_STR(mt_role_name(label_.role), role_);             \
		CHECK_EQ(label_.part, MT_PART_##part_);                  \
		CHECK_STR(mt_category_name(label_.category), category_); \
	} while (0)

/* Stacks as CPU training with PyTorch 1.13 and Python 3.11 shows them. */
TEST(torch_1_13_training)
{
	setup();
	CHECK_LABEL(MAIN "Net.__init__ /home/me/train.py\nLinear.__init__ " LIB "nn/modules/linear.py\n", "init",
		    "init", NONE, "weights");
	CHECK_LABEL(MAIN "Net.__init__ /home/me/train.py\nLinear.__init__ " LIB "nn/modules/linear.py\n"
			 "Linear.reset_parameters " LIB "nn/modules/linear.py\nuniform_ " LIB "nn/init.py\n",
		    "init", "init", NONE, "weights");
	CHECK_LABEL(MAIN "Module.load_state_dict " LIB "nn/modules/module.py\n"
			 "Module.load_state_dict.<locals>.load " LIB "nn/modules/module.py\n"
			 "Module._load_from_state_dict " LIB "nn/modules/module.py\n",
		    "init", "init", NONE, "weights");
	CHECK_LABEL(MAIN CALL_113 "Net.forward /home/me/train.py\n" CALL_113 "Linear.forward " LIB
				  "nn/modules/linear.py\n",
		    "forward", "none", FORWARD, "activations");
	CHECK_LABEL(MAIN CALL_113 "Net.forward /home/me/train.py\nrelu " LIB "nn/functional.py\n", "forward", "none",
		    FORWARD, "activations");
	CHECK_LABEL(MAIN "cross_entropy " LIB "nn/functional.py\n", "forward", "none", FORWARD, "logits and log-probs");
	CHECK_LABEL(MAIN BACKWARD, "backward", "none", BACKWARD, "gradients");
	CHECK_LABEL(MAIN BACKWARD "BackwardCFunction.apply " LIB
				  "autograd/function.py\nSq.backward /home/me/train.py\n",
		    "backward", "none", BACKWARD, "gradients");
	CHECK_LABEL(MAIN "clip_grad_norm_ " LIB "nn/utils/clip_grad.py\nnorm " LIB "functional.py\n", "optimizer",
		    "none", OPTIMIZER, "workspace");
	CHECK_LABEL(MAIN STEP_113 "_DecoratorContextManager.__call__.<locals>.decorate_context " LIB
				  "autograd/grad_mode.py\n"
				  "AdamW.step " LIB "optim/adamw.py\nadamw " LIB "optim/adamw.py\n"
				  "_single_tensor_adamw " LIB "optim/adamw.py\n",
		    "optimizer", "none", OPTIMIZER, "workspace");
	CHECK_LABEL(MAIN "_LRScheduler.step " LIB "optim/lr_scheduler.py\n", "other", "none", NONE, "other");
	CHECK_LABEL(MAIN "Optimizer.zero_grad " LIB "optim/optimizer.py\n", "other", "none", NONE, "other");
	teardown();
}

/* As a CUDA training with PyTorch 2.6 and Python 3.13 shows them: plain names, a home-made optimizer and loss. */
TEST(torch_2_training)
{
	setup();
	CHECK_LABEL(MAIN CALL_2 "forward /home/me/transformer.py\n" CALL_2 "forward /home/me/transformer.py\n"
				"rearrange /v/einops/einops.py\nreshape /v/einops/_backends.py\n",
		    "forward", "none", FORWARD, "activations");
	CHECK_LABEL(MAIN "wrapper " LIB "optim/optimizer.py\nstep /home/me/optimizers.py\n", "optimizer", "none",
		    OPTIMIZER, "optimizer state");
	CHECK_LABEL(MAIN "cross_entropy_loss /home/me/training.py\n", "forward", "none", FORWARD,
		    "logits and log-probs");
	CHECK_LABEL(MAIN "backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
			 "_make_grads " LIB "autograd/__init__.py\n",
		    "backward", "none", BACKWARD, "gradients");
	CHECK_LABEL(MAIN "backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
			 "_engine_run_backward " LIB "autograd/graph.py\n",
		    "backward", "none", BACKWARD, "gradients");
	CHECK_LABEL(MAIN "empty_cache " LIB "cuda/memory.py\n", "other", "none", NONE, "other");
	CHECK_LABEL(MAIN "Module._apply " LIB "nn/modules/module.py\n", "init", "init", NONE, "weights");
	CHECK_LABEL(MAIN CALL_2 "forward /home/me/m.py\nfoo " LIB "distributed/fsdp/_fully_shard/_fsdp_param_group.py\n"
				"unshard " LIB "distributed/fsdp/_fully_shard/_fsdp_param_group.py\n",
		    "forward", "none", FORWARD, "fsdp gather buffers");
	CHECK_LABEL(MAIN CALL_2 "forward /home/me/m.py\nlogprobs_from_logits_v2 /home/me/f.py\n", "forward", "none",
		    FORWARD, "logits and log-probs");
	teardown();
}

/* Logits are a forward's: what a backward inside allocates is not. */
TEST(another_part_clears_the_category)
{
	setup();
	CHECK_LABEL(MAIN "linear_cross_entropy /k.py\n", "other", "none", NONE, "logits and log-probs");
	CHECK_LABEL(MAIN "linear_cross_entropy /k.py\n" BACKWARD, "backward", "none", BACKWARD, "gradients");
	teardown();
}

TEST(checkpoint_recomputes)
{
	setup();
	/* The first time through is an ordinary forward. */
	CHECK_LABEL(MAIN CALL_113 "Net.forward /home/me/train.py\ncheckpoint " LIB "utils/checkpoint.py\n"
				  "CheckpointFunction.forward " LIB
				  "utils/checkpoint.py\nNet.block /home/me/train.py\n" CALL_113 "Linear.forward " LIB
				  "nn/modules/linear.py\n",
		    "forward", "none", FORWARD, "activations");
	CHECK_LABEL(MAIN BACKWARD "BackwardCFunction.apply " LIB "autograd/function.py\n"
				  "CheckpointFunction.backward " LIB
				  "utils/checkpoint.py\nNet.block /home/me/train.py\n" CALL_113 "Linear.forward " LIB
				  "nn/modules/linear.py\n",
		    "backward", "none", RECOMPUTE, "recomputed activations");
	/* The backward of the recomputed part is a backward again. */
	CHECK_LABEL(MAIN BACKWARD "BackwardCFunction.apply " LIB "autograd/function.py\n"
				  "CheckpointFunction.backward " LIB "utils/checkpoint.py\nbackward " LIB
				  "autograd/__init__.py\n",
		    "backward", "none", BACKWARD, "gradients");
	CHECK_LABEL(MAIN BACKWARD "_checkpoint_without_reentrant.<locals>.unpack " LIB "utils/checkpoint.py\n"
				  "Net.block /home/me/train.py\nrelu " LIB "nn/functional.py\n",
		    "backward", "none", RECOMPUTE, "recomputed activations");
	/* On an autograd thread the stack begins here. */
	CHECK_LABEL("unpack_hook " LIB "utils/checkpoint.py\nrecompute_fn " LIB "utils/checkpoint.py\n" CALL_2
		    "forward /home/me/m.py\n",
		    "backward", "none", RECOMPUTE, "recomputed activations");
	teardown();
}

TEST(what_no_rule_knows_is_other)
{
	setup();
	CHECK_LABEL(MAIN "_BaseDataLoaderIter.__next__ " LIB "utils/data/dataloader.py\n"
			 "collate_tensor_fn " LIB "utils/data/_utils/collate.py\n",
		    "other", "none", NONE, "other");
	CHECK_LABEL("!/usr/lib/libc.so.6\n", "other", "none", NONE, "other");
	CHECK_LABEL("!/opt/nccl/libnccl.so.2\n", "other", "none", NONE, "nccl");
	teardown();
}

#define CHECK_MARK(name, role_, part_)                                    \
	do {                                                              \
		struct rule_match match_ = rules_match_mark(rules, name); \
		if (match_.value[RULE_SAYS_ROLE] != MT_ROLE_##role_ ||    \
		    match_.value[RULE_SAYS_PART] != MT_PART_##part_)      \
			printf("# mark %s\n", name);                      \
		CHECK_EQ(match_.value[RULE_SAYS_ROLE], MT_ROLE_##role_);  \
		CHECK_EQ(match_.value[RULE_SAYS_PART], MT_PART_##part_);  \
	} while (0)

TEST(names_of_marks)
{
	setup();
	CHECK_MARK("rollout", ROLLOUT, NONE);
	CHECK_MARK("train.rollout", ROLLOUT, NONE);
	CHECK_MARK("gen", ROLLOUT, NONE);
	CHECK_MARK("vLLM.generate", ROLLOUT, NONE);
	CHECK_MARK("generate_sequences", ROLLOUT, NONE);
	CHECK_MARK("general", NONE, NONE);
	CHECK_MARK("old_log_prob", LOGPROB, NONE);
	CHECK_MARK("log_probs", LOGPROB, NONE);
	CHECK_MARK("actor_compute_log_prob", LOGPROB, NONE);
	CHECK_MARK("ppo_actor.compute_logp", LOGPROB, NONE);
	CHECK_MARK("logprob", LOGPROB, NONE);
	CHECK_MARK("recompute_logp", LOGPROB, NONE);
	CHECK_MARK("ref", REF, NONE);
	CHECK_MARK("RefPolicy", REF, NONE);
	CHECK_MARK("ref_log_probs", REF, NONE);
	CHECK_MARK("dtensor_policy_worker_v2/get_reference_policy_logprobs", REF, NONE);
	CHECK_MARK("prefetch", NONE, NONE);
	CHECK_MARK("values", CRITIC, NONE);
	CHECK_MARK("update_critic", CRITIC, NONE);
	CHECK_MARK("Forward", NONE, FORWARD);
	CHECK_MARK("fwd", NONE, FORWARD);
	CHECK_MARK("fsdp_engine.backward", NONE, BACKWARD);
	CHECK_MARK("bwd pass", NONE, BACKWARD);
	CHECK_MARK("forward-backward", NONE, NONE);
	CHECK_MARK("optimizer", NONE, OPTIMIZER);
	CHECK_MARK("optim step", NONE, OPTIMIZER);
	CHECK_MARK("Optimizer.step#AdamW.step", NONE, OPTIMIZER);
	CHECK_MARK("Optimizer.zero_grad#AdamW.zero_grad", NONE, NONE);
	CHECK_MARK("weight-update", WEIGHT_UPDATE, NONE);
	CHECK_MARK("update_weights", WEIGHT_UPDATE, NONE);
	CHECK_MARK("weight sync", WEIGHT_UPDATE, NONE);
	CHECK_MARK("fsdp_engine.update_weights_from_disk", WEIGHT_UPDATE, NONE);
	CHECK_MARK("init", INIT, NONE);
	CHECK_MARK("load_model", INIT, NONE);
	CHECK_MARK("actor_update", TRAIN, NONE);
	CHECK_MARK("update_actor", TRAIN, NONE);
	CHECK_MARK("aten::addmm, seq = 3", NONE, NONE);
	teardown();
}

TEST(names_of_steps)
{
	static const char *const are[] = { "step",       "step 3",          "Step #12",
					   "train_step", "training step 4", "iteration 7",
					   "iter",       "ProfilerStep#3",  "global_step_10" };
	static const char *const are_not[] = {
		"Optimizer.step#AdamW.step", "steps", "optimizer step", "stepwise", "mini_batch3", "step 3 of 7", ""
	};
	size_t i;

	setup();
	for (i = 0; i < MT_ARRAY_SIZE(are); i++)
		CHECK(rules_match_mark(rules, are[i]).value[RULE_SAYS_STEP] == 1);
	for (i = 0; i < MT_ARRAY_SIZE(are_not); i++)
		CHECK(rules_match_mark(rules, are_not[i]).value[RULE_SAYS_STEP] == 0);
	teardown();
}

TEST(words_of_the_lists)
{
	uint32_t i;

	for (i = 0; i < MT_PHASE_COUNT; i++)
		CHECK_EQ(mt_phase_parse(mt_phase_name(i), strlen(mt_phase_name(i))), i);
	CHECK_EQ(mt_phase_parse("weight-update!", 13), MT_PHASE_WEIGHT_UPDATE);
	CHECK_EQ(mt_phase_parse("weight", 6), -1);
	CHECK_EQ(mt_phase_parse("Init", 4), -1);
	CHECK_STR(mt_phase_name(200), "other");
	CHECK_STR(mt_role_name(200), "other");
	CHECK_STR(mt_category_name(200), "other");
	CHECK_STR(mt_category_name(MT_CATEGORY_KV_CACHE), "kv cache");
}

/* ---- files of users ---- */

static const char *write_file(const char *text, size_t size)
{
	static char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/mine.yaml", test_dir());
	file = fopen(path, "w");
	CHECK(file && fwrite(text, 1, size, file) == size && !fclose(file));
	return path;
}

/* Loads `text`; the message, and the file's name cut off it. */
static int load(const char *text, size_t size, char *message, size_t message_size)
{
	char full[1024] = "";
	const char *path = write_file(text, size);
	int error = mt_rules_load(rules, path, full, sizeof(full));

	if (error)
		CHECK(!strncmp(full, path, strlen(path)));
	snprintf(message, message_size, "%s", error ? full + strlen(path) : "");
	unlink(path);
	return error;
}

TEST(own_rules_go_first)
{
	static const char text[] = "rules:\n"
				   "  - {function: '^my_rollout$', file: 'loop\\.py$', role: rollout}\n"
				   "  - function: '^sync$'\n    role: weight-update\n    outer: false\n"
				   "  - function: '^relu$'\n    category: workspace\n"
				   "  - module: 'libmine\\.so$'\n    category: kv cache\n"
				   "categories:\n  rollout: kv cache\n";
	char message[512];

	setup();
	CHECK_EQ(load(text, strlen(text), message, sizeof(message)), 0);
	CHECK_LABEL(MAIN "Trainer.my_rollout /a/loop.py\n", "rollout", "rollout", NONE, "kv cache");
	CHECK_LABEL(MAIN "my_rollout /a/other.py\n", "other", "none", NONE, "other");
	/* The outermost role stays, parts are said inside it, an inner role that insists wins. */
	CHECK_LABEL(MAIN "my_rollout /a/loop.py\nLinear.__init__ " LIB "nn/modules/linear.py\n" CALL_2, "rollout",
		    "rollout", FORWARD, "activations");
	CHECK_LABEL(MAIN "my_rollout /a/loop.py\nsync /a/loop.py\n", "weight-update", "weight-update", NONE,
		    "weight-update buffers");
	CHECK_LABEL(MAIN "relu " LIB "nn/functional.py\n", "forward", "none", FORWARD, "workspace");
	CHECK_LABEL(MAIN "!/x/libmine.so\n", "other", "none", NONE, "kv cache");
	teardown();
}

#define CHECK_REFUSED(text, want) check_refused(text, sizeof(text) - 1, want)

static void check_refused(const char *text, size_t size, const char *want)
{
	struct rule_file *before = rules->files;
	char message[512];

	CHECK_EQ(load(text, size, message, sizeof(message)), -MT_E_RULES);
	if (strncmp(message, want, strlen(want)))
		printf("# \"%s\" does not begin with \"%s\"\n", message, want);
	CHECK(!strncmp(message, want, strlen(want)));
	CHECK(rules->files == before);
}

TEST(bad_files_are_refused_with_their_line)
{
	setup();
	CHECK_REFUSED("", ":1: the file is empty");
	CHECK_REFUSED("- a\n- b\n", ":1: a mapping");
	CHECK_REFUSED("rules: 7\n", ":1: a list of rules");
	CHECK_REFUSED("rules:\n  - 7\n", ":2: a rule must be a mapping");
	CHECK_REFUSED("rules:\n  - [a]\n", ":2: a rule must be a mapping");
	CHECK_REFUSED("rulez: []\n", ":1: unknown key \"rulez\"");
	CHECK_REFUSED("rules:\n  - function: x\n    roel: init\n", ":3: a rule has no key \"roel\"");
	CHECK_REFUSED("rules:\n  - function: x\n    role: trian\n", ":3: unknown role \"trian\" (one of: none, init,");
	CHECK_REFUSED("rules:\n  - function: x\n    category: kvcache\n", ":3: unknown category");
	CHECK_REFUSED("rules:\n  - function: x\n    step: maybe\n",
		      ":3: unknown step \"maybe\" (one of: false, true, opens, closes, clears, renews)");
	CHECK_REFUSED("rules:\n  - mark: x\n    step: opens\n", ":2: the step of a mark is true or false");
	CHECK_REFUSED("rules:\n  - function: x\n    part: forward\n    over: train\n",
		      ":2: outer, over and span are about a role");
	CHECK_REFUSED("rules:\n  - function: '('\n    role: init\n", ":2: function is not a regular expression");
	CHECK_REFUSED("rules:\n  - function: 'a{1,9}'\n    role: init\n", ":2: counted repetition");
	CHECK_REFUSED("rules:\n  - function: '[ab]{2}'\n    role: init\n", ":2: counted repetition");
	CHECK_REFUSED("rules:\n  - function: [x]\n    role: init\n", ":2: function must be a pattern");
	CHECK_REFUSED("rules:\n  - function: ''\n    role: init\n", ":2: function must be a pattern");
	CHECK_REFUSED("rules:\n  - function: \"a\\0b\"\n    role: init\n", ":2: function must be a pattern");
	CHECK_REFUSED("rules:\n  - function: x\n    role: {a: b}\n", ":3: role must be a word");
	CHECK_REFUSED("rules:\n  - role: init\n", ":2: the rule matches nothing");
	CHECK_REFUSED("rules:\n  - function: x\n", ":2: the rule says nothing");
	CHECK_REFUSED("rules:\n  - mark: x\n    file: y\n    role: init\n", ":2: mark cannot stand beside");
	CHECK_REFUSED("rules:\n  - function: x\n    function: y\n    role: init\n", ":3: \"function\" is there twice");
	CHECK_REFUSED("rules:\n  - function: x\n    role: init\n    until: a 1\n    until: a 2\n",
		      ":5: \"until\" is there twice");
	CHECK_REFUSED("rules:\n  - function: x\n    until: a 1\n", ":2: the rule says nothing");
	CHECK_REFUSED("rules:\n  - function: x\n    role: init\n    until: [a, b]\n", ":4: until must be a text");
	CHECK_REFUSED("releases: {a: 1}\nrules: []\n", ":1: releases must be a text");
	CHECK_REFUSED("rules: []\ncategories:\n  forwards: weights\n", ":3: \"forwards\" is neither");
	CHECK_REFUSED("rules: []\n---\nrules: []\n", ":2: the end of the file");
	CHECK_REFUSED("rules:\n  - {function: x, role: init\n", ":");
	CHECK_REFUSED("rules:\n\t- x\n", ":2: not YAML");
	CHECK_REFUSED("\x7f"
		      "ELF\x02\x01\x01\x00\x00\x00",
		      ":1: not YAML");
	CHECK_REFUSED("\xff\xfe\x00\x01\x02", ":1: ");
	teardown();
}

/* They are for people and for tests/rules. */
TEST(where_a_rule_was_read_changes_nothing)
{
	const char *text = "releases: a 1.0, b 2.0\nread: a repository\nrules:\n  - function: read_somewhere\n"
			   "    until: a 1.0\n    read: 'a file'\n    role: rollout\n";
	char message[512];

	setup();
	CHECK_EQ(load(text, strlen(text), message, sizeof(message)), 0);
	CHECK_LABEL("read_somewhere /x.py\n", "rollout", "rollout", NONE, "other");
	teardown();
}

TEST(bombs_are_refused)
{
	char *text = malloc(2 << 20), message[512];
	size_t size, i;

	setup();
	CHECK_REFUSED("a: &a [x, x]\nrules:\n  - *a\n", ":1: unknown key \"a\"");
	CHECK_REFUSED("rules:\n  - &r {function: x, role: init}\n  - *r\n", ":3: aliases are not allowed");
	/* Too deep. */
	memset(text, '[', 100000);
	memcpy(text, "rules: ", 7);
	CHECK_EQ(load(text, 100000, message, sizeof(message)), -MT_E_RULES);
	/* Too long. */
	memset(text, '#', 2 << 20);
	CHECK_EQ(load(text, 2 << 20, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, ":1: the file is larger than 1024 KiB");
	size = (size_t)snprintf(text, 2 << 20, "rules:\n  - role: init\n    function: '");
	memset(text + size, 'x', 4000);
	size += 4000;
	size += (size_t)snprintf(text + size, (2 << 20) - size, "'\n");
	CHECK_EQ(load(text, size, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, ":3: a text longer than 2048 bytes");
	/* Too many. */
	size = (size_t)snprintf(text, 2 << 20, "rules:\n");
	for (i = 0; i < 5000; i++)
		size += (size_t)snprintf(text + size, (2 << 20) - size, "- {function: x, role: init}\n");
	CHECK_EQ(load(text, size, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, ":4098: more than 4096 rules");
	free(text);
	teardown();
}

/* As many ways through a pattern as there may be take no more memory than one. */
TEST(repetition_of_repetition_takes_no_memory)
{
	static const char nested[] =
		"rules:\n  - mark: '((((((((((((((((((((a*)+)*)+)*)+)*)+)*)+)*)+)*)+)*)+)*)+)*)+)+'\n    role: init\n";
	char text[4096] = "rules:\n  - {function: '^a", message[512];
	size_t size = strlen(text);

	setup();
	memset(text + size, '+', 2000);
	memcpy(text + size + 2000, "$', role: init}\n", 17);
	test_limit_memory(256 << 20);
	CHECK_EQ(load(text, strlen(text), message, sizeof(message)), 0);
	CHECK_EQ(load(nested, strlen(nested), message, sizeof(message)), 0);
	CHECK_EQ(rules_match_mark(rules, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").value[RULE_SAYS_ROLE],
		 MT_ROLE_INIT);
	CHECK_LABEL(MAIN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa /x.py\n", "init", "init", NONE, "weights");
	teardown();
}

TEST(missing_file_is_a_system_error)
{
	char message[512];

	setup();
	CHECK_EQ(mt_rules_load(rules, "/nonexistent/rules.yaml", message, sizeof(message)), -MT_E_SYSTEM);
	CHECK(strstr(message, "/nonexistent/rules.yaml: No such file") != NULL);
	CHECK_EQ(mt_rules_load(rules, "/", message, sizeof(message)), -MT_E_SYSTEM);
	teardown();
}

TEST_MAIN()
