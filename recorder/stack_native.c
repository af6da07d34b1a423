/*
 * stack_native.c - unw_backtrace keeps a per-thread cache, so a known stack costs a few nanoseconds per frame.
 *
 * libunwind finds out whether an address can be read by writing a byte from there into a pipe that it keeps open. A
 * program that closes all descriptors it does not know, as daemons do, and opens files of its own would then have
 * them read from and written to. So libunwind gets a pipe that is none, -1, and we answer what it asks of that one.
 */
#include "stack_native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define LIBRARY "libunwind.so.8"
#define NO_PIPE (-1)
#define OWN_FRAMES 8u /* at most so many of ours lie on top */

typedef int backtrace_function(void **buffer, int size);

static backtrace_function *backtrace_now;

static int no_pipe(int fd[2])
{
	fd[0] = fd[1] = NO_PIPE;
	return 0;
}

static int no_pipe2(int fd[2], int flags MT_UNUSED)
{
	return no_pipe(fd);
}

/*
 * As writing a byte from there would end. The kernel fetches the whole signal mask before it looks at what to do with
 * it, and refuses that.
 */
static long probe(uintptr_t address)
{
	const long nothing_to_do = -1;
	const uintptr_t mask_bytes = 8;

	syscall(SYS_rt_sigprocmask, nothing_to_do, address & ~(mask_bytes - 1), NULL, mask_bytes);
	if (errno == EFAULT)
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

/* Takes whatever number of arguments, like the one it stands for. */
static long unwinder_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_write && (int)a == NO_PIPE)
		return probe((uintptr_t)b);
	return syscall(number, a, b, c, d, e, f);
}

/* 1: from its first use on it keeps no descriptor. */
static int take_pipe_away(void)
{
	int writes = loaded_patch(LIBRARY, "write", (void *)unwinder_write) +
		     loaded_patch(LIBRARY, "syscall", (void *)unwinder_syscall);

	return writes && loaded_patch(LIBRARY, "read", (void *)unwinder_read) &&
	       loaded_patch(LIBRARY, "pipe", (void *)no_pipe) + loaded_patch(LIBRARY, "pipe2", (void *)no_pipe2);
}

int stack_native_open(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	backtrace_function *function = library ? (backtrace_function *)dlsym(library, "unw_backtrace") : NULL;

	if (!function)
		return -MT_E_MISSING;
	if (!take_pipe_away())
		return -MT_E_VERSION;
	backtrace_now = function;
	return 0;
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
