#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "memtrace/error.h"

#define INLINED_MAX 8  /* largest number of functions at one address */
#define DEPTH_MAX 1101 /* deepest stack: in a hostile database, parents can form a circle */

/* The functions at one address or line, inlined into each other. */
struct tree_frame {
	size_t count; /* 0: the frame does not exist */
	struct callstack_frame at[];
};

#define NO_NODE UINT32_MAX /* as a number of a node: no node */
#define NOT_READ (UINT32_MAX - 1)

#define NODES_KEPT (1u << 16) /* nodes of all processes: what they share stays */

struct tree_node {
	int64_t parent_id;
	uint32_t parent; /* number of the parent; NO_NODE; NOT_READ */
	uint32_t frame;
	int64_t module; /* id of the module that the frame calls; 0: none */
};

struct stack_tree {
	struct db_stmt *find_node, *find_frame; /* NULL: not prepared yet, or closed */
	struct db *db;                          /* NULL: closed */
	struct symbols *symbols;
	const struct stack_tree_source *source; /* NULL: nodes come from the database */
	const void *context;
	struct tuple_table node_numbers, frame_numbers; /* by id */
	struct tuple_table twins;                       /* frames by content: many processes run the same code */
	struct tree_node *node;
	struct tree_frame **frame;
	uint32_t nodes, frames, node_room, frame_room;
	struct tuple_table module_numbers, named_numbers; /* by id; by frame and module */
	char **module;                                    /* paths of the modules, with stars for numbers */
	struct callstack_frame **named;                   /* copies of frames that are the forward of a module */
	uint32_t modules, nameds, module_room, named_room;
};

/* Makes room in the array for one more item of `size` bytes. Returns 0 or -MT_E_MEMORY. */
static int make_room(void **array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : 256;
	void *larger;

	if (count < *room)
		return 0;
	larger = more < NOT_READ ? realloc(*array, more * size) : NULL;
	if (!larger)
		return -MT_E_MEMORY;
	*array = larger;
	*room = more;
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static size_t names_size(const struct symbol *symbol)
{
	return strlen(symbol->function) + strlen(symbol->file) + 2;
}

static char *put(char **names, const char *name)
{
	char *copy = *names;
	size_t size = strlen(name) + 1;

	*names += size;
	return memcpy(copy, name, size);
}

/* Makes one frame for each function at an address; `like` has the members that these share. NULL: out of memory. */
static struct tree_frame *make_frame(const struct callstack_frame *like, const struct symbol *symbol, size_t count)
{
	const char *module;
	size_t size = sizeof(struct tree_frame) + count * sizeof(struct callstack_frame) + strlen(like->module) + 1, i;
	struct tree_frame *frame;
	char *names;

	for (i = 0; i < count; i++)
		size += names_size(&symbol[i]);
	frame = calloc(1, size);
	if (!frame)
		return NULL;
	names = (char *)&frame->at[count];
	module = put(&names, like->module);
	for (i = 0; i < count; i++) {
		frame->at[i] = *like;
		frame->at[i].function = put(&names, symbol[i].function);
		frame->at[i].file = put(&names, symbol[i].file);
		frame->at[i].module = module;
		frame->at[i].line = symbol[i].line;
		callstack_learn(&frame->at[i]);
	}
	frame->count = count;
	return frame;
}

/* A row of the table frame. */
struct told_frame {
	struct callstack_frame like;
	const void *build_id;
	size_t build_id_size;
};

static struct told_frame read_row(const struct db_stmt *row)
{
	struct told_frame told = { .like = { .function = db_text(row, 1),
					     .file = db_text(row, 2),
					     .module = db_text(row, 4),
					     .line = (unsigned)db_int(row, 3),
					     .offset = (uint64_t)db_int(row, 6),
					     .native = !strcmp(db_text(row, 0), "native"),
					     .elided = !strcmp(db_text(row, 0), "elided") } };

	told.build_id = db_blob(row, 5, &told.build_id_size);
	return told;
}

/* Reads the functions at the address of a native frame, innermost first. Without symbols, the frame keeps its recorded name. */
static struct tree_frame *read_frame(const struct told_frame *told, struct symbols *symbols)
{
	const struct callstack_frame *like = &told->like;
	struct symbol found[INLINED_MAX];
	size_t count = 0;

	if (symbols && like->native && *like->module)
		count = symbols_find(symbols, like->module, told->build_id, told->build_id_size, like->offset, found,
				     INLINED_MAX);
	if (!count)
		found[count++] = (struct symbol){ .function = like->function, .file = like->file, .line = like->line };
	else if (!*found[count - 1].function) /* the file has lines and no names */
		found[count - 1].function = like->function;
	return make_frame(like, found, count);
}

/* Runs `sql` for the row with this id; keeps the statement in *stmt. Returns 1; 0: no such row; or -MT_E_x. */
static int find_row(struct stack_tree *tree, struct db_stmt **stmt, const char *sql, int64_t id)
{
	int error = 0;

	if (!tree->db)
		return -MT_E_ARGUMENT;
	if (!*stmt)
		error = db_prepare(tree->db, stmt, sql);
	if (error)
		return error;
	db_bind(*stmt, 1, id);
	return db_step(*stmt);
}

static int is_twin(const struct tree_frame *frame, const struct callstack_frame *like)
{
	return frame->count == 1 && frame->at[0].line == like->line && frame->at[0].offset == like->offset &&
	       frame->at[0].elided == like->elided && !strcmp(frame->at[0].function, like->function) &&
	       !strcmp(frame->at[0].file, like->file) && !strcmp(frame->at[0].module, like->module);
}

static int add_frame(struct stack_tree *tree, struct tree_frame *frame)
{
	void *array = tree->frame;
	int error = make_room(&array, tree->frames, &tree->frame_room, sizeof(struct tree_frame *));

	tree->frame = array;
	if (error || !frame) {
		free(frame);
		return -MT_E_MEMORY;
	}
	tree->frame[tree->frames++] = frame;
	return 0;
}

/* Keeps a frame. Python frames with equal content are one frame; native frames differ by address. */
static int keep_frame(struct stack_tree *tree, const struct told_frame *told, uint32_t *number)
{
	const struct callstack_frame *like = &told->like;
	const struct tuple key = { { tuple_text(like->function), tuple_text(like->file), tuple_text(like->module),
				     (uint64_t)like->line << 1 | (like->elided != 0) } };
	int error;

	*number = like->native ? TUPLE_NONE : tuple_find(&tree->twins, &key);
	if (*number != TUPLE_NONE && is_twin(tree->frame[*number], like))
		return 0;
	error = add_frame(tree, read_frame(told, tree->symbols));
	if (!error && !like->native && *number == TUPLE_NONE)
		error = tuple_add(&tree->twins, &key, tree->frames - 1);
	*number = tree->frames - 1;
	return error;
}

/* Reads a frame from the database. A frame without a row has no functions. */
static int ask_frame(struct stack_tree *tree, int64_t id, uint32_t *number)
{
	struct told_frame told;
	int more = find_row(tree, &tree->find_frame,
			    "SELECT kind, function, file, line, path, build_id, offset FROM frame "
			    "LEFT JOIN elf_file ON elf_file.id = elf_file WHERE frame.id = ?",
			    id),
	    error = more < 0 ? more : 0;

	if (more == 1) {
		told = read_row(tree->find_frame);
		error = keep_frame(tree, &told, number);
	} else if (!error) {
		error = add_frame(tree, calloc(1, sizeof(struct tree_frame)));
		*number = tree->frames - 1;
	}
	if (tree->find_frame)
		db_rewind(tree->find_frame);
	return error;
}

static int load_frame(struct stack_tree *tree, int64_t id)
{
	struct told_frame told = { .build_id = NULL };
	uint32_t number = 0;
	int error;

	if (tree->source && tree->source->frame(tree->context, id, &told.like))
		error = keep_frame(tree, &told, &number);
	else
		error = ask_frame(tree, id, &number);
	return error ? error : tuple_add(&tree->frame_numbers, &(struct tuple){ { (uint64_t)id } }, number);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Finds the number of the row with this id, and reads the row if needed. Returns 0 or -MT_E_x. */
static int find(struct stack_tree *tree, const struct tuple_table *numbers, int64_t id,
		int (*load)(struct stack_tree *tree, int64_t id), uint32_t *number)
{
	const struct tuple key = { { (uint64_t)id } };
	int error = 0;

	*number = tuple_find(numbers, &key);
	if (*number == TUPLE_NONE) {
		error = load(tree, id);
		*number = tuple_find(numbers, &key);
	}
	return error;
}

static int keep_module(struct stack_tree *tree, int64_t id, const char *pattern)
{
	const struct tuple key = { { (uint64_t)id } };
	void *array = tree->module;
	int error;

	if (tuple_find(&tree->module_numbers, &key) != TUPLE_NONE)
		return 0;
	error = make_room(&array, tree->modules, &tree->module_room, sizeof(char *));
	tree->module = array;
	if (error)
		return error;
	tree->module[tree->modules] = strdup(pattern);
	if (!tree->module[tree->modules])
		return -MT_E_MEMORY;
	return tuple_add(&tree->module_numbers, &key, tree->modules++);
}

static int load_node(struct stack_tree *tree, int64_t id)
{
	struct tree_node node = { .parent = NO_NODE };
	void *array = tree->node;
	int64_t frame = 0;
	int more, error = make_room(&array, tree->nodes, &tree->node_room, sizeof(*tree->node));

	tree->node = array;
	if (error)
		return error;
	more = find_row(tree, &tree->find_node,
			"SELECT stack_node.parent, frame, submodule, pattern FROM stack_node LEFT JOIN module_call ON module_call.id = module_call "
			"LEFT JOIN submodule ON submodule.id = submodule WHERE stack_node.id = ?",
			id);
	if (more == 1 && db_int(tree->find_node, 2)) {
		node.module = db_int(tree->find_node, 2);
		error = keep_module(tree, node.module, db_text(tree->find_node, 3));
	}
	if (more == 1) {
		node.parent_id = db_int(tree->find_node, 0);
		node.parent = node.parent_id ? NOT_READ : NO_NODE;
		frame = db_int(tree->find_node, 1);
	}
	if (tree->find_node)
		db_rewind(tree->find_node);
	if (more < 0 || error)
		return more < 0 ? more : error;
	error = find(tree, &tree->frame_numbers, frame, load_frame, &node.frame);
	if (error)
		return error;
	tree->node[tree->nodes++] = node;
	return tuple_add(&tree->node_numbers, &(struct tuple){ { (uint64_t)id } }, tree->nodes - 1);
}

static int find_parent(struct stack_tree *tree, uint32_t number)
{
	uint32_t parent;
	int error = find(tree, &tree->node_numbers, tree->node[number].parent_id, load_node, &parent);

	if (!error)
		tree->node[number].parent = parent;
	return error;
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

static int append(struct callstack *stack, const struct tree_frame *frame)
{
	size_t i;
	int error = 0;

	for (i = 0; i < frame->count && !error; i++)
		error = callstack_append(stack, &frame->at[i]);
	return error;
}

/* Whether the frame is a Python function named "forward". */
static int is_forward(const struct callstack_frame *frame)
{
	const char *dot = strrchr(frame->function, '.');

	return !frame->native && !frame->elided && !strcmp(dot ? dot + 1 : frame->function, "forward");
}

/* Returns the copy of the frame for this module. NULL: out of memory. */
static const struct callstack_frame *named_frame(struct stack_tree *tree, const struct callstack_frame *frame,
						 int64_t module)
{
	const struct tuple id = { { (uint64_t)module } }, key = { { (uint64_t)(uintptr_t)frame, (uint64_t)module } };
	uint32_t number = tuple_find(&tree->named_numbers, &key);
	void *array = tree->named;
	struct callstack_frame *copy;
	int error;

	if (number != TUPLE_NONE)
		return tree->named[number];
	error = make_room(&array, tree->nameds, &tree->named_room, sizeof(copy));
	tree->named = array;
	copy = error ? NULL : malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *frame;
	copy->submodule = tree->module[tuple_find(&tree->module_numbers, &id)];
	tree->named[tree->nameds] = copy;
	return tuple_add(&tree->named_numbers, &key, tree->nameds++) ? NULL : copy;
}

/*
 * Marks the forward of a module. The frames from `first` to `call` are in the module's call and in no inner one. The forward is their outermost frame
 * that is no plumbing. Returns 0 or -MT_E_MEMORY.
 */
static int name_forward(struct stack_tree *tree, struct callstack *stack, size_t first, size_t call, int64_t module)
{
	const struct callstack_frame *named;
	size_t at = call;

	while (at > first && callstack_is_plumbing(stack->frame[at - 1]))
		at--;
	if (at == first || !is_forward(stack->frame[at - 1]))
		return 0;
	named = named_frame(tree, stack->frame[at - 1], module);
	if (!named)
		return -MT_E_MEMORY;
	stack->frame[at - 1] = named;
	return 0;
}

static int load_asked(struct stack_tree *tree, int64_t node, struct callstack *stack)
{
	uint32_t number = NO_NODE;
	size_t first = 0, call;
	int error = node ? find(tree, &tree->node_numbers, node, load_node, &number) : 0, depth;

	stack->count = 0;
	for (depth = 0; !error && number != NO_NODE && depth < DEPTH_MAX; depth++) {
		call = stack->count;
		error = append(stack, tree->frame[tree->node[number].frame]);
		if (!error && tree->node[number].module) {
			error = name_forward(tree, stack, first, call, tree->node[number].module);
			first = stack->count;
		}
		if (!error && tree->node[number].parent == NOT_READ)
			error = find_parent(tree, number);
		number = tree->node[number].parent;
	}
	return error;
}

/* Nodes from a source are not kept: reading is cheap, and there can be millions. */
static int load_read(struct stack_tree *tree, int64_t node, struct callstack *stack)
{
	int64_t frame;
	uint32_t number;
	int error = 0, depth;

	stack->count = 0;
	for (depth = 0; !error && node && depth < DEPTH_MAX; depth++) {
		tree->source->node(tree->context, node, &node, &frame);
		error = find(tree, &tree->frame_numbers, frame, load_frame, &number);
		if (!error)
			error = append(stack, tree->frame[number]);
	}
	return error;
}

void stack_tree_read(struct stack_tree *tree, const struct stack_tree_source *source, const void *context)
{
	tree->source = source;
	tree->context = context;
}

void stack_tree_trim(struct stack_tree *tree)
{
	if (tree->nodes < NODES_KEPT)
		return;
	tuple_release(&tree->frame_numbers);
	tuple_release(&tree->node_numbers);
	tree->nodes = 0;
}

int stack_tree_load(struct stack_tree *tree, int64_t node, struct callstack *stack)
{
	if (tree->source)
		return load_read(tree, node, stack);
	return load_asked(tree, node, stack);
}

struct stack_tree *stack_tree_new(struct db *db, struct symbols *symbols)
{
	struct stack_tree *tree = calloc(1, sizeof(*tree));

	if (tree) {
		tree->db = db;
		tree->symbols = symbols;
	}
	return tree;
}

void stack_tree_close(struct stack_tree *tree)
{
	db_finish(tree->find_node);
	db_finish(tree->find_frame);
	tree->find_node = tree->find_frame = NULL;
	tree->db = NULL;
}

void stack_tree_free(struct stack_tree *tree)
{
	uint32_t i;

	if (!tree)
		return;
	stack_tree_close(tree);
	for (i = 0; i < tree->frames; i++)
		free(tree->frame[i]);
	for (i = 0; i < tree->modules; i++)
		free(tree->module[i]);
	for (i = 0; i < tree->nameds; i++)
		free(tree->named[i]);
	free(tree->module);
	free(tree->named);
	tuple_release(&tree->module_numbers);
	tuple_release(&tree->named_numbers);
	free(tree->frame);
	free(tree->node);
	tuple_release(&tree->node_numbers);
	tuple_release(&tree->frame_numbers);
	tuple_release(&tree->twins);
	free(tree);
}

/* ---- one stack with a tree of its own ---- */

int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols)
{
	int error;

	memset(stack, 0, sizeof(*stack));
	if (!node)
		return 0;
	stack->tree = stack_tree_new(db, symbols);
	if (!stack->tree)
		return -MT_E_MEMORY;
	error = stack_tree_load(stack->tree, node, stack);
	stack_tree_close(stack->tree);
	return error;
}

void callstack_release(struct callstack *stack)
{
	stack_tree_free(stack->tree);
	free(stack->frame);
	memset(stack, 0, sizeof(*stack));
}
