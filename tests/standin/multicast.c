/*
 * multicast.c - multicast handles, which write to many devices at once, and endpoints (since 13.3). They have no bytes.
 */
#include <stdlib.h>
#include "memory.h"

#define BINDINGS_MAX 64
#define ENDPOINTS_MAX 64

/* A binding keeps its memory alive. */
static struct binding {
	struct handle *multicast, *memory; /* multicast NULL: free */
	cuda_device device;
	uint64_t offset;
} binding[BINDINGS_MAX];

static struct handle *multicast_of(cuda_handle id)
{
	struct handle *handle = handle_of(id);

	return handle && handle->space == MT_SPACE_MULTICAST ? handle : NULL;
}

cuda_result do_cuMulticastCreate(const struct args_cuMulticastCreate *args, struct effect *effect)
{
	struct handle *handle;

	if (!args->mcHandle || !args->prop || !args->prop->size || args->prop->size % PAGE || !args->prop->devices ||
	    args->prop->flags)
		return CUDA_INVALID_VALUE;
	effect->size = args->prop->size;
	handle = handle_new(args->prop->size, HOST, MT_SPACE_MULTICAST);
	if (!handle)
		return CUDA_OUT_OF_MEMORY;
	handle_describe(handle, effect, 0);
	*args->mcHandle = (cuda_handle)(uintptr_t)handle;
	return CUDA_OK;
}

cuda_result do_cuMulticastAddDevice(const struct args_cuMulticastAddDevice *args, struct effect *effect)
{
	effect->address = args->mcHandle;
	if (!multicast_of(args->mcHandle))
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	effect->device = args->dev;
	return CUDA_OK;
}

static cuda_result bind(struct handle *multicast, uint64_t offset, struct handle *memory, uint64_t size,
			struct effect *effect)
{
	int i;

	effect->size = size;
	if (!multicast || !memory || memory->space == MT_SPACE_MULTICAST || !size || size % PAGE || offset % PAGE ||
	    offset > multicast->size || size > multicast->size - offset || size > memory->size)
		return CUDA_INVALID_VALUE;
	effect->device = memory->device;
	effect->address = (uint64_t)(uintptr_t)multicast;
	for (i = 0; i < BINDINGS_MAX && binding[i].multicast; i++)
		;
	if (i == BINDINGS_MAX)
		return CUDA_OUT_OF_MEMORY;
	binding[i] = (struct binding){ multicast, memory, memory->device, offset };
	memory->bindings++;
	return CUDA_OK;
}

cuda_result do_cuMulticastBindMem(const struct args_cuMulticastBindMem *args, struct effect *effect)
{
	return bind(multicast_of(args->mcHandle), args->mcOffset, handle_of(args->memHandle), args->size, effect);
}

cuda_result do_cuMulticastBindMem_v2(const struct args_cuMulticastBindMem_v2 *args, struct effect *effect)
{
	return bind(multicast_of(args->mcHandle), args->mcOffset, handle_of(args->memHandle), args->size, effect);
}

static cuda_result bind_address(cuda_handle id, uint64_t offset, cuda_address address, uint64_t size,
				struct effect *effect)
{
	struct handle *memory = NULL;

	vmm_address_mapped(address, &memory);
	return bind(multicast_of(id), offset, memory, size, effect);
}

cuda_result do_cuMulticastBindAddr(const struct args_cuMulticastBindAddr *args, struct effect *effect)
{
	return bind_address(args->mcHandle, args->mcOffset, args->memptr, args->size, effect);
}

cuda_result do_cuMulticastBindAddr_v2(const struct args_cuMulticastBindAddr_v2 *args, struct effect *effect)
{
	return bind_address(args->mcHandle, args->mcOffset, args->memptr, args->size, effect);
}

cuda_result do_cuMulticastUnbind(const struct args_cuMulticastUnbind *args, struct effect *effect)
{
	const struct handle *multicast = multicast_of(args->mcHandle);
	struct handle *memory;
	int i;

	effect->address = args->mcHandle;
	effect->size = args->size;
	effect->device = args->dev;
	for (i = 0; i < BINDINGS_MAX; i++) {
		if (!multicast || binding[i].multicast != multicast || binding[i].device != args->dev ||
		    binding[i].offset != args->mcOffset)
			continue;
		memory = binding[i].memory;
		binding[i].multicast = NULL;
		memory->bindings--;
		handle_dropped(memory);
		return CUDA_OK;
	}
	return CUDA_INVALID_VALUE;
}

/* ---- Endpoints: ids reserved by the program ---- */

static struct {
	int is_made;
	uint32_t id;
	uint64_t size;
} endpoint[ENDPOINTS_MAX];

static int endpoint_of(uint32_t id)
{
	int i;

	for (i = 0; i < ENDPOINTS_MAX; i++)
		if (endpoint[i].is_made && endpoint[i].id == id)
			return i;
	return -1;
}

static cuda_result endpoint_new(uint32_t id, uint64_t size, struct effect *effect)
{
	int i;

	effect->address = id;
	effect->size = size;
	if (endpoint_of(id) >= 0)
		return CUDA_INVALID_VALUE;
	for (i = 0; i < ENDPOINTS_MAX && endpoint[i].is_made; i++)
		;
	if (i == ENDPOINTS_MAX)
		return CUDA_OUT_OF_MEMORY;
	endpoint[i].is_made = 1;
	endpoint[i].id = id;
	endpoint[i].size = size;
	return CUDA_OK;
}

cuda_result do_cuLogicalEndpointCreate(const struct args_cuLogicalEndpointCreate *args, struct effect *effect)
{
	return args->prop && args->prop->size ? endpoint_new(args->leId, args->prop->size, effect) : CUDA_INVALID_VALUE;
}

cuda_result do_cuLogicalEndpointImport(const struct args_cuLogicalEndpointImport *args, struct effect *effect)
{
	return args->handle ? endpoint_new(args->leId, 0, effect) : CUDA_INVALID_VALUE;
}

cuda_result do_cuLogicalEndpointDestroy(const struct args_cuLogicalEndpointDestroy *args, struct effect *effect)
{
	int i = endpoint_of(args->leId);

	effect->address = args->leId;
	if (i < 0)
		return CUDA_INVALID_VALUE;
	endpoint[i].is_made = 0;
	return CUDA_OK;
}

static cuda_result endpoint_range(uint32_t id, cuda_device device, uint64_t offset, uint64_t size,
				  struct effect *effect)
{
	int i = endpoint_of(id);

	effect->address = id;
	effect->size = size;
	if (!driver_device_valid(device))
		return CUDA_INVALID_DEVICE;
	effect->device = device;
	if (i < 0 || !size || offset > endpoint[i].size || size > endpoint[i].size - offset)
		return CUDA_INVALID_VALUE;
	return CUDA_OK;
}

cuda_result do_cuLogicalEndpointBindAddr(const struct args_cuLogicalEndpointBindAddr *args, struct effect *effect)
{
	return endpoint_range(args->leId, args->dev, args->offset, args->size, effect);
}

cuda_result do_cuLogicalEndpointBindMem(const struct args_cuLogicalEndpointBindMem *args, struct effect *effect)
{
	if (!handle_of(args->memHandle))
		return CUDA_INVALID_VALUE;
	return endpoint_range(args->leId, args->dev, args->offset, args->size, effect);
}

cuda_result do_cuLogicalEndpointUnbind(const struct args_cuLogicalEndpointUnbind *args, struct effect *effect)
{
	return endpoint_range(args->leId, args->dev, args->offset, args->size, effect);
}
