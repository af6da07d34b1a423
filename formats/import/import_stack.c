/* import_stack.c - makes definitions of a trace from the stack frames of a snapshot. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "import_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

int import_stacks_init(struct import_stacks *stacks, const struct pickle *pickle, struct mt_defs *defs)
{
	struct mt_thread main = { .name = mt_defs_add_string(defs, "main", 4), .flags = MT_THREAD_MAIN };
	struct mt_thread autograd = { .tid = 1,
				      .name = mt_defs_add_string(defs, "autograd", 8),
				      .flags = MT_THREAD_AUTOGRAD };

	memset(stacks, 0, sizeof(*stacks));
	stacks->pickle = pickle;
	stacks->defs = defs;
	stacks->main = mt_defs_add_thread(defs, &main);
	stacks->autograd = mt_defs_add_thread(defs, &autograd);
	stacks->values = pickle_values(pickle);
	stacks->known = calloc(stacks->values, sizeof(*stacks->known));
	stacks->frame = calloc(stacks->values, sizeof(*stacks->frame));
	return stacks->known && stacks->frame ? 0 : -MT_E_MEMORY;
}

void import_stacks_release(struct import_stacks *stacks)
{
	free(stacks->known);
	free(stacks->frame);
	memset(stacks, 0, sizeof(*stacks));
}

static int begins(const char *text, size_t size, const char *with)
{
	return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* Whether the file is Python's: something.py, or <something> for code without a file. */
static int is_python(const char *file, size_t size)
{
	return begins(file, size, "<") || (size > 3 && !memcmp(file + size - 3, ".py", 3));
}

#define PATH_BYTES 4096u

/* Whether Windows wrote the path ("C:\\x", "\\\\host\\x"), with a backslash between folders. */
static int is_of_windows(const char *file, size_t size)
{
	return (size > 2 && isalpha((unsigned char)file[0]) && file[1] == ':' && file[2] == '\\') ||
	       begins(file, size, "\\\\");
}

/* Adds a path with slashes, the only form that rules, packages and reports know. */
static uint32_t add_file(struct import_stacks *stacks, const char *file, size_t size)
{
	char path[PATH_BYTES];
	size_t i;

	if (!is_of_windows(file, size) || size > sizeof(path))
		return mt_defs_add_string(stacks->defs, file, size);
	for (i = 0; i < size; i++)
		path[i] = file[i] == '\\' ? '/' : file[i];
	return mt_defs_add_string(stacks->defs, path, size);
}

static void define_frame(struct import_stacks *stacks, pickle_id from, struct import_frame *known)
{
	const struct pickle *pickle = stacks->pickle;
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE };
	int64_t line = pickle_int(pickle, pickle_get(pickle, from, "line"), 0);
	size_t name_size, file_size;
	const char *name = pickle_text(pickle, pickle_get(pickle, from, "name"), &name_size);
	const char *file = pickle_text(pickle, pickle_get(pickle, from, "filename"), &file_size);

	if (is_python(file, file_size))
		frame.kind = MT_FRAME_PYTHON;
	else
		known->autograd = begins(name, name_size, "torch::autograd::Engine::") != 0;
	frame.function = mt_defs_add_string(stacks->defs, name, name_size);
	if (!begins(file, file_size, "??"))
		frame.file = add_file(stacks, file, file_size);
	frame.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	known->id = mt_defs_add_frame(stacks->defs, &frame) + 1;
}

/* Adds the frame inside of node `parent`. Returns the new node. */
static uint32_t add_frame(struct import_stacks *stacks, pickle_id from, uint32_t parent, uint8_t *autograd)
{
	struct import_frame *known = &stacks->frame[from < stacks->values ? from : 0];

	if (!known->id)
		define_frame(stacks, from, known);
	*autograd |= known->autograd;
	return known->id > 1 ? mt_defs_add_node(stacks->defs, parent, known->id - 1) : parent;
}

/* Skips the innermost functions: they read the stack, and are not part of the program. */
static uint32_t skip_unwinder(const struct pickle *pickle, pickle_id frames)
{
	static const char *const unwinder[] = { "torch::unwind::", "torch::CapturedTraceback::",
						"torch::cuda::(anonymous namespace)::gather" };
	uint32_t i, skip = 0;
	size_t size;
	const char *name;

	do {
		name = pickle_text(pickle, pickle_get(pickle, pickle_item(pickle, frames, skip), "name"), &size);
		for (i = 0; i < MT_ARRAY_SIZE(unwinder) && !begins(name, size, unwinder[i]); i++)
			;
	} while (i < MT_ARRAY_SIZE(unwinder) && ++skip);
	return skip;
}

/*
 * Makes a stack from frames, innermost first. Outermost frames beyond the depth of a trace are left out. In a recording without native frames, only
 * autograd's threads have empty stacks.
 */
static void build(struct import_stacks *stacks, pickle_id frames, struct import_stack *stack)
{
	uint32_t first = skip_unwinder(stacks->pickle, frames), at = pickle_count(stacks->pickle, frames), node = 0;

	stack->autograd = !at && pickle_type(stacks->pickle, frames) == PICKLE_LIST;
	if (at > first + MT_STACK_DEPTH_MAX)
		at = first + MT_STACK_DEPTH_MAX;
	while (at > first)
		node = add_frame(stacks, pickle_item(stacks->pickle, frames, --at), node, &stack->autograd);
	stack->node = node + 1;
}

void import_stacks_look(struct import_stacks *stacks, pickle_id frames, uint32_t *node, uint32_t *thread)
{
	struct import_stack *stack = &stacks->known[frames < stacks->values ? frames : 0];

	if (!stack->node)
		build(stacks, frames, stack);
	*node = stack->node - 1;
	*thread = stack->autograd ? stacks->autograd : stacks->main;
}
