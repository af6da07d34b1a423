/*
 * share.c - memory of other processes and APIs: IPC handles, pointers into shared pools, external memory. Its bytes
 * count in their own process; here it has only an address.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memory.h"

/* The handle that goes from process to process in place of the memory. Fits into 64 bytes. */
struct ticket {
	char magic[8];
	int32_t pid;
	cuda_device device;
	uint64_t address, bytes;
};

static const char ipc_magic[8] = "st-ipc", pool_magic[8] = "st-ptr";

static cuda_result write_ticket(struct ticket *ticket, const char *magic, cuda_address address, int in_pool)
{
	struct cuda_pool *pool;

	*ticket = (struct ticket){ .pid = (int32_t)getpid(), .address = address };
	memcpy(ticket->magic, magic, sizeof(ticket->magic));
	if (!memory_find(address, &ticket->bytes, &ticket->device, &pool) || !pool != !in_pool)
		return CUDA_INVALID_VALUE;
	return CUDA_OK;
}

/* 1: a valid ticket. Processes share GPUs only with STANDIN_STATE, and the exporter must be alive. */
static int is_good(const struct ticket *ticket, const char *magic)
{
	return !memcmp(ticket->magic, magic, sizeof(ticket->magic)) && standin_config()->state &&
	       (ticket->device == HOST || driver_device_valid(ticket->device)) && ticket->pid != (int32_t)getpid() &&
	       !kill(ticket->pid, 0);
}

/* ---- Recorded calls: IPC ---- */

cuda_result do_cuIpcGetMemHandle(const struct args_cuIpcGetMemHandle *args, struct effect *effect)
{
	struct ticket ticket;
	cuda_result result;

	effect->address = args->dptr;
	if (!args->pHandle)
		return CUDA_INVALID_VALUE;
	result = write_ticket(&ticket, ipc_magic, args->dptr, 0);
	if (result)
		return result;
	effect->device = ticket.device;
	memset(args->pHandle, 0, sizeof(*args->pHandle));
	memcpy(args->pHandle, &ticket, sizeof(ticket));
	return CUDA_OK;
}

cuda_result do_cuIpcOpenMemHandle_v2(const struct args_cuIpcOpenMemHandle_v2 *args, struct effect *effect)
{
	struct ticket ticket;

	memcpy(&ticket, &args->handle, sizeof(ticket));
	if (!args->pdptr || args->Flags > 1 || !is_good(&ticket, ipc_magic))
		return CUDA_INVALID_VALUE;
	if (!driver_current())
		return CUDA_INVALID_CONTEXT;
	return memory_import(ticket.bytes, ticket.device, 1, args->pdptr, effect);
}

DRIVER_SAME(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2)

cuda_result do_cuIpcCloseMemHandle(const struct args_cuIpcCloseMemHandle *args, struct effect *effect)
{
	return memory_close(args->dptr, effect);
}

/* ---- Recorded calls: pointers into pools ---- */

cuda_result do_cuMemPoolExportPointer(const struct args_cuMemPoolExportPointer *args, struct effect *effect)
{
	struct ticket ticket;
	cuda_result result;

	effect->address = args->ptr;
	if (!args->shareData_out)
		return CUDA_INVALID_VALUE;
	result = write_ticket(&ticket, pool_magic, args->ptr, 1);
	if (result)
		return result;
	effect->device = ticket.device;
	memset(args->shareData_out, 0, sizeof(*args->shareData_out));
	memcpy(args->shareData_out, &ticket, sizeof(ticket));
	return CUDA_OK;
}

cuda_result do_cuMemPoolImportPointer(const struct args_cuMemPoolImportPointer *args, struct effect *effect)
{
	struct ticket ticket;

	if (!args->ptr_out || !args->shareData || !pool_valid(args->pool) || !pool_imported(args->pool))
		return CUDA_INVALID_VALUE;
	memcpy(&ticket, args->shareData, sizeof(ticket));
	if (!is_good(&ticket, pool_magic))
		return CUDA_INVALID_VALUE;
	return memory_import(ticket.bytes, ticket.device, 0, args->ptr_out, effect);
}

/* ---- Recorded calls: memory of other APIs; a file descriptor stands for it ---- */

struct cuda_external {
	struct cuda_external *next; /* next live one */
	uint64_t bytes;
};

static struct cuda_external *externals;

static struct cuda_external **find(const struct cuda_external *external)
{
	struct cuda_external **link = &externals;

	while (*link && *link != external)
		link = &(*link)->next;
	return link;
}

cuda_result do_cuImportExternalMemory(const struct args_cuImportExternalMemory *args, struct effect *effect)
{
	const struct cuda_external_desc *desc = args->memHandleDesc;
	struct cuda_external *external;

	if (!args->extMem_out || !desc || desc->type != CUDA_EXTERNAL_OPAQUE_FD || !desc->size)
		return CUDA_INVALID_VALUE;
	external = malloc(sizeof(*external));
	if (!external)
		return CUDA_OUT_OF_MEMORY;
	*external = (struct cuda_external){ .next = externals, .bytes = desc->size };
	externals = external;
	effect->address = (uint64_t)(uintptr_t)external;
	effect->size = desc->size;
	*args->extMem_out = external;
	return CUDA_OK;
}

cuda_result do_cuDestroyExternalMemory(const struct args_cuDestroyExternalMemory *args, struct effect *effect)
{
	struct cuda_external **link = find(args->extMem);

	effect->address = (uint64_t)(uintptr_t)args->extMem;
	if (!*link)
		return CUDA_INVALID_HANDLE;
	*link = args->extMem->next;
	free(args->extMem);
	return CUDA_OK;
}

cuda_result do_cuExternalMemoryGetMappedBuffer(const struct args_cuExternalMemoryGetMappedBuffer *args,
					       struct effect *effect)
{
	const struct cuda_external *external = *find(args->extMem);
	const struct cuda_external_buffer *buffer = args->bufferDesc;
	struct cuda_context *context = driver_current();

	if (!external || !args->devPtr || !buffer || buffer->offset > external->bytes ||
	    buffer->size > external->bytes - buffer->offset)
		return CUDA_INVALID_VALUE;
	if (!context)
		return CUDA_INVALID_CONTEXT;
	return memory_import(buffer->size, context->device, 0, args->devPtr, effect);
}
