/*
 * hook_cupti.c - turns CUPTI's callbacks on the entries of driver_entries.h into events. This file dispatches. Memory
 * is in hook_memory.c, contexts and pools in hook_context.c, graphs in hook_graph.c, calls that move no bytes in
 * driver_notes.c, shared helpers in driver_call.c.
 *
 * In a callback no function of CUDA may be called, and few of CUPTI (contexts.h). So the device of a context, the place
 * of a pool and the bytes of a graph are learned from the calls that set them.
 */
#include "hook_cupti.h"

#include <stdatomic.h>
#include "contexts.h"
#include "driver_call.h"
#include "graphs.h"
#include "memtrace/base.h"

#define ENTRY_MAX HOOK_CUPTI_IDS

struct entry {
	uint8_t known, class, space; /* enum cuda_class, enum mt_space */
};

static const struct entry entries[ENTRY_MAX] = {
#define ENTRY_ROW(name, id, class, space, since) [id] = { 1, CUDA_CLASS_##class, MT_SPACE_##space },
	CUDA_ENTRY_LIST(ENTRY_ROW)
#undef ENTRY_ROW
};

static const uint8_t class_policy[] = {
#define CLASS_ROW(name, policy, meaning) [CUDA_CLASS_##name] = CUDA_##policy,
	CUDA_CLASS_LIST(CLASS_ROW)
#undef CLASS_ROW
};

static void (*const class_decoder[])(struct driver_call *call) = {
#define CLASS_DECODER(name, policy, meaning) [CUDA_CLASS_##name] = decode_##name,
	CUDA_CLASS_LIST(CLASS_DECODER)
#undef CLASS_DECODER
};

/* ---- No bytes ---- */

void decode_ACCESS(struct driver_call *call MT_UNUSED)
{
}

void decode_NOTE(struct driver_call *call)
{
	if (!call->entered)
		driver_call_note(call);
}

/*
 * Some programs look a kernel up at each launch. The newest kernel of each bucket is remembered, and its next look-up
 * is not reported.
 */
#define FUNCTIONS 4096u

static int is_first_lookup(const void *function)
{
	static _Atomic uintptr_t functions[FUNCTIONS];
	uintptr_t key = (uintptr_t)function;
	_Atomic uintptr_t *known = &functions[(key * 0x9e3779b97f4a7c15ull >> 40) % FUNCTIONS];

	if (atomic_load_explicit(known, memory_order_relaxed) == key)
		return 0;
	atomic_store_explicit(known, key, memory_order_relaxed);
	return 1;
}

void decode_FUNCTION(struct driver_call *call)
{
	const struct args_cuKernelGetFunction *args = call->data->params;

	if (!call->entered && (call->result || is_first_lookup(*args->pFunc)))
		driver_call_note(call);
}

/* ---- Dispatch ---- */

int hook_cupti_wants(uint32_t id)
{
	return id < ENTRY_MAX && entries[id].known && class_policy[entries[id].class] != CUDA_OFF;
}

void hook_cupti_start(contexts_ask *ask)
{
	contexts_start(ask);
}

void hook_cupti_missed(void)
{
	contexts_missed();
}

static __thread uint32_t inside; /* call of the newest ENTER on this thread; 0: it had its EXIT */
static _Atomic uint32_t taken;

uint32_t hook_cupti_taken(void)
{
	return atomic_load_explicit(&taken, memory_order_relaxed);
}

static void on_call(uint32_t id, const struct cupti_callback_data *data)
{
	struct driver_call call = { .id = id, .data = data, .event = { .device_type = -1, .device_index = -1 } };

	if (id >= ENTRY_MAX || !entries[id].known || !data->params)
		return;
	call.event.flags = entries[id].space;
	call.entered = data->site == CUPTI_ENTER;
	inside = call.entered ? id : 0;
	if (!call.entered && data->result)
		call.result = *(const cuda_result *)data->result;
	if (!call.entered && !call.result && class_policy[entries[id].class] == CUDA_TAKE)
		atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
	class_decoder[entries[id].class](&call);
	if (graphs_are_incomplete())
		driver_call_full("more graphs with memory nodes than the recorder follows: "
				 "their memory is not recorded");
}

void hook_cupti_callback(int domain, uint32_t id, const void *data)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		on_call(id, data);
	else if (domain == CUPTI_DOMAIN_RESOURCE)
		hook_context_resource(id, data, inside);
}
