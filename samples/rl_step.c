/*
 * rl_step.c - the memory of RL training, without the mathematics: what one GPU of eight holds and gives back while a
 * 7B model (the dimensions of Qwen2.5-7B) goes through the five phases of a step.
 *
 *     rl_step [--scale F] [--steps N] [--tokens N] [--bucket MIB] [--engine F] [--quiet]
 *
 *     rollout        the inference engine wakes its KV cache, generates, and sleeps
 *     log-probs      the old policy's opinion of what was generated: logits of the whole vocabulary
 *     forward        activations of every layer are kept for ...
 *     backward       ... the backward pass, which also makes the gradients
 *     optimizer      fp32 state appears at the first step and stays
 *     weight-update  the engine wakes its weights and gets the new ones, bucket by bucket
 *
 * It fits into 80 GiB; on a smaller GPU everything shrinks until it fits, unless --scale says by how much. The last
 * line is the program's own account of its memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine.h"
#include "gpu_memory.h"
#include "model.h"
#include "nvtx_client.h"

enum { GPUS = 8 };        /* share the optimizer state */
#define NEEDED_BYTES 76e9 /* at scale 1, with what the driver takes for itself */
#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* Lengths of the sequences of a step, in the order in which they are packed into micro-batches. */
static const uint64_t sequence_tokens[] = { 2048, 4096, 3072, 2048, 3072 };

enum { SEQUENCES = sizeof(sequence_tokens) / sizeof(sequence_tokens[0]) };

static uint64_t token_budget = 5120; /* tokens of a micro-batch, unless one sequence is longer */
static uint64_t bucket_bytes = GIB;  /* bytes of weights to the engine at once; the last weight may overfill it */

static void phase_begin(const char *name)
{
	gpu_account.phase = name;
	nvtx_push(name);
}

static void phase_end(void)
{
	nvtx_pop();
}

/* ---- The model ---- */

static struct tensor weight[PARAMETERS];
static struct tensor gradient[PARAMETERS];

static void load_weights(void)
{
	int i;

	for (i = 0; i < PARAMETERS; i++)
		weight[i] = tensor_new(parameter_elements(i), BF16);
}

/* ---- Rollout ---- */

static void rollout(void)
{
	phase_begin("rollout");
	engine_wake_weights();
	engine_wake_cache();
	engine_generate();
	engine_sleep();
	phase_end();
}

/* ---- One micro-batch on its way through the layers ---- */

struct layer_activations {
	struct tensor attention_input, query_key_value, attention_output, log_sum_exp;
	struct tensor ffn_input, gate_up, ffn_product;
};

struct micro_batch {
	uint64_t tokens;
	struct layer_activations layer[LAYERS];
	struct tensor last_hidden, logits, log_softmax;
};

static void attention_forward(struct layer_activations *a, uint64_t tokens)
{
	a->attention_input = tensor_new(tokens * HIDDEN, BF16);
	a->query_key_value = tensor_new(tokens * (HIDDEN + 2 * KEY_VALUE), BF16);
	a->attention_output = tensor_new(tokens * HIDDEN, BF16);
	a->log_sum_exp = tensor_new(tokens * HEADS, FP32);
}

static void ffn_forward(struct layer_activations *a, uint64_t tokens)
{
	a->ffn_input = tensor_new(tokens * HIDDEN, BF16);
	a->gate_up = tensor_new(tokens * 2 * FFN, BF16);
	a->ffn_product = tensor_new(tokens * FFN, BF16);
}

static void free_activations(struct layer_activations *a)
{
	struct tensor *const all[] = { &a->ffn_product,      &a->gate_up,         &a->ffn_input,      &a->log_sum_exp,
				       &a->attention_output, &a->query_key_value, &a->attention_input };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		tensor_free(all[i]);
}

/* Probabilities of every word of the vocabulary for every token: the largest tensors of all. */
static void compute_logits(struct micro_batch *m)
{
	m->last_hidden = tensor_new(m->tokens * HIDDEN, BF16);
	m->logits = tensor_new(m->tokens * VOCABULARY, FP32);
	m->log_softmax = tensor_new(m->tokens * VOCABULARY, FP32);
}

static void free_logits(struct micro_batch *m)
{
	tensor_free(&m->log_softmax);
	tensor_free(&m->logits);
	tensor_free(&m->last_hidden);
}

/* Without gradients a layer's activations go when the next layer has them. Returns what is kept: one number a token. */
static struct tensor log_probs(uint64_t tokens)
{
	struct micro_batch m = { .tokens = tokens };
	struct tensor result;
	int i;

	phase_begin("log-probs");
	for (i = 0; i < LAYERS; i++) {
		attention_forward(&m.layer[i], tokens);
		ffn_forward(&m.layer[i], tokens);
		free_activations(&m.layer[i]);
	}
	compute_logits(&m);
	result = tensor_new(tokens, FP32);
	free_logits(&m);
	phase_end();
	return result;
}

/*
 * The bug of this program, and there is one in many: hidden states are put on a list "for the metrics" and nobody ever
 * takes them off. Every step leaves some more behind.
 */
static uint64_t leaked_bytes;

static void keep_for_metrics(uint64_t tokens)
{
	static struct tensor *kept;
	static size_t count;

	kept = realloc(kept, (count + 1) * sizeof(*kept));
	if (!kept)
		exit(1);
	kept[count] = tensor_new(tokens * HIDDEN, BF16);
	leaked_bytes += kept[count++].bytes;
}

static void forward(struct micro_batch *m)
{
	int i;

	phase_begin("forward");
	for (i = 0; i < LAYERS; i++) {
		attention_forward(&m->layer[i], m->tokens);
		ffn_forward(&m->layer[i], m->tokens);
	}
	compute_logits(m);
	keep_for_metrics(m->tokens);
	phase_end();
}

/* Gradients of parameters are made by the first micro-batch and added to by the others. */
static void accumulate_gradient(int i)
{
	if (!gradient[i].address)
		gradient[i] = tensor_new(parameter_elements(i), BF16);
}

static void layer_backward(struct layer_activations *a, int layer, uint64_t tokens)
{
	struct tensor of_product = tensor_new(tokens * FFN, BF16);
	struct tensor of_gate_up = tensor_new(tokens * 2 * FFN, BF16);
	struct tensor of_query_key_value;
	int i;

	tensor_free(&of_product);
	tensor_free(&of_gate_up);
	of_query_key_value = tensor_new(tokens * (HIDDEN + 2 * KEY_VALUE), BF16);
	for (i = 0; i < PER_LAYER; i++)
		accumulate_gradient(1 + layer * PER_LAYER + i);
	tensor_free(&of_query_key_value);
	free_activations(a);
}

static void backward(struct micro_batch *m)
{
	struct tensor of_logits;
	int i;

	phase_begin("backward");
	of_logits = tensor_new(m->tokens * VOCABULARY, BF16);
	accumulate_gradient(PARAMETERS - 1);
	tensor_free(&of_logits);
	free_logits(m);
	for (i = LAYERS - 1; i >= 0; i--)
		layer_backward(&m->layer[i], i, m->tokens);
	accumulate_gradient(0);
	phase_end();
}

/* Lengths differ; the longest decides how much memory a step takes. Returns how many there are. */
static int pack(uint64_t *micro_batch)
{
	int i, count = 0;

	for (i = 0; i < SEQUENCES; i++) {
		if (count && micro_batch[count - 1] + sequence_tokens[i] <= token_budget)
			micro_batch[count - 1] += sequence_tokens[i];
		else
			micro_batch[count++] = sequence_tokens[i];
	}
	return count;
}

static void train_micro_batch(uint64_t tokens)
{
	struct micro_batch m = { .tokens = tokens };

	forward(&m);
	backward(&m);
	cuda_wait(); /* for the loss */
}

/* ---- Optimizer ---- */

static struct {
	struct tensor master, momentum, variance;
} state[PARAMETERS];

/* Adam in fp32, this GPU's share of it; made when the first gradients are there, kept for ever. */
static void create_optimizer_state(void)
{
	int i;

	for (i = 0; i < PARAMETERS; i++) {
		state[i].master = tensor_new(parameter_elements(i) / GPUS, FP32);
		state[i].momentum = tensor_new(parameter_elements(i) / GPUS, FP32);
		state[i].variance = tensor_new(parameter_elements(i) / GPUS, FP32);
	}
}

static void optimizer(void)
{
	struct tensor in_fp32;
	int i;

	phase_begin("optimizer");
	if (!state[0].master.address)
		create_optimizer_state();
	for (i = 0; i < PARAMETERS; i++) {
		in_fp32 = tensor_new(parameter_elements(i) / GPUS, FP32);
		tensor_free(&in_fp32);
		tensor_free(&gradient[i]);
	}
	cuda_wait(); /* for the norm of the gradients */
	phase_end();
}

/* ---- Weight update ---- */

static void weight_update(void)
{
	struct tensor bucket;
	uint64_t bytes = 0;
	int i;

	phase_begin("weight-update");
	engine_wake_weights();
	for (i = 0; i < PARAMETERS; i++) {
		bytes += parameter_elements(i) * BF16;
		if (bytes < bucket_bytes && i < PARAMETERS - 1)
			continue;
		bucket = buffer_new(bytes);
		buffer_free(&bucket);
		bytes = 0;
	}
	cuda_wait();
	phase_end();
}

/* ---- The loop ---- */

/* The program's code on the GPU: takes memory there that nobody asks for by size. */
static void load_kernels(void)
{
	static const char image[] = ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry step() { ret; }\n";
	struct cuda_module *module;
	struct cuda_function *step;

	cuda_check(cu.ModuleLoadData(&module, image), "cuModuleLoadData");
	cuda_check(cu.ModuleGetFunction(&step, module, "step"), "cuModuleGetFunction");
}

/* `share`: of the GPU's memory for the engine, 0: see engine_start. */
static void init(double share)
{
	phase_begin("init");
	load_weights();
	cuda_wait();
	load_kernels();
	cuda_wait();
	engine_start(share);
	phase_end();
}

static void train_step(int step)
{
	struct tensor old_log_probs[SEQUENCES];
	uint64_t micro_batch[SEQUENCES];
	int count = pack(micro_batch);
	char name[32];
	int i;

	gpu_account.step = step;
	snprintf(name, sizeof(name), "step %d", step);
	nvtx_push(name);
	rollout();
	for (i = 0; i < count; i++)
		old_log_probs[i] = log_probs(micro_batch[i]);
	for (i = 0; i < count; i++)
		train_micro_batch(micro_batch[i]);
	optimizer();
	weight_update();
	for (i = 0; i < count; i++)
		tensor_free(&old_log_probs[i]);
	nvtx_pop();
}

/* `text` as a number above 0. Anything else, or NULL for an argument that is missing, ends the program. */
static double number(const char *text)
{
	char *end = NULL;
	double value = text ? strtod(text, &end) : 0;

	if (value > 0 && value < 1e6 && !*end)
		return value;
	fprintf(stderr, "usage: rl_step [--scale F] [--steps N] [--tokens N] [--bucket MIB] [--engine F] [--quiet]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	int steps = 3, quiet = 0, i;
	double scale = 0, share = 0, bucket = 0;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--scale"))
			scale = number(argv[++i]);
		else if (!strcmp(argv[i], "--steps"))
			steps = (int)number(argv[++i]);
		else if (!strcmp(argv[i], "--tokens"))
			token_budget = (uint64_t)number(argv[++i]);
		else if (!strcmp(argv[i], "--bucket"))
			bucket = number(argv[++i]) * MIB;
		else if (!strcmp(argv[i], "--engine"))
			share = number(argv[++i]);
		else if (!strcmp(argv[i], "--quiet"))
			quiet = 1;
		else
			number(NULL);
	}
	setlinebuf(stdout);
	cuda_driver_load();
	gpu_scale = scale ? scale : gpu_scale_to_fit(NEEDED_BYTES);
	if (bucket > 0)
		bucket_bytes = (uint64_t)(bucket / gpu_scale); /* is scaled when it is taken */
	init(share);
	for (i = 1; i <= steps; i++) {
		train_step(i);
		if (!quiet)
			printf("step %d: %.1f GiB held\n", i, (double)gpu_account.bytes / GIB);
	}
	printf("rl_step: %d steps, %" PRIu64 " driver calls, peak %" PRIu64 " bytes (%.1f GiB) at step %d in %s, "
	       "%" PRIu64 " bytes leaked\n",
	       steps, gpu_account.calls, gpu_account.peak, (double)gpu_account.peak / GIB, gpu_account.peak_step,
	       gpu_account.peak_phase, leaked_bytes);
	return 0;
}
