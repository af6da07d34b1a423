#include "allocator.h"

#include <stdlib.h>

/* The reserved addresses of an expandable segment, mapped chunk by chunk. */
struct range {
	uint64_t addr, chunk, chunks;
	cuda_handle *handle; /* handle of each chunk, 0: unmapped */
};

static struct cuda_memory_props physical(int device)
{
	return (struct cuda_memory_props){
		.type = CUDA_MEMORY_PINNED,
		.export_types = CUDA_EXPORT_POSIX_FD,
		.location = { CUDA_LOCATION_DEVICE, device },
	};
}

static void give_access(int device, uint64_t addr, uint64_t size)
{
	struct cuda_access access = { { CUDA_LOCATION_DEVICE, device }, CUDA_ACCESS_READ_WRITE };

	cuda_check(cu.MemSetAccess(addr, size, &access, 1), "cuMemSetAccess");
}

/* 0: the device is full. */
static cuda_handle create(int device, uint64_t size)
{
	struct cuda_memory_props props = physical(device);
	cuda_handle handle;
	cuda_result result = cu.MemCreate(&handle, size, &props, 0);

	if (result == CUDA_OUT_OF_MEMORY)
		return 0;
	cuda_check(result, "cuMemCreate");
	return handle;
}

static uint64_t reserve(uint64_t size)
{
	cuda_address addr;

	cuda_check(cu.MemAddressReserve(&addr, size, 0, 0, 0), "cuMemAddressReserve");
	return addr;
}

/* ---- Segments of their own: one call of cudaMalloc, or of what stands in for it ---- */

/* One that can sleep: its addresses stay, its physical memory comes and goes. */
struct segment {
	struct segment *next;
	uint64_t addr, size;
	cuda_handle handle; /* 0: asleep */
};

/* Physical memory at addresses that are there. 0: the device is full. */
static cuda_handle fill(int device, uint64_t addr, uint64_t size)
{
	cuda_handle handle = create(device, size);

	if (!handle)
		return 0;
	cuda_check(cu.MemMap(addr, size, 0, handle, 0), "cuMemMap");
	give_access(device, addr, size);
	return handle;
}

static void empty(struct segment *segment)
{
	if (!segment->handle)
		return;
	cuda_check(cu.MemUnmap(segment->addr, segment->size), "cuMemUnmap");
	cuda_check(cu.MemRelease(segment->handle), "cuMemRelease");
	segment->handle = 0;
}

/* 0: the device is full. */
static int take_cumem(struct segment *segment, int device)
{
	segment->addr = reserve(segment->size);
	segment->handle = fill(device, segment->addr, segment->size);
	if (!segment->handle)
		cuda_check(cu.MemAddressFree(segment->addr, segment->size), "cuMemAddressFree");
	return segment->handle != 0;
}

static int take_saver(struct segment *segment, int device)
{
	segment->handle = create(device, segment->size);
	if (!segment->handle)
		return 0;
	segment->addr = reserve(segment->size);
	cuda_check(cu.MemMap(segment->addr, segment->size, 0, segment->handle, 0), "cuMemMap");
	give_access(device, segment->addr, segment->size);
	return 1;
}

static uint64_t take_sleeper(struct pool *pool, uint64_t size)
{
	struct segment *segment = calloc(1, sizeof(*segment));
	int taken;

	if (!segment)
		abort();
	segment->size = size;
	taken = pool->source == SOURCE_CUMEM ? take_cumem(segment, pool->device->index)
					     : take_saver(segment, pool->device->index);
	if (!taken) {
		free(segment);
		return 0;
	}
	segment->next = pool->segments;
	pool->segments = segment;
	return segment->addr;
}

static void give_sleeper(struct pool *pool, uint64_t addr)
{
	struct segment **link = &pool->segments, *segment;

	while ((*link)->addr != addr)
		link = &(*link)->next;
	segment = *link;
	*link = segment->next;
	if (pool->source == SOURCE_CUMEM) {
		empty(segment);
		cuda_check(cu.MemAddressFree(addr, segment->size), "cuMemAddressFree");
	} else {
		if (segment->handle)
			cuda_check(cu.MemUnmap(addr, segment->size), "cuMemUnmap");
		cuda_check(cu.MemAddressFree(addr, segment->size), "cuMemAddressFree");
		if (segment->handle)
			cuda_check(cu.MemRelease(segment->handle), "cuMemRelease");
	}
	free(segment);
}

void segment_sleep(struct pool *pool)
{
	struct segment *segment;

	for (segment = pool->segments; segment; segment = segment->next)
		empty(segment);
}

int segment_wake(struct pool *pool)
{
	struct segment *segment;

	for (segment = pool->segments; segment; segment = segment->next) {
		if (!segment->handle)
			segment->handle = fill(pool->device->index, segment->addr, segment->size);
		if (!segment->handle)
			return 0;
	}
	return 1;
}

static uint64_t take_linear(uint64_t size)
{
	cuda_address addr;
	cuda_result result = cu.MemAlloc(&addr, size);

	if (result == CUDA_OUT_OF_MEMORY)
		return 0;
	cuda_check(result, "cuMemAlloc");
	return addr;
}

static struct block *take(struct pool *pool, int stream, uint64_t size)
{
	uint64_t addr = pool->source == SOURCE_MALLOC ? take_linear(size) : take_sleeper(pool, size);

	if (!addr)
		return NULL;
	pool->device->reserved += size;
	account_write("segment_alloc", pool->device, addr, size, size, stream);
	return block_new(pool, stream, addr, size);
}

static void give(struct block *block)
{
	struct pool *pool = block->pool;

	pool->device->reserved -= block->size;
	account_write("segment_free", pool->device, block->addr, block->size, block->size, block->stream);
	if (pool->source == SOURCE_MALLOC)
		cuda_check(cu.MemFree(block->addr), "cuMemFree");
	else
		give_sleeper(pool, block->addr);
	block_remove(block);
	free(block);
}

/* ---- Expandable segments ---- */

static struct block *range_new(struct pool *pool, int stream)
{
	struct range *range = calloc(1, sizeof(*range));
	uint64_t bytes = device_total() + device_total() / 8;
	struct block *block;

	if (!range)
		abort();
	range->chunk = pool->is_small ? SMALL_SEGMENT : LARGE_SEGMENT;
	range->chunks = (bytes + range->chunk - 1) / range->chunk;
	range->handle = calloc(range->chunks, sizeof(*range->handle));
	if (!range->handle)
		abort();
	range->addr = reserve(range->chunks * range->chunk);
	block = block_new(pool, stream, range->addr, range->chunks * range->chunk);
	block->range = range;
	block->mapped = 0;
	block_insert(block);
	return block;
}

/* All of the chunks or none. Returns the bytes. */
static uint64_t range_map(const struct pool *pool, struct range *range, uint64_t addr, uint64_t size)
{
	uint64_t first = (addr - range->addr) / range->chunk, i, k;
	uint64_t end = (addr + size - range->addr + range->chunk - 1) / range->chunk;

	for (i = first; i < end; i++) {
		range->handle[i] = create(pool->device->index, range->chunk);
		if (range->handle[i])
			continue;
		for (k = first; k < i; k++) {
			cuda_check(cu.MemRelease(range->handle[k]), "cuMemRelease");
			range->handle[k] = 0;
		}
		return 0;
	}
	for (i = first; i < end; i++)
		cuda_check(cu.MemMap(range->addr + i * range->chunk, range->chunk, 0, range->handle[i], 0), "cuMemMap");
	give_access(pool->device->index, range->addr + first * range->chunk, (end - first) * range->chunk);
	return (end - first) * range->chunk;
}

/* An unmapped block, as much of it as `size` needs, becomes free memory. 0: the device is full. */
static int map_block(struct block *block, uint64_t size)
{
	struct device *device = block->pool->device;
	uint64_t addr = block->addr, bytes = range_map(block->pool, block->range, addr, size);

	if (!bytes)
		return 0;
	block_remove(block);
	if (bytes < block->size)
		block_insert(block_split(block, bytes));
	block->mapped = 1;
	block_merge(block);
	block_insert(block);
	device->reserved += bytes;
	account_write("segment_map", device, addr, bytes, bytes, block->stream);
	return 1;
}

static int can_grow(const struct block *block, uint64_t size)
{
	uint64_t bytes = 0;

	for (; block && bytes < size && !block->allocated && !block->uses; block = block->next)
		bytes += block->size;
	return bytes >= size;
}

/* The lowest place with addresses for `size`: unmapped, or free with unmapped behind it. */
static struct block *find_place(struct pool *pool, int stream, uint64_t size)
{
	struct block *block, *start;

	for (block = pool->unmapped; block; block = block->list_next) {
		if (block->stream != stream)
			continue;
		start = block->prev && !block->prev->allocated && !block->prev->uses ? block->prev : block;
		if (can_grow(start, size))
			return start;
	}
	return range_new(pool, stream);
}

static struct block *grow(struct pool *pool, int stream, uint64_t size)
{
	struct block *block = find_place(pool, stream, size), *next;
	uint64_t missing;

	if (!block->mapped && !map_block(block, block->size < size ? block->size : size))
		return NULL;
	while (block->size < size) {
		next = block->next;
		missing = size - block->size;
		if (!map_block(next, missing < next->size ? missing : next->size))
			return NULL;
		block = next;
	}
	block_remove(block);
	return block;
}

static void range_unmap(struct range *range, uint64_t first, uint64_t end)
{
	uint64_t i;

	cuda_check(cu.CtxSynchronize(), "cuCtxSynchronize");
	for (i = first; i < end; i++) {
		cuda_check(cu.MemUnmap(range->addr + i * range->chunk, range->chunk), "cuMemUnmap");
		cuda_check(cu.MemRelease(range->handle[i]), "cuMemRelease");
		range->handle[i] = 0;
	}
}

static void range_free(struct block *block)
{
	struct range *range = block->range;

	cuda_check(cu.MemAddressFree(range->addr, range->chunks * range->chunk), "cuMemAddressFree");
	block_remove(block);
	free(range->handle);
	free(range);
	free(block);
}

/* Whole chunks of a free block go; what is left at its ends stays free. */
static void unmap_block(struct block *block)
{
	struct range *range = block->range;
	struct device *device = block->pool->device;
	uint64_t first = (block->addr - range->addr + range->chunk - 1) / range->chunk;
	uint64_t end = (block->addr + block->size - range->addr) / range->chunk;
	uint64_t addr = range->addr + first * range->chunk, bytes;
	struct block *rest;

	if (first >= end)
		return;
	bytes = (end - first) * range->chunk;
	range_unmap(range, first, end);
	block_remove(block);
	if (addr > block->addr) {
		rest = block_split(block, addr - block->addr);
		block_insert(block);
		block = rest;
	}
	if (bytes < block->size)
		block_insert(block_split(block, bytes));
	block->mapped = 0;
	block_merge(block);
	block_insert(block);
	device->reserved -= bytes;
	account_write("segment_unmap", device, addr, bytes, bytes, block->stream);
	if (!block_is_split(block))
		range_free(block);
}

/* ---- Both ---- */

static uint64_t segment_size(uint64_t size)
{
	if (size <= SMALL_MAX)
		return SMALL_SEGMENT;
	if (size < LARGE_MIN)
		return LARGE_SEGMENT;
	return (size + LARGE_ROUND - 1) / LARGE_ROUND * LARGE_ROUND;
}

struct block *segment_alloc(struct pool *pool, int stream, uint64_t size)
{
	if ((device_modes() & MODE_EXPANDABLE) && pool->source == SOURCE_MALLOC)
		return grow(pool, stream, size);
	return take(pool, stream, segment_size(size));
}

/* Unmapping changes the list: expandable ones after the others, from a list of their own. */
void segment_release_cached(struct pool *pool)
{
	struct block *block, *next, *expandable[1024];
	size_t count = 0, i;

	for (block = pool->free; block; block = next) {
		next = block->list_next;
		if (block->range && count < MT_ARRAY_SIZE(expandable))
			expandable[count++] = block;
		else if (!block->range && !block_is_split(block))
			give(block);
	}
	for (i = 0; i < count; i++)
		unmap_block(expandable[i]);
}
