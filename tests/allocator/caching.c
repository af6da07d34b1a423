/*
 * caching.c - the allocator as programs see it. Order within a call, as PyTorch has it: blocks whose streams are done
 * come home; the best free block, else a new segment, else everything cached goes back to the driver and once more, else
 * out of memory; the rest of the block is split off; libc10 hears of it last, still under the lock. A free is reported
 * when it is asked for, also where another stream keeps the block from being used again.
 */
#include "allocator.h"

#include <stdlib.h>

#define API __attribute__((visibility("default")))

/* 0: out of memory. Streams are numbers from 0, of no further meaning. */
API uint64_t allocator_alloc(int device, uint64_t bytes, int stream);
API void allocator_free(int device, uint64_t addr);
API void allocator_record_stream(int device, uint64_t addr, int stream);
API void allocator_stream_done(int device, int stream); /* its work is done */
API void allocator_empty_cache(int device);

/* Pools: 0 is the default one, the others begin with the first use. `source`: enum source. State of the calling
 * thread. */
API void allocator_pool_begin(int device, int id, int source);
API void allocator_pool_end(int device);
API void allocator_pool_release(int device, int id); /* nobody uses it any more: its cache may go */
API void allocator_pool_sleep(int device, int id);
API int allocator_pool_wake(int device, int id); /* 0: out of memory */

/* A graph is being captured: blocks wait for streams until the end of it, and nothing cached is given back. */
API void allocator_capture(int device, int begins);

API void allocator_snapshot(int device); /* a line in the account */
API uint64_t allocator_allocated(int device);
API uint64_t allocator_reserved(int device);

static _Thread_local int pool_of_thread;

/* ---- Allocated blocks, by address ---- */

static struct block **slot_of(struct device *device, uint64_t addr)
{
	struct block **link = &device->used[addr / BLOCK_BYTES % MT_ARRAY_SIZE(device->used)];

	while (*link && (*link)->addr != addr)
		link = &(*link)->chain;
	return link;
}

static struct block *used_find(struct device *device, uint64_t addr)
{
	struct block *block = *slot_of(device, addr);

	if (!block)
		abort(); /* the program frees what it does not have */
	return block;
}

static void used_add(struct device *device, struct block *block)
{
	struct block **link = slot_of(device, block->addr);

	block->chain = NULL;
	*link = block;
}

static struct block *used_take(struct device *device, uint64_t addr)
{
	struct block *block = used_find(device, addr);

	*slot_of(device, addr) = block->chain;
	block->chain = NULL;
	return block;
}

/* ---- Blocks that other streams still use ---- */

static void free_completed(struct block *block)
{
	account_write("free_completed", block->pool->device, block->addr, block->requested, block->size, block->stream);
	block_merge(block);
	block_insert(block);
}

static void come_home(struct device *device)
{
	struct block **link = &device->waiting, *block;

	while ((block = *link)) {
		if (block->uses) {
			link = &block->chain;
			continue;
		}
		*link = block->chain;
		block->chain = NULL;
		free_completed(block);
	}
}

/* Waits for all streams: nothing runs here, so they are done. */
static void synchronize(struct device *device)
{
	struct block *block;

	for (block = device->waiting; block; block = block->chain)
		block->uses = 0;
	come_home(device);
}

/* ---- Alloc and free ---- */

static uint64_t rounded(uint64_t bytes)
{
	return bytes < BLOCK_BYTES ? BLOCK_BYTES : (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static void release_cached(struct device *device)
{
	int id;

	synchronize(device);
	segment_release_cached(&device->pool[0][0]);
	segment_release_cached(&device->pool[0][1]);
	for (id = 1; id < POOLS_MAX; id++) {
		if (device->pool[id][0].is_used)
			continue;
		segment_release_cached(&device->pool[id][1]);
		segment_release_cached(&device->pool[id][0]);
	}
}

/* Is what is left of the block worth a block of its own? */
static int splits(const struct block *block, uint64_t size)
{
	uint64_t rest = block->size - size;

	return block->range || block->pool->is_small ? rest >= BLOCK_BYTES : rest > SMALL_MAX;
}

static struct block *find(struct pool *pool, int stream, uint64_t size)
{
	struct block *block = block_best(pool, stream, size);

	if (!block)
		block = segment_alloc(pool, stream, size);
	if (block || pool->device->capturing)
		return block;
	release_cached(pool->device);
	return segment_alloc(pool, stream, size);
}

static void hand_out(struct device *device, struct block *block, uint64_t size, uint64_t requested)
{
	if (splits(block, size))
		block_insert(block_split(block, size));
	block->allocated = 1;
	block->requested = requested;
	device->allocated += block->size;
	used_add(device, block);
	account_write("alloc", device, block->addr, requested, block->size, block->stream);
	report_memory(device, block->addr, (int64_t)block->size);
}

static void give_up(struct device *device, uint64_t size, int stream)
{
	size_t free_bytes, total;

	cuda_check(cu.MemGetInfo(&free_bytes, &total), "cuMemGetInfo");
	account_write("oom", device, free_bytes, size, size, stream);
	report_oom(device, size);
}

/* cudaMallocAsync: the driver is the allocator, and libc10 hears nothing; nor has PyTorch a history of it. */
static uint64_t alloc_async(struct device *device, uint64_t bytes, int stream)
{
	cuda_address addr;
	cuda_result result = cu.MemAllocAsync(&addr, bytes, NULL);

	if (result == CUDA_OUT_OF_MEMORY)
		return 0;
	cuda_check(result, "cuMemAllocAsync");
	account_write("async_alloc", device, addr, bytes, bytes, stream);
	return addr;
}

static uint64_t alloc_cached(struct device *device, uint64_t bytes, int stream)
{
	uint64_t size = rounded(bytes);
	struct block *block;

	if (!device->capturing)
		come_home(device);
	block = find(&device->pool[pool_of_thread][size <= SMALL_MAX], stream, size);
	if (!block) {
		give_up(device, size, stream);
		return 0;
	}
	hand_out(device, block, size, bytes);
	return block->addr;
}

uint64_t allocator_alloc(int index, uint64_t bytes, int stream)
{
	struct device *device = device_enter(index);
	uint64_t addr = device_modes() & MODE_ASYNC ? alloc_async(device, bytes, stream)
						    : alloc_cached(device, bytes, stream);

	device_leave(device);
	return addr;
}

static void free_cached(struct device *device, uint64_t addr)
{
	struct block *block = used_take(device, addr);
	uint64_t size = block->size;

	block->allocated = 0;
	device->allocated -= size;
	account_write("free_requested", device, addr, block->requested, size, block->stream);
	if (block->uses) {
		block->chain = device->waiting;
		device->waiting = block;
	} else {
		free_completed(block);
	}
	report_memory(device, addr, -(int64_t)size);
}

void allocator_free(int index, uint64_t addr)
{
	struct device *device = device_enter(index);

	if (device_modes() & MODE_ASYNC)
		cuda_check(cu.MemFreeAsync(addr, NULL), "cuMemFreeAsync");
	else
		free_cached(device, addr);
	device_leave(device);
}

void allocator_record_stream(int index, uint64_t addr, int stream)
{
	struct device *device = device_enter(index);
	struct block *block = used_find(device, addr);

	if (stream != block->stream)
		block->uses |= 1u << stream;
	device_leave(device);
}

void allocator_stream_done(int index, int stream)
{
	struct device *device = device_enter(index);
	struct block *block;

	for (block = device->waiting; block; block = block->chain)
		block->uses &= ~(1u << stream);
	device_leave(device);
}

void allocator_empty_cache(int index)
{
	struct device *device = device_enter(index);

	release_cached(device);
	device_leave(device);
}

/* ---- Pools and graphs ---- */

void allocator_pool_begin(int index, int id, int source)
{
	struct device *device = device_enter(index);
	int is_small;

	for (is_small = 0; is_small < 2; is_small++) {
		device->pool[id][is_small].source = (enum source)source;
		device->pool[id][is_small].is_used = 1;
	}
	pool_of_thread = id;
	device_leave(device);
}

void allocator_pool_end(int index)
{
	struct device *device = device_enter(index);

	pool_of_thread = 0;
	device_leave(device);
}

void allocator_pool_release(int index, int id)
{
	struct device *device = device_enter(index);

	device->pool[id][0].is_used = device->pool[id][1].is_used = 0;
	device_leave(device);
}

void allocator_pool_sleep(int index, int id)
{
	struct device *device = device_enter(index);

	segment_sleep(&device->pool[id][0]);
	segment_sleep(&device->pool[id][1]);
	device_leave(device);
}

int allocator_pool_wake(int index, int id)
{
	struct device *device = device_enter(index);
	int awake = segment_wake(&device->pool[id][0]) && segment_wake(&device->pool[id][1]);

	device_leave(device);
	return awake;
}

void allocator_capture(int index, int begins)
{
	struct device *device = device_enter(index);

	device->capturing += begins ? 1 : -1;
	device_leave(device);
}

void allocator_snapshot(int index)
{
	struct device *device = device_enter(index);

	account_write("snapshot", device, 0, 0, 0, 0);
	device_leave(device);
}

uint64_t allocator_allocated(int index)
{
	struct device *device = device_enter(index);
	uint64_t bytes = device->allocated;

	device_leave(device);
	return bytes;
}

uint64_t allocator_reserved(int index)
{
	struct device *device = device_enter(index);
	uint64_t bytes = device->reserved;

	device_leave(device);
	return bytes;
}
