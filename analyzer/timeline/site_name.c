#include "site_name.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

static void fill_frame(struct callstack_frame *to, const struct mt_defs *defs, const struct mt_frame *frame)
{
	const struct mt_module *module = mt_defs_module(defs, frame->module);

	memset(to, 0, sizeof(*to));
	to->function = mt_defs_string(defs, frame->function);
	to->file = mt_defs_string(defs, frame->file);
	to->module = module ? mt_defs_string(defs, module->path) : "";
	to->line = frame->line;
	to->offset = frame->offset;
	to->native = frame->kind == MT_FRAME_NATIVE;
	to->elided = frame->kind == MT_FRAME_ELIDED;
}

static int learn(struct site_names *names, uint32_t process, uint32_t id, struct callstack_frame *frame)
{
	const struct tuple key = { { process, id } };
	uint32_t learned = tuple_find(&names->learned, &key);

	if (learned != TUPLE_NONE) {
		frame->learned = learned;
		return 0;
	}
	callstack_learn(frame);
	return tuple_add(&names->learned, &key, frame->learned);
}

static int add_frame(struct site_names *names, uint32_t process, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_frame *frame = mt_defs_frame(defs, id);
	size_t at = names->stack.count;
	int error;

	if (!frame)
		return 0;
	fill_frame(&names->frame[at], defs, frame);
	names->id[at] = id;
	error = learn(names, process, id, &names->frame[at]);
	return error ? error : callstack_append(&names->stack, &names->frame[at]);
}

/* The frames, innermost first; their strings are those of the definitions. */
static int fill_stack(struct site_names *names, uint32_t process, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_node *node = mt_defs_node(defs, id);
	int error = 0;

	if (!names->frame)
		names->frame = malloc(MT_STACK_DEPTH_MAX * sizeof(*names->frame));
	if (!names->id)
		names->id = malloc(MT_STACK_DEPTH_MAX * sizeof(*names->id));
	if (!names->frame || !names->id)
		return -MT_E_MEMORY;
	names->stack.count = 0;
	for (; node && names->stack.count < MT_STACK_DEPTH_MAX && !error; node = mt_defs_node(defs, node->parent))
		error = add_frame(names, process, defs, node->frame);
	return error;
}

/* The number of a frame, from 1. 0: none. */
static uint64_t number_of(const struct site_names *names, const struct callstack_frame *frame)
{
	return frame ? names->id[frame - names->frame] : 0;
}

/* The words of the place whose key this is, in names->name[names->count]. */
static int add_name(struct site_names *names, const struct tuple *key, size_t user)
{
	struct site_name *larger;

	if (MT_ARRAY_ROOM(names->name, names->count, names->room))
		return -MT_E_MEMORY;
	larger = &names->name[names->count];
	callstack_function_of(larger->function, sizeof(larger->function), &names->stack, user);
	callstack_place_of(larger->place, sizeof(larger->place), &names->stack, user);
	return tuple_add(&names->known, key, names->count++);
}

int site_name(struct site_name *name, struct site_names *names, uint32_t process, const struct mt_defs *defs,
	      uint32_t node)
{
	struct callstack_parts parts;
	struct tuple key;
	size_t user;
	int error = fill_stack(names, process, defs, node);

	name->function[0] = name->place[0] = '\0';
	if (error)
		return error;
	user = callstack_user_frame(&names->stack);
	if (user == CALLSTACK_NO_FRAME)
		return 0;
	parts = callstack_parts_of(&names->stack, user);
	key = (struct tuple){ { (uint64_t)process << 1 | (uint64_t)parts.in_user, number_of(names, parts.user),
				number_of(names, parts.inner), number_of(names, parts.from) } };
	if (tuple_find(&names->known, &key) == TUPLE_NONE)
		error = add_name(names, &key, user);
	if (!error)
		*name = names->name[tuple_find(&names->known, &key)];
	return error;
}

void site_names_release(struct site_names *names)
{
	callstack_release(&names->stack);
	free(names->frame);
	free(names->id);
	tuple_release(&names->learned);
	tuple_release(&names->known);
	free(names->name);
	memset(names, 0, sizeof(*names));
}
