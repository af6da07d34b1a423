#include "pools.h"

#include <stdatomic.h>
#include "cuda_abi.h"

static struct {
	_Atomic uintptr_t pool;  /* 0: free */
	_Atomic uint32_t packed; /* see pack(); 0: half written */
} pools[POOLS_MAX];

static uint32_t pack(struct pool_place place)
{
	return 1u | (uint32_t)place.space << 1 | (uint32_t)(place.device + 1) << 8;
}

static struct pool_place unpack(uint32_t packed)
{
	struct pool_place place = { (enum mt_space)(packed >> 1 & 0x7f), (int)(packed >> 8) - 1 };

	return place;
}

struct pool_place pools_place(const struct cuda_location *location, int type)
{
	struct pool_place place = { MT_SPACE_ASYNC, location_device(location) };

	if (type == CUDA_MEMORY_MANAGED)
		place.space = MT_SPACE_MANAGED;
	else if (location_is_host(location))
		place.space = MT_SPACE_PINNED;
	return place;
}

int pools_add(const struct cuda_pool *pool, struct pool_place place)
{
	uintptr_t found;
	uint32_t i;

	for (i = 0; pool && i < POOLS_MAX; i++) {
		found = 0;
		if (atomic_load(&pools[i].pool) != (uintptr_t)pool &&
		    !atomic_compare_exchange_strong(&pools[i].pool, &found, (uintptr_t)pool))
			continue;
		atomic_store(&pools[i].packed, pack(place));
		return 1;
	}
	return !pool;
}

void pools_remove(const struct cuda_pool *pool)
{
	uint32_t i;

	for (i = 0; pool && i < POOLS_MAX; i++) {
		if (atomic_load(&pools[i].pool) != (uintptr_t)pool)
			continue;
		atomic_store(&pools[i].packed, 0);
		atomic_store(&pools[i].pool, 0);
		return;
	}
}

int pools_find(const struct cuda_pool *pool, struct pool_place *place)
{
	uint32_t i, packed;

	for (i = 0; pool && i < POOLS_MAX; i++) {
		if (atomic_load(&pools[i].pool) != (uintptr_t)pool)
			continue;
		packed = atomic_load(&pools[i].packed);
		if (packed)
			*place = unpack(packed);
		return packed != 0;
	}
	return 0;
}
