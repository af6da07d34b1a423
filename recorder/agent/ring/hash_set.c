/*
 * hash_set.c - open addressing in two tables, with at most HASH_SET_PROBES steps. An entry is filled once and never
 * changes. A key goes into the near table first, where all its places share a cache line. The far table spreads over 8
 * MiB, so each look-up there costs a cache miss and a TLB miss.
 */
#include "hash_set.h"

#include <stddef.h>
#include <sys/mman.h>
#include "guest_map.h"
#include "memtrace/error.h"

#define NEAR_PLACES 8u /* places for a key */
#define HASH_SET_PROBES (NEAR_PLACES + 64u)

static inline _Atomic uint64_t *place_of(const struct hash_set *set, uint64_t key, uint32_t probe)
{
	uint64_t near = key & (HASH_SET_NEAR - NEAR_PLACES);

	return &set->entry[probe < NEAR_PLACES ? near + probe : HASH_SET_NEAR + ((key + probe) & (set->entries - 1))];
}

static size_t bytes_of(uint32_t entries)
{
	return (HASH_SET_NEAR + (size_t)entries) * sizeof(uint64_t);
}

int hash_set_init(struct hash_set *set)
{
	set->entries = 2 * HASH_SET_ENTRIES;
	do {
		set->entries /= 2;
		set->entry = guest_map(bytes_of(set->entries), PROT_READ | PROT_WRITE);
	} while (!set->entry && set->entries > HASH_SET_ENTRIES_LEAST);
	atomic_store(&set->taken, 0);
	return set->entry ? 0 : -MT_E_MEMORY;
}

void hash_set_release(struct hash_set *set)
{
	if (set->entry)
		munmap(set->entry, bytes_of(set->entries));
	set->entry = NULL;
}

int hash_set_has(const struct hash_set *set, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < HASH_SET_PROBES; i++) {
		uint64_t entry = atomic_load_explicit(place_of(set, key, i), memory_order_acquire);

		if (entry == key)
			return 1;
		if (!entry)
			return 0;
	}
	return 0;
}

int hash_set_has_room(const struct hash_set *set, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < HASH_SET_PROBES; i++)
		if (!atomic_load_explicit(place_of(set, key, i), memory_order_relaxed))
			return 1;
	return 0;
}

void hash_set_add(struct hash_set *set, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < HASH_SET_PROBES; i++) {
		_Atomic uint64_t *entry = place_of(set, key, i);
		uint64_t old = 0;

		if (atomic_compare_exchange_strong(entry, &old, key)) {
			atomic_fetch_add_explicit(&set->taken, 1, memory_order_relaxed);
			return;
		}
		if (old == key)
			return;
	}
}

int hash_set_is_crowded(const struct hash_set *set)
{
	return atomic_load_explicit(&set->taken, memory_order_relaxed) >= set->entries / 4 * 3;
}
