/* driver_notes.c - fills in DRIVER_NOTE events, for calls that move no bytes but explain some. */
#include "driver_notes.h"

#include "contexts.h"
#include "driver_call.h"
#include "memtrace/base.h"
#include "pools.h"

/* 1: the attribute of a pool is a uint64_t of bytes. All others are an int. */
static int is_bytes(int attribute)
{
	return (attribute >= CUDA_POOL_RELEASE_THRESHOLD && attribute <= CUDA_POOL_USED_HIGH) ||
	       attribute == CUDA_POOL_MAX_SIZE;
}

static uint64_t pool_value(int attribute, const void *value)
{
	if (!value)
		return 0;
	return is_bytes(attribute) ? *(const uint64_t *)value : (uint64_t) * (const int *)value;
}

static uint64_t sum(const size_t *sizes, size_t count)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; sizes && i < count; i++)
		bytes += sizes[i];
	return bytes;
}

/* After a failed call nothing behind a pointer is looked at: the program's argument may be the fault. */
#define HERE contexts_device(call->data->context)
#define OF(context) contexts_known_device(context)
#define ID(pointer) ((uint64_t)(uintptr_t)(pointer))
#define NUMBER(number) ((uint64_t)(int64_t)(number))
#define OUT(pointer) (call->result || !(pointer) ? 0 : (uint64_t)(uintptr_t) * (pointer))
#define IN(pointer, member) (call->result ? 0 : (pointer)->member)
#define PLACE(location) (call->result ? -1 : location_device(location))
#define POOL_VALUE(attribute, value) (call->result ? 0 : pool_value(attribute, value))
#define GRAPH_VALUE(value) (call->result || !(value) ? 0 : *(const uint64_t *)(value))
#define FIRST(list, count) (call->result || !(list) || !(count) ? 0 : (list)[0])
#define SUM(list, count) (call->result ? 0 : sum(list, count))

void driver_call_note(struct driver_call *call)
{
	struct ring_event *event = &call->event;
	int device = -1;

	switch (call->id) {
#define NOTE_CASE(entry, where, address, bytes, id, number)                  \
	case ENTRY_##entry: {                                                \
		const struct args_##entry *a MT_UNUSED = call->data->params; \
                                                                             \
		device = (where);                                            \
		event->addr = (address);                                     \
		event->size = (bytes);                                       \
		event->handle = (id);                                        \
		event->value = (number);                                     \
		break;                                                       \
	}
		CUDA_NOTE_LIST(NOTE_CASE)
#undef NOTE_CASE
	default:
		return;
	}
	if (device >= 0)
		driver_call_device(call, device);
	event->result = (uint32_t)call->result;
	driver_call_send(call, MT_DRIVER_NOTE);
}
