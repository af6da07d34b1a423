#include "contexts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
	_Atomic uintptr_t context; /* 0: free */
	_Atomic int device;	   /* plus 1, so that an entry half written says "unknown" */
	_Atomic int kind;
} contexts[CONTEXTS_MAX];

static struct {
	_Atomic uintptr_t context; /* 0: none, or not known */
	_Atomic int references;
	_Atomic int is_unseen; /* somebody holds it whom we did not see */
} primary[CONTEXTS_DEVICES];

static _Atomic int visible; /* devices, 0: not known */

void contexts_start(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	if (list && *list && !strchr(list, ','))
		atomic_store(&visible, 1); /* if it names none, cuInit fails and nothing is recorded */
}

void contexts_devices(int count)
{
	if (count > 0)
		atomic_store(&visible, count);
}

static int find(const void *context)
{
	int i;

	for (i = 0; context && i < (int)CONTEXTS_MAX; i++)
		if (atomic_load_explicit(&contexts[i].context, memory_order_acquire) == (uintptr_t)context)
			return i;
	return -1;
}

static int find_or_take(const void *context)
{
	int i = find(context);
	uintptr_t nobody;

	for (i = i < 0 ? 0 : i; i < (int)CONTEXTS_MAX; i++) {
		nobody = 0;
		if (atomic_load(&contexts[i].context) == (uintptr_t)context ||
		    atomic_compare_exchange_strong(&contexts[i].context, &nobody, (uintptr_t)context))
			return i;
	}
	return -1;
}

int contexts_add(const void *context, int device, enum context_kind kind)
{
	int i = context ? find_or_take(context) : 0;

	if (!context || i < 0)
		return !context;
	atomic_store(&contexts[i].kind, kind);
	atomic_store(&contexts[i].device, device + 1);
	return 1;
}

void contexts_remove(const void *context)
{
	int i = find(context);

	if (i < 0)
		return;
	atomic_store(&contexts[i].device, 0);
	atomic_store(&contexts[i].kind, CONTEXT_UNSEEN);
	atomic_store(&contexts[i].context, 0);
}

/* The device of all contexts, -1: none is known, or they differ. */
static int common_device(void)
{
	int i, device, common = -1;

	for (i = 0; i < (int)CONTEXTS_MAX; i++) {
		device = atomic_load(&contexts[i].context) ? atomic_load(&contexts[i].device) - 1 : -1;
		if (device < 0)
			continue;
		if (common >= 0 && device != common)
			return -1;
		common = device;
	}
	return common;
}

int contexts_device(const void *context)
{
	int i = find(context), device = i < 0 ? -1 : atomic_load(&contexts[i].device) - 1;

	if (device >= 0)
		return device;
	return atomic_load(&visible) == 1 ? 0 : common_device();
}

uint64_t contexts_owner(const void *context)
{
	int i = find(context), device;

	if (i < 0 || atomic_load(&contexts[i].kind) != CONTEXT_GREEN)
		return (uint64_t)(uintptr_t)context;
	device = atomic_load(&contexts[i].device) - 1;
	return device >= 0 && device < CONTEXTS_DEVICES ? atomic_load(&primary[device].context) : 0;
}

void contexts_use(const void *context)
{
	int i;

	if (!context || find(context) >= 0)
		return;
	i = find_or_take(context);
	if (i >= 0)
		atomic_store(&contexts[i].kind, CONTEXT_UNSEEN);
}

int contexts_retain(int device, const void *context)
{
	int i = find(context), is_new = 0;

	if (device < 0 || device >= CONTEXTS_DEVICES)
		return 0;
	if (i >= 0 && atomic_load(&contexts[i].kind) == CONTEXT_UNSEEN)
		atomic_store(&primary[device].is_unseen, 1);
	if (context) {
		is_new = !atomic_exchange(&primary[device].context, (uintptr_t)context);
		contexts_add(context, device, CONTEXT_PRIMARY);
	}
	return !atomic_fetch_add(&primary[device].references, 1) || is_new;
}

/* Whoever took it out of the table tells of it: not two. */
static uint64_t end(int device)
{
	uintptr_t context = atomic_exchange(&primary[device].context, 0);

	contexts_remove((const void *)context);
	atomic_store(&primary[device].is_unseen, 0);
	return context;
}

uint64_t contexts_release(int device)
{
	int references;

	if (device < 0 || device >= CONTEXTS_DEVICES)
		return 0;
	references = atomic_load(&primary[device].references);
	do {
		if (references <= 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&primary[device].references, &references, references - 1));
	return references == 1 && !atomic_load(&primary[device].is_unseen) ? end(device) : 0;
}

void contexts_missed(void)
{
	int device;

	for (device = 0; device < CONTEXTS_DEVICES; device++)
		atomic_store(&primary[device].is_unseen, 1);
}

/* Who retained it must still release it: the references stay. */
uint64_t contexts_reset(int device)
{
	return device < 0 || device >= CONTEXTS_DEVICES ? 0 : end(device);
}
