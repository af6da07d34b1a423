/* stack_hash.h - a fast mix for what is hashed at every event. */
#ifndef RECORDER_STACK_HASH_H
#define RECORDER_STACK_HASH_H

#include <stdint.h>

/* All bits of `hash` and of two values go into all bits of the result: one multiplication for 16 bytes. */
static inline uint64_t stack_hash_two(uint64_t hash, uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ hash ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xa0761d6478bd642full);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
