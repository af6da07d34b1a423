/* hook_memory.c - decodes calls about memory of all kinds except graphs: allocate, map, open, free. */
#include <string.h>
#include "contexts.h"
#include "driver_call.h"
#include "graphs.h"
#include "pools.h"

/* ---- Memory of the current context ---- */

static int is_host(uint32_t space)
{
	return space == MT_SPACE_PINNED || space == MT_SPACE_HOST;
}

/*
 * Sends an allocation on the context's device (if on any), which ends with the context. `out`: address of the driver's
 * output.
 */
static void allocated_here(struct driver_call *call, const void *out, uint64_t size)
{
	uint64_t addr = 0;

	contexts_use(call->data->context);
	call->event.handle = contexts_owner(call->data->context);
	if (!is_host(call->event.flags))
		driver_call_device(call, contexts_device(call->data->context));
	if (!call->result)
		memcpy(&addr, out, sizeof(addr));
	driver_call_allocated(call, addr, size);
}

void decode_ALLOC(struct driver_call *call)
{
	const struct args_cuMemAlloc_v2 *args = call->data->params;

	if (!call->entered)
		allocated_here(call, args->dptr, args->bytesize);
}

void decode_PITCH(struct driver_call *call)
{
	const struct args_cuMemAllocPitch_v2 *args = call->data->params;

	if (!call->entered)
		allocated_here(call, args->dptr, (call->result ? args->WidthInBytes : *args->pPitch) * args->Height);
}

void decode_REGISTER(struct driver_call *call)
{
	const struct args_cuMemHostRegister_v2 *args = call->data->params;

	if (!call->entered)
		allocated_here(call, &args->p, args->bytesize);
}

/* After a failed call the descriptor is looked at only when memory was short: else the descriptor may be the fault. */
static int may_look(const struct driver_call *call, const void *descriptor)
{
	return descriptor && (!call->result || call->result == CUDA_OUT_OF_MEMORY);
}

static void array_created(struct driver_call *call, const void *out, const struct cuda_array3d_desc *desc,
			  unsigned int levels)
{
	if (!call->entered)
		allocated_here(call, out, may_look(call, desc) ? arrays_bytes(desc, levels) : 0);
}

void decode_ARRAY(struct driver_call *call)
{
	const struct args_cuArrayCreate_v2 *args = call->data->params;
	const struct cuda_array_desc *flat = args->pAllocateArray;
	struct cuda_array3d_desc desc = { 0 };

	if (may_look(call, flat) && !call->entered)
		desc = (struct cuda_array3d_desc){ flat->width, flat->height, 0, flat->format, flat->channels, 0 };
	array_created(call, args->pHandle, &desc, 1);
}

void decode_ARRAY3D(struct driver_call *call)
{
	const struct args_cuArray3DCreate_v2 *args = call->data->params;

	array_created(call, args->pHandle, args->pAllocateArray, 1);
}

void decode_MIPMAP(struct driver_call *call)
{
	const struct args_cuMipmappedArrayCreate *args = call->data->params;

	array_created(call, args->pHandle, args->pMipmappedArrayDesc, args->numMipmapLevels);
}

void decode_FREE(struct driver_call *call)
{
	const struct args_cuMemFree_v2 *args = call->data->params;

	call->event.addr = args->dptr;
	if (args->dptr && !graphs_own(args->dptr))
		driver_call_freed(call, MT_DRIVER_FREE);
}

/* ---- Memory in the order of a stream: a stream that records makes a node of the call ---- */

static void allocated_in_stream(struct driver_call *call, const struct cuda_stream *stream, const cuda_address *out,
				uint64_t size, struct pool_place place)
{
	if (!call->result && graphs_capture(stream, *out, size, place.device))
		return;
	call->event.flags = place.space;
	if (place.space != MT_SPACE_PINNED)
		driver_call_device(call, place.device);
	driver_call_allocated(call, call->result ? 0 : *out, size);
}

/* The pool is that of the stream's device, whose context is current. */
void decode_ASYNC(struct driver_call *call)
{
	const struct args_cuMemAllocAsync *args = call->data->params;
	struct pool_place place = { MT_SPACE_ASYNC, contexts_device(call->data->context) };

	if (call->entered)
		return;
	contexts_use(call->data->context);
	allocated_in_stream(call, args->hStream, args->dptr, args->bytesize, place);
}

void decode_FROM_POOL(struct driver_call *call)
{
	const struct args_cuMemAllocFromPoolAsync *args = call->data->params;
	struct pool_place place = { MT_SPACE_ASYNC, contexts_device(call->data->context) };

	if (call->entered)
		return;
	pools_find(args->pool, &place);
	allocated_in_stream(call, args->hStream, args->dptr, args->bytesize, place);
}

void decode_FREE_ASYNC(struct driver_call *call)
{
	const struct args_cuMemFreeAsync *args = call->data->params;

	if (graphs_is_capturing(args->hStream)) {
		if (!call->entered && !call->result)
			graphs_capture(args->hStream, args->dptr, 0, -1);
		return;
	}
	decode_FREE(call);
}

/* ---- Virtual memory ---- */

void decode_RESERVE(struct driver_call *call)
{
	const struct args_cuMemAddressReserve *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = *args->ptr;
	call->event.size = args->size;
	driver_call_send(call, MT_VMM_RESERVE);
}

void decode_UNRESERVE(struct driver_call *call)
{
	const struct args_cuMemAddressFree *args = call->data->params;

	if (!call->entered)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	driver_call_send(call, MT_VMM_UNRESERVE);
}

void decode_CREATE(struct driver_call *call)
{
	const struct args_cuMemCreate *args = call->data->params;

	if (call->entered || !args->prop)
		return;
	call->event.size = args->size;
	call->event.flags = MT_SPACE_PINNED;
	if (!location_is_host(&args->prop->location)) {
		call->event.flags = MT_SPACE_DEVICE;
		driver_call_device(call, location_device(&args->prop->location));
	}
	if (call->result) {
		driver_call_allocated(call, 0, args->size);
		return;
	}
	call->event.handle = *args->handle;
	driver_call_send(call, MT_VMM_CREATE);
}

void decode_RELEASE(struct driver_call *call)
{
	const struct args_cuMemRelease *args = call->data->params;

	call->event.handle = args->handle;
	driver_call_freed(call, MT_VMM_RELEASE);
}

void decode_RETAIN(struct driver_call *call)
{
	const struct args_cuMemRetainAllocationHandle *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.handle = *args->handle;
	call->event.addr = (uint64_t)(uintptr_t)args->addr;
	driver_call_send(call, MT_VMM_RETAIN);
}

/* Sends a handle without bytes. event.flags has the reason. */
static void handle_appeared(struct driver_call *call, const cuda_handle *handle, uint64_t size)
{
	if (call->entered || call->result)
		return;
	call->event.handle = *handle;
	call->event.size = size;
	driver_call_send(call, MT_VMM_CREATE);
}

/* The exporter counts the bytes. The call does not say their number. */
void decode_IMPORT(struct driver_call *call)
{
	const struct args_cuMemImportFromShareableHandle *args = call->data->params;

	handle_appeared(call, args->handle, 0);
}

void decode_MULTICAST(struct driver_call *call)
{
	const struct args_cuMulticastCreate *args = call->data->params;

	handle_appeared(call, args->mcHandle, call->entered || call->result ? 0 : args->prop->size);
}

void decode_MAP(struct driver_call *call)
{
	const struct args_cuMemMap *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	call->event.offset = args->offset;
	call->event.handle = args->handle;
	driver_call_send(call, MT_VMM_MAP);
}

/*
 * Sent at EXIT. The range stays reserved, so no other caller gets these addresses before the return. The program maps
 * them again only after the return, later than this event. Meanwhile another thread may take the freed physical memory:
 * both count for a moment, and a peak can be too high by these bytes. At ENTER a peak could be too low by as much, and
 * a failed call would have to be undone for each mapping in the range.
 */
void decode_UNMAP(struct driver_call *call)
{
	const struct args_cuMemUnmap *args = call->data->params;

	if (call->entered || call->result)
		return;
	call->event.addr = args->ptr;
	call->event.size = args->size;
	driver_call_send(call, MT_VMM_UNMAP);
}

/* ---- Memory that others count ---- */

void decode_OPEN(struct driver_call *call)
{
	const struct args_cuIpcOpenMemHandle_v2 *args = call->data->params;

	if (!call->entered && !call->result)
		driver_call_allocated(call, *args->pdptr, 0);
}

void decode_OPEN_BUFFER(struct driver_call *call)
{
	const struct args_cuExternalMemoryGetMappedBuffer *args = call->data->params;

	if (!call->entered && !call->result)
		driver_call_allocated(call, *args->devPtr, args->bufferDesc->size);
}
