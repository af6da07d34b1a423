/*
 * seen.h - which definitions are in the log already: a fixed set of 64-bit hashes, without locks.
 *
 * A key goes in only after its log record is finished, so whoever finds it may name it in an event. A full set
 * forgets nothing and learns nothing more. What cannot be learnt is better not written, for it would be written again
 * at every event; for a few definitions it does not matter, and readers accept it.
 */
#ifndef RECORDER_SEEN_H
#define RECORDER_SEEN_H

#include <stdatomic.h>
#include <stdint.h>

#define SEEN_ENTRIES (1u << 20) /* 8 MiB of address space; the log holds fewer stacks of usual depth */

struct seen {
	_Atomic uint64_t *entry; /* SEEN_ENTRIES of them; 0: empty */
};

int seen_init(struct seen *seen); /* 0 or -MT_E_MEMORY */
void seen_release(struct seen *seen);

/* `key` must not be 0. */
int seen_has(const struct seen *seen, uint64_t key);
void seen_add(struct seen *seen, uint64_t key);

/* 1: seen_add would keep a key that is not there yet. */
int seen_has_room(const struct seen *seen, uint64_t key);

/* What a key stands for: hashes of different things start differently. */
enum seen_kind { SEEN_CODE = 1, SEEN_MODULE, SEEN_STACK, SEEN_THREAD, SEEN_NEST };

static inline uint64_t seen_start(enum seen_kind kind)
{
	return (uint64_t)kind * 0xa0761d6478bd642full;
}

/* Mixes one more value into a hash. */
static inline uint64_t seen_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Ends a hash: spread well, and never 0. */
static inline uint64_t seen_finish(uint64_t hash)
{
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

#endif
