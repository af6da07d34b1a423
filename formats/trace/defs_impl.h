/* defs_impl.h - the inside of struct mt_defs, for defs.c and defs_node.c. */
#ifndef FORMATS_DEFS_IMPL_H
#define FORMATS_DEFS_IMPL_H

#include "base/table.h"
#include "defs.h"

struct store {
	struct mt_table table;
	uint32_t *slot;   /* ids, 0: empty */
	uint64_t slots;   /* power of two, or 0 */
	uint32_t indexed; /* ids 1..indexed are in the slots */
};

/*
 * A node or a variant. Ids of both form one sequence, by order of definition; each has also a number of its kind in the
 * file. A node has its depth and nest, so no chain is followed for them.
 */
struct node_entry {
	struct mt_node node;
	uint32_t depth;
	uint32_t in;     /* nest: own or inherited */
	uint32_t plain;  /* variant: id of its node; 0: no variant */
	uint32_t number; /* number within its kind, from 1 */
};

struct mt_defs {
	struct store of[MT_DEF_END]; /* VARIANT: ids, by number */
	struct mt_table plain;       /* ids of nodes that are no variants, by number */
	struct text_block *blocks;
	size_t block_left; /* bytes at the end of the newest block */
	uint64_t text_bytes;
};

static inline int defs_has(const struct mt_defs *defs, enum mt_def kind, uint32_t id)
{
	return id <= defs->of[kind].table.count;
}

static inline uint32_t defs_count_of(const struct mt_defs *defs, enum mt_def kind)
{
	return kind > 0 && kind < MT_DEF_END ? defs->of[kind].table.count : 0;
}

static inline struct node_entry *defs_node_at(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_NODE].table, id);
}

/* The node of a variant; any other id is itself. */
static inline uint32_t defs_plain_of(const struct mt_defs *defs, uint32_t id)
{
	const struct node_entry *entry = defs_node_at(defs, id);

	return entry && entry->plain ? entry->plain : id;
}

/* defs_node.c: NODE and VARIANT. Are all ids inside the definition defined? */
int defs_knows_node(const struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition);

/* 0, -MT_E_LIMIT, -MT_E_MEMORY. */
int defs_append_node(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition);

/* Sets the nest of a node; only the first one counts. The node is interned with it from then on. */
void defs_nest_node(struct mt_defs *defs, const struct mt_nested *nested);

#endif
