#include "callstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label/owner.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query.h"

#define INLINED_MAX 8
#define NODE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:"

struct loading {
	struct callstack *stack;
	struct symbols *symbols;
};

static int add_frame(struct callstack *stack, const struct query_frame *row, const struct symbol *symbol)
{
	size_t function = strlen(symbol->function) + 1, file = strlen(symbol->file) + 1,
	       module = strlen(row->module) + 1;
	size_t room = stack->room ? stack->room * 2 : 32;
	struct callstack_frame *frame;

	if (stack->count == stack->room) {
		frame = realloc(stack->frame, room * sizeof(*frame));
		if (!frame)
			return -MT_E_MEMORY;
		stack->frame = frame;
		stack->room = room;
	}
	frame = &stack->frame[stack->count];
	memset(frame, 0, sizeof(*frame));
	frame->texts = malloc(function + file + module);
	if (!frame->texts)
		return -MT_E_MEMORY;
	stack->count++;
	frame->function = memcpy(frame->texts, symbol->function, function);
	frame->file = memcpy(frame->texts + function, symbol->file, file);
	frame->module = memcpy(frame->texts + function + file, row->module, module);
	frame->line = symbol->line;
	frame->offset = row->offset;
	frame->native = !strcmp(row->kind, "native");
	frame->elided = !strcmp(row->kind, "elided");
	return 0;
}

static int load_frame(void *context, const struct query_frame *row)
{
	struct loading *loading = context;
	struct symbol recorded = { .function = row->function, .file = row->file, .line = row->line };
	struct symbol found[INLINED_MAX];
	size_t count = 0, i;
	int error = 0;

	if (loading->symbols && !strcmp(row->kind, "native") && *row->module)
		count = symbols_find(loading->symbols, row->module, row->build_id, row->build_id_size, row->offset,
				     found, INLINED_MAX);
	if (!count)
		return add_frame(loading->stack, row, &recorded);
	for (i = 0; i < count && !error; i++)
		error = add_frame(loading->stack, row, &found[i]);
	return error;
}

int callstack_load(struct callstack *stack, struct db *db, int64_t node, struct symbols *symbols)
{
	struct loading loading = { .stack = stack, .symbols = symbols };

	memset(stack, 0, sizeof(*stack));
	return node ? query_stack(db, node, load_frame, &loading) : 0;
}

void callstack_release(struct callstack *stack)
{
	size_t i;

	for (i = 0; i < stack->count; i++)
		free(stack->frame[i].texts);
	free(stack->frame);
	memset(stack, 0, sizeof(*stack));
}

const char *callstack_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_user_python(const char *file)
{
	static const char *const foreign[] = { "/torch/", "/site-packages/", "/dist-packages/", "/lib/python" };
	size_t i;

	if (!*file || *file == '<')
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(foreign); i++)
		if (strstr(file, foreign[i]))
			return 0;
	return 1;
}

/* Libraries are not the user's, nor is the interpreter, nor what the compiler puts around main. */
static int is_user_native(const struct callstack_frame *frame)
{
	const char *name = callstack_base_name(frame->module);

	if (!*name || (!*frame->file && !*frame->function) || !strcmp(frame->function, "_start"))
		return 0;
	if ((!strncmp(name, "lib", 3) && strstr(name, ".so")) || !strncmp(name, "python", 6) ||
	    !strncmp(name, "ld-", 3))
		return 0;
	return (!*frame->file || is_user_python(frame->file)) && is_user_python(frame->module);
}

int callstack_is_user(const struct callstack_frame *frame)
{
	if (frame->elided)
		return 0;
	return frame->native ? is_user_native(frame) : is_user_python(frame->file);
}

/*
 * Native functions that hand on what somebody else asked for: every tensor comes through the allocator, the dispatcher
 * and the engine. By the beginning of their names.
 */
static const char *const plumbing[] = {
	"c10::",
	"at::",
	"void at::",
	"void c10::",
	"torch::unwind",
	"torch::autograd::",
	"torch::jit::",
	"torch::dynamo::",
	"std::",
	"void std::",
	"execute_native_thread_routine",
	"pthread_",
	"start_thread",
	"clone",
	"__",
	"THPVariable_",
	"THPEngine_",
	"_Py",
	"Py",
};

static int is_plumbing(const struct callstack_frame *frame)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(plumbing); i++)
		if (!strncmp(frame->function, plumbing[i], strlen(plumbing[i])))
			return 1;
	return !*frame->function || owner_passes_on(frame->module);
}

/*
 * "torch::autograd::generated::MmBackward0::apply(...)": the part before apply, its length in *size. NULL: no node of
 * autograd. The base class is none.
 */
static const char *autograd_node(const struct callstack_frame *frame, size_t *size)
{
	static const char space[] = "torch::autograd::", generated[] = "generated::", apply[] = "::apply(";
	const char *name = frame->function, *end;

	if (!frame->native || strncmp(name, space, strlen(space)))
		return NULL;
	name += strlen(space);
	if (!strncmp(name, generated, strlen(generated)))
		name += strlen(generated);
	end = strstr(name, apply);
	*size = end ? (size_t)(end - name) : 0;
	return *size && strspn(name, NODE_LETTERS) >= *size ? name : NULL;
}

const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame)
{
	size_t length;
	const char *node = autograd_node(frame, &length);

	if (node)
		snprintf(out, size, "%.*s", length < 200 ? (int)length : 200, node);
	else
		snprintf(out, size, "%s", frame->function);
	return out;
}

size_t callstack_user_frame(const struct callstack *stack)
{
	size_t length;
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (callstack_is_user(&stack->frame[i]))
			return i;
	for (i = 0; i < stack->count; i++)
		if (*stack->frame[i].file && !stack->frame[i].native)
			return i;
	for (i = 0; i < stack->count; i++)
		if (autograd_node(&stack->frame[i], &length))
			return i;
	for (i = 0; i < stack->count; i++)
		if (!stack->frame[i].elided && !is_plumbing(&stack->frame[i]))
			return i;
	for (i = 0; i < stack->count; i++)
		if (!stack->frame[i].elided && !owner_passes_on(stack->frame[i].module))
			return i;
	return stack->count ? 0 : CALLSTACK_NO_FRAME;
}

const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame)
{
	size_t length;

	if (frame->elided)
		snprintf(out, size, "...");
	else if (!frame->line && autograd_node(frame, &length))
		snprintf(out, size, "autograd");
	else if (*frame->file && frame->line)
		snprintf(out, size, "%s:%u", callstack_base_name(frame->file), frame->line);
	else if (*frame->file)
		snprintf(out, size, "%s", callstack_base_name(frame->file));
	else if (*frame->module)
		snprintf(out, size, "%s+0x%llx", callstack_base_name(frame->module), (unsigned long long)frame->offset);
	else if (frame->native && *frame->function)
		snprintf(out, size, "native code");
	else if (frame->native)
		snprintf(out, size, "0x%llx", (unsigned long long)frame->offset);
	else
		snprintf(out, size, "unknown place");
	return out;
}
