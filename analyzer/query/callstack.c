#include "callstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "frame_kind.h"
#include "label/owner.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define NODE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:"

int callstack_append(struct callstack *stack, const struct callstack_frame *frame)
{
	if (MT_ARRAY_ROOM(stack->frame, stack->count, stack->room))
		return -MT_E_MEMORY;
	stack->frame[stack->count++] = frame;
	return 0;
}

/* Finds the node of autograd in "torch::autograd::generated::MmBackward0::apply(...)", and its length; NULL: no node, or the base class. */
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

/* Finds the operation in "at::_ops::isnan::call(at::Tensor const&)", and its length; NULL: the frame calls no operation. */
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
		snprintf(out, size, "%.*s", (int)size - 1, frame->function);
	return out;
}

/* Keeps the word before a star: "layers.*" and not "*". */
const char *callstack_submodule(const struct callstack_frame *frame)
{
	const char *path = frame->submodule, *at;

	if (!path || !*path)
		return NULL;
	for (at = path + strlen(path); at > path; at--)
		if ((at[-1] == '.' && *at != '*') || (at - path > 2 && !strncmp(at - 3, " > ", 3)))
			break;
	return at;
}

/* ---- the frames that name a place ---- */

static int is_user(const struct callstack_frame *frame)
{
	return frame_kind(frame) == FRAME_USER;
}

static int is_library(const struct callstack_frame *frame)
{
	enum frame_kind kind = frame_kind(frame);

	return kind == FRAME_LIBRARY || kind == FRAME_COMPILED;
}

static int is_layer(const struct callstack_frame *frame)
{
	return frame_kind(frame) == FRAME_LAYER;
}

static int is_compiled(const struct callstack_frame *frame)
{
	return frame_kind(frame) == FRAME_COMPILED;
}

static int is_node(const struct callstack_frame *frame)
{
	size_t length;

	return autograd_node(frame, &length) != NULL;
}

static int is_operation(const struct callstack_frame *frame)
{
	size_t length;

	return operation(frame, &length) != NULL;
}

static int is_named_python(const struct callstack_frame *frame)
{
	return !frame->native && !frame->elided && !frame_is_nameless(frame);
}

static int is_native_work(const struct callstack_frame *frame)
{
	return frame->native && !frame->elided && !frame_is_native_plumbing(frame);
}

/* Whether the frame is in a library without function names: "libfoo.so+0x1234". */
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

static int is_not_the_driver(const struct callstack_frame *frame)
{
	return !frame->elided && !owner_passes_on(frame->module);
}

/* The traits of a frame; a frame can have several. X(NAME, function) */
#define TRAIT_LIST(X)                      \
	X(USER, is_user)                   \
	X(LIBRARY, is_library)             \
	X(LAYER, is_layer)                 \
	X(COMPILED, is_compiled)           \
	X(NODE, is_node)                   \
	X(OPERATION, is_operation)         \
	X(NAMED_PYTHON, is_named_python)   \
	X(NATIVE_WORK, is_native_work)     \
	X(NATIVE_MODULE, is_native_module) \
	X(PYTHON, is_python)               \
	X(NOT_THE_DRIVER, is_not_the_driver)

enum trait {
#define TRAIT_ENUM(name, function) TRAIT_##name,
	TRAIT_LIST(TRAIT_ENUM)
#undef TRAIT_ENUM
		TRAITS
};

static int (*const is_so[TRAITS])(const struct callstack_frame *frame) = {
#define TRAIT_FUNCTION(name, function) function,
	TRAIT_LIST(TRAIT_FUNCTION)
#undef TRAIT_FUNCTION
};

#define LEARNED (1u << TRAITS)

void callstack_learn(struct callstack_frame *frame)
{
	unsigned trait, learned = LEARNED;

	for (trait = 0; trait < TRAITS; trait++)
		learned |= is_so[trait](frame) ? 1u << trait : 0;
	frame->learned = learned;
}

struct tuple callstack_key(const struct callstack_frame *frame)
{
	return (struct tuple){ { tuple_text(frame->function), tuple_text(frame->file), tuple_text(frame->module),
				 (uint64_t)frame->native << 1 | (uint64_t)frame->elided } };
}

int callstack_is_alike(const struct callstack_frame *one, const struct callstack_frame *two)
{
	return one->native == two->native && one->elided == two->elided && !strcmp(one->function, two->function) &&
	       !strcmp(one->file, two->file) && !strcmp(one->module, two->module);
}

static int has(const struct callstack_frame *frame, enum trait trait)
{
	return frame->learned ? (frame->learned & 1u << trait) != 0 : is_so[trait](frame);
}

int callstack_is_user(const struct callstack_frame *frame)
{
	return has(frame, TRAIT_USER);
}

int callstack_is_nameless(const struct callstack_frame *frame)
{
	return has(frame, TRAIT_NATIVE_MODULE);
}

int callstack_is_library(const struct callstack_frame *frame)
{
	return has(frame, TRAIT_LIBRARY);
}

int callstack_is_compiled(const struct callstack_frame *frame)
{
	return has(frame, TRAIT_COMPILED);
}

/* Returns the innermost frame with the trait, else CALLSTACK_NO_FRAME. */
static size_t innermost(const struct callstack *stack, enum trait trait)
{
	size_t i;

	for (i = 0; i < stack->count && !has(stack->frame[i], trait); i++)
		;
	return i < stack->count ? i : CALLSTACK_NO_FRAME;
}

/* Returns the outermost operation of PyTorch inside of frame `end`, else CALLSTACK_NO_FRAME. */
static size_t outermost_operation(const struct callstack *stack, size_t end)
{
	size_t i;

	for (i = end; i > 0; i--)
		if (has(stack->frame[i - 1], TRAIT_OPERATION))
			return i - 1;
	return CALLSTACK_NO_FRAME;
}

size_t callstack_user_frame(const struct callstack *stack)
{
	static const enum trait traits[] = { TRAIT_USER,         TRAIT_LIBRARY,     TRAIT_NODE,
					     TRAIT_NAMED_PYTHON, TRAIT_NATIVE_WORK, TRAIT_NATIVE_MODULE };
	size_t at = CALLSTACK_NO_FRAME, i;

	for (i = 0; i < MT_ARRAY_SIZE(traits) && at == CALLSTACK_NO_FRAME; i++)
		at = innermost(stack, traits[i]);
	if (at == CALLSTACK_NO_FRAME)
		at = outermost_operation(stack, stack->count);
	if (at == CALLSTACK_NO_FRAME)
		at = innermost(stack, TRAIT_PYTHON);
	if (at == CALLSTACK_NO_FRAME)
		at = innermost(stack, TRAIT_NOT_THE_DRIVER);
	return at == CALLSTACK_NO_FRAME && stack->count ? 0 : at;
}

/*
 * Whether the frame belongs to the driver's libraries, the recorder, or PyTorch's allocator and unwinder. The stand-in driver has the name of a
 * driver's library.
 */
static int is_allocator(const struct callstack_frame *frame)
{
	static const char *const functions[] = { "c10::", "torch::unwind", "torch::CapturedTraceback" };
	const char *library = text_base_name(frame->module);
	size_t i;

	if (!frame->native || frame->elided)
		return 0;
	if (owner_passes_on(frame->module) || !strncmp(library, "libc10", strlen("libc10")))
		return 1;
	for (i = 0; i < MT_ARRAY_SIZE(functions); i++)
		if (!strncmp(frame->function, functions[i], strlen(functions[i])))
			return 1;
	return 0;
}

size_t callstack_first_frame(const struct callstack *stack)
{
	size_t i;

	for (i = 0; i < stack->count && is_allocator(stack->frame[i]); i++)
		;
	return i < stack->count ? i : 0;
}

size_t callstack_inner_frame(const struct callstack *stack, size_t user)
{
	size_t i;

	for (i = 0; i < user && i < stack->count; i++)
		if (has(stack->frame[i], TRAIT_LIBRARY) || has(stack->frame[i], TRAIT_NODE))
			return i;
	return user;
}

/* Returns the frame, further out than `at`, from which compiled code was made: a user's or a library's; else CALLSTACK_NO_FRAME. */
static size_t compiled_from(const struct callstack *stack, size_t at)
{
	const struct callstack_frame *frame;

	while (++at < stack->count) {
		frame = stack->frame[at];
		if (has(frame, TRAIT_USER) || (has(frame, TRAIT_LIBRARY) && !has(frame, TRAIT_COMPILED)))
			return at;
	}
	return CALLSTACK_NO_FRAME;
}

struct callstack_parts callstack_parts_of(const struct callstack *stack, size_t user)
{
	size_t inner = callstack_inner_frame(stack, user), from = CALLSTACK_NO_FRAME;
	struct callstack_parts parts = { .user = stack->frame[user], .inner = stack->frame[inner] };

	if (has(parts.inner, TRAIT_COMPILED))
		from = compiled_from(stack, inner);
	parts.from = from == CALLSTACK_NO_FRAME ? NULL : stack->frame[from];
	parts.in_user = from == user;
	return parts;
}

const char *callstack_function_of(char *out, size_t size, const struct callstack *stack, size_t user)
{
	struct callstack_parts parts = callstack_parts_of(stack, user);

	return callstack_function(out, size, parts.from ? parts.from : parts.inner);
}

const char *callstack_work(char *out, size_t size, const struct callstack *stack, size_t user)
{
	size_t inner = callstack_inner_frame(stack, user), at = CALLSTACK_NO_FRAME, i;

	for (i = 0; i < inner && at == CALLSTACK_NO_FRAME; i++)
		if (has(stack->frame[i], TRAIT_LAYER))
			at = i;
	if (at == CALLSTACK_NO_FRAME && inner == user && has(stack->frame[user], TRAIT_PYTHON))
		at = outermost_operation(stack, user);
	if (at == CALLSTACK_NO_FRAME)
		return callstack_function_of(out, size, stack, user);
	return callstack_function(out, size, stack->frame[at]);
}

/* Writes the place of the inner frame, to follow the user's place. */
static void inner_place(char *out, size_t size, const struct callstack_parts *parts)
{
	char place[CALLSTACK_PLACE_MAX];

	if (!has(parts->inner, TRAIT_COMPILED))
		callstack_place(out, size, parts->inner);
	else if (!parts->from || parts->in_user)
		snprintf(out, size, "compiled code:%u", parts->inner->line);
	else
		snprintf(out, size, "compiled code:%u of %s", parts->inner->line,
			 callstack_place(place, sizeof(place), parts->from));
}

const char *callstack_place_of(char *out, size_t size, const struct callstack *stack, size_t user)
{
	size_t inner = callstack_inner_frame(stack, user);
	struct callstack_parts parts = callstack_parts_of(stack, user);
	char at[CALLSTACK_PLACE_MAX], place[CALLSTACK_PLACE_MAX];

	inner_place(at, sizeof(at), &parts);
	if (inner == user)
		snprintf(out, size, "%s", at);
	else
		snprintf(out, size, "%s > %s", callstack_place(place, sizeof(place), parts.user), at);
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
