/*
 * stack_native.c - walks native frames with libunwind. unw_backtrace has a per-thread cache, so a known stack costs a
 * few nanoseconds per frame.
 *
 * libunwind tests whether an address is readable by writing a byte from it into a pipe that it keeps open. A daemon
 * that closes all unknown descriptors and opens its own files would then have these read and written. So libunwind gets
 * the invalid pipe -1, and the agent answers its calls on this number.
 *
 * The cache stores how to leave the function around an address, and never forgets. Its answer is wrong if another
 * library has the address now, so stacks with such addresses are walked step by step, without the cache.
 */
#include "stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/loaded/loaded.h"
#include "agent/loaded/loaded_patch.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "readable.h"
#include "shared/machine.h"

#define LIBRARY "libunwind.so.8"
/* A copy in the agent's folder is used first. Its own name keeps libraries of the program from binding to it. */
#define COPY "libmemrec-unwind.so"
#define NO_PIPE (-1)
#define OWN_FRAMES 16u /* most frames of the agent on top */

#define UNWIND_WORDS 640u /* more than libunwind's cursor (127, 250) and context (120, 570) take */

typedef int backtrace_function(void **buffer, int size);
typedef int context_function(uint64_t *context);
typedef int begin_function(uint64_t *cursor, uint64_t *context);
typedef int step_function(uint64_t *cursor);
typedef int register_function(uint64_t *cursor, int number, uint64_t *value);
typedef void flush_function(void *space, uint64_t low, uint64_t high);

/*
 * Constant after `backtrace` is set. The functions below it may all be missing, in other versions or on other machines.
 */
static struct {
	backtrace_function *backtrace;
	context_function *context;
	begin_function *begin;
	step_function *step;
	register_function *get;
	flush_function *flush;
	void **space;
} unwind;

/* The range of replaced code: all such places lie in here. start 0: nowhere. */
static _Atomic uint64_t replaced_start, replaced_end;

static int no_pipe(int fd[2])
{
	fd[0] = fd[1] = NO_PIPE;
	return 0;
}

static int no_pipe2(int fd[2], int flags MT_UNUSED)
{
	return no_pipe(fd);
}

/* As writing a byte from there would end. */
static long probe(uintptr_t address)
{
	if (!readable_at(address))
		return -1;
	errno = 0;
	return 1;
}

/* An open pipe, always empty. */
static ssize_t unwinder_read(int fd, void *buffer, size_t size)
{
	if (fd != NO_PIPE)
		return read(fd, buffer, size);
	errno = EAGAIN;
	return -1;
}

static ssize_t unwinder_write(int fd, const void *from, size_t size)
{
	return fd == NO_PIPE ? probe((uintptr_t)from) : write(fd, from, size);
}

/* Takes any number of arguments, like syscall(). */
static long unwinder_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_write && (int)a == NO_PIPE)
		return probe((uintptr_t)b);
	return syscall(number, a, b, c, d, e, f);
}

/* 1: this libunwind will keep no descriptor. */
static int take_pipe_away(const char *library)
{
	int writes = loaded_patch(library, "write", (void *)unwinder_write) +
		     loaded_patch(library, "syscall", (void *)unwinder_syscall);

	return writes && loaded_patch(library, "read", (void *)unwinder_read) &&
	       loaded_patch(library, "pipe", (void *)no_pipe) + loaded_patch(library, "pipe2", (void *)no_pipe2);
}

/* The path of the copy, else a name for the loader. */
static const char *find_library(char *path, size_t size)
{
	Dl_info agent;
	const char *slash;

	if (!dladdr((void *)(uintptr_t)stack_native_open, &agent) || !agent.dli_fname)
		return LIBRARY;
	slash = strrchr(agent.dli_fname, '/');
	if (!slash ||
	    (size_t)snprintf(path, size, "%.*s/" COPY, (int)(slash - agent.dli_fname), agent.dli_fname) >= size)
		return LIBRARY;
	return access(path, R_OK) ? LIBRARY : path;
}

static void find_steps(void *library)
{
	unwind.context = (context_function *)dlsym(library, "_U" MACHINE_UNWIND "_getcontext");
	if (!unwind.context) /* aarch64: the C library's function; libunwind exports none */
		unwind.context = (context_function *)dlsym(RTLD_DEFAULT, "getcontext");
	unwind.begin = (begin_function *)dlsym(library, "_UL" MACHINE_UNWIND "_init_local");
	unwind.step = (step_function *)dlsym(library, "_UL" MACHINE_UNWIND "_step");
	unwind.get = (register_function *)dlsym(library, "_UL" MACHINE_UNWIND "_get_reg");
	unwind.flush = (flush_function *)dlsym(library, "_U" MACHINE_UNWIND "_flush_cache");
	unwind.space = dlsym(library, "_UL" MACHINE_UNWIND "_local_addr_space");
}

static int can_step(void)
{
	return unwind.context && unwind.begin && unwind.step && unwind.get && unwind.flush && unwind.space;
}

int stack_native_open(void)
{
	static char path[PATH_MAX]; /* not on the stack, because the thread may have little */
	const char *name = find_library(path, sizeof(path));
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	backtrace_function *function = library ? (backtrace_function *)dlsym(library, "unw_backtrace") : NULL;

	if (!function)
		return -MT_E_MISSING;
	if (!take_pipe_away(name))
		return -MT_E_VERSION;
	find_steps(library);
	unwind.backtrace = function;
	return 0;
}

void stack_native_replaced(uint64_t start, uint64_t end)
{
	uint64_t old = atomic_load(&replaced_start);

	if (can_step())
		unwind.flush(*unwind.space, 0, 0);
	if (end > atomic_load(&replaced_end))
		atomic_store(&replaced_end, end);
	if (!old || start < old)
		atomic_store(&replaced_start, start);
}

static int meets_replaced(void *const *buffer, int count)
{
	uint64_t start = atomic_load_explicit(&replaced_start, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&replaced_end, memory_order_relaxed);
	int i;

	for (i = 0; start && i < count; i++)
		if ((uintptr_t)buffer[i] >= start && (uintptr_t)buffer[i] <= end)
			return 1;
	return 0;
}

/* As unw_backtrace, without its cache. The first frame is this function. */
static __attribute__((noinline)) int walk_steps(void **buffer, int size)
{
	uint64_t cursor[UNWIND_WORDS], context[UNWIND_WORDS], address;
	int count = 0;

	if (unwind.context(context) || unwind.begin(cursor, context) < 0)
		return 0;
	do {
		if (unwind.get(cursor, MACHINE_PC, &address) < 0 || !address)
			break;
		buffer[count++] = (void *)(uintptr_t)address;
	} while (count < size && unwind.step(cursor) > 0);
	return count;
}

uint32_t stack_native_walk(uint64_t *address, uint32_t depth, uint16_t *cut)
{
	void *buffer[STACK_NATIVE_MAX + OWN_FRAMES];
	uint32_t skip = 0, count, i;
	int found;

	*cut = 0;
	if (!unwind.backtrace || !depth)
		return 0;
	found = unwind.backtrace(buffer, (int)(depth + OWN_FRAMES));
	if (meets_replaced(buffer, found) && can_step())
		found = walk_steps(buffer, (int)(depth + OWN_FRAMES));
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
