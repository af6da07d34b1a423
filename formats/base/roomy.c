#include "memtrace/roomy.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define ENOUGH ((rlim_t)1 << 20)
#define STACK_BYTES ((size_t)8 << 20)

static struct {
	int (*run)(int argc, char **argv);
	int argc;
	char **argv;
	int result;
} call;

static void make_call(void)
{
	call.result = call.run(call.argc, call.argv);
}

/* Threads have as much as the limit, unless they are told. */
static void widen_threads(void)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes))
		return;
	if (!pthread_attr_setstacksize(&attributes, STACK_BYTES))
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

/* Maps a stack. Its lowest page stays without access. NULL: no memory. */
static void *map_stack(void)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1,
			   0);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (stack == MAP_FAILED)
		return NULL;
	if (!mprotect((char *)stack + page, STACK_BYTES - page, PROT_READ | PROT_WRITE))
		return stack;
	munmap(stack, STACK_BYTES);
	return NULL;
}

int mt_roomy(int (*run)(int argc, char **argv), int argc, char **argv)
{
	static ucontext_t here, there; /* a context takes a kibibyte */
	struct rlimit limit;
	void *stack = NULL;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < ENOUGH) {
		widen_threads();
		stack = map_stack();
	}
	if (!stack || getcontext(&there))
		return run(argc, argv);
	call.run = run;
	call.argc = argc;
	call.argv = argv;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, make_call, 0);
	if (swapcontext(&here, &there))
		return run(argc, argv);
	return call.result;
}
