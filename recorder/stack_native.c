/* stack_native.c - unw_backtrace keeps a per-thread cache, so a known stack costs a few nanoseconds per frame. */
#include "stack_native.h"

#include <dlfcn.h>
#include <stddef.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define OWN_FRAMES 8u /* at most so many of ours lie on top */

typedef int backtrace_function(void **buffer, int size);

static backtrace_function *backtrace_now;

int stack_native_open(void)
{
	static const char *const names[] = { "libunwind.so.8", "libunwind.so.1", "libunwind.so" };
	void *library;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names) && !backtrace_now; i++) {
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			backtrace_now = (backtrace_function *)dlsym(library, "unw_backtrace");
	}
	return backtrace_now ? 0 : -MT_E_MISSING;
}

uint32_t stack_native_walk(uint64_t *address, uint32_t depth, uint16_t *cut)
{
	void *buffer[STACK_NATIVE_MAX + OWN_FRAMES];
	uint32_t skip = 0, count, i;
	int found;

	*cut = 0;
	if (!backtrace_now || !depth)
		return 0;
	found = backtrace_now(buffer, (int)(depth + OWN_FRAMES));
	if (found <= 0)
		return 0;
	while (skip < (uint32_t)found && skip < OWN_FRAMES && loaded_is_ours((uint64_t)(uintptr_t)buffer[skip]))
		skip++;
	count = (uint32_t)found - skip;
	if (count > depth) {
		count = depth;
		*cut = 1;
	}
	for (i = 0; i < count; i++)
		address[i] = (uint64_t)(uintptr_t)buffer[skip + i];
	return count;
}
