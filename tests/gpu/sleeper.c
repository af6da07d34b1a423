/*
 * sleeper.c - a pluggable allocator for PyTorch (torch.cuda.memory.CUDAPluggableAllocator) whose memory can go and come
 * back at the same addresses, as the inference engines' sleep modes do it. The driver is called as it is; one thread.
 */
#include "../../samples/cuda_driver.h"

#include <stdio.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))

API void *sleeper_alloc(size_t bytes, int device, void *stream);
API void sleeper_free(void *block, size_t bytes, int device, void *stream);
API int sleeper_sleep(void); /* number of segments */
API int sleeper_wake(void);  /* likewise; -1: no room for all of them */

#define GRANULARITY (2ull << 20)

struct segment {
	struct segment *next;
	cuda_address addr;
	size_t size;
	int device;
	cuda_handle handle; /* 0: asleep */
};

static struct segment *segments;

/* 0: no room. */
static int fill(struct segment *segment)
{
	struct cuda_memory_props props = {
		.type = CUDA_MEMORY_PINNED,
		.location = { CUDA_LOCATION_DEVICE, segment->device },
	};
	struct cuda_access access = { { CUDA_LOCATION_DEVICE, segment->device }, CUDA_ACCESS_READ_WRITE };
	cuda_result result = cu.MemCreate(&segment->handle, segment->size, &props, 0);

	if (result == CUDA_OUT_OF_MEMORY) {
		segment->handle = 0;
		return 0;
	}
	cuda_check(result, "cuMemCreate");
	cuda_check(cu.MemMap(segment->addr, segment->size, 0, segment->handle, 0), "cuMemMap");
	cuda_check(cu.MemSetAccess(segment->addr, segment->size, &access, 1), "cuMemSetAccess");
	return 1;
}

static void empty(struct segment *segment)
{
	if (!segment->handle)
		return;
	cuda_check(cu.MemUnmap(segment->addr, segment->size), "cuMemUnmap");
	cuda_check(cu.MemRelease(segment->handle), "cuMemRelease");
	segment->handle = 0;
}

void *sleeper_alloc(size_t bytes, int device, void *stream)
{
	struct segment *segment = calloc(1, sizeof(*segment));

	(void)stream;
	if (!segment)
		return NULL;
	if (!cu.MemCreate)
		cuda_driver_load();
	segment->size = (bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
	segment->device = device;
	cuda_check(cu.MemAddressReserve(&segment->addr, segment->size, 0, 0, 0), "cuMemAddressReserve");
	if (!fill(segment)) {
		cuda_check(cu.MemAddressFree(segment->addr, segment->size), "cuMemAddressFree");
		free(segment);
		return NULL;
	}
	segment->next = segments;
	segments = segment;
	return (void *)(uintptr_t)segment->addr;
}

void sleeper_free(void *block, size_t bytes, int device, void *stream)
{
	struct segment **link = &segments, *segment;

	(void)bytes, (void)device, (void)stream;
	while (*link && (*link)->addr != (cuda_address)(uintptr_t)block)
		link = &(*link)->next;
	segment = *link;
	if (!segment) {
		fprintf(stderr, "sleeper: %p is not ours\n", block);
		return;
	}
	*link = segment->next;
	cuda_check(cu.CtxSynchronize(), "cuCtxSynchronize");
	empty(segment);
	cuda_check(cu.MemAddressFree(segment->addr, segment->size), "cuMemAddressFree");
	free(segment);
}

int sleeper_sleep(void)
{
	struct segment *segment;
	int count = 0;

	if (segments)
		cuda_check(cu.CtxSynchronize(), "cuCtxSynchronize");
	for (segment = segments; segment; segment = segment->next, count++)
		empty(segment);
	return count;
}

int sleeper_wake(void)
{
	struct segment *segment;
	int count = 0;

	for (segment = segments; segment; segment = segment->next, count++)
		if (!segment->handle && !fill(segment))
			return -1;
	return count;
}
