/* stack_builder.h - stacks, threads and strings for tests of rules and tracker, from plain text. */
#ifndef STACK_BUILDER_H
#define STACK_BUILDER_H

#include <stdarg.h>
#include "memtrace/base.h"
#include "memtrace/defs.h"
#include "test.h"

static inline uint32_t make_string(struct mt_defs *defs, const char *text)
{
	return mt_defs_add_string(defs, text, strlen(text));
}

/* "function file" is a Python frame, "!module" a native one, "~" stands for frames that were left out. */
static inline uint32_t make_frame(struct mt_defs *defs, const char *text)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = 1 };
	struct mt_module module = { .start = 0x1000, .end = 0x2000 };
	const char *blank = strchr(text, ' ');

	if (*text == '!') {
		module.path = make_string(defs, text + 1);
		frame = (struct mt_frame){ .kind = MT_FRAME_NATIVE,
					   .module = mt_defs_add_module(defs, &module),
					   .offset = 1 };
		return mt_defs_add_frame(defs, &frame);
	}
	if (*text == '~') {
		frame = (struct mt_frame){ .kind = MT_FRAME_ELIDED };
		return mt_defs_add_frame(defs, &frame);
	}
	CHECK(blank != NULL);
	frame.function = mt_defs_add_string(defs, text, (size_t)(blank - text));
	frame.file = make_string(defs, blank + 1);
	return mt_defs_add_frame(defs, &frame);
}

/* One frame a line, outermost first; the innermost node. */
static inline uint32_t make_stack(struct mt_defs *defs, const char *text)
{
	char line[512];
	uint32_t node = 0;

	while (*text) {
		size_t size = strcspn(text, "\n");

		CHECK(size < sizeof(line));
		memcpy(line, text, size);
		line[size] = 0;
		if (size)
			node = mt_defs_add_node(defs, node, make_frame(defs, line));
		text += size + (text[size] != 0);
	}
	CHECK(node != 0);
	return node;
}

static inline uint32_t make_thread(struct mt_defs *defs, uint32_t tid, const char *name, uint32_t flags)
{
	struct mt_thread thread = { .tid = tid, .name = make_string(defs, name), .flags = flags };

	return mt_defs_add_thread(defs, &thread);
}

#endif
