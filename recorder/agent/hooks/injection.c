/*
 * injection.c - the agent's way into a process that did not preload it. Others call it by name: the driver inside
 * cuInit (the main way), and NVTX at its first call in each library of the program. Then it hooks itself into the
 * loaded libraries.
 *
 * Frameworks overwrite LD_PRELOAD, so often the driver or NVTX is the first to load us, and PyTorch is there already,
 * bound to its own functions. Then our hooks are written into the slots that its calls go through, and again for what
 * is loaded afterwards.
 *
 * When to look is a question of locks. The loader holds one lock while it loads, and another, short one for its list.
 * Looking takes only the second, so it is safe even while another thread loads a library and waits for us. PyTorch's
 * allocator holds its own lock while it asks the driver for memory: looking then waits for no thread that wants this lock.
 * Driver callbacks are a safe place, and the right one: a new library gets its first GPU memory from the driver
 * before it can report any of it. Nothing of all this happens when we were preloaded. A slot that is written is never
 * taken back: we stay loaded, and forward every call.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/cupti/cupti.h"
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "agent/stacks/own_stack.h"
#include "hooks.h"
#include "memtrace/base.h"

/* ---- hooks into the global offset tables (GOT) of what is loaded ---- */

#define CUDA_NOT_INITIALIZED 3
#define LOOKS_MAX 1024 /* for objects that the loader is not done with, after a change */

static struct {
	_Atomic int active; /* 1: we were not preloaded */
	_Atomic int busy;   /* a thread is at it */
	/* Fields of that thread. */
	struct loaded_stamp stamp;
	int looks;      /* left, although nothing has changed */
	uint32_t bound; /* bit n: calls of hook n come to us */
	uint32_t torch; /* bits of PyTorch's hooks */
	struct loaded_hook hooks[LOADED_HOOKS_MAX];
	size_t count;
} got;

/* Their bits. */
static uint32_t add_hooks(const struct loaded_hook *(*get_table)(size_t *count))
{
	size_t count, i;
	const struct loaded_hook *table = get_table(&count);
	uint32_t bits = 0;

	for (i = 0; i < count && got.count < LOADED_HOOKS_MAX; i++) {
		bits |= 1u << got.count;
		got.hooks[got.count++] = table[i];
	}
	return bits;
}

static void gather_hooks(void)
{
	if (got.count)
		return;
	got.torch = add_hooks(hook_c10_table);
	add_hooks(hook_subscribe_table);
	add_hooks(hook_seccomp_table);
}

/* PyTorch is there, and none of its calls could be had. */
static void report_failure(void)
{
	if (!(got.bound & got.torch) && loaded_find("_ZN3c1022memoryProfilingEnabledEv"))
		agent_source(MT_SOURCE_TENSORS_CUDA, MT_SOURCE_FAILED,
			     "PyTorch was there before memrec, and its calls cannot be had: tensors are not recorded, driver "
			     "memory is (start the program under memrec, or set LD_PRELOAD too)");
}

/* Cheap, for it is asked at every call of the driver. */
static int has_changed(void)
{
	struct loaded_stamp stamp = loaded_stamp();

	if (stamp.adds != got.stamp.adds || stamp.subs != got.stamp.subs)
		got.looks = LOOKS_MAX;
	got.stamp = stamp;
	return got.looks > 0;
}

/* On a stack of ours. Files are opened on the way: no thread of the program may be cancelled here. */
static void look(void *context MT_UNUSED)
{
	struct loaded_pass pass;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	loaded_rebind(got.hooks, got.count, &pass);
	pthread_setcancelstate(cancel, NULL);
	got.looks = pass.later ? got.looks - 1 : 0;
	got.bound |= pass.bound;
	report_failure();
}

/* Whatever was loaded since. Cheap while nothing was; errno is kept. */
static void got_hooks_look(void)
{
	int saved = errno, idle = 0;

	if (!atomic_load_explicit(&got.active, memory_order_acquire) || !agent_is_listening() ||
	    !atomic_compare_exchange_strong(&got.busy, &idle, 1))
		return;
	if (has_changed())
		own_stack_call(look, NULL);
	atomic_store(&got.busy, 0);
	errno = saved;
}

/* We were called by name (cuInit, the first NVTX call of a library): unless the loader has bound the names to us, do it. */
static void got_hooks_start(void)
{
	int idle = 0;

	if (!agent_options() || loaded_is_preloaded())
		return;
	if (atomic_compare_exchange_strong(&got.busy, &idle, 1)) {
		gather_hooks();
		atomic_store(&got.busy, 0);
		atomic_store(&got.active, 1);
	}
	got_hooks_look();
}

/* ---- by name ---- */

/*
 * The agent was called because environment variable `variable` names it. If that is all there is, no MEMREC_OPTIONS and
 * no LD_PRELOAD, it goes by its defaults, and hooks into what is loaded. Any number of times.
 */
static void injected(const char *variable)
{
	if (!agent_options() && !getenv(MEMREC_OPTIONS_VARIABLE) && defaults_name_us(variable))
		agent_begin();
	got_hooks_start();
}

MT_EXPORT int InitializeInjection(void);
MT_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table);
MT_EXPORT int InitializeInjectionNvtx(nvtx_get_table *get_table);
MT_EXPORT int InitializeInjectionNvtxExtension(const struct nvtx_extension *extension);

/* The driver calls this inside cuInit, wherever the library was loaded from before. 1: fine. */
int InitializeInjection(void)
{
	static _Atomic int started_in; /* pid */
	int pid = (int)getpid();

	injected("CUDA_INJECTION64_PATH");
	agent_cuda_started();
	if (agent_options() && atomic_exchange(&started_in, pid) != pid)
		cupti_start(got_hooks_look);
	return 1;
}

void injection_attach(void)
{
	int (*get)(int *count) = (int (*)(int *))loaded_find("cuDeviceGetCount"), count;

	got_hooks_start();
	if (get && get(&count) != CUDA_NOT_INITIALIZED) {
		agent_cuda_started();
		cupti_start(got_hooks_look);
	} else if (get && !agent_has_source(MT_SOURCE_CUPTI)) {
		agent_source(MT_SOURCE_CUPTI, MT_SOURCE_OFF, "CUDA had not started when memrec attached");
	}
}

static int open_nvtx(nvtx_get_table *get_table)
{
	injected("NVTX_INJECTION64_PATH");
	return hook_nvtx(get_table);
}

/* NVTX 3: once per library of the program. 1: fine, 0: NVTX stays off there. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
	return open_nvtx(get_table);
}

/* NVTX 1 and 2: once per process. */
int InitializeInjectionNvtx(nvtx_get_table *get_table)
{
	return open_nvtx(get_table);
}

/* NVTX 3: once for each extension in each library, after InitializeInjectionNvtx2. 0: the extension stays off there. */
int InitializeInjectionNvtxExtension(const struct nvtx_extension *extension)
{
	return hook_nvtx_extension(extension);
}
