/*
 * export_frames.h - makes the rows of a flame graph from a call stack. As on the screen, frames of the driver, the
 * allocator and the interpreter are left out.
 */
#ifndef MEMANA_EXPORT_FRAMES_H
#define MEMANA_EXPORT_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "query/callstack.h"

#define EXPORT_NAME_MAX 512u /* room for a function's name, bytes with the NUL; longer names are cut */

/* One row of a flame graph. */
struct export_frame {
	char function[EXPORT_NAME_MAX]; /* never empty: "libfoo.so+0x1234" for a native frame without a name */
	const char *file;               /* whole path; "": unknown, or left out (--confidential) */
	unsigned line;                  /* 0: unknown, or left out (--confidential) */
	const char *module;             /* path of the ELF file; "": none, or left out (--confidential) */
};

/* Rows, outermost first. All zeros: no rows. Set `count` to 0 to reuse the room. The texts belong to the stack. */
struct export_frames {
	struct export_frame *frame;
	size_t count, room;
};

/* Adds a row with `size` bytes of a text as its name. Returns 0 or -MT_E_MEMORY. */
int export_frames_word(struct export_frames *frames, const char *word, size_t size);

/*
 * Adds the rows of a stack, at least one. For category "allocator slack", that row comes first. Returns 0 or
 * -MT_E_MEMORY.
 */
int export_frames_code(struct export_frames *frames, const struct callstack *stack, const char *category,
		       int confidential);

void export_frames_release(struct export_frames *frames);

/* Writes "forward (model.py:12)", or "forward" without a file, fit for a line of text. Returns `out`. */
const char *export_frame_words(char *out, size_t size, const struct export_frame *frame);

#endif
