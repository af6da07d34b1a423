/* driver_call.c - helpers that the decoders of all classes share. */
#include "driver_call.h"

void driver_call_device(struct driver_call *call, int device)
{
	call->event.device_type = MT_DEVICE_CUDA;
	call->event.device_index = device;
}

void driver_call_send(struct driver_call *call, enum mt_kind kind)
{
	call->event.kind = (uint8_t)kind;
	if (kind < MT_VMM_RESERVE || kind == MT_VMM_CREATE)
		call->event.entry = call->id;
	if (kind != MT_DRIVER_ALLOC && kind != MT_VMM_CREATE)
		call->event.flags = 0;
	agent_memory(&call->event, kind == MT_DRIVER_KEEP ? STACK_NONE : STACK_DRIVER);
}

void driver_call_full(const char *why)
{
	agent_source_note(MT_SOURCE_CUPTI, why);
}

void driver_call_allocated(struct driver_call *call, uint64_t addr, uint64_t size)
{
	call->event.size = size;
	if (call->result) {
		call->event.handle = 0;
		call->event.result = (uint32_t)call->result;
		driver_call_send(call, MT_DRIVER_FAIL);
		return;
	}
	call->event.addr = addr;
	if (addr)
		driver_call_send(call, MT_DRIVER_ALLOC);
}

void driver_call_freed(struct driver_call *call, enum mt_kind kind)
{
	if (call->entered) {
		driver_call_send(call, kind);
	} else if (call->result) {
		call->event.addr |= call->event.handle;
		call->event.handle = 0;
		call->event.result = (uint32_t)call->result;
		driver_call_send(call, MT_DRIVER_KEEP);
	}
}
