/*
 * engine.h - an inference engine that shares its GPU with training: awake, it holds a copy of the weights and a large
 * KV cache; asleep, it holds addresses only.
 */
#ifndef ENGINE_H
#define ENGINE_H

/*
 * Once; the weights are awake afterwards. `share` is that of the GPU's memory which weights and cache take together, as
 * SGLang's mem_fraction_static has it: the cache is what the weights leave, one page at least. 0: the cache has room for
 * 320 Ki tokens.
 */
void engine_start(double share);

void engine_wake_weights(void);
void engine_wake_cache(void);
void engine_generate(void); /* answers to one batch of prompts; everything must be awake */
void engine_sleep(void);

#endif
