#include "contexts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_ASKED = 0, NOT_KNOWN = -1 }; /* values of `device` below; an unfinished entry is NOT_ASKED */

static struct {
	_Atomic uintptr_t context; /* 0: free */
	_Atomic int device;        /* the ordinal plus 1 */
	_Atomic int kind;
} contexts[CONTEXTS_MAX];

static struct {
	_Atomic uintptr_t context; /* 0: none, or unknown */
	_Atomic int references;
	_Atomic int is_unseen; /* 1: the context has a holder whose retain was not seen */
} primary[CONTEXTS_DEVICES];

static _Atomic int visible; /* devices, 0: not known */
static contexts_ask *_Atomic ask_cupti;

void contexts_start(contexts_ask *ask)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	atomic_store(&ask_cupti, ask);
	if (list && *list && !strchr(list, ','))
		atomic_store(&visible, 1); /* with no device, cuInit fails and nothing is recorded */
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

int contexts_remove(const void *context)
{
	int i = find(context);

	if (i < 0)
		return 0;
	atomic_store(&contexts[i].device, NOT_ASKED);
	atomic_store(&contexts[i].kind, CONTEXT_UNSEEN);
	return atomic_exchange(&contexts[i].context, 0) != 0;
}

static int ask(const void *context)
{
	contexts_ask *function = atomic_load_explicit(&ask_cupti, memory_order_relaxed);

	return function ? function(context) : -1;
}

/* Asks CUPTI once and keeps any answer. Two threads that ask at once get the same answer. */
static int ask_once(const void *context)
{
	int i = find_or_take(context), device;

	if (i < 0 || atomic_load(&contexts[i].device) == NOT_KNOWN)
		return -1;
	device = ask(context);
	atomic_store(&contexts[i].device, device < 0 ? NOT_KNOWN : device + 1);
	return device;
}

int contexts_known_device(const void *context)
{
	int i = find(context), device = i < 0 ? NOT_ASKED : atomic_load(&contexts[i].device);

	if (device > 0)
		return device - 1;
	return atomic_load(&visible) == 1 ? 0 : -1;
}

int contexts_device(const void *context)
{
	int device = contexts_known_device(context);

	if (device >= 0)
		return device;
	return context ? ask_once(context) : ask(NULL);
}

int contexts_made(const void *context)
{
	int device = ask(context);

	if (device >= 0)
		return contexts_add(context, device, CONTEXT_UNSEEN); /* CUPTI reports its end as well */
	contexts_remove(context);                                     /* remove an older context at this address */
	return 1;
}

int contexts_ended(const void *context)
{
	int i = find(context), device, is_green = i >= 0 && atomic_load(&contexts[i].kind) == CONTEXT_GREEN;
	uintptr_t primary_one;

	for (device = 0; device < CONTEXTS_DEVICES; device++) {
		primary_one = (uintptr_t)context;
		if (atomic_compare_exchange_strong(&primary[device].context, &primary_one, 0))
			atomic_store(&primary[device].is_unseen, 0);
	}
	return contexts_remove(context) && !is_green;
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
	int i = find(context), is_first, is_new = 0;

	if (device < 0 || device >= CONTEXTS_DEVICES)
		return 0;
	if (i >= 0 && atomic_load(&contexts[i].kind) == CONTEXT_UNSEEN)
		atomic_store(&primary[device].is_unseen, 1);
	/*
	 * Count before showing the context. A thread that releases the last reference now would otherwise end the new
	 * context.
	 */
	is_first = !atomic_fetch_add(&primary[device].references, 1);
	if (context) {
		is_new = !atomic_exchange(&primary[device].context, (uintptr_t)context);
		contexts_add(context, device, CONTEXT_PRIMARY);
	}
	return is_first || is_new;
}

/* Ends the primary context. Only the thread that took it out of the table gets it and reports the end. */
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

/*
 * Calls were missed: forgets devices, so CUPTI is asked again. A green context stays, because CUPTI cannot be asked
 * about it.
 */
void contexts_missed(void)
{
	int device, i;

	for (device = 0; device < CONTEXTS_DEVICES; device++)
		atomic_store(&primary[device].is_unseen, 1);
	for (i = 0; i < (int)CONTEXTS_MAX; i++)
		if (atomic_load(&contexts[i].kind) != CONTEXT_GREEN)
			atomic_store(&contexts[i].device, NOT_ASKED);
}

/* The references stay: each holder must still release its own. */
uint64_t contexts_reset(int device)
{
	return device < 0 || device >= CONTEXTS_DEVICES ? 0 : end(device);
}
