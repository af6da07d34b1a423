/*
 * engine.h - an inference engine that shares its GPU with training: awake, it holds a copy of the weights and a large
 * KV cache; asleep, it holds addresses only.
 */
#ifndef ENGINE_H
#define ENGINE_H

void engine_start(void); /* once; the weights are awake afterwards */
void engine_wake_weights(void);
void engine_wake_cache(void);
void engine_generate(void); /* answers to one batch of prompts; everything must be awake */
void engine_sleep(void);

#endif
