/*
 * injection.c - the agent's entry into a process that did not preload it. The driver calls it by name inside cuInit
 * (the main way); NVTX calls it at its first call in each library. Then the agent hooks itself into the loaded
 * libraries.
 *
 * Frameworks overwrite LD_PRELOAD, so often the driver or NVTX loads the agent first, when PyTorch's calls are already
 * bound. Then the hooks are written into the slots of these calls, and again for libraries that are loaded later.
 *
 * Locks decide when to look for new libraries. The loader holds one lock while it loads, and a second one briefly for
 * its list. Looking takes only the second lock, so it is safe while another thread loads a library and waits for this
 * one. PyTorch's allocator asks the driver for memory under its own lock, and no thread that holds the second lock
 * waits for the allocator's.
 *
 * So driver callbacks are a safe place. They are also early enough: a new library gets its first GPU memory from the
 * driver before it can report any. A preloaded agent does none of this. A written slot is never restored: the agent
 * stays loaded and forwards each call.
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

/* ---- hooks into the global offset tables (GOT) of loaded objects ---- */

#define CUDA_NOT_INITIALIZED 3
#define LOOKS_MAX 1024 /* looks after a change, for objects that the loader has not finished */

static struct {
	_Atomic int active; /* 1: we were not preloaded */
	_Atomic int busy;   /* 1: a thread looks and owns the fields below */
	/* Owned by that thread. */
	struct loaded_stamp stamp;
	int looks;      /* looks left without a new change */
	uint32_t bound; /* bit n: calls of hook n come to us */
	uint32_t torch; /* bits of PyTorch's hooks */
	struct loaded_hook hooks[LOADED_HOOKS_MAX];
	size_t count;
} got;

/* Adds the hooks of a table. Returns their bits. */
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

/* Reports that PyTorch was loaded before and none of its calls could be bound. */
static void report_failure(void)
{
	if (!(got.bound & got.torch) && loaded_find("_ZN3c1022memoryProfilingEnabledEv"))
		agent_source(MT_SOURCE_TENSORS_CUDA, MT_SOURCE_FAILED,
			     "PyTorch was there before memrec, and its calls cannot be had: tensors are not recorded, driver "
			     "memory is (start the program under memrec, or set LD_PRELOAD too)");
}

/* Called at each driver call, so it must be cheap. */
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

/* Binds the calls of newly loaded libraries. Cheap without a change; keeps errno. */
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
 * Called because environment variable `variable` names the agent. Without MEMREC_OPTIONS and LD_PRELOAD the agent
 * starts with its defaults. Then it hooks into the loaded libraries. May be called repeatedly.
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

/* The driver calls this inside cuInit, for an agent loaded in any way. 1: success. */
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
