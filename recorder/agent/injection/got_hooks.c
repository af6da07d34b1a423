/* got_hooks.c - see got_hooks.h. What is written is never taken back: we stay loaded, and forward every call. */
#include "got_hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "agent/hooks/hooks.h"
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "agent/stacks/own_stack.h"
#include "memtrace/base.h"

#define LOOKS_MAX 1024 /* for objects that the loader is not done with, after a change */

static struct {
	_Atomic int active; /* 1: we were not preloaded */
	_Atomic int busy;   /* a thread is at it */
	/* Of that thread. */
	struct loaded_stamp stamp;
	int looks; /* left, although nothing has changed */
	unsigned int bound;
	struct loaded_hook hooks[LOADED_HOOKS_MAX];
	size_t count;
} got;

static void add_hooks(const struct loaded_hook *(*get_table)(size_t *count))
{
	size_t count, i;
	const struct loaded_hook *table = get_table(&count);

	for (i = 0; i < count && got.count < LOADED_HOOKS_MAX; i++)
		got.hooks[got.count++] = table[i];
}

static void gather_hooks(void)
{
	if (got.count)
		return;
	add_hooks(hook_c10_table);
	add_hooks(hook_subscribe_table);
	add_hooks(hook_seccomp_table);
}

/* PyTorch is there, and none of its calls could be had. */
static void report_failure(void)
{
	if (!got.bound && loaded_find("_ZN3c1022memoryProfilingEnabledEv"))
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
	got.bound += pass.bound;
	report_failure();
}

void got_hooks_look(void)
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

void got_hooks_start(void)
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
