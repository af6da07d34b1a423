/*
 * vmm.c - virtual memory management: reserved ranges, physical handles, mappings.
 *
 *     range     [-----------------------------------)      cuMemAddressReserve: addresses only
 *     mappings      [== handle 1 ==)[= handle 2 =)         cuMemMap, cuMemUnmap: whole mappings only
 *     handle    lives while it has a reference (cuMemCreate, Retain, Import) or a mapping
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "memory.h"

/* A part of the address space: a reserved range, or (with a handle) a mapping. */
struct span {
	cuda_address address;
	uint64_t size;
	struct handle *handle;
};

/* Sorted by address, not overlapping. */
struct spans {
	struct span *span;
	size_t count, room;
};

static struct handle *handles;
static struct spans ranges, mappings;

static int page_multiple(uint64_t number)
{
	return !(number & (PAGE - 1));
}

/* ---- Spans ---- */

/* Index of the first span that ends behind `address`. */
static size_t spans_find(const struct spans *spans, cuda_address address)
{
	size_t low = 0, high = spans->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (spans->span[middle].address + spans->span[middle].size > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int spans_insert(struct spans *spans, const struct span *span)
{
	size_t i = spans_find(spans, span->address), room = spans->room * 2 + 64;
	struct span *grown;

	if (spans->count == spans->room) {
		grown = realloc(spans->span, room * sizeof(*grown));
		if (!grown)
			return 0;
		spans->span = grown;
		spans->room = room;
	}
	memmove(&spans->span[i + 1], &spans->span[i], (spans->count - i) * sizeof(*span));
	spans->span[i] = *span;
	spans->count++;
	return 1;
}

static void spans_remove(struct spans *spans, size_t i, size_t count)
{
	spans->count -= count;
	memmove(&spans->span[i], &spans->span[i + count], (spans->count - i) * sizeof(*spans->span));
}

static int spans_overlap(const struct spans *spans, cuda_address address, uint64_t size)
{
	size_t i = spans_find(spans, address);

	return i < spans->count && spans->span[i].address < address + size;
}

/* Number of spans from `i` on that fill exactly [address, address + size); 0: they do not fill it. */
static size_t spans_fill(const struct spans *spans, size_t i, cuda_address address, uint64_t size)
{
	cuda_address at = address;
	size_t count = 0;

	while (at < address + size && i + count < spans->count && spans->span[i + count].address == at)
		at += spans->span[i + count++].size;
	return at == address + size ? count : 0;
}

/* ---- Handles ---- */

struct handle *handle_of(cuda_handle id)
{
	struct handle *handle = handles;

	while (handle && (cuda_handle)(uintptr_t)handle != id)
		handle = handle->next;
	return handle;
}

struct handle *handle_new(uint64_t size, cuda_device device, enum mt_space space)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->size = size;
	handle->device = device;
	handle->space = space;
	handle->refs = 1;
	handle->next = handles;
	handles = handle;
	return handle;
}

void handle_describe(const struct handle *handle, struct effect *effect, int64_t bytes)
{
	int holds = handle->space != MT_SPACE_IMPORTED && handle->space != MT_SPACE_MULTICAST;

	effect->device = handle->device;
	effect->space = handle->space;
	effect->address = (uint64_t)(uintptr_t)handle;
	effect->size = handle->size;
	effect->bytes = holds ? bytes : 0;
}

/* After a reference or a mapping was dropped. The line of the call itself comes later: "gone" precedes it. */
void handle_dropped(struct handle *handle)
{
	struct handle **link = &handles;
	struct effect effect;

	if (handle->refs || handle->mappings || handle->bindings)
		return;
	handle_describe(handle, &effect, -(int64_t)handle->size);
	ledger_write("gone", CUDA_OK, &effect);
	if (effect.bytes)
		driver_give(handle->device, handle->size);
	while (*link != handle)
		link = &(*link)->next;
	*link = handle->next;
	free(handle);
}

/* ---- Recorded calls: addresses ---- */

cuda_result do_cuMemAddressReserve(const struct args_cuMemAddressReserve *args, struct effect *effect)
{
	struct span range = { .size = args->size };

	effect->size = args->size;
	if (!args->ptr || !args->size || !page_multiple(args->size) || args->flags)
		return CUDA_INVALID_VALUE;
	if (args->alignment & (args->alignment - 1))
		return CUDA_INVALID_VALUE;
	range.address = addresses_take(args->size); /* a driver may ignore the wish `addr` */
	if (!range.address)
		return CUDA_OUT_OF_MEMORY;
	if (!spans_insert(&ranges, &range)) {
		addresses_give(range.address, range.size);
		return CUDA_OUT_OF_MEMORY;
	}
	effect->address = *args->ptr = range.address;
	return CUDA_OK;
}

cuda_result do_cuMemAddressFree(const struct args_cuMemAddressFree *args, struct effect *effect)
{
	size_t i = spans_find(&ranges, args->ptr);

	effect->address = args->ptr;
	effect->size = args->size;
	if (spans_fill(&ranges, i, args->ptr, args->size) != 1 || spans_overlap(&mappings, args->ptr, args->size))
		return CUDA_INVALID_VALUE;
	spans_remove(&ranges, i, 1);
	addresses_give(args->ptr, args->size);
	return CUDA_OK;
}

/* ---- Recorded calls: physical memory ---- */

cuda_result do_cuMemCreate(const struct args_cuMemCreate *args, struct effect *effect)
{
	struct handle *handle;
	cuda_device device;

	effect->size = args->size;
	if (!args->handle || !args->prop || args->prop->type != CUDA_MEMORY_PINNED || args->flags)
		return CUDA_INVALID_VALUE;
	if (!args->size || !page_multiple(args->size))
		return CUDA_INVALID_VALUE;
	if (!driver_place(&args->prop->location, &device))
		return CUDA_INVALID_DEVICE;
	effect->device = device;
	if (!driver_take(device, args->size))
		return CUDA_OUT_OF_MEMORY;
	handle = handle_new(args->size, device, device == HOST ? MT_SPACE_PINNED : MT_SPACE_DEVICE);
	if (!handle) {
		driver_give(device, args->size);
		return CUDA_OUT_OF_MEMORY;
	}
	handle->props = *args->prop;
	handle_describe(handle, effect, (int64_t)handle->size);
	*args->handle = (cuda_handle)(uintptr_t)handle;
	return CUDA_OK;
}

cuda_result do_cuMemRelease(const struct args_cuMemRelease *args, struct effect *effect)
{
	struct handle *handle = handle_of(args->handle);

	effect->address = args->handle;
	if (!handle || !handle->refs)
		return CUDA_INVALID_VALUE;
	handle_describe(handle, effect, 0);
	handle->refs--;
	handle_dropped(handle);
	return CUDA_OK;
}

cuda_result do_cuMemRetainAllocationHandle(const struct args_cuMemRetainAllocationHandle *args, struct effect *effect)
{
	cuda_address address = (cuda_address)(uintptr_t)args->addr;
	struct handle *handle;

	effect->address = address;
	if (!args->handle || !spans_overlap(&mappings, address, 1))
		return CUDA_INVALID_VALUE;
	handle = mappings.span[spans_find(&mappings, address)].handle;
	handle->refs++;
	handle_describe(handle, effect, 0);
	*args->handle = (cuda_handle)(uintptr_t)handle;
	return CUDA_OK;
}

/* ---- Recorded calls: mappings ---- */

cuda_result do_cuMemMap(const struct args_cuMemMap *args, struct effect *effect)
{
	struct span mapping = { .address = args->ptr, .size = args->size, .handle = handle_of(args->handle) };
	size_t i = spans_find(&ranges, args->ptr);
	const struct span *range;

	effect->address = args->ptr;
	effect->size = args->size;
	if (!mapping.handle || !args->size || args->flags || !page_multiple(args->ptr | args->size | args->offset))
		return CUDA_INVALID_VALUE;
	if (args->offset > mapping.handle->size || args->size > mapping.handle->size - args->offset)
		return CUDA_INVALID_VALUE;
	range = i < ranges.count ? &ranges.span[i] : NULL;
	if (!range || args->ptr < range->address || args->ptr + args->size > range->address + range->size)
		return CUDA_INVALID_VALUE;
	if (spans_overlap(&mappings, args->ptr, args->size))
		return CUDA_INVALID_VALUE;
	if (!spans_insert(&mappings, &mapping))
		return CUDA_OUT_OF_MEMORY;
	mapping.handle->mappings++;
	effect->device = mapping.handle->device;
	return CUDA_OK;
}

cuda_result do_cuMemUnmap(const struct args_cuMemUnmap *args, struct effect *effect)
{
	size_t i = spans_find(&mappings, args->ptr), count = spans_fill(&mappings, i, args->ptr, args->size), k;

	effect->address = args->ptr;
	effect->size = args->size;
	if (!count)
		return CUDA_INVALID_VALUE;
	effect->device = mappings.span[i].handle->device;
	for (k = 0; k < count; k++) {
		mappings.span[i + k].handle->mappings--;
		handle_dropped(mappings.span[i + k].handle);
	}
	spans_remove(&mappings, i, count);
	return CUDA_OK;
}

cuda_result do_cuMemSetAccess(const struct args_cuMemSetAccess *args, struct effect *effect)
{
	size_t i = spans_find(&mappings, args->ptr);

	effect->address = args->ptr;
	effect->size = args->size;
	if (!args->desc || !args->count || !spans_fill(&mappings, i, args->ptr, args->size))
		return CUDA_INVALID_VALUE;
	effect->device = mappings.span[i].handle->device;
	return CUDA_OK;
}

/* ---- Recorded calls: between processes. A file stands for the memory, with its size and device ---- */

struct exported {
	char magic[8];
	uint64_t size;
	int64_t device;
};

static const char exported_magic[8] = "standin";

cuda_result do_cuMemExportToShareableHandle(const struct args_cuMemExportToShareableHandle *args, struct effect *effect)
{
	struct handle *handle = handle_of(args->handle);
	struct exported file;
	int fd;

	effect->address = args->handle;
	if (!handle || !args->shareableHandle || args->flags || args->handleType != CUDA_EXPORT_POSIX_FD ||
	    !(handle->props.export_types & CUDA_EXPORT_POSIX_FD))
		return CUDA_INVALID_VALUE;
	memcpy(file.magic, exported_magic, sizeof(file.magic));
	file.size = handle->size;
	file.device = handle->device;
	fd = memfd_create("standin-memory", MFD_CLOEXEC);
	if (fd < 0 || write(fd, &file, sizeof(file)) != sizeof(file))
		return CUDA_UNKNOWN;
	handle_describe(handle, effect, 0);
	*(int *)args->shareableHandle = fd;
	return CUDA_OK;
}

cuda_result do_cuMemImportFromShareableHandle(const struct args_cuMemImportFromShareableHandle *args,
					      struct effect *effect)
{
	struct exported file;
	struct handle *handle;

	if (!args->handle || args->shHandleType != CUDA_EXPORT_POSIX_FD)
		return CUDA_INVALID_VALUE;
	if (pread((int)(intptr_t)args->osHandle, &file, sizeof(file), 0) != sizeof(file) ||
	    memcmp(file.magic, exported_magic, sizeof(file.magic)))
		return CUDA_INVALID_VALUE;
	if (file.device != HOST && !driver_device_valid((cuda_device)file.device))
		return CUDA_INVALID_DEVICE;
	handle = handle_new(file.size, (cuda_device)file.device, MT_SPACE_IMPORTED);
	if (!handle)
		return CUDA_OUT_OF_MEMORY;
	handle_describe(handle, effect, 0);
	*args->handle = (cuda_handle)(uintptr_t)handle;
	return CUDA_OK;
}

cuda_result do_cuMemGetHandleForAddressRange(const struct args_cuMemGetHandleForAddressRange *args,
					     struct effect *effect)
{
	const int dma_buf = 1; /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
	int fd;

	effect->address = args->dptr;
	effect->size = args->size;
	if (!args->handle || args->handleType != dma_buf || !args->size || !page_multiple(args->dptr | args->size))
		return CUDA_INVALID_VALUE;
	fd = memfd_create("standin-dma-buf", MFD_CLOEXEC);
	if (fd < 0)
		return CUDA_UNKNOWN;
	memcpy(args->handle, &fd, sizeof(fd));
	return CUDA_OK;
}

cuda_address vmm_address_mapped(cuda_address address, struct handle **handle)
{
	size_t i = spans_find(&mappings, address);

	if (!spans_overlap(&mappings, address, 1))
		return 0;
	*handle = mappings.span[i].handle;
	return mappings.span[i].address;
}

/* ---- Questions ---- */

DRIVER_CALL(cuMemGetAllocationGranularity(size_t *granularity, const struct cuda_memory_props *props, int option))
{
	cuda_device device;

	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!granularity || !props || props->type != CUDA_MEMORY_PINNED)
		return CUDA_INVALID_VALUE;
	if (option != CUDA_GRANULARITY_MINIMUM && option != CUDA_GRANULARITY_RECOMMENDED)
		return CUDA_INVALID_VALUE;
	if (!driver_place(&props->location, &device))
		return CUDA_INVALID_DEVICE;
	*granularity = PAGE;
	return CUDA_OK;
}

DRIVER_CALL(cuMemGetAllocationPropertiesFromHandle(struct cuda_memory_props *props, cuda_handle id))
{
	cuda_result result = CUDA_INVALID_VALUE;
	struct handle *handle;

	driver_lock();
	handle = handle_of(id);
	if (props && handle) {
		*props = handle->props;
		result = CUDA_OK;
	}
	driver_unlock();
	return result;
}
