/* engine.c - see engine.h. */
#include "engine.h"
#include "cuda_driver.h"
#include "gpu_memory.h"
#include "model.h"

enum { CACHE_TOKENS = 320 << 10 };            /* room in the KV cache */
enum { PROMPTS = 256, ANSWER_TOKENS = 8192 }; /* generated at a time */
enum { DECODING_STEPS = 64 };                 /* steps for the thousands there would be: they are all alike */

static struct pages weight[PARAMETERS];
static struct pages kv_cache[LAYERS];

/* Bytes of a layer's part of the cache, before they are scaled as everything is. */
static double layer_cache_bytes(double share)
{
	size_t free_bytes, total;
	double weights = 0;
	int i;

	if (!(share > 0))
		return 2.0 * KEY_VALUE * CACHE_TOKENS * BF16;
	for (i = 0; i < PARAMETERS; i++)
		weights += (double)weight[i].bytes;
	cuda_check(cu.MemGetInfo(&free_bytes, &total), "cuMemGetInfo");
	if (share * (double)total <= weights)
		return 0;
	return (share * (double)total - weights) / gpu_scale / LAYERS;
}

void engine_start(double share)
{
	double cache;
	int i;

	for (i = 0; i < PARAMETERS; i++)
		weight[i] = pages_reserve(parameter_elements(i), BF16);
	cache = layer_cache_bytes(share);
	for (i = 0; i < LAYERS; i++)
		kv_cache[i] = pages_reserve((uint64_t)cache, 1);
	engine_wake_weights();
}

void engine_wake_weights(void)
{
	pages_wake(weight, PARAMETERS);
}

void engine_wake_cache(void)
{
	pages_wake(kv_cache, LAYERS);
}

void engine_sleep(void)
{
	pages_sleep(kv_cache, LAYERS);
	pages_sleep(weight, PARAMETERS);
}

/* Logits of the next token of each answer, in fp32 for sampling. */
static void sample_tokens(void)
{
	struct tensor logits = tensor_new((uint64_t)PROMPTS * VOCABULARY, FP32);
	struct tensor sorted = tensor_new((uint64_t)PROMPTS * VOCABULARY, FP32);

	tensor_free(&sorted);
	tensor_free(&logits);
}

void engine_generate(void)
{
	void *answers = pinned_new((uint64_t)PROMPTS * ANSWER_TOKENS * sizeof(int));
	int i;

	for (i = 0; i < DECODING_STEPS; i++)
		sample_tokens();
	cuda_wait(); /* for the answers */
	pinned_free(answers);
}
