#include "module_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define FIRST_ROOM 64u
#define CHANGES UINT32_MAX      /* in `steady`: the name changes */
#define WRAPPER_OF_ALL "module" /* DistributedDataParallel and others give this name to the module that they wrap */

/* Names that other wrappers have for the module inside of them. */
static const char *const wrappers[] = { "_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module" };

/* ---- the table ---- */

/* The key by which a row is found. */
struct key {
	uint32_t parent, instance, type;
	const char *word;
	uint32_t size;
};

static uint64_t hash_of(const struct key *key, int by_type)
{
	uint64_t hash = (uint64_t)key->parent << 32 | (by_type ? key->type : key->instance);
	uint32_t i;

	hash *= 0x9e3779b97f4a7c15ull;
	for (i = 0; !by_type && !key->instance && i < key->size; i++)
		hash = (hash ^ (uint8_t)key->word[i]) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

static int is_row(const struct module_row *row, const struct key *key, int by_type)
{
	if (row->parent != key->parent)
		return 0;
	if (by_type)
		return row->type == key->type;
	return row->instance == key->instance &&
	       (key->instance || (row->size == key->size && !memcmp(row->word, key->word, key->size)));
}

static uint32_t *find(const struct module_tree *tree, const struct module_index *index, const struct key *key,
		      int by_type)
{
	uint32_t at = (uint32_t)hash_of(key, by_type) & (index->slots - 1);

	while (index->slot[at] && !is_row(&tree->row[index->slot[at]], key, by_type))
		at = (at + 1) & (index->slots - 1);
	return &index->slot[at];
}

static struct key key_of(const struct module_row *row)
{
	return (struct key){ row->parent, row->instance, row->type, row->word, row->size };
}

/* Makes room for one more row. Returns 0 or -MT_E_MEMORY. */
static int index_reserve(const struct module_tree *tree, struct module_index *index, int by_type)
{
	struct module_index grown = { .slots = index->slots ? index->slots * 2 : FIRST_ROOM, .used = index->used };
	struct key key;
	uint32_t i;

	if (index->used * 2 < index->slots)
		return 0;
	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < index->slots; i++) {
		if (!index->slot[i])
			continue;
		key = key_of(&tree->row[index->slot[i]]);
		*find(tree, &grown, &key, by_type) = index->slot[i];
	}
	free(index->slot);
	*index = grown;
	return 0;
}

/* Adds a row at the end of the table. Returns its number; 0: out of memory. */
static uint32_t append(struct module_tree *tree, const struct key *key, enum module_kind kind)
{
	uint32_t room = tree->room ? tree->room * 2 : FIRST_ROOM;
	struct module_row *grown;

	if (!tree->rows)
		tree->rows = 1;
	if (tree->rows >= tree->room) {
		grown = room ? realloc(tree->row, room * sizeof(*grown)) : NULL;
		if (!grown)
			return 0;
		tree->row = grown;
		tree->room = room;
	}
	tree->row[tree->rows] = (struct module_row){ .parent = key->parent,
						     .instance = key->instance,
						     .type = key->type,
						     .word = key->word,
						     .size = key->size,
						     .kind = (uint8_t)kind };
	tree->row[tree->rows].depth = key->parent ? (uint8_t)(tree->row[key->parent].depth + 1) : 1;
	return tree->rows++;
}

/* Numbers the new row among the rows of its class below the same parent. */
static void number_row(struct module_tree *tree, uint32_t number, uint32_t *eldest)
{
	struct module_row *row = &tree->row[number];

	if (!*eldest) {
		*eldest = number;
		tree->by_type.used++;
	}
	row->eldest = *eldest;
	row->number = ++tree->row[*eldest].sisters;
}

/* Makes the row of the key in its free slot. Returns its number; 0: out of memory. */
static uint32_t make_row(struct module_tree *tree, uint32_t *slot, const struct key *key, enum module_kind kind)
{
	uint32_t row = append(tree, key, kind);

	*slot = row;
	tree->by_word.used += row != 0;
	if (row && kind == MODULE_TYPE)
		number_row(tree, row, find(tree, &tree->by_type, key, 1));
	return row;
}

/* Returns the row of the key, and makes the row if it is new. 0: out of memory. */
static uint32_t enter(struct module_tree *tree, const struct key *key, enum module_kind kind)
{
	uint32_t *slot;

	if (key->parent && tree->row[key->parent].depth >= MODULE_DEPTH_MAX)
		return key->parent;
	if (index_reserve(tree, &tree->by_word, 0) || index_reserve(tree, &tree->by_type, 1))
		return 0;
	slot = find(tree, &tree->by_word, key, 0);
	return *slot ? *slot : make_row(tree, slot, key, kind);
}

/* ---- names ---- */

static int is_word(const char *part, size_t size, const char *word)
{
	return size == strlen(word) && !memcmp(part, word, size);
}

static int is_wrapper(const struct module_tree *tree, const char *part, size_t size, int is_first)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(wrappers); i++)
		if (is_word(part, size, wrappers[i]))
			return 1;
	return is_word(part, size, WRAPPER_OF_ALL) && !tree->is_module_told && (is_first || tree->tellings->tellings);
}

/*
 * Returns the row of the first `size` bytes of a dotted name, below the row of `model`; 0: out of memory. `is_raw`: the name may have parts from
 * wrappers. Only the first MODULE_DEPTH_MAX parts count.
 */
static uint32_t enter_name(struct module_tree *tree, const char *model, const char *name, size_t size, int is_raw)
{
	struct key key = { .word = model, .size = (uint32_t)strlen(model) };
	uint32_t row = enter(tree, &key, MODULE_MODEL), parts = 0;
	size_t part;

	while (size && row && parts <= MODULE_DEPTH_MAX) {
		for (part = 0; part < size && name[part] != '.'; part++)
			;
		if (!is_raw || !is_wrapper(tree, name, part, !parts)) {
			key = (struct key){ .parent = row, .word = name, .size = (uint32_t)part };
			row = enter(tree, &key, MODULE_PART);
			parts++;
		}
		part += part < size;
		name += part;
		size -= part;
	}
	return row;
}

uint32_t module_tree_of_parameter(struct module_tree *tree, const char *model, const char *name)
{
	const char *end = strrchr(name, '.');

	return enter_name(tree, model, name, end ? (size_t)(end - name) : 0, 1);
}

/* Whether a name in an INSTANCE_NAME event has a part "module". In the census, such a part then names a module and no wrapper. */
static int has_module(const struct module_tree *tree)
{
	const char *name, *at;
	size_t size = strlen(WRAPPER_OF_ALL);
	uint32_t i, last = 0;

	for (i = 1; i < tree->tellings->runs; i++) {
		if (tree->tellings->run[i].name.name == last)
			continue;
		last = tree->tellings->run[i].name.name;
		name = mt_defs_string(tree->defs, last);
		for (at = strstr(name, WRAPPER_OF_ALL); at; at = strstr(at + 1, WRAPPER_OF_ALL))
			if ((at == name || at[-1] == '.') && (!at[size] || at[size] == '.'))
				return 1;
	}
	return 0;
}

/* ---- nests ---- */

/* Sets the nest of each stack node: its own nest, or the nest of its parent node. */
static void fill_stacks(struct module_tree *tree)
{
	const struct mt_node *node;
	uint32_t i;

	for (i = 1; i < tree->stacks; i++) {
		node = mt_defs_node(tree->defs, i);
		tree->stack[i] = node->nest ? node->nest : tree->stack[node->parent];
	}
}

int module_tree_init(struct module_tree *tree, const struct mt_defs *defs, const struct tellings *tellings)
{
	*tree = (struct module_tree){ .defs = defs, .tellings = tellings };
	tree->is_module_told = has_module(tree);
	if (!mt_defs_count(defs, MT_DEF_NEST))
		return 0;
	tree->stacks = mt_defs_count(defs, MT_DEF_NODE) + 1;
	tree->nests = mt_defs_count(defs, MT_DEF_NEST) + 1;
	tree->stack = calloc(tree->stacks, sizeof(*tree->stack));
	tree->steady = calloc(tree->nests, sizeof(*tree->steady));
	if (!tree->stack || !tree->steady)
		return -MT_E_MEMORY;
	fill_stacks(tree);
	return 0;
}

void module_tree_release(struct module_tree *tree)
{
	free(tree->row);
	free(tree->by_word.slot);
	free(tree->by_type.slot);
	free(tree->stack);
	free(tree->steady);
	memset(tree, 0, sizeof(*tree));
}

uint32_t module_tree_nest(const struct module_tree *tree, uint32_t stack)
{
	return stack < tree->stacks ? tree->stack[stack] : 0;
}

/* The modules of a nest, from the innermost one outwards to the first one with a name. */
struct walk {
	uint32_t instance[MT_NEST_DEPTH_MAX]; /* modules without a name, innermost first */
	uint32_t count;
	struct telling_name name;
	uint32_t type; /* class of the module with the name; 0: no module has a name */
};

static void walk_out(struct walk *walk, const struct module_tree *tree, uint32_t nest, uint64_t first, uint64_t last)
{
	const struct mt_instance *instance;
	const struct mt_nest *at;

	*walk = (struct walk){ .count = 0 };
	for (at = mt_defs_nest(tree->defs, nest); at && walk->count < MT_NEST_DEPTH_MAX;
	     at = at->parent ? mt_defs_nest(tree->defs, at->parent) : NULL) {
		instance = mt_defs_instance(tree->defs, at->instance);
		if (tellings_name(tree->tellings, instance->address, first, last, &walk->name)) {
			walk->type = instance->type;
			return;
		}
		walk->count++;
		walk->instance[walk->count - 1] = at->instance;
	}
}

/* Whether the names of the walk never change. */
static int is_steady(const struct module_tree *tree, const struct walk *walk, uint32_t nest)
{
	const struct mt_nest *at = mt_defs_nest(tree->defs, nest);
	struct telling_name name;
	uint32_t i;

	for (i = 0; i < walk->count; i++, at = mt_defs_nest(tree->defs, at->parent))
		if (tellings_mention(tree->tellings, mt_defs_instance(tree->defs, at->instance)->address))
			return 0;
	return !walk->type ||
	       tellings_name(tree->tellings, mt_defs_instance(tree->defs, at->instance)->address, 0, UINT64_MAX, &name);
}

static uint32_t enter_walk(struct module_tree *tree, const struct walk *walk)
{
	const struct mt_instance *instance;
	struct key key;
	uint32_t row = 0, i = walk->count;

	if (walk->type) {
		row = enter_name(tree, mt_defs_string(tree->defs, walk->name.model),
				 mt_defs_string(tree->defs, walk->name.name),
				 strlen(mt_defs_string(tree->defs, walk->name.name)), 0);
		if (!row)
			return 0;
		if (!tree->row[row].type)
			tree->row[row].type = walk->type;
	}
	while (i-- && (row || i == walk->count - 1)) {
		instance = mt_defs_instance(tree->defs, walk->instance[i]);
		key = (struct key){ .parent = row, .instance = walk->instance[i], .type = instance->type };
		key.word = mt_defs_string(tree->defs, instance->type);
		key.size = (uint32_t)strlen(key.word);
		row = enter(tree, &key, MODULE_TYPE);
	}
	return row;
}

uint32_t module_tree_of_nest(struct module_tree *tree, uint32_t nest, uint64_t first, uint64_t last)
{
	struct walk walk;
	uint32_t row;

	if (!nest || nest >= tree->nests)
		return 0;
	if (tree->steady[nest] && tree->steady[nest] != CHANGES)
		return tree->steady[nest];
	walk_out(&walk, tree, nest, first, last);
	row = enter_walk(tree, &walk);
	if (!tree->steady[nest] && row)
		tree->steady[nest] = is_steady(tree, &walk, nest) ? row : CHANGES;
	return row;
}

uint32_t module_tree_steady(const struct module_tree *tree, uint32_t nest)
{
	return nest < tree->nests && tree->steady[nest] != CHANGES ? tree->steady[nest] : 0;
}

/*
 * Gives the nest around a row its steady row. Classes get no numbers here: the row of a module without a name comes from an inner nest. Returns 0 or
 * -MT_E_MEMORY.
 */
static int step_out(struct module_tree *tree, uint32_t row, uint32_t parent)
{
	struct walk walk;

	if (tree->row[row].kind == MODULE_TYPE) {
		tree->steady[parent] = tree->row[row].parent;
		return 0;
	}
	walk_out(&walk, tree, parent, 0, UINT64_MAX);
	if (!walk.type || walk.count)
		return 0;
	tree->steady[parent] = enter_walk(tree, &walk);
	return tree->steady[parent] ? 0 : -MT_E_MEMORY;
}

int module_tree_outwards(struct module_tree *tree)
{
	uint32_t nest = tree->nests, parent;
	int error = 0;

	while (nest-- > 1 && !error) { /* a nest has a higher number than the nest around it */
		parent = mt_defs_nest(tree->defs, nest)->parent;
		if (parent && module_tree_steady(tree, nest) && !tree->steady[parent])
			error = step_out(tree, tree->steady[nest], parent);
	}
	return error;
}

/* ---- questions ---- */

uint32_t module_tree_common(const struct module_tree *tree, uint32_t one, uint32_t two)
{
	while (one != two) {
		if (!one || !two)
			return 0;
		if (tree->row[one].depth >= tree->row[two].depth)
			one = tree->row[one].parent;
		else
			two = tree->row[two].parent;
	}
	return one;
}

char *module_tree_word(char *out, size_t size, const struct module_tree *tree, uint32_t number)
{
	const struct module_row *row = &tree->row[number];
	int word = row->size < MODULE_WORD_MAX ? (int)row->size : (int)MODULE_WORD_MAX - 1;

	if (row->kind == MODULE_TYPE && tree->row[row->eldest].sisters > 1)
		snprintf(out, size, "%.*s %u", word, row->word, row->number);
	else
		snprintf(out, size, "%.*s", word, row->word);
	return out;
}

char *module_tree_path(char *out, size_t size, const struct module_tree *tree, uint32_t number)
{
	uint32_t way[MODULE_DEPTH_MAX] = { 0 }, depth = tree->row[number].depth, i;
	char word[MODULE_WORD_MAX + 16];
	size_t used = 0;

	for (i = depth; i; number = tree->row[number].parent)
		way[--i] = number;
	*out = '\0';
	for (i = depth > 1 && tree->row[way[1]].kind == MODULE_PART; i < depth && used + 1 < size; i++) {
		snprintf(out + used, size - used, "%s%s",
			 !used                                   ? ""
			 : tree->row[way[i]].kind == MODULE_TYPE ? " > "
								 : ".",
			 module_tree_word(word, sizeof(word), tree, way[i]));
		used += strlen(out + used);
	}
	return out;
}

/* Whether a part of a path can begin, or end, at the character. */
static int is_edge(char c)
{
	return !c || c == '.' || c == ' ';
}

char *module_path_pattern(char out[MODULE_PATH_MAX], const char *path)
{
	char *to = out, before = '\0';
	size_t digits;

	while (*path && to < out + MODULE_PATH_MAX - 1) {
		digits = strspn(path, "0123456789");
		if (!digits || !is_edge(before) || !is_edge(path[digits]))
			digits = 0;
		before = digits ? '*' : *path;
		*to++ = before;
		path += digits ? digits : 1;
	}
	*to = '\0';
	return out;
}
