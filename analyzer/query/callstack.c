#include "callstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "frame_kind.h"
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

int callstack_is_user(const struct callstack_frame *frame)
{
	return frame_kind(frame) == FRAME_USER;
}

int callstack_is_library(const struct callstack_frame *frame)
{
	enum frame_kind kind = frame_kind(frame);

	return kind == FRAME_LIBRARY || kind == FRAME_COMPILED;
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

/* "at::_ops::isnan::call(at::Tensor const&)": the operation, its length in *size. NULL: none is called here. */
static const char *operation(const struct callstack_frame *frame, size_t *size)
{
	static const char space[] = "at::_ops::";
	const char *name = frame->function, *end;

	if (!frame->native || strncmp(name, space, strlen(space)))
		return NULL;
	name += strlen(space);
	end = strstr(name, "::call(");
	*size = end ? (size_t)(end - name) : 0;
	return *size && strspn(name, NODE_LETTERS) >= *size ? name : NULL;
}

const char *callstack_function(char *out, size_t size, const struct callstack_frame *frame)
{
	size_t length;
	const char *node = autograd_node(frame, &length);

	if (!node)
		node = operation(frame, &length);
	if (node)
		snprintf(out, size, "%.*s", length < 200 ? (int)length : 200, node);
	else
		snprintf(out, size, "%s", frame->function);
	return out;
}

/* ---- the frames that name a place ---- */

static int is_node(const struct callstack_frame *frame)
{
	size_t length;

	return autograd_node(frame, &length) != NULL;
}

static int is_named_python(const struct callstack_frame *frame)
{
	return !frame->native && !frame->elided && !frame_is_nameless(frame);
}

static int is_native_work(const struct callstack_frame *frame)
{
	return frame->native && !frame->elided && !frame_is_native_plumbing(frame);
}

/* A library that has no names, "libfoo.so+0x1234". */
static int is_native_module(const struct callstack_frame *frame)
{
	return frame->native && *frame->module && !*frame->function && !frame_is_nameless_module(frame);
}

int callstack_is_plumbing(const struct callstack_frame *frame)
{
	return !frame->elided && frame_kind(frame) == FRAME_PLUMBING && !is_node(frame) && !is_native_work(frame) &&
	       !is_native_module(frame);
}

static int is_python(const struct callstack_frame *frame)
{
	return !frame->native && !frame->elided;
}

/* The innermost frame that is so. */
static size_t innermost(const struct callstack *stack, int (*is_so)(const struct callstack_frame *frame))
{
	size_t i;

	for (i = 0; i < stack->count && !is_so(&stack->frame[i]); i++)
		;
	return i < stack->count ? i : CALLSTACK_NO_FRAME;
}

/* The operation that was called from outside of PyTorch's own. */
static size_t outermost_operation(const struct callstack *stack)
{
	size_t i, length;

	for (i = stack->count; i > 0; i--)
		if (operation(&stack->frame[i - 1], &length))
			return i - 1;
	return CALLSTACK_NO_FRAME;
}

static int is_not_the_driver(const struct callstack_frame *frame)
{
	return !frame->elided && !owner_passes_on(frame->module);
}

size_t callstack_user_frame(const struct callstack *stack)
{
	static int (*const kinds[])(const struct callstack_frame *frame) = { callstack_is_user, callstack_is_library,
									     is_node,           is_named_python,
									     is_native_work,    is_native_module };
	size_t at = CALLSTACK_NO_FRAME, i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds) && at == CALLSTACK_NO_FRAME; i++)
		at = innermost(stack, kinds[i]);
	if (at == CALLSTACK_NO_FRAME)
		at = outermost_operation(stack);
	if (at == CALLSTACK_NO_FRAME)
		at = innermost(stack, is_python);
	if (at == CALLSTACK_NO_FRAME)
		at = innermost(stack, is_not_the_driver);
	return at == CALLSTACK_NO_FRAME && stack->count ? 0 : at;
}

size_t callstack_inner_frame(const struct callstack *stack, size_t user)
{
	size_t i;

	for (i = 0; i < user && i < stack->count; i++)
		if (callstack_is_library(&stack->frame[i]) || is_node(&stack->frame[i]))
			return i;
	return user;
}

/* Further out than `at`: whose code it is that was compiled. */
static size_t compiled_from(const struct callstack *stack, size_t at)
{
	enum frame_kind kind;

	while (++at < stack->count) {
		kind = frame_kind(&stack->frame[at]);
		if (kind == FRAME_USER || kind == FRAME_LIBRARY)
			return at;
	}
	return CALLSTACK_NO_FRAME;
}

static int is_compiled(const struct callstack_frame *frame)
{
	return frame_kind(frame) == FRAME_COMPILED;
}

const char *callstack_spot_function(char *out, size_t size, const struct callstack *stack, size_t user)
{
	size_t inner = callstack_inner_frame(stack, user), from;

	if (is_compiled(&stack->frame[inner])) {
		from = compiled_from(stack, inner);
		inner = from == CALLSTACK_NO_FRAME ? inner : from;
	}
	return callstack_function(out, size, &stack->frame[inner]);
}

/* Of what is inside of the user's line. */
static void inner_place(char *out, size_t size, const struct callstack *stack, size_t inner, size_t user)
{
	const struct callstack_frame *frame = &stack->frame[inner];
	char place[CALLSTACK_PLACE_MAX];
	size_t from = compiled_from(stack, inner);

	if (!is_compiled(frame))
		callstack_place(out, size, frame);
	else if (from == CALLSTACK_NO_FRAME || from == user)
		snprintf(out, size, "compiled code:%u", frame->line);
	else
		snprintf(out, size, "compiled code:%u of %s", frame->line,
			 callstack_place(place, sizeof(place), &stack->frame[from]));
}

const char *callstack_spot_place(char *out, size_t size, const struct callstack *stack, size_t user)
{
	size_t inner = callstack_inner_frame(stack, user);
	char at[CALLSTACK_PLACE_MAX], place[CALLSTACK_PLACE_MAX];

	inner_place(at, sizeof(at), stack, inner, user);
	if (inner == user)
		snprintf(out, size, "%s", at);
	else
		snprintf(out, size, "%s > %s", callstack_place(place, sizeof(place), &stack->frame[user]), at);
	return out;
}

const char *callstack_place(char *out, size_t size, const struct callstack_frame *frame)
{
	char file[CALLSTACK_PLACE_MAX];
	size_t length;

	frame_file_name(file, sizeof(file), frame->file);
	if (frame->elided)
		snprintf(out, size, "...");
	else if (!frame->line && autograd_node(frame, &length))
		snprintf(out, size, "autograd");
	else if (operation(frame, &length))
		snprintf(out, size, "an operation of PyTorch");
	else if (*frame->file && frame->line)
		snprintf(out, size, "%s:%u", file, frame->line);
	else if (*frame->file)
		snprintf(out, size, "%s", file);
	else if (*frame->module)
		snprintf(out, size, "%s+0x%llx", text_base_name(frame->module), (unsigned long long)frame->offset);
	else if (frame->native && *frame->function)
		snprintf(out, size, "native code");
	else if (frame->native)
		snprintf(out, size, "0x%llx", (unsigned long long)frame->offset);
	else
		snprintf(out, size, "unknown place");
	return out;
}
