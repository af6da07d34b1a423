/*
 * addrmap.h - hash map from a 64-bit key (address, handle) to a pointer. Open addressing, no tombstones.
 */
#ifndef FORMATS_ADDRMAP_H
#define FORMATS_ADDRMAP_H

#include <stddef.h>
#include <stdint.h>

struct addrmap_slot {
	uint64_t key;
	void *value; /* NULL: the slot is empty */
};

/* All zero is an empty map. */
struct addrmap {
	struct addrmap_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t used;
};

void addrmap_release(struct addrmap *map);

/* A larger table. 0 or -MT_E_MEMORY. */
int addrmap_grow(struct addrmap *map);

/* After 0 the next addrmap_put succeeds. -MT_E_MEMORY. */
static inline int addrmap_reserve(struct addrmap *map)
{
	return map->used + 1 <= map->capacity / 8 * 5 ? 0 : addrmap_grow(map);
}

/* Returns the slot of `key`, or the empty slot for it. The map must have a table. */
struct addrmap_slot *addrmap_probe(const struct addrmap *map, uint64_t key);

/* NULL: not there. */
static inline void *addrmap_find(const struct addrmap *map, uint64_t key)
{
	return map->used ? addrmap_probe(map, key)->value : NULL;
}

/* Call after addrmap_reserve, which makes room. Returns the value that `value` (not NULL) replaced, or NULL. */
void *addrmap_put(struct addrmap *map, uint64_t key, void *value);

/* Returns the removed value, or NULL. */
void *addrmap_remove(struct addrmap *map, uint64_t key);

/* Walks the values: start with *cursor 0; NULL at the end. The map must not change on the way. */
void *addrmap_next(const struct addrmap *map, size_t *cursor);

#endif
