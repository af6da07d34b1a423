/*
 * test_advise_rows.c - every row of formats/knobs that has a method: reached by a run with the bytes that it speaks of, and
 * silent on one without them.
 *
 * The runs are made of places of every process, category and phase, in all stacks that a row can tell apart. The
 * bytes that a row speaks of are said here once more, from the words of formats/knobs/README.md, so that the model is
 * held against them: exactly those places may change. Rows of which nobody can tell what they move are listed below,
 * with why; the list is held to be exact.
 */
#include <math.h>
#include "advise_sites.h"

/* ---- rows of which nothing can be told ---------------------------------------------------------------------------- */

/* Why. The words are for who reads the list. X(NAME, words) */
#define REASON_LIST(X)                                                                                      \
	X(FILLING, "how full micro-batches would be: the lengths of the samples are in no recording")       \
	X(LISTED, "a list of names or sizes: which of the bytes are theirs no site tells")                  \
	X(OBJECT, "a word or an object that stands for many settings at once")                              \
	X(GPUS, "a part by the number of GPUs, which no recording tells")                                   \
	X(BACKEND, "another program with other memory, of which nothing was recorded")                      \
	X(KERNEL, "other code: what it keeps, only its sources know")                                       \
	X(COUNTED, "a number of pieces that are there beside one whose size is not known")                  \
	X(COPIES, "a copy that was not there, or not in such parts")                                        \
	X(OVERLAP, "whether a second buffer is there at the peak depends on the network")                   \
	X(AGAIN, "a call that is made twice: which of its pieces are of calls that are over no site tells") \
	X(RESULT, "a number of the loss: whether a tensor is made for it follows from other settings")

enum reason {
#define REASON_ENUM(name, words) BECAUSE_##name,
	REASON_LIST(REASON_ENUM)
#undef REASON_ENUM
};

static const struct {
	const char *framework, *key;
	enum reason reason;
} untold[] = {
	{ "verl", "actor_rollout_ref.actor.fsdp_config.use_no_sync_for_gradient_accumulation", BECAUSE_GPUS },
	{ "verl", "actor_rollout_ref.actor.fsdp_config.reshard_after_forward", BECAUSE_GPUS },
	{ "verl", "actor_rollout_ref.actor.optim.use_precision_aware_optimizer", BECAUSE_GPUS },
	{ "verl", "actor_rollout_ref.actor.megatron.sequence_parallel", BECAUSE_GPUS },
	{ "verl", "actor_rollout_ref.model.tiled_mlp.enabled", BECAUSE_GPUS },
	{ "areal", "actor.fsdp.memory_efficient_load", BECAUSE_GPUS },
	{ "areal", "actor.megatron.use_precision_aware_optimizer", BECAUSE_GPUS },
	{ "openrlhf", "--ds.zero_stage", BECAUSE_GPUS },
	{ "skyrl", "trainer.policy.fsdp_config.reshard_after_forward", BECAUSE_GPUS },
	{ "nemo-rl", "policy.dtensor_cfg.sequence_parallel", BECAUSE_GPUS },
	{ "nemo-rl", "policy.megatron_cfg.optimizer.use_precision_aware_optimizer", BECAUSE_GPUS },
	{ "deepspeed", "zero_optimization.stage", BECAUSE_GPUS },
	{ "deepspeed", "activation_checkpointing.partition_activations", BECAUSE_GPUS },
	{ "megatron", "--use-precision-aware-optimizer", BECAUSE_GPUS },
	{ "megatron", "--use-distributed-optimizer", BECAUSE_GPUS },
	{ "megatron", "--accumulate-allreduce-grads-in-fp32", BECAUSE_GPUS },
	{ "megatron", "--sequence-parallel", BECAUSE_GPUS },
	{ "pytorch", "fully_shard(reshard_after_forward)", BECAUSE_GPUS },
	{ "verl", "actor_rollout_ref.actor.use_dynamic_bsz", BECAUSE_FILLING },
	{ "verl", "trainer.balance_batch", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.actor.entropy_coeff", BECAUSE_RESULT },
	{ "verl", "actor_rollout_ref.actor.megatron.dynamic_context_parallel", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.model.fused_kernel_options.impl_backend", BECAUSE_KERNEL },
	{ "verl", "actor_rollout_ref.model.use_remove_padding", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.actor.entropy_checkpointing", BECAUSE_AGAIN },
	{ "verl", "critic.use_dynamic_bsz", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.ref.log_prob_use_dynamic_bsz", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.rollout.enable_chunked_prefill", BECAUSE_FILLING },
	{ "verl", "actor_rollout_ref.rollout.cudagraph_capture_sizes", BECAUSE_LISTED },
	{ "areal", "actor.backend", BECAUSE_BACKEND },
	{ "areal", "rollout.backend", BECAUSE_BACKEND },
	{ "areal", "actor.pad_to_maximum", BECAUSE_FILLING },
	{ "areal", "actor.fsdp.optim_step_prefetch_layers", BECAUSE_COUNTED },
	{ "areal", "actor.enable_tree_training", BECAUSE_FILLING },
	{ "areal", "sglang.cuda_graph_max_bs", BECAUSE_LISTED },
	{ "areal", "actor.weight_update_mode", BECAUSE_BACKEND },
	{ "areal", "sglang.cuda_graph_bs", BECAUSE_LISTED },
	{ "relax", "--use-dynamic-batch-size", BECAUSE_FILLING },
	{ "relax", "--balance-data", BECAUSE_FILLING },
	{ "relax", "--sglang-cuda-graph-max-bs-decode", BECAUSE_LISTED },
	{ "relax", "--qkv-format", BECAUSE_FILLING },
	{ "relax", "--only-train-params-name-list", BECAUSE_LISTED },
	{ "relax", "--freeze-params-name-list", BECAUSE_LISTED },
	{ "slime", "--use-dynamic-batch-size", BECAUSE_FILLING },
	{ "slime", "--balance-data", BECAUSE_FILLING },
	{ "slime", "--recompute-loss-function", BECAUSE_AGAIN },
	{ "relax", "--recompute-loss-function", BECAUSE_AGAIN },
	{ "slime", "--sglang-cuda-graph-max-bs-decode", BECAUSE_LISTED },
	{ "slime", "--balance-by-flops", BECAUSE_FILLING },
	{ "slime", "--only-train-params-name-list", BECAUSE_LISTED },
	{ "openrlhf", "--ds.zpg", BECAUSE_COPIES },
	{ "openrlhf", "--ds.packing_samples", BECAUSE_FILLING },
	{ "openrlhf", "--train.dynamic_batch_enable", BECAUSE_FILLING },
	{ "skyrl", "trainer.remove_microbatch_padding", BECAUSE_FILLING },
	{ "nemo-rl", "policy.dynamic_batching.enabled", BECAUSE_FILLING },
	{ "nemo-rl", "policy.sequence_packing.enabled", BECAUSE_FILLING },
	{ "nemo-rl", "teacher.dynamic_batching.enabled", BECAUSE_FILLING },
	{ "trl", "GRPOConfig.top_entropy_quantile", BECAUSE_RESULT },
	{ "trl", "SFTConfig.packing", BECAUSE_FILLING },
	{ "trl", "SFTConfig.padding_free", BECAUSE_FILLING },
	{ "trl", "DPOConfig.padding_free", BECAUSE_FILLING },
	{ "trl", "GRPOConfig.vllm_mode", BECAUSE_BACKEND },
	{ "transformers", "auto_find_batch_size", BECAUSE_FILLING },
	{ "transformers", "fsdp", BECAUSE_OBJECT },
	{ "transformers", "fsdp_config", BECAUSE_OBJECT },
	{ "transformers", "deepspeed", BECAUSE_OBJECT },
	{ "transformers", "train_sampling_strategy", BECAUSE_FILLING },
	{ "transformers", "gradient_checkpointing_kwargs", BECAUSE_KERNEL },
	{ "deepspeed", "zero_optimization.overlap_comm", BECAUSE_OVERLAP },
	{ "deepspeed", "zero_optimization.zero_hpz_partition_size", BECAUSE_COPIES },
	{ "megatron", "--offload-modules", BECAUSE_LISTED },
	{ "vllm", "max_cudagraph_capture_size", BECAUSE_LISTED },
	{ "vllm", "quantization", BECAUSE_KERNEL },
	{ "vllm", "cudagraph_capture_sizes", BECAUSE_LISTED },
	{ "sglang", "cuda_graph_max_bs_decode", BECAUSE_LISTED },
	{ "sglang", "cuda_graph_max_bs_prefill", BECAUSE_LISTED },
	{ "sglang", "cuda_graph_bs_decode", BECAUSE_LISTED },
	{ "pytorch", "checkpoint(use_reentrant)", BECAUSE_KERNEL },
	{ "pytorch", "FullyShardedDataParallel(sharding_strategy)", BECAUSE_OBJECT },
	{ "pytorch", "FullyShardedDataParallel(cpu_offload)", BECAUSE_OBJECT },
	{ "pytorch", "fully_shard(offload_policy)", BECAUSE_OBJECT },
};

/* ---- values ----------------------------------------------------------------------------------------------------------- */

struct values {
	const char *now, *to;
};

static struct values of_weights(const struct mt_knob *knob)
{
	struct values values = { knob->weigh[0].value, knob->weigh[0].value };
	uint32_t i, most = 0, least = UINT32_MAX;

	for (i = 0; i < knob->weighs; i++) {
		if (knob->weigh[i].weight > most) {
			most = knob->weigh[i].weight;
			values.now = knob->weigh[i].value;
		}
		if (knob->weigh[i].weight < least) {
			least = knob->weigh[i].weight;
			values.to = knob->weigh[i].value;
		}
	}
	return values;
}

/* A lower value of a number: by the unit, near to the value of the run below. */
static struct values of_lower(const struct mt_knob *knob)
{
	if (knob->of == MT_KNOB_OF_PADDING)
		return (struct values){ "512", "64" };
	switch (knob->measure) {
	case MT_KNOB_UNIT_TOKENS:
		return (struct values){ "4096", "1024" };
	case MT_KNOB_UNIT_SHARE:
		return (struct values){ "0.9", "0.5" };
	case MT_KNOB_UNIT_MIB:
		return (struct values){ "256", "64" };
	case MT_KNOB_UNIT_BYTES:
		return (struct values){ "256MiB", "64MiB" };
	case MT_KNOB_UNIT_ELEMENTS: /* elements of two bytes */
		return (struct values){ "134217728", "33554432" };
	default:
		return (struct values){ "4", "1" };
	}
}

static struct values of_higher(const struct mt_knob *knob)
{
	switch (knob->measure) {
	case MT_KNOB_UNIT_STAGE:
		return (struct values){ "0", "3" };
	case MT_KNOB_UNIT_SHARE:
		return (struct values){ "0", "1" };
	case MT_KNOB_UNIT_GIB:
		return (struct values){ "0", "4GiB" };
	default:
		return (struct values){ "1", "2" };
	}
}

static struct values of_choice(const struct mt_knob *knob)
{
	if (knob->weighs)
		return of_weights(knob);
	switch (knob->measure) {
	case MT_KNOB_UNIT_WORD:
		if (knob->turned_on)
			return (struct values){ "null", knob->turned_on };
		if (knob->leaves == MT_KNOB_LEAVES_BOUNDARIES)
			return (struct values){ "none", "full" };
		return (struct values){ "none", strstr(knob->name.key, ".device") ? "cpu" : "another" };
	case MT_KNOB_UNIT_SWITCH:
		return (struct values){ "false", "true" };
	case MT_KNOB_UNIT_NUMBER: /* a weight of something in the loss */
		return (struct values){ "0.01", "0" };
	case MT_KNOB_UNIT_TOKENS:
		return (struct values){ knob->leaves == MT_KNOB_LEAVES_PIECE ? "0" : "4096", "1024" };
	case MT_KNOB_UNIT_PARTS:
	case MT_KNOB_UNIT_GPUS:
		return (struct values){ "1", "8" };
	default:
		return (struct values){ "0", "16" };
	}
}

/* A change of the row that saves. */
static struct values values_of(const struct mt_knob *knob)
{
	switch (knob->saves) {
	case MT_KNOB_SAVES_ON:
		return (struct values){ "false", "true" };
	case MT_KNOB_SAVES_OFF:
		return knob->turned_off ? (struct values){ "on", knob->turned_off }
					: (struct values){ "true", "false" };
	case MT_KNOB_SAVES_HIGHER:
		return of_higher(knob);
	case MT_KNOB_SAVES_NONE: /* no value is proposed, and one that is given counts */
		return knob->measure == MT_KNOB_UNIT_GPUS ? of_higher(knob) : of_lower(knob);
	case MT_KNOB_SAVES_CHOOSE:
		return of_choice(knob);
	default:
		return of_lower(knob);
	}
}

/* ---- what a row speaks of ---------------------------------------------------------------------------------------------- */

/* README.md: the cache is an engine's, but where the trainer generates it is its own, too; graphs are whose work they interrupt. */
static uint32_t roles_of(uint32_t at)
{
	uint32_t roles = place_at[at].roles;

	if (site_at[at].category == MT_CATEGORY_GRAPHS && mt_phase_is_early(site_at[at].phase))
		return ROLE(ENGINE);
	return site_at[at].category == MT_CATEGORY_KV_CACHE ? roles | ROLE(ENGINE) : roles;
}

/* Memory between the phases of a step is said to be of the forward pass; weights are made before any phase. */
static uint32_t phases_of(const struct mt_knob *knob)
{
	if (knob->method == MT_KNOB_METHOD_SHARE ||
	    (knob->categories == CATEGORY(KV_CACHE) &&
	     (knob->method == MT_KNOB_METHOD_BUCKET || knob->method == MT_KNOB_METHOD_DIVIDED)) ||
	    knob->categories == CATEGORY(GRAPHS)) /* which stay, once they are captured */
		return ALL_PHASES;
	return knob->phases | (knob->phases & PHASE(FORWARD) ? PHASE(OTHER) : 0) |
	       (knob->method == MT_KNOB_METHOD_DIVIDED && knob->categories & CATEGORY(WEIGHTS) ? PHASE(INIT) : 0);
}

static int is_in_phase(const struct mt_knob *knob, uint32_t at)
{
	uint32_t born = 1u << site_at[at].phase | (site_at[at].held[MT_PHASE_BACKWARD] ? PHASE(FORWARD) : 0);

	return !(PASSING & 1u << site_at[at].category) || phases_of(knob) & born;
}

static int is_within(const struct mt_knob *knob, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < knob->withins; i++) /* "f >": however far outside */
		if (strchr(knob->within[i], '>') && place_at[at].stack == STACK_FAR)
			return 1;
	return !knob->withins || place_at[at].stack >= STACK_WORD;
}

/* Categories that go the way of the row's, by its method. */
static uint32_t goes_along(const struct mt_knob *knob, uint32_t at)
{
	const uint32_t computed = CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS);

	switch (knob->method) {
	case MT_KNOB_METHOD_TOKENS: /* all that a micro-batch makes */
		return knob->categories & PASSING ? CATEGORY(RECOMPUTED) | CATEGORY(WORKSPACE) | CATEGORY(OTHER) : 0;
	case MT_KNOB_METHOD_LOGITS: /* memory that is as large as they are */
		return place_at[at].shape == SHAPE_VOCABULARY && knob->categories & CATEGORY(LOGITS)
			       ? CATEGORY(ACTIVATIONS) | CATEGORY(WORKSPACE) | CATEGORY(OTHER)
			       : 0;
	case MT_KNOB_METHOD_DIVIDED:
		return (knob->categories & CATEGORY(ACTIVATIONS) ? CATEGORY(RECOMPUTED) : 0) |
		       (knob->weighs && knob->categories & CATEGORY(WEIGHTS) ? computed : 0) |
		       (knob->weighs && knob->categories & CATEGORY(OPTIMIZER_STATE) &&
					site_at[at].phase == MT_PHASE_OPTIMIZER
				? CATEGORY(WORKSPACE)
				: 0);
	default:
		return 0;
	}
}

/* Bytes of its category that a method cannot have meant: they may change or not. */
static int is_vague(const struct mt_knob *knob, uint32_t at)
{
	enum shape shape = place_at[at].shape;

	if (knob->categories == CATEGORY(KV_CACHE) && knob->method == MT_KNOB_METHOD_BUCKET)
		return 0;
	if (knob->method == MT_KNOB_METHOD_BUCKET)
		return shape != SHAPE_COMING;
	return shape == SHAPE_VOCABULARY;
}

#define BOTH (ROLE(TRAINER) | ROLE(ENGINE))

enum verdict { NOT_MEANT, MAY_CHANGE, MUST_CHANGE };

static enum verdict verdict_of(const struct mt_knob *knob, uint32_t at)
{
	uint32_t category = 1u << site_at[at].category;

	if (site_at[at].ignored)
		return NOT_MEANT;
	/* Memory that an engine has set aside, in one piece that nobody can tell from its cache. */
	if (knob->method == MT_KNOB_METHOD_SHARE && site_at[at].phase == MT_PHASE_ROLLOUT &&
	    category == CATEGORY(OTHER))
		return MUST_CHANGE;
	if (!(roles_of(at) & knob->processes) || !is_within(knob, at))
		return NOT_MEANT;
	/* A setting that parts trainer and engine takes the engine's memory away, if the trainer has the peak. */
	if ((knob->processes & BOTH) == BOTH && knob->method == MT_KNOB_METHOD_REMOVED &&
	    knob->measure == MT_KNOB_UNIT_SWITCH && !(roles_of(at) & ROLE(ENGINE)))
		return NOT_MEANT;
	/* An evaluation keeps the outputs of all its batches: of smaller ones there are more. */
	if (knob->method == MT_KNOB_METHOD_TOKENS && category == CATEGORY(EVALUATION) && site_at[at].largest == BUCKET)
		return NOT_MEANT;
	/* Memory set aside once for all answers does not follow their length; an evaluation's memory for one batch
	 * does. */
	if (knob->method == MT_KNOB_METHOD_TOKENS && !((PASSING | CATEGORY(EVALUATION)) & category) &&
	    place_at[at].shape != SHAPE_COMING)
		return NOT_MEANT;
	if (knob->categories & category && is_in_phase(knob, at))
		return is_vague(knob, at) ? MAY_CHANGE : MUST_CHANGE;
	return goes_along(knob, at) & category && (is_in_phase(knob, at) || knob->weighs) ? MAY_CHANGE : NOT_MEANT;
}

/* ---- one row ------------------------------------------------------------------------------------------------------------- */

static int complain(const struct mt_knob *knob, const char *what, uint32_t at)
{
	printf("# %s: %s", knob->name.key, what);
	if (at < SITES_MAX)
		printf(": %s of the %s, born in %s, process %lld, stack %d, shape %d",
		       mt_category_name(site_at[at].category),
		       mt_knob_process_word((enum mt_knob_process)(site_at[at].process - 1)),
		       mt_phase_name(site_at[at].phase), (long long)site_at[at].process, place_at[at].stack,
		       (int)place_at[at].shape);
	printf("\n");
	return 1;
}

static int is_lowered(const struct replay_effect *effect, const struct replay_site *site)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT && effect->used; phase++)
		if (site->held[phase] && effect->keep[phase] < 1)
			return 1;
	return 0;
}

static int is_touched(const struct replay_effect *effect, uint32_t phases)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases & 1u << phase && (effect->keep[phase] < 1 || effect->keep[phase] > 1))
			return 1;
	return 0;
}

static int check_site(const struct mt_knob *knob, const struct advise_scenario *scenario, uint32_t at)
{
	const struct replay_effect *lean = &scenario->lean.effect[at], *heavy = &scenario->heavy.effect[at];
	enum verdict verdict = verdict_of(knob, at);
	uint32_t elsewhere = PASSING & 1u << site_at[at].category ? 0 : ALL_PHASES & ~phases_of(knob), phase;

	if (verdict == MUST_CHANGE && !is_lowered(lean, &site_at[at]))
		return complain(knob, "does not lower", at);
	if (verdict == NOT_MEANT && (is_touched(lean, ALL_PHASES) || is_touched(heavy, ALL_PHASES)))
		return complain(knob, "changes what it does not speak of", at);
	if (elsewhere && (is_touched(lean, elsewhere) || is_touched(heavy, elsewhere)))
		return complain(knob, "changes in a phase of which it does not speak", at);
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (lean->keep[phase] > heavy->keep[phase])
			return complain(knob, "the scenario with the fewest bytes has more", at);
	return 0;
}

/* Beside the sites only gradients that wait for more micro-batches, where a budget makes more. */
static int has_extra(const double *extra, uint32_t phases)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases & 1u << phase && (extra[phase] > 0 || extra[phase] < 0))
			return 1;
	return 0;
}

static int check_reached(const struct mt_knob *knob, const struct advise_run *run,
			 const struct advise_scenario *scenario)
{
	int is_budget = knob->method == MT_KNOB_METHOD_TOKENS && knob->measure == MT_KNOB_UNIT_TOKENS &&
			knob->of == MT_KNOB_OF_MICRO_BATCH;
	uint32_t may_grow = is_budget ? knob->phases & (PHASE(FORWARD) | PHASE(BACKWARD)) : 0, i, meant = 0;

	if (has_extra(scenario->lean.extra, ALL_PHASES & ~may_grow))
		return complain(knob, "adds bytes", UINT32_MAX);
	for (i = 0; i < run->replay.sites; i++) {
		meant += verdict_of(knob, i) == MUST_CHANGE;
		if (check_site(knob, scenario, i))
			return 1;
	}
	return meant ? 0 : complain(knob, "speaks of nothing that can be", UINT32_MAX);
}

static int turn_it(struct advise_scenario *scenario, const struct advise_run *run, const struct mt_knob *knob,
		   const char *now, const char *to, enum advise_silence *silence)
{
	const struct advise_move move = { knob, now, to };

	CHECK_EQ(advise_scenario_init(scenario, run), 0);
	*silence = ADVISE_SILENT_NONE;
	return advise_model_move(scenario, run, config, &move, silence);
}

/* Runs without what the row speaks of. X(NAME, words) */
#define WITHOUT_LIST(X)                                       \
	X(CATEGORY, "bytes of other categories alone change") \
	X(ROLE, "bytes of other processes alone change")      \
	X(PHASE, "bytes of other phases alone change")        \
	X(FUNCTION, "bytes without its functions change")

enum without {
#define WITHOUT_ENUM(name, words) WITHOUT_##name,
	WITHOUT_LIST(WITHOUT_ENUM)
#undef WITHOUT_ENUM
		WITHOUTS
};

static const char *const without_words[] = {
#define WITHOUT_WORDS(name, words) words,
	WITHOUT_LIST(WITHOUT_WORDS)
#undef WITHOUT_WORDS
};

static int is_left(const struct mt_knob *knob, enum without without, uint32_t at)
{
	uint32_t category = 1u << site_at[at].category;

	if (verdict_of(knob, at) != NOT_MEANT)
		return 0;
	switch (without) {
	case WITHOUT_CATEGORY:
		return !(knob->categories & category);
	case WITHOUT_ROLE:
		return !(roles_of(at) & knob->processes);
	case WITHOUT_PHASE:
		return !is_in_phase(knob, at);
	default:
		return !is_within(knob, at);
	}
}

/* Every kind of a run has something in it, or the row has no such limit. */
static int may_be_empty(const struct mt_knob *knob, enum without without)
{
	return (without == WITHOUT_PHASE && !(knob->categories & PASSING)) ||
	       (without == WITHOUT_FUNCTION && !knob->withins);
}

static int check_silent(const struct mt_knob *knob, const struct values *values, enum without without)
{
	struct advise_scenario scenario;
	enum advise_silence silence;
	struct advise_run run;
	uint32_t i, left = 0;
	int done, bad = 0;

	make_run(&run, knob);
	for (i = 0; i < run.replay.sites; i++)
		if (is_left(knob, without, i)) {
			site_at[left] = site_at[i];
			place_at[left++] = place_at[i];
		}
	run.replay.sites = left;
	if (!left && may_be_empty(knob, without))
		return 0;
	CHECK(left);
	done = turn_it(&scenario, &run, knob, values->now, values->to, &silence);
	for (i = 0; i < left && !bad; i++)
		if (scenario.lean.effect[i].used || scenario.heavy.effect[i].used)
			bad = complain(knob, without_words[without], i);
	if (!bad && (has_extra(scenario.lean.extra, ALL_PHASES) || has_extra(scenario.heavy.extra, ALL_PHASES)))
		bad = complain(knob, "adds bytes to a run that has none of it", UINT32_MAX);
	if (!bad && (done || silence == ADVISE_SILENT_NONE))
		bad = complain(knob, without_words[without], UINT32_MAX);
	advise_scenario_release(&scenario);
	return bad;
}

/* ---- all rows ------------------------------------------------------------------------------------------------------------ */

static int is_untold(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(untold); i++)
		if (!strcmp(untold[i].framework, file->framework) && !strcmp(untold[i].key, knob->name.key))
			return 1;
	return 0;
}

static int has_method(const struct mt_knob *knob)
{
	return knob->method != MT_KNOB_METHOD_NONE && knob->method != MT_KNOB_METHOD_ALLOCATOR && !knob->instead;
}

static int check_values(const struct mt_knob_file *file, const struct mt_knob *knob, struct values values)
{
	struct advise_scenario scenario;
	enum advise_silence silence;
	struct advise_run run;
	int done, bad = 0, listed = is_untold(file, knob);

	make_run(&run, knob);
	done = turn_it(&scenario, &run, knob, values.now, values.to, &silence);
	if (done < 0)
		bad = complain(knob, "cannot have the value", UINT32_MAX);
	else if (listed && (done || silence != ADVISE_SILENT_NO_ESTIMATE))
		bad = complain(knob, "has an estimate now: strike it off the list", UINT32_MAX);
	else if (!listed && !done)
		bad = complain(knob, advise_silence_words(silence), UINT32_MAX);
	else if (!listed)
		bad = check_reached(knob, &run, &scenario);
	advise_scenario_release(&scenario);
	return bad;
}

/* As it is written in YAML, and as Python prints it. */
static int check_row(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	struct values values = values_of(knob);

	if (check_values(file, knob, values))
		return 1;
	/* A cache grows with a sample's lengths, not with a budget. */
	if (knob->method == MT_KNOB_METHOD_TOKENS && knob->measure == MT_KNOB_UNIT_TOKENS &&
	    knob->categories & CATEGORY(KV_CACHE) && knob->of == MT_KNOB_OF_MICRO_BATCH)
		return complain(knob, "is no budget of micro-batches", UINT32_MAX);
	if (knob->measure != MT_KNOB_UNIT_SWITCH)
		return 0;
	values.now = !strcmp(values.now, "true") ? "True" : "False";
	values.to = !strcmp(values.to, "true") ? "True" : "False";
	return check_values(file, knob, values);
}

/* All rows of all files; returns how many were looked at. */
static uint32_t for_rows(int (*check)(const struct mt_knob_file *file, const struct mt_knob *knob))
{
	const struct mt_knob_file *file;
	uint32_t i, k, files, rows = 0, bad = 0;
	char name[64];

	begin_run("");
	files = knobs->files;
	for (i = 0; i < files; i++) {
		if (i)
			begin_run("");
		file = &knobs->file[i];
		mt_copy_text(name, sizeof(name), file->framework);
		choose(name);
		for (k = 0; k < file->knobs; k++)
			if (has_method(&file->knob[k])) {
				if (check(file, &file->knob[k])) {
					printf("#   (%s)\n", file->name);
					bad++;
				}
				rows++;
			}
		end_run();
	}
	CHECK_EQ(bad, 0);
	return rows;
}

TEST(every_row_changes_exactly_the_bytes_that_it_speaks_of)
{
	CHECK(for_rows(check_row) > 300);
}

static int check_silences(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	struct values values = values_of(knob);
	enum without without;
	int bad = 0;

	(void)file;
	for (without = 0; without < WITHOUTS; without++)
		bad |= check_silent(knob, &values, without);
	return bad;
}

static uint32_t found;

static int count_untold(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	found += (uint32_t)is_untold(file, knob);
	return 0;
}

TEST(the_list_of_rows_without_an_estimate_names_rows)
{
	for_rows(count_untold);
	CHECK_EQ(found, MT_ARRAY_SIZE(untold));
}

TEST(a_row_is_silent_on_a_run_without_its_bytes)
{
	CHECK(for_rows(check_silences) > 300);
}

/* ---- ranges --------------------------------------------------------------------------------------------------------------- */

#define CHECK_NEAR(got, want, off) CHECK(fabs((got) - (want)) <= (off))

static struct advise_scenario changed;

/* The row of the chosen framework, or of what it builds on, from one value to another, on a run with all kinds of places. */
static void turn_row(struct advise_run *run, const char *key, const char *now, const char *to)
{
	enum advise_silence silence;

	CHECK_EQ(turn_it(&changed, run, knob_of(config->part[0].file->framework, key), now, to, &silence), 1);
}

/* The first place of the category in the phase that the change reached: what is left of it at most and at least. */
static double left_of(const struct advise_run *run, uint32_t category, uint32_t phase, int most)
{
	const struct replay_effect *effect = most ? changed.heavy.effect : changed.lean.effect;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (site_at[i].category == category && changed.lean.effect[i].used &&
		    changed.lean.effect[i].keep[phase] < 1)
			return (double)effect[i].keep[phase];
	return -1;
}

static void begin_row(struct advise_run *run, const char *framework, const char *key)
{
	begin_run("");
	choose(framework);
	make_run(run, knob_of(config->part[0].file->framework, key));
}

static void end_row(void)
{
	advise_scenario_release(&changed);
	end_run();
}

/* A weight completes a bucket and overfills it: here by a quarter. Another size may be met to the byte. */
TEST(a_bucket_of_another_size_need_not_be_overfilled)
{
	static const char key[] = "WeightUpdateMeta.weight_chunked_mem_mb";
	struct advise_run run;

	begin_row(&run, "areal", key);
	turn_row(&run, key, "192", "128");
	CHECK_NEAR(left_of(&run, MT_CATEGORY_WEIGHT_BUFFERS, MT_PHASE_WEIGHT_UPDATE, 0), 128.0 / 256, 1e-3);
	CHECK_NEAR(left_of(&run, MT_CATEGORY_WEIGHT_BUFFERS, MT_PHASE_WEIGHT_UPDATE, 1), 192.0 / 256, 1e-3);
	end_row();
}

TEST(a_loss_without_logits_has_the_heads_gradient_twice)
{
	static const char key[] = "actor_rollout_ref.model.use_fused_kernels";
	struct advise_run run;

	begin_row(&run, "verl", key);
	turn_row(&run, key, "false", "true");
	CHECK_NEAR(changed.lean.extra[MT_PHASE_BACKWARD], 0, 0.5);
	CHECK_NEAR(changed.heavy.extra[MT_PHASE_BACKWARD], (double)WORDS * 3584 * 2, 0.5);
	CHECK_NEAR(changed.heavy.extra[MT_PHASE_OPTIMIZER], 0, 0.5);
	end_row();
}

TEST_MAIN()
