/*
 * defs.c - stores definitions by id and interns them.
 *
 * Each kind has a table (id -> definition). The first interning adds an open-addressing hash index of ids. Two
 * definitions are equal if their keys are equal.
 */
#include "defs.h"
#include <stdlib.h>
#include <string.h>
#include "defs_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define TEXT_BLOCK (64u << 10) /* bytes; a longer text gets its own block */

struct text_block {
	struct text_block *next;
	char text[];
};

/* A nest with its depth, so the check of the limit costs nothing. */
struct nest_entry {
	struct mt_nest nest;
	uint32_t depth;
};

/* The numbers that make two definitions of a kind equal. */
struct key {
	uint64_t word[5 + MT_BUILD_ID_MAX / 8];
	unsigned words;
	struct mt_text text;
};

static const struct {
	size_t entry_size;
	uint32_t most;
} kinds[MT_DEF_END] = {
	[MT_DEF_STRING] = { sizeof(struct mt_text), MT_DEFS_MAX },
	[MT_DEF_MODULE] = { sizeof(struct mt_module), MT_DEFS_FEW_MAX },
	[MT_DEF_FRAME] = { sizeof(struct mt_frame), MT_DEFS_MAX },
	[MT_DEF_NODE] = { sizeof(struct node_entry), MT_DEFS_MAX },
	[MT_DEF_THREAD] = { sizeof(struct mt_thread), MT_DEFS_FEW_MAX },
	[MT_DEF_DEVICE] = { sizeof(struct mt_device), MT_DEFS_FEW_MAX },
	[MT_DEF_SYMBOL] = { sizeof(struct mt_symbol), MT_DEFS_MAX },
	[MT_DEF_INSTANCE] = { sizeof(struct mt_instance), MT_DEFS_MAX },
	[MT_DEF_NEST] = { sizeof(struct nest_entry), MT_DEFS_MAX },
	[MT_DEF_NESTED] = { sizeof(struct mt_nested), MT_DEFS_MAX },
	[MT_DEF_VARIANT] = { sizeof(uint32_t), MT_DEFS_MAX },
};

struct mt_defs *mt_defs_new(void)
{
	struct mt_defs *defs = calloc(1, sizeof(*defs));
	int kind;

	if (!defs)
		return NULL;
	for (kind = 1; kind < MT_DEF_END; kind++)
		mt_table_init(&defs->of[kind].table, kinds[kind].entry_size);
	mt_table_init(&defs->plain, sizeof(uint32_t));
	return defs;
}

void mt_defs_free(struct mt_defs *defs)
{
	struct text_block *block, *next;
	int kind;

	if (!defs)
		return;
	for (kind = 1; kind < MT_DEF_END; kind++) {
		mt_table_release(&defs->of[kind].table);
		free(defs->of[kind].slot);
	}
	mt_table_release(&defs->plain);
	for (block = defs->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(defs);
}

uint32_t mt_defs_count(const struct mt_defs *defs, enum mt_def kind)
{
	return defs_count_of(defs, kind);
}

const char *mt_defs_string(const struct mt_defs *defs, uint32_t id)
{
	const struct mt_text *text = mt_table_at(&defs->of[MT_DEF_STRING].table, id);

	return text ? text->text : "";
}

size_t mt_defs_string_size(const struct mt_defs *defs, uint32_t id)
{
	const struct mt_text *text = mt_table_at(&defs->of[MT_DEF_STRING].table, id);

	return text ? text->size : 0;
}

const struct mt_module *mt_defs_module(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_MODULE].table, id);
}

const struct mt_frame *mt_defs_frame(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_FRAME].table, id);
}

const struct mt_thread *mt_defs_thread(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_THREAD].table, id);
}

const struct mt_device *mt_defs_device(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_DEVICE].table, id);
}

const struct mt_symbol *mt_defs_symbol(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_SYMBOL].table, id);
}

const struct mt_instance *mt_defs_instance(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_INSTANCE].table, id);
}

const struct mt_nest *mt_defs_nest(const struct mt_defs *defs, uint32_t id)
{
	const struct nest_entry *entry = mt_table_at(&defs->of[MT_DEF_NEST].table, id);

	return entry ? &entry->nest : NULL;
}

const struct mt_nested *mt_defs_nested(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_NESTED].table, id);
}

/* Copies a text, with NUL, for as long as `defs` lives; NULL: out of memory. */
static const char *keep_text(struct mt_defs *defs, const char *text, size_t size)
{
	size_t block_bytes = size + 1 > TEXT_BLOCK / 4 ? size + 1 : TEXT_BLOCK;
	struct text_block *block = defs->blocks;
	char *copy;

	if (defs->block_left < size + 1) {
		block = malloc(sizeof(*block) + block_bytes);
		if (!block)
			return NULL;
		block->next = defs->blocks;
		defs->blocks = block;
		defs->block_left = block_bytes;
		copy = block->text;
	} else {
		copy = block->text + TEXT_BLOCK - defs->block_left;
	}
	defs->block_left -= size + 1;
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

static int append_string(struct mt_defs *defs, const struct mt_text *string, struct mt_text *entry)
{
	if (string->size > MT_STRING_MAX || defs->text_bytes + string->size > MT_TEXT_BYTES_MAX)
		return -MT_E_LIMIT;
	entry->text = keep_text(defs, string->text, string->size);
	if (!entry->text)
		return -MT_E_MEMORY;
	entry->size = string->size;
	entry->is_name = string->is_name;
	defs->text_bytes += string->size;
	return 0;
}

static int append_nest(struct mt_defs *defs, const struct mt_nest *nest, struct nest_entry *entry)
{
	const struct nest_entry *parent = mt_table_at(&defs->of[MT_DEF_NEST].table, nest->parent);

	entry->nest = *nest;
	entry->depth = parent ? parent->depth + 1 : 1;
	return entry->depth > MT_NEST_DEPTH_MAX ? -MT_E_LIMIT : 0;
}

/* 1: each id inside the definition is defined or 0. */
static int names_defined(const struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition)
{
	const struct mt_frame *frame = &definition->frame;
	const struct mt_nested *last;

	switch (kind) {
	case MT_DEF_STRING:
		break;
	case MT_DEF_MODULE:
		return defs_has(defs, MT_DEF_STRING, definition->module.path);
	case MT_DEF_FRAME:
		return defs_has(defs, MT_DEF_STRING, frame->function) && defs_has(defs, MT_DEF_STRING, frame->file) &&
		       defs_has(defs, MT_DEF_MODULE, frame->module);
	case MT_DEF_NODE:
	case MT_DEF_VARIANT:
		return defs_knows_node(defs, kind, definition);
	case MT_DEF_THREAD:
		return defs_has(defs, MT_DEF_STRING, definition->thread.name);
	case MT_DEF_DEVICE:
		return defs_has(defs, MT_DEF_STRING, definition->device.name) &&
		       defs_has(defs, MT_DEF_STRING, definition->device.uuid);
	case MT_DEF_SYMBOL:
		return definition->symbol.frame && defs_has(defs, MT_DEF_FRAME, definition->symbol.frame) &&
		       defs_has(defs, MT_DEF_STRING, definition->symbol.name);
	case MT_DEF_INSTANCE:
		return defs_has(defs, MT_DEF_STRING, definition->instance.type);
	case MT_DEF_NEST:
		return defs_has(defs, MT_DEF_NEST, definition->nest.parent) && definition->nest.instance &&
		       defs_has(defs, MT_DEF_INSTANCE, definition->nest.instance);
	case MT_DEF_NESTED: /* in the order of the nodes */
		last = mt_defs_nested(defs, mt_defs_count(defs, MT_DEF_NESTED));
		return definition->nested.node > (last ? last->node : 0) &&
		       defs_has(defs, MT_DEF_NODE, definition->nested.node) && definition->nested.nest &&
		       defs_has(defs, MT_DEF_NEST, definition->nested.nest);
	}
	return 1;
}

/* The newest symbol of a frame counts. */
static void name_frame(struct mt_defs *defs, const struct mt_symbol *symbol)
{
	struct mt_frame *frame = mt_table_at(&defs->of[MT_DEF_FRAME].table, symbol->frame);

	if (frame->kind == MT_FRAME_NATIVE)
		frame->symbol = symbol->name;
}

int mt_defs_append(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition)
{
	struct mt_table *table = &defs->of[kind].table;
	void *entry;
	int error = 0;

	if (!names_defined(defs, kind, definition))
		return -MT_E_CORRUPT;
	if (kind == MT_DEF_MODULE && definition->module.build_id_size > MT_BUILD_ID_MAX)
		return -MT_E_LIMIT;
	if (table->count >= kinds[kind].most)
		return -MT_E_LIMIT;
	if (kind == MT_DEF_NODE || kind == MT_DEF_VARIANT)
		return defs_append_node(defs, kind, definition);
	entry = mt_table_next(table);
	if (!entry)
		return -MT_E_MEMORY;
	if (kind == MT_DEF_STRING)
		error = append_string(defs, &definition->string, entry);
	else if (kind == MT_DEF_NEST)
		error = append_nest(defs, &definition->nest, entry);
	else
		memcpy(entry, definition, kinds[kind].entry_size);
	if (kind == MT_DEF_FRAME)
		((struct mt_frame *)entry)->symbol = 0;
	if (!error)
		table->count++;
	if (!error && kind == MT_DEF_SYMBOL)
		name_frame(defs, &definition->symbol);
	if (!error && kind == MT_DEF_NESTED)
		defs_nest_node(defs, &definition->nested);
	return error;
}

static void key_add(struct key *key, uint64_t word)
{
	key->word[key->words++] = word;
}

static void module_key(struct key *key, const struct mt_module *module)
{
	uint8_t build_id[MT_BUILD_ID_MAX] = { 0 };
	size_t i;

	memcpy(build_id, module->build_id, module->build_id_size);
	for (i = 0; i < sizeof(build_id); i += 8)
		key_add(key, mt_load_u64(build_id + i));
	key_add(key, module->path);
	key_add(key, module->build_id_size);
	key_add(key, module->start);
	key_add(key, module->end);
	key_add(key, module->bias);
}

static void frame_key(struct key *key, const struct mt_frame *frame)
{
	key_add(key, frame->kind);
	key_add(key, frame->function);
	key_add(key, frame->file);
	key_add(key, (uint64_t)frame->line << 32 | frame->module);
	key_add(key, frame->offset);
}

/* `entry`: the struct of the kind. */
static void make_key(struct key *key, enum mt_def kind, const void *entry)
{
	const struct mt_node *node = entry;
	const struct mt_thread *thread = entry;
	const struct mt_device *device = entry;
	const struct mt_symbol *symbol = entry;
	const struct mt_instance *instance = entry;
	const struct mt_nest *nest = entry;
	const struct mt_nested *nested = entry;

	key->words = 0;
	key->text = (struct mt_text){ 0 };
	switch (kind) {
	case MT_DEF_STRING:
		key->text = *(const struct mt_text *)entry;
		break;
	case MT_DEF_MODULE:
		module_key(key, entry);
		break;
	case MT_DEF_FRAME:
		frame_key(key, entry);
		break;
	case MT_DEF_NODE:
		key_add(key, (uint64_t)node->parent << 32 | node->frame);
		key_add(key, node->nest);
		break;
	case MT_DEF_THREAD:
		key_add(key, (uint64_t)thread->tid << 32 | thread->name);
		break;
	case MT_DEF_DEVICE:
		key_add(key, (uint64_t)device->kind << 32 | device->index);
		break;
	case MT_DEF_SYMBOL:
		key_add(key, (uint64_t)symbol->frame << 32 | symbol->name);
		break;
	case MT_DEF_INSTANCE:
		key_add(key, instance->address);
		key_add(key, instance->type);
		break;
	case MT_DEF_NEST:
		key_add(key, (uint64_t)nest->parent << 32 | nest->instance);
		break;
	case MT_DEF_NESTED:
		key_add(key, (uint64_t)nested->node << 32 | nested->nest);
		break;
	case MT_DEF_VARIANT: /* found as a node */
		break;
	}
}

static int keys_equal(const struct key *a, const struct key *b)
{
	return a->words == b->words && a->text.size == b->text.size &&
	       !memcmp(a->word, b->word, a->words * sizeof(a->word[0])) &&
	       (!a->text.size || !memcmp(a->text.text, b->text.text, a->text.size));
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 32;
}

static uint64_t hash_key(const struct key *key)
{
	uint64_t hash = key->text.size, word;
	size_t at, size;
	unsigned i;

	for (i = 0; i < key->words; i++)
		hash = mix(hash, key->word[i]);
	for (at = 0; at < key->text.size; at += size) {
		size = key->text.size - at < 8 ? key->text.size - at : 8;
		word = 0;
		memcpy(&word, key->text.text + at, size);
		hash = mix(hash, word);
	}
	return mix(hash, 0);
}

/* The slot with the id of the equal definition, or the empty slot for it. */
static uint32_t *find_slot(const struct store *store, enum mt_def kind, const struct key *key)
{
	uint64_t at = hash_key(key) & (store->slots - 1);
	struct key other;

	for (; store->slot[at]; at = (at + 1) & (store->slots - 1)) {
		make_key(&other, kind, mt_table_at(&store->table, store->slot[at]));
		if (keys_equal(key, &other))
			break;
	}
	return &store->slot[at];
}

/* Puts all definitions into the index and makes room for one more. 0 or -MT_E_MEMORY. */
static int index_all(struct store *store, enum mt_def kind)
{
	uint64_t slots = store->slots ? store->slots : 64;
	uint32_t *slot, *old = store->slot;
	struct key key;

	while (slots / 2 <= store->table.count)
		slots *= 2;
	if (slots != store->slots) {
		slot = calloc(slots, sizeof(*slot));
		if (!slot)
			return -MT_E_MEMORY;
		free(old);
		store->slot = slot;
		store->slots = slots;
		store->indexed = 0;
	}
	while (store->indexed < store->table.count) {
		make_key(&key, kind, mt_table_at(&store->table, ++store->indexed));
		slot = find_slot(store, kind, &key);
		if (!*slot) /* the first of equal definitions counts */
			*slot = store->indexed;
	}
	return 0;
}

static uint32_t *defs_slot(struct mt_defs *defs, enum mt_def kind, const void *definition)
{
	struct store *store = &defs->of[kind];
	struct key key;

	make_key(&key, kind, definition);
	return index_all(store, kind) ? NULL : find_slot(store, kind, &key);
}

static uint32_t defs_fill_slot(struct mt_defs *defs, enum mt_def kind, uint32_t *slot)
{
	struct store *store = &defs->of[kind];

	return store->indexed = *slot = store->table.count;
}

/* `definition` is read as far as the kind's struct goes. */
static uint32_t intern(struct mt_defs *defs, enum mt_def kind, const void *definition)
{
	uint32_t *slot = defs_slot(defs, kind, definition);

	if (!slot || *slot)
		return slot ? *slot : 0;
	return mt_defs_append(defs, kind, definition) ? 0 : defs_fill_slot(defs, kind, slot);
}

static uint32_t add_text(struct mt_defs *defs, const char *text, size_t size, uint32_t is_name)
{
	union mt_definition definition = { .string = { .text = text,
						       .is_name = is_name,
						       .size = size > MT_STRING_MAX ? MT_STRING_MAX
										    : (uint32_t)size } };

	return intern(defs, MT_DEF_STRING, &definition);
}

static struct mt_text *text_at(const struct mt_defs *defs, uint32_t id)
{
	return mt_table_at(&defs->of[MT_DEF_STRING].table, id);
}

uint32_t mt_defs_add_name(struct mt_defs *defs, const char *text, size_t size)
{
	return add_text(defs, text, size, 1);
}

/* A string added here is no name of events only, because the caller may keep its id. */
uint32_t mt_defs_add_string(struct mt_defs *defs, const char *text, size_t size)
{
	uint32_t id = add_text(defs, text, size, 0);

	if (id)
		text_at(defs, id)->is_name = 0;
	return id;
}

uint32_t mt_defs_add_node(struct mt_defs *defs, uint32_t parent, uint32_t frame)
{
	return mt_defs_add_node_in(defs, parent, frame, 0);
}

/* Adds the node before its variant, because no definition may be added while a slot is held. */
uint32_t mt_defs_add_node_in(struct mt_defs *defs, uint32_t parent, uint32_t frame, uint32_t nest)
{
	const struct node_entry *around = defs_node_at(defs, parent);
	union mt_definition definition = { .node = { parent, frame, around && around->in == nest ? 0 : nest } };
	int is_variant = definition.node.nest || (around && around->plain);
	uint32_t plain = is_variant ? mt_defs_add_node_in(defs, defs_plain_of(defs, parent), frame, 0) : 0, *slot;

	if (is_variant && !plain)
		return 0;
	slot = defs_slot(defs, MT_DEF_NODE, &definition.node);
	if (!slot || *slot)
		return slot ? *slot : 0;
	if (is_variant)
		definition.variant = (struct mt_variant){ around && around->plain ? parent : 0, plain,
							  definition.node.nest ? definition.node.nest : around->in };
	if (mt_defs_append(defs, is_variant ? MT_DEF_VARIANT : MT_DEF_NODE, &definition))
		return 0;
	return defs_fill_slot(defs, MT_DEF_NODE, slot);
}

uint32_t mt_defs_add_module(struct mt_defs *defs, const struct mt_module *module)
{
	union mt_definition definition = { .module = *module };

	if (module->build_id_size > MT_BUILD_ID_MAX)
		return 0;
	return intern(defs, MT_DEF_MODULE, &definition);
}

uint32_t mt_defs_add_frame(struct mt_defs *defs, const struct mt_frame *frame)
{
	union mt_definition definition = { .frame = *frame };

	return intern(defs, MT_DEF_FRAME, &definition);
}

uint32_t mt_defs_add_thread(struct mt_defs *defs, const struct mt_thread *thread)
{
	union mt_definition definition = { .thread = *thread };

	return intern(defs, MT_DEF_THREAD, &definition);
}

uint32_t mt_defs_add_device(struct mt_defs *defs, const struct mt_device *device)
{
	union mt_definition definition = { .device = *device };

	return intern(defs, MT_DEF_DEVICE, &definition);
}

uint32_t mt_defs_add_symbol(struct mt_defs *defs, const struct mt_symbol *symbol)
{
	union mt_definition definition = { .symbol = *symbol };

	return intern(defs, MT_DEF_SYMBOL, &definition);
}

uint32_t mt_defs_add_instance(struct mt_defs *defs, uint64_t address, uint32_t type)
{
	union mt_definition definition = { .instance = { address, type } };

	return intern(defs, MT_DEF_INSTANCE, &definition);
}

uint32_t mt_defs_add_nest(struct mt_defs *defs, uint32_t parent, uint32_t instance)
{
	union mt_definition definition = { .nest = { parent, instance } };

	return intern(defs, MT_DEF_NEST, &definition);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void set_names(struct mt_defs *defs, uint32_t is_name)
{
	uint32_t id;

	for (id = 1; id <= mt_defs_count(defs, MT_DEF_STRING); id++)
		text_at(defs, id)->is_name = is_name;
}

static void is_no_name(struct mt_defs *defs, uint32_t id)
{
	if (id)
		text_at(defs, id)->is_name = 0;
}

void mt_defs_guess_names(struct mt_defs *defs)
{
	const struct mt_module *module;
	const struct mt_frame *frame;
	const struct mt_thread *thread;
	const struct mt_device *device;
	const struct mt_symbol *symbol;
	const struct mt_instance *instance;
	uint32_t id;

	set_names(defs, 1);
	for (id = 1; (module = mt_defs_module(defs, id)); id++)
		is_no_name(defs, module->path);
	for (id = 1; (frame = mt_defs_frame(defs, id)); id++) {
		is_no_name(defs, frame->function);
		is_no_name(defs, frame->file);
	}
	for (id = 1; (thread = mt_defs_thread(defs, id)); id++)
		is_no_name(defs, thread->name);
	for (id = 1; (device = mt_defs_device(defs, id)); id++) {
		is_no_name(defs, device->name);
		is_no_name(defs, device->uuid);
	}
	for (id = 1; (symbol = mt_defs_symbol(defs, id)); id++)
		is_no_name(defs, symbol->name);
	for (id = 1; (instance = mt_defs_instance(defs, id)); id++)
		is_no_name(defs, instance->type);
}

int mt_defs_is_spare(const struct mt_defs *defs, uint32_t id, const uint8_t *wanted, uint32_t count)
{
	return id < count && !wanted[id] && text_at(defs, id)->is_name;
}

/* Moves all texts into one new block. Out of memory: they stay. */
static void gather_texts(struct mt_defs *defs)
{
	uint32_t id, count = mt_defs_count(defs, MT_DEF_STRING);
	struct text_block *block = malloc(sizeof(*block) + defs->text_bytes + count), *old, *next;
	char *at = block ? block->text : NULL;

	if (!block)
		return;
	for (id = 1; id <= count; id++) {
		struct mt_text *text = text_at(defs, id);

		memcpy(at, text->text, (size_t)text->size + 1);
		text->text = at;
		at += text->size + 1;
	}
	for (old = defs->blocks; old; old = next) {
		next = old->next;
		free(old);
	}
	block->next = NULL;
	defs->blocks = block;
	defs->block_left = 0;
}

void mt_defs_forget_names(struct mt_defs *defs, const uint8_t *wanted, uint32_t count)
{
	struct store *store = &defs->of[MT_DEF_STRING];
	uint32_t id, forgotten = 0;

	for (id = 1; id <= mt_defs_count(defs, MT_DEF_STRING); id++) {
		struct mt_text *text = text_at(defs, id);

		if (!mt_defs_is_spare(defs, id, wanted, count) || !text->size)
			continue;
		defs->text_bytes -= text->size;
		*text = (struct mt_text){ .text = "", .is_name = 1 };
		forgotten++;
	}
	if (!forgotten)
		return;
	if (store->slot)
		memset(store->slot, 0, store->slots * sizeof(*store->slot));
	store->indexed = 0;
	gather_texts(defs);
}
