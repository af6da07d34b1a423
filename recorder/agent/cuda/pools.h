/*
 * pools.h - the place of each stream-ordered pool's memory, learned from the calls. A fixed table, no locks; any
 * thread.
 */
#ifndef RECORDER_POOLS_H
#define RECORDER_POOLS_H

#include "cuda_abi.h"
#include "memtrace/event.h"

struct cuda_pool;
struct cuda_location;

#define POOLS_MAX 256u

struct pool_place {
	enum mt_space space; /* ASYNC: on a device; PINNED: on the host; MANAGED; IMPORTED: another process's */
	int device;          /* ordinal; -1: unknown, or none */
};

/* The meaning of a location for memory of the allocation type `type` (CUDA_MEMORY_*). */
struct pool_place pools_place(const struct cuda_location *location, int type);

/* 0: there is no room. */
int pools_add(const struct cuda_pool *pool, struct pool_place place);
void pools_remove(const struct cuda_pool *pool);

/* 0: the pool is unknown, and `*place` is unchanged. */
int pools_find(const struct cuda_pool *pool, struct pool_place *place);

/* The meaning of a CUmemLocation. */

/* Returns the ordinal; -1: not on a device. */
static inline int location_device(const struct cuda_location *location)
{
	switch (location->type) {
	case CUDA_LOCATION_DEVICE:
		return location->id;
	case CUDA_LOCATION_LOCALITY:
		return location->id & 0xff;
	default:
		return -1;
	}
}

static inline int location_is_host(const struct cuda_location *location)
{
	return location->type == CUDA_LOCATION_HOST || location->type == CUDA_LOCATION_NUMA ||
	       location->type == CUDA_LOCATION_NUMA_CURRENT;
}

#endif
