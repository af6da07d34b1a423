#include "package.h"

#include <ctype.h>
#include <string.h>
#include "memtrace/base.h"

const char *package_of(const char *file, char out[PACKAGE_MAX])
{
	const char *packages = strstr(file, "-packages/");
	size_t i;

	file = packages ? packages + strlen("-packages/") : file;
	for (i = 0; i + 1 < PACKAGE_MAX && (isalnum((unsigned char)file[i]) || file[i] == '_'); i++)
		out[i] = file[i];
	out[file[i] == '/' ? i : 0] = '\0';
	return out;
}

int package_is_nobodys(const struct callstack_frame *frame)
{
	return frame->native || frame->elided || !*frame->file || !strncmp(frame->file, "torch/", strlen("torch/")) ||
	       strstr(frame->file, "/torch/") || callstack_is_plumbing(frame);
}

void package_below_user(const struct callstack *stack, char out[PACKAGE_MAX])
{
	char name[PACKAGE_MAX];
	size_t i;

	for (*out = '\0', i = 0; i < stack->count; i++) {
		if (package_is_nobodys(stack->frame[i]))
			continue;
		if (!*package_of(stack->frame[i]->file, name))
			return;
		mt_copy_text(out, PACKAGE_MAX, name);
	}
}

void package_inside(const struct callstack *stack, char out[PACKAGE_MAX])
{
	size_t i;

	for (i = 0; i < stack->count && package_is_nobodys(stack->frame[i]); i++)
		;
	*out = '\0';
	if (i < stack->count)
		package_of(stack->frame[i]->file, out);
}
