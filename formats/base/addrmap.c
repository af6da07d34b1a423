#include "addrmap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include "memtrace/error.h"

#define ADDRMAP_FIRST 64u
/* Bytes of a table: two huge pages. A look-up in a larger table misses the TLB nearly always. */
#define ADDRMAP_HUGE (4u << 20)
#define ADDRMAP_PAGE (64u << 10) /* bytes: the largest page of any machine here; madvise wants a page's begin */
#define ADDRMAP_AHEAD 12u        /* slots whose values a walk prefetches, because values lie anywhere in memory */

static size_t home(const struct addrmap *map, uint64_t key)
{
	/* Addresses differ in the middle bits: multiply, then fold the good high half onto the low one. */
	key *= 0x9e3779b97f4a7c15ull;
	return (key ^ key >> 32) & (map->capacity - 1);
}

struct addrmap_slot *addrmap_probe(const struct addrmap *map, uint64_t key)
{
	size_t i = home(map, key);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

void addrmap_release(struct addrmap *map)
{
	free(map->slots);
	*map = (struct addrmap){ 0 };
}

/* A table spreads its keys over all of its memory, so huge pages waste none. */
static void ask_for_huge_pages(const struct addrmap *map)
{
	const uintptr_t mask = ADDRMAP_PAGE - 1;
	size_t bytes = map->capacity * sizeof(*map->slots);

	if (bytes >= ADDRMAP_HUGE)
		madvise((void *)(((uintptr_t)map->slots + mask) & ~mask), bytes - ADDRMAP_PAGE, MADV_HUGEPAGE);
}

int addrmap_grow(struct addrmap *map)
{
	struct addrmap larger = { .capacity = map->capacity ? map->capacity * 2 : ADDRMAP_FIRST, .used = map->used };
	size_t i;

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -MT_E_MEMORY;
	ask_for_huge_pages(&larger);
	for (i = 0; i < map->capacity; i++)
		if (map->slots[i].value)
			*addrmap_probe(&larger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

void *addrmap_put(struct addrmap *map, uint64_t key, void *value)
{
	struct addrmap_slot *slot = addrmap_probe(map, key);
	void *replaced = slot->value;

	map->used += !replaced;
	slot->key = key;
	slot->value = value;
	return replaced;
}

void *addrmap_remove(struct addrmap *map, uint64_t key)
{
	size_t mask = map->capacity - 1, hole, i;
	void *value;

	if (!map->used)
		return NULL;
	hole = (size_t)(addrmap_probe(map, key) - map->slots);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	/* Close the hole: pull back every follower that does not sit between the hole and itself at home. */
	for (i = (hole + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
		if (((i - home(map, map->slots[i].key)) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].value = NULL;
	map->used--;
	return value;
}

void *addrmap_next(const struct addrmap *map, size_t *cursor)
{
	while (*cursor < map->capacity) {
		void *value = map->slots[*cursor].value;

		if (*cursor + ADDRMAP_AHEAD < map->capacity)
			__builtin_prefetch(map->slots[*cursor + ADDRMAP_AHEAD].value);
		++*cursor;
		if (value)
			return value;
	}
	return NULL;
}
