#include "export_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/array.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"

/* Adds an empty row. NULL: out of memory. */
static struct export_frame *add_frame(struct export_frames *frames)
{
	struct export_frame *larger;

	if (MT_ARRAY_ROOM(frames->frame, frames->count, frames->room))
		return NULL;
	larger = &frames->frame[frames->count++];
	larger->function[0] = '\0';
	larger->file = larger->module = "";
	larger->line = 0;
	return larger;
}

int export_frames_word(struct export_frames *frames, const char *word, size_t size)
{
	struct export_frame *frame = add_frame(frames);

	if (!frame)
		return -MT_E_MEMORY;
	snprintf(frame->function, sizeof(frame->function), "%.*s", (int)size, word);
	return 0;
}

static int add_code(struct export_frames *frames, const struct callstack_frame *from, int confidential)
{
	struct export_frame *frame = add_frame(frames);

	if (!frame)
		return -MT_E_MEMORY;
	if (from->elided)
		snprintf(frame->function, sizeof(frame->function), "...");
	else if (*from->function)
		callstack_function(frame->function, sizeof(frame->function), from);
	else if (!from->native && confidential)
		snprintf(frame->function, sizeof(frame->function), "unknown function");
	else
		callstack_place(frame->function, sizeof(frame->function), from);
	if (confidential)
		return 0;
	frame->file = from->file;
	frame->line = from->line;
	frame->module = from->module;
	return 0;
}

int export_frames_code(struct export_frames *frames, const struct callstack *stack, const char *category,
		       int confidential)
{
	static const char none[] = "no stack was recorded";
	size_t user = callstack_user_frame(stack), i;
	int error = 0;

	if (!strcmp(category, "allocator slack"))
		error = export_frames_word(frames, category, strlen(category));
	if (!error && !stack->count)
		error = export_frames_word(frames, none, sizeof(none) - 1);
	for (i = stack->count; i-- > 0 && !error;)
		if (i == user || !callstack_is_plumbing(stack->frame[i]))
			error = add_code(frames, stack->frame[i], confidential);
	return error;
}

const char *export_frame_words(char *out, size_t size, const struct export_frame *frame)
{
	if (*frame->file && frame->line)
		snprintf(out, size, "%s (%s:%u)", frame->function, text_base_name(frame->file), frame->line);
	else
		snprintf(out, size, "%s", frame->function);
	return mt_clean(out, "");
}

void export_frames_release(struct export_frames *frames)
{
	free(frames->frame);
	*frames = (struct export_frames){ 0 };
}
