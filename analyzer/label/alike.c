#include "alike.h"

#include <stdlib.h>
#include "base/tuple.h"
#include "memtrace/error.h"

/* A hash table with the first node of each kind. At most half of its slots are used. */
struct first_nodes {
	uint32_t *slot; /* number of the node; 0: the slot is free */
	uint32_t mask;
};

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
	uint64_t hash = (parent | (uint64_t)frame << 32) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32);
}

/* Returns the slot of the node's kind: its frame, and the kind of its parent. */
static uint32_t *find_kind(const struct first_nodes *first, const struct mt_defs *defs, const uint32_t *plain,
			   const struct mt_node *node)
{
	uint32_t at = hash_of(plain[node->parent], node->frame) & first->mask;
	const struct mt_node *other;

	for (; first->slot[at]; at = (at + 1) & first->mask) {
		other = mt_defs_node(defs, first->slot[at]);
		if (other->frame == node->frame && plain[other->parent] == plain[node->parent])
			break;
	}
	return &first->slot[at];
}

static void fill_plain(uint32_t *plain, struct first_nodes *first, const struct mt_defs *defs, uint32_t nodes)
{
	uint32_t *slot, i;

	for (i = 1; i <= nodes; i++) {
		slot = find_kind(first, defs, plain, mt_defs_node(defs, i));
		if (!*slot)
			*slot = i;
		plain[i] = *slot;
	}
}

int alike_stacks(uint32_t **plain, const struct mt_defs *defs)
{
	uint32_t nodes = mt_defs_count(defs, MT_DEF_NODE);
	struct first_nodes first = { .mask = 15 };

	*plain = NULL;
	if (!mt_defs_count(defs, MT_DEF_NEST))
		return 0;
	while (first.mask / 2 < nodes)
		first.mask = first.mask * 2 + 1;
	*plain = calloc((size_t)nodes + 1, sizeof(**plain));
	first.slot = calloc((size_t)first.mask + 1, sizeof(*first.slot));
	if (*plain && first.slot)
		fill_plain(*plain, &first, defs, nodes);
	else
		free(*plain), *plain = NULL;
	free(first.slot);
	return *plain ? 0 : -MT_E_MEMORY;
}

static struct tuple key_of(const struct site_key *key, uint32_t plain)
{
	return (struct tuple){ { key->process, key->device, plain,
				 (uint64_t)key->phase | (uint64_t)key->category << 8 | (uint64_t)key->driver << 16 |
					 (uint64_t)key->size << 24 } };
}

/* Sets first[number] to the first site with the same key. Returns 0 or -MT_E_MEMORY. */
static int find_first(struct tuple_table *table, uint32_t *first, uint32_t number, const struct site_key *key,
		      const uint32_t *plain)
{
	struct tuple tuple = key_of(key, plain[key->stack]);

	first[number] = tuple_find(table, &tuple);
	if (first[number] != TUPLE_NONE)
		return 0;
	first[number] = number;
	return tuple_add(table, &tuple, number);
}

int alike_sites(uint32_t **first, const struct attribution *attribution, const uint32_t *const *plain)
{
	struct tuple_table table = { 0 };
	const struct site_key *key;
	uint32_t i;
	int error;

	*first = calloc(attribution->sites, sizeof(**first));
	error = *first ? 0 : -MT_E_MEMORY;
	for (i = 1; i < attribution->sites && !error; i++) {
		key = &attribution->site[i].key;
		(*first)[i] = i;
		if (plain[key->process])
			error = find_first(&table, *first, i, key, plain[key->process]);
	}
	tuple_release(&table);
	if (error) {
		free(*first);
		*first = NULL;
	}
	return error;
}
