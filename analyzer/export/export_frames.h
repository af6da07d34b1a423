/*
 * export_frames.h - a call stack as the rows of a flame graph: the program's frames. Frames that tell no place from another are left
 * out, as on the screen: the driver's, the allocator's, the interpreter's.
 */
#ifndef MEMANA_EXPORT_FRAMES_H
#define MEMANA_EXPORT_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "query/callstack.h"

#define EXPORT_NAME_MAX 512u /* bytes of a function's name with NUL; longer ones are cut */

/* One row of a flame graph. */
struct export_frame {
	char function[EXPORT_NAME_MAX]; /* never empty: of a native frame without a name "libfoo.so+0x1234" */
	const char *file;               /* the whole path; "": unknown, or left out (--confidential) */
	unsigned line;                  /* 0: unknown, or left out */
	const char *module;             /* path of the ELF file; "": none, or left out */
};

/* Rows, outermost first. All zeros: none; `count` 0 empties them. Texts of frames live as long as the stack. */
struct export_frames {
	struct export_frame *frame;
	size_t count, room;
};

/* One more row with `size` bytes of a text as its name. 0 or -MT_E_MEMORY. */
int export_frames_word(struct export_frames *frames, const char *word, size_t size);

/* The rows of a stack, at least one. `category` "allocator slack": a row says so outside of the others. 0 or -MT_E_MEMORY. */
int export_frames_code(struct export_frames *frames, const struct callstack *stack, const char *category,
		       int confidential);

void export_frames_release(struct export_frames *frames);

/* The function without its file: "forward", and with it: "forward (model.py:12)". Fit for a line of text. Returns `out`. */
const char *export_frame_words(char *out, size_t size, const struct export_frame *frame);

#endif
