/*
 * stack_instance.c - finds the modules whose calls are on a stack. The frame of a torch.nn.Module's call has the module
 * as its first argument:
 *
 *     _wrapped_call_impl(self, *args, **kwargs)     self is a plain local
 *     _call_impl(self, *args, **kwargs)             self may be a cell, since a function inside uses it
 *
 * No reference is taken: the caller's frame holds the module while the stack is read. stack_python.c has the walk
 * itself.
 */
#include "stack_python.h"

#include <errno.h>
#include "memtrace/base.h"
#include "readable.h"
#include "stack_python_impl.h"

#define MODULE_FILE "/torch/nn/modules/module.py"
#define MODULE_CLASS "Module"
#define CELLS_MAX 64u    /* most cells of a function; _call_impl has two */
#define CLASSES_MAX 256u /* most base classes of a class */
#define CLASS_BYTES 256u /* longest class name that is read */

struct python_calls python_calls;

/* ---- The object ---- */

/* Up to 3.10 an argument that a function inside uses is moved into a cell behind the locals. */
static const uint8_t *cell_of_argument(const uint8_t *frame)
{
	const struct python_layout *at = &python_found.at;
	const uint8_t *code = python_code(at, frame), *names, *cells;
	uint64_t count, i;

	if (at->code_cells == PYTHON_NONE)
		return NULL;
	names = python_pointer(code, at->code_cells - sizeof(void *)); /* co_cellvars */
	cells = python_pointer(code, at->code_cells);
	if (!python_is_plausible(names) || !python_is_plausible(cells))
		return NULL;
	count = python_word(names, PYTHON_OBJECT_SIZE);
	for (i = 0; i < count && i < CELLS_MAX; i++)
		if (!python_word(cells, (uint32_t)i * sizeof(uint64_t)))
			return python_pointer(frame + (uint32_t)python_int(code, at->code_locals) * sizeof(void *),
					      at->frame_locals + (uint32_t)i * sizeof(void *));
	return NULL;
}

const uint8_t *python_argument_in_cell(const uint8_t *frame, const uint8_t *cell)
{
	if (!cell)
		cell = cell_of_argument(frame);
	if (!python_is_plausible(cell) || python_pointer(cell, PYTHON_OBJECT_TYPE) != python_found.cell_type)
		return NULL;
	cell = python_pointer(cell, PYTHON_CELL_VALUE);
	return python_is_plausible(cell) ? cell : NULL;
}

/*
 * Joins calls of one module directly inside one another: _wrapped_call_impl calls _call_impl, perhaps through code of
 * torch.compile, and a subclass may call its base. The outermost frame of them has the instance.
 */
void python_note_instance(struct python_instances *instances, const uint8_t *frame, uint32_t number)
{
	const uint8_t *object = python_first_local(&python_found.at, frame);

	if (!object || python_pointer(object, PYTHON_OBJECT_TYPE) == python_found.cell_type)
		object = python_argument_in_cell(frame, object);
	if (!object)
		return;
	if (instances->count && instances->of[instances->count - 1].object == object)
		instances->of[instances->count - 1].frame = number;
	else if (instances->count < STACK_INSTANCES_MAX)
		instances->of[instances->count++] = (struct python_instance){
			object, python_pointer(object, PYTHON_OBJECT_TYPE), number
		};
}

/* ---- Its class ---- */

static int is_readable(const void *at, size_t bytes)
{
	return python_is_plausible(at) && readable_range(at, bytes);
}

static int is_type(const uint8_t *object)
{
	const uint8_t *meta;

	if (!is_readable(object, PYTHON_TYPE_MRO + sizeof(void *)))
		return 0;
	meta = python_pointer(object, PYTHON_OBJECT_TYPE);
	return is_readable(meta, PYTHON_TYPE_FLAGS + sizeof(uint64_t)) &&
	       (python_word(meta, PYTHON_TYPE_FLAGS) & PYTHON_TYPE_IS_TYPE);
}

/* Sets *name to the class's name. Returns its bytes, cut between characters; 0: not readable. */
static size_t class_name(const uint8_t *type, const char **name)
{
	const char *text = (const char *)python_pointer(type, PYTHON_TYPE_NAME);
	size_t bytes = 0;

	*name = text;
	if ((uintptr_t)text < 4096)
		return 0;
	for (;; bytes++) {
		if ((!bytes || !((uintptr_t)(text + bytes) & 7)) && !readable_at((uintptr_t)(text + bytes)))
			return 0;
		if (!text[bytes] || bytes == CLASS_BYTES)
			break;
	}
	while (bytes && ((uint8_t)text[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

static int is_named_module(const uint8_t *class)
{
	const char *name;

	return class_name(class, &name) == strlen(MODULE_CLASS) && !memcmp(name, MODULE_CLASS, strlen(MODULE_CLASS));
}

/* 1: a base class has that name. */
static int is_module(const uint8_t *type)
{
	const uint8_t *classes = python_pointer(type, PYTHON_TYPE_MRO), *item;
	uint64_t count, i;

	if (!is_readable(classes, PYTHON_OBJECT_SIZE + sizeof(uint64_t)))
		return 0;
	count = python_word(classes, PYTHON_OBJECT_SIZE);
	for (i = 0; i < count && i < CLASSES_MAX; i++) {
		item = classes + python_found.at.tuple_items + i * sizeof(void *);
		if (!is_readable(item, sizeof(void *)))
			return 0;
		item = python_pointer(item, 0);
		if (is_type(item) && is_named_module(item))
			return 1;
	}
	return 0;
}

size_t stack_python_class(const struct python_instance *instance, char *name, size_t size)
{
	const char *text = NULL;
	size_t bytes = 0;
	int saved = errno;

	if (is_type(instance->type) && is_module(instance->type))
		bytes = class_name(instance->type, &text);
	errno = saved;
	if (bytes > size)
		return 0;
	if (bytes)
		memcpy(name, text, bytes);
	return bytes;
}

/* ---- The codes ---- */

static int is_text(const char *text, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && !memcmp(text, wanted, bytes);
}

static enum python_call call_named(const char *name, size_t name_bytes, const char *file, size_t file_bytes)
{
	size_t bytes = strlen(MODULE_FILE);

	if (file_bytes < bytes || memcmp(file + file_bytes - bytes, MODULE_FILE, bytes))
		return PYTHON_CALL_NONE;
	if (is_text(name, name_bytes, "_wrapped_call_impl"))
		return PYTHON_CALL_WRAPPED;
	return is_text(name, name_bytes, "_call_impl") ? PYTHON_CALL_PLAIN : PYTHON_CALL_NONE;
}

static int is_met(const struct python_frame *frame)
{
	uint32_t i;

	for (i = 0; i < PYTHON_CALLS_MAX; i++)
		if (atomic_load_explicit(&python_calls.of[i].code, memory_order_acquire) == frame->code &&
		    python_calls.of[i].key == frame->key)
			return 1;
	return 0;
}

int stack_python_knows_calls(void)
{
	return atomic_load_explicit(&python_calls.marks, memory_order_relaxed) != 0;
}

/* Two threads that meet the same code at once both add it, which is harmless. */
int stack_python_meet(const struct python_frame *frame, const char *name, size_t name_bytes, const char *file,
		      size_t file_bytes)
{
	enum python_call call = call_named(name, name_bytes, file, file_bytes);
	uint32_t place;

	if (!call || is_met(frame) || python_int(frame->code, python_found.at.code_arguments) < 1)
		return 0;
	place = atomic_fetch_add(&python_calls.count, 1);
	if (place >= PYTHON_CALLS_MAX) {
		atomic_store(&python_calls.count, PYTHON_CALLS_MAX);
		return 0;
	}
	python_calls.of[place].number = python_number(&python_found.at, frame->code);
	python_calls.of[place].key = frame->key;
	python_calls.of[place].call = call;
	atomic_store_explicit(&python_calls.of[place].code, frame->code, memory_order_release);
	atomic_fetch_or(&python_calls.marks, python_mark(frame->code));
	return 1;
}
