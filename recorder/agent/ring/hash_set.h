/*
 * hash_set.h - the definitions that are in the log: a set of 64-bit hashes of fixed size, without locks.
 *
 * A key is added after its log record is finished, so a thread that finds the key may name it in an event. A full set
 * keeps its keys and takes no new one. A definition that cannot be added should not be written, because it would be
 * written again at each event. For a few definitions this does not matter, and readers accept it.
 */
#ifndef RECORDER_HASH_SET_H
#define RECORDER_HASH_SET_H

#include <stdatomic.h>
#include <stdint.h>

#define HASH_SET_ENTRIES \
	(1u              \
	 << 20) /* 8 MiB of address space, those for the first ones apart; the log holds fewer stacks of usual depth */
#define HASH_SET_NEAR (1u << 14)          /* entries of the near table */
#define HASH_SET_ENTRIES_LEAST (1u << 14) /* the least, under a limit */

struct hash_set {
	_Atomic uint64_t *entry; /* near table, then far table; 0: empty */
	uint32_t entries;        /* size of the far table, a power of two */
	_Atomic uint32_t taken;  /* number of entries with a key */
};

int hash_set_init(struct hash_set *set); /* 0 or -MT_E_MEMORY */
void hash_set_release(struct hash_set *set);

/* `key` must not be 0. */
int hash_set_has(const struct hash_set *set, uint64_t key);
void hash_set_add(struct hash_set *set, uint64_t key);

/* 1: hash_set_add can add this key. */
int hash_set_has_room(const struct hash_set *set, uint64_t key);

/* 1: three quarters of the set are taken. */
int hash_set_is_crowded(const struct hash_set *set);

/* Kinds of keys. Hashes of different kinds start differently. */
enum hash_kind { HASH_CODE = 1, HASH_MODULE, HASH_STACK, HASH_THREAD, HASH_NEST, HASH_INSTANCE, HASH_TOLD };

static inline uint64_t hash_start(enum hash_kind kind)
{
	return (uint64_t)kind * 0xa0761d6478bd642full;
}

/* Adds one more value to a hash. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Ends a hash: spread well, and never 0. */
static inline uint64_t hash_finish(uint64_t hash)
{
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

/* A fast hash, for each event. */

/* All bits of `hash` and of two values go into all bits of the result: one multiplication for 16 bytes. */
static inline uint64_t hash_two(uint64_t hash, uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ hash ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xa0761d6478bd642full);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
