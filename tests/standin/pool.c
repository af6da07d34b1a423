/* pool.c - memory pools, see memory.h. None of these calls is among the recorded ones, so they lock for themselves. */
#include "memory.h"
#include <stdlib.h>

struct cuda_pool {
	struct cuda_pool *next; /* of all that ever were */
	cuda_device device;
	int alive;
	uint64_t limit, threshold; /* bytes */
	uint64_t reserved, reserved_high, used, used_high;
};

static struct cuda_pool *all;
static struct cuda_pool *first[STANDIN_GPUS_MAX]; /* the default pool of each device */
static struct cuda_pool *chosen[STANDIN_GPUS_MAX]; /* by cuDeviceSetMemPool; NULL: the default one */

static struct cuda_pool *pool_new(cuda_device device, uint64_t limit)
{
	struct cuda_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->next = all;
	pool->device = device;
	pool->alive = 1;
	pool->limit = limit ? limit : UINT64_MAX;
	all = pool;
	return pool;
}

int pool_valid(const struct cuda_pool *pool)
{
	const struct cuda_pool *known;

	for (known = all; known; known = known->next)
		if (known == pool)
			return known->alive;
	return 0;
}

cuda_device pool_device(const struct cuda_pool *pool)
{
	return pool->device;
}

static struct cuda_pool *pool_default(cuda_device device)
{
	if (!first[device])
		first[device] = pool_new(device, 0);
	return first[device];
}

struct cuda_pool *pool_current(cuda_device device)
{
	return chosen[device] && chosen[device]->alive ? chosen[device] : pool_default(device);
}

int pool_take(struct cuda_pool *pool, uint64_t bytes)
{
	uint64_t idle = pool->reserved - pool->used, more = bytes > idle ? bytes - idle : 0;

	if (more > pool->limit - pool->reserved || !driver_take(pool->device, more))
		return 0;
	pool->reserved += more;
	pool->used += bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return 1;
}

/* Gives back what is idle, but keeps `keep` bytes. */
static void trim(struct cuda_pool *pool, uint64_t keep)
{
	uint64_t floor = pool->used > keep ? pool->used : keep;

	if (pool->reserved <= floor)
		return;
	driver_give(pool->device, pool->reserved - floor);
	pool->reserved = floor;
}

void pool_give(struct cuda_pool *pool, uint64_t bytes)
{
	pool->used -= bytes;
	if (!pool->alive)
		trim(pool, 0);
}

void memory_synchronized(void)
{
	struct cuda_pool *pool;

	for (pool = all; pool; pool = pool->next)
		trim(pool, pool->threshold);
}

/* ---- Calls ---- */

DRIVER_CALL(cuMemPoolCreate(struct cuda_pool **out, const struct cuda_pool_props *props))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!out || !props || props->type != CUDA_MEMORY_PINNED || props->location.type != CUDA_LOCATION_DEVICE)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(props->location.id))
		return CUDA_INVALID_DEVICE;
	driver_lock();
	*out = pool_new(props->location.id, props->max_size);
	driver_unlock();
	return *out ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

/* What is handed out stays; the rest goes now, and the pool with its last allocation. */
DRIVER_CALL(cuMemPoolDestroy(struct cuda_pool *pool))
{
	cuda_result result = CUDA_INVALID_VALUE;

	driver_lock();
	if (pool_valid(pool) && pool != first[pool->device]) {
		pool->alive = 0;
		trim(pool, 0);
		result = CUDA_OK;
	}
	driver_unlock();
	return result;
}

DRIVER_CALL(cuMemPoolTrimTo(struct cuda_pool *pool, size_t keep))
{
	cuda_result result = CUDA_INVALID_VALUE;

	driver_lock();
	if (pool_valid(pool)) {
		trim(pool, keep);
		result = CUDA_OK;
	}
	driver_unlock();
	return result;
}

static uint64_t *attribute_of(struct cuda_pool *pool, int attribute)
{
	switch (attribute) {
	case CUDA_POOL_RELEASE_THRESHOLD:
		return &pool->threshold;
	case CUDA_POOL_RESERVED_NOW:
		return &pool->reserved;
	case CUDA_POOL_RESERVED_HIGH:
		return &pool->reserved_high;
	case CUDA_POOL_USED_NOW:
		return &pool->used;
	case CUDA_POOL_USED_HIGH:
		return &pool->used_high;
	default:
		return NULL;
	}
}

DRIVER_CALL(cuMemPoolGetAttribute(struct cuda_pool *pool, int attribute, void *value))
{
	cuda_result result = CUDA_INVALID_VALUE;
	uint64_t *member;

	driver_lock();
	if (value && pool_valid(pool)) {
		member = attribute_of(pool, attribute);
		if (member) {
			*(uint64_t *)value = *member;
			result = CUDA_OK;
		}
	}
	driver_unlock();
	return result;
}

/* The threshold is free to choose; high marks may be set to 0 only, which means "start anew". */
DRIVER_CALL(cuMemPoolSetAttribute(struct cuda_pool *pool, int attribute, void *value))
{
	cuda_result result = CUDA_INVALID_VALUE;
	uint64_t wanted;

	driver_lock();
	if (value && pool_valid(pool)) {
		wanted = *(const uint64_t *)value;
		result = CUDA_OK;
		if (attribute == CUDA_POOL_RELEASE_THRESHOLD)
			pool->threshold = wanted;
		else if (attribute == CUDA_POOL_RESERVED_HIGH && !wanted)
			pool->reserved_high = pool->reserved;
		else if (attribute == CUDA_POOL_USED_HIGH && !wanted)
			pool->used_high = pool->used;
		else
			result = CUDA_INVALID_VALUE;
	}
	driver_unlock();
	return result;
}

static cuda_result hand_out(struct cuda_pool **out, cuda_device device, struct cuda_pool *(*which)(cuda_device))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!out)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(device))
		return CUDA_INVALID_DEVICE;
	driver_lock();
	*out = which(device);
	driver_unlock();
	return *out ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

DRIVER_CALL(cuDeviceGetDefaultMemPool(struct cuda_pool **out, cuda_device device))
{
	return hand_out(out, device, pool_default);
}

DRIVER_CALL(cuDeviceGetMemPool(struct cuda_pool **out, cuda_device device))
{
	return hand_out(out, device, pool_current);
}

DRIVER_CALL(cuDeviceSetMemPool(cuda_device device, struct cuda_pool *pool))
{
	cuda_result result = CUDA_INVALID_VALUE;

	driver_lock();
	if (driver_device_valid(device) && pool_valid(pool) && pool->device == device) {
		chosen[device] = pool;
		result = CUDA_OK;
	}
	driver_unlock();
	return result;
}
