#include "site_name.h"

#include <stdlib.h>
#include <string.h>
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

/* The frames, innermost first; their strings are those of the definitions. */
static int fill_stack(struct callstack *stack, const struct mt_defs *defs, uint32_t id)
{
	const struct mt_node *node = mt_defs_node(defs, id);
	const struct mt_frame *frame;

	if (!stack->frame) {
		stack->frame = malloc(MT_STACK_DEPTH_MAX * sizeof(*stack->frame));
		stack->room = MT_STACK_DEPTH_MAX;
	}
	if (!stack->frame)
		return -MT_E_MEMORY;
	stack->count = 0;
	for (; node && stack->count < stack->room; node = mt_defs_node(defs, node->parent)) {
		frame = mt_defs_frame(defs, node->frame);
		if (frame)
			fill_frame(&stack->frame[stack->count++], defs, frame);
	}
	return 0;
}

int site_name(struct site_name *name, const struct mt_defs *defs, uint32_t node, struct callstack *scratch)
{
	size_t user;

	name->function[0] = name->place[0] = '\0';
	if (fill_stack(scratch, defs, node))
		return -MT_E_MEMORY;
	user = callstack_user_frame(scratch);
	if (user == CALLSTACK_NO_FRAME)
		return 0;
	callstack_function(name->function, sizeof(name->function), &scratch->frame[user]);
	callstack_place(name->place, sizeof(name->place), &scratch->frame[user]);
	return 0;
}
