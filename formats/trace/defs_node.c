/*
 * defs_node.c - nodes of stacks, and their variants: the same frames inside of other instances.
 *
 *     node 1 <── node 2 <── node 3         train.py, Linear.forward, linear
 *                  ▲          ▲
 *               variant 1 <── variant 2    in layers.0
 *               variant 3 <── variant 4    in layers.1
 *
 * mt_defs_node returns a variant as a node: the parent of variant 2 is variant 1.
 */
#include "defs_impl.h"
#include "memtrace/error.h"

const struct mt_node *mt_defs_node(const struct mt_defs *defs, uint32_t id)
{
	const struct node_entry *entry = defs_node_at(defs, id);

	return entry ? &entry->node : NULL;
}

int defs_knows_node(const struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition)
{
	const struct mt_variant *variant = &definition->variant;
	const struct node_entry *node, *parent;

	if (kind == MT_DEF_NODE)
		return defs_has(defs, MT_DEF_NODE, definition->node.parent) &&
		       defs_plain_of(defs, definition->node.parent) == definition->node.parent &&
		       defs_has(defs, MT_DEF_FRAME, definition->node.frame);
	node = defs_node_at(defs, variant->node);
	parent = defs_node_at(defs, variant->parent);
	if (!node || node->plain || !variant->nest || !defs_has(defs, MT_DEF_NEST, variant->nest))
		return 0;
	return !variant->parent || (parent && parent->plain && parent->plain == node->node.parent);
}

static void make_node(const struct mt_defs *defs, const struct mt_node *node, struct node_entry *entry)
{
	const struct node_entry *parent = defs_node_at(defs, node->parent);

	entry->node = (struct mt_node){ node->parent, node->frame, 0 };
	entry->depth = parent ? parent->depth + 1 : 1;
	entry->in = parent ? parent->in : 0;
	entry->number = defs->plain.count + 1;
}

static void make_variant(const struct mt_defs *defs, const struct mt_variant *variant, struct node_entry *entry)
{
	const struct node_entry *node = defs_node_at(defs, variant->node), *parent;

	entry->node = node->node;
	if (variant->parent)
		entry->node.parent = variant->parent;
	parent = defs_node_at(defs, entry->node.parent);
	entry->node.nest = parent && parent->in == variant->nest ? 0 : variant->nest;
	entry->depth = node->depth;
	entry->in = variant->nest;
	entry->plain = variant->node;
	entry->number = mt_defs_told(defs, MT_DEF_VARIANT) + 1;
}

int defs_append_node(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition)
{
	struct mt_table *all = &defs->of[MT_DEF_NODE].table,
			*own = kind == MT_DEF_NODE ? &defs->plain : &defs->of[MT_DEF_VARIANT].table;
	struct node_entry *entry;
	uint32_t *id;

	if (all->count >= MT_DEFS_MAX)
		return -MT_E_LIMIT;
	entry = mt_table_next(all);
	id = mt_table_next(own);
	if (!entry || !id)
		return -MT_E_MEMORY;
	if (kind == MT_DEF_NODE)
		make_node(defs, &definition->node, entry);
	else
		make_variant(defs, &definition->variant, entry);
	if (entry->depth > MT_STACK_DEPTH_MAX)
		return -MT_E_LIMIT;
	own->count++;
	*id = ++all->count;
	return 0;
}

void defs_nest_node(struct mt_defs *defs, const struct mt_nested *nested)
{
	struct node_entry *entry = defs_node_at(defs, nested->node);

	if (!entry->node.nest)
		entry->node.nest = entry->in = nested->nest;
}

/* ---- as they are in a file ---- */

uint32_t mt_defs_told(const struct mt_defs *defs, enum mt_def kind)
{
	return kind == MT_DEF_NODE ? defs->plain.count : defs_count_of(defs, kind);
}

struct mt_stack_told mt_defs_stack_told(const struct mt_defs *defs, uint32_t id)
{
	const struct node_entry *entry = defs_node_at(defs, id);

	if (!entry)
		return (struct mt_stack_told){ 0 };
	if (!entry->plain)
		return (struct mt_stack_told){ entry->number, 0 };
	return (struct mt_stack_told){ defs_node_at(defs, entry->plain)->number, entry->number };
}

uint32_t mt_defs_stack_of(const struct mt_defs *defs, struct mt_stack_told told)
{
	const uint32_t *plain = mt_table_at(&defs->plain, told.node),
		       *id = mt_table_at(&defs->of[MT_DEF_VARIANT].table, told.variant);

	if (!told.variant)
		return plain ? *plain : 0;
	return id && plain && defs_node_at(defs, *id)->plain == *plain ? *id : 0;
}

struct mt_variant mt_defs_variant(const struct mt_defs *defs, uint32_t number)
{
	const uint32_t *id = mt_table_at(&defs->of[MT_DEF_VARIANT].table, number);
	const struct node_entry *entry = id ? defs_node_at(defs, *id) : NULL, *parent;

	if (!entry)
		return (struct mt_variant){ 0 };
	parent = defs_node_at(defs, entry->node.parent);
	return (struct mt_variant){ parent && parent->plain ? entry->node.parent : 0, entry->plain, entry->in };
}

uint32_t mt_defs_id_told(const struct mt_defs *defs, enum mt_def kind, uint32_t number)
{
	const struct mt_table *table = kind == MT_DEF_NODE ? &defs->plain : &defs->of[MT_DEF_VARIANT].table;
	const uint32_t *id = mt_table_at(table, number);

	return id ? *id : 0;
}
