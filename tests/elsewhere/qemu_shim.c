/*
 * qemu_shim.c - preloaded below qemu-user for what it does otherwise than a kernel.
 *
 * It makes no children without an end signal: they get the usual one. Its /proc/self/stat has a time of its own for the start of the process.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

typedef int clone_function(int (*)(void *), void *, int, void *, ...);
typedef int open_function(const char *, int, ...);

int clone(int (*function)(void *), void *stack, int flags, void *context, ...)
{
	clone_function *real = (clone_function *)dlsym(RTLD_NEXT, "clone");

	return real(function, stack, flags & 0xff ? flags : flags | SIGCHLD, context);
}

/* Mode is always there: nothing reads it without O_CREAT. */
int open(const char *path, int flags, ...)
{
	open_function *real = (open_function *)dlsym(RTLD_NEXT, "open");

	return real(strcmp(path, "/proc/self/stat") ? path : "/proc/thread-self/stat", flags, 0600);
}
