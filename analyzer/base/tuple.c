#include "tuple.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define FIRST_SLOTS 256u /* a power of two */

static uint64_t hash_of(const struct tuple *key)
{
	uint64_t hash = 0;
	int i;

	for (i = 0; i < 4; i++) {
		hash = (hash ^ key->at[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

/* Returns the slot of the key, or the free slot for it. */
static struct tuple_slot *slot_of(const struct tuple_table *table, const struct tuple *key)
{
	size_t mask = table->slots - 1, at = (size_t)hash_of(key) & mask;

	while (table->slot[at].value && memcmp(&table->slot[at].key, key, sizeof(*key)) != 0)
		at = (at + 1) & mask;
	return &table->slot[at];
}

static int grow(struct tuple_table *table)
{
	struct tuple_table larger = { .slots = table->slots ? table->slots * 2 : FIRST_SLOTS, .used = table->used };
	size_t i;

	larger.slot = calloc(larger.slots, sizeof(*larger.slot));
	if (!larger.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < table->slots; i++)
		if (table->slot[i].value)
			*slot_of(&larger, &table->slot[i].key) = table->slot[i];
	free(table->slot);
	*table = larger;
	return 0;
}

uint32_t tuple_find(const struct tuple_table *table, const struct tuple *key)
{
	return table->used ? slot_of(table, key)->value - 1 : TUPLE_NONE;
}

int tuple_add(struct tuple_table *table, const struct tuple *key, uint32_t value)
{
	if (table->used * 2 >= table->slots && grow(table))
		return -MT_E_MEMORY;
	*slot_of(table, key) = (struct tuple_slot){ .key = *key, .value = value + 1 };
	table->used++;
	return 0;
}

void tuple_release(struct tuple_table *table)
{
	free(table->slot);
	memset(table, 0, sizeof(*table));
}

uint64_t tuple_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}
