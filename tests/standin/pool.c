/* pool.c - memory pools, see memory.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "memory.h"

struct cuda_pool {
	struct cuda_pool *next; /* next pool ever made */
	cuda_device device;     /* HOST: host memory */
	enum mt_space space;
	int alive, imported;
	uint64_t limit, threshold; /* bytes */
	uint64_t reserved, reserved_high, used, used_high;
};

static struct cuda_pool *all;
static struct cuda_pool *first[STANDIN_GPUS_MAX];  /* the default pool of each device */
static struct cuda_pool *chosen[STANDIN_GPUS_MAX]; /* set by cuDeviceSetMemPool; NULL: the default pool */
static struct cuda_pool *host, *managed;           /* default pools of the host and of managed memory */

static struct cuda_pool *pool_new(cuda_device device, enum mt_space space, uint64_t limit)
{
	struct cuda_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->next = all;
	pool->device = device;
	pool->space = space;
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

int pool_imported(const struct cuda_pool *pool)
{
	return pool->imported;
}

enum mt_space pool_space(const struct cuda_pool *pool)
{
	return pool->space;
}

static struct cuda_pool *pool_default(cuda_device device)
{
	if (!first[device])
		first[device] = pool_new(device, MT_SPACE_ASYNC, 0);
	return first[device];
}

struct cuda_pool *pool_current(cuda_device device)
{
	return chosen[device] && chosen[device]->alive ? chosen[device] : pool_default(device);
}

/* Takes the bytes. Managed memory takes none, because it is never touched here. */
static int take_place(const struct cuda_pool *pool, uint64_t bytes)
{
	return pool->space == MT_SPACE_MANAGED || driver_take(pool->device, bytes);
}

static void give_place(const struct cuda_pool *pool, uint64_t bytes)
{
	if (pool->space != MT_SPACE_MANAGED)
		driver_give(pool->device, bytes);
}

int pool_take(struct cuda_pool *pool, uint64_t bytes)
{
	uint64_t idle = pool->reserved - pool->used, more = bytes > idle ? bytes - idle : 0;

	if (more > pool->limit - pool->reserved || !take_place(pool, more))
		return 0;
	pool->reserved += more;
	pool->used += bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return 1;
}

/* Gives back idle bytes, except `keep` bytes. */
static void trim(struct cuda_pool *pool, uint64_t keep)
{
	uint64_t floor = pool->used > keep ? pool->used : keep;

	if (pool->reserved <= floor)
		return;
	give_place(pool, pool->reserved - floor);
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

/* ---- Recorded calls ---- */

static void describe(const struct cuda_pool *pool, struct effect *effect)
{
	effect->device = pool->device;
	effect->address = (uint64_t)(uintptr_t)pool;
}

static cuda_result create(struct cuda_pool **out, const struct cuda_pool_props *props, struct effect *effect)
{
	enum mt_space space = props->type == CUDA_MEMORY_MANAGED ? MT_SPACE_MANAGED : MT_SPACE_ASYNC;
	cuda_device device;

	if (!driver_place(&props->location, &device))
		return CUDA_INVALID_DEVICE;
	if (space == MT_SPACE_ASYNC && device == HOST)
		space = MT_SPACE_PINNED;
	*out = pool_new(device, space, props->max_size);
	if (!*out)
		return CUDA_OUT_OF_MEMORY;
	describe(*out, effect);
	return CUDA_OK;
}

cuda_result do_cuMemPoolCreate(const struct args_cuMemPoolCreate *args, struct effect *effect)
{
	const struct cuda_pool_props *props = args->poolProps;

	if (!args->pool || !props || (props->type != CUDA_MEMORY_PINNED && props->type != CUDA_MEMORY_MANAGED))
		return CUDA_INVALID_VALUE;
	effect->size = props->max_size;
	return create(args->pool, props, effect);
}

/* Idle memory is freed now, and the pool with its last allocation. */
cuda_result do_cuMemPoolDestroy(const struct args_cuMemPoolDestroy *args, struct effect *effect)
{
	struct cuda_pool *pool = args->pool;

	if (!pool_valid(pool) || pool == host || pool == managed)
		return CUDA_INVALID_VALUE;
	if (pool->device != HOST && pool == first[pool->device])
		return CUDA_INVALID_VALUE;
	describe(pool, effect);
	pool->alive = 0;
	trim(pool, 0);
	return CUDA_OK;
}

cuda_result do_cuMemPoolTrimTo(const struct args_cuMemPoolTrimTo *args, struct effect *effect)
{
	effect->size = args->minBytesToKeep;
	if (!pool_valid(args->pool))
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	trim(args->pool, args->minBytesToKeep);
	return CUDA_OK;
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

cuda_result do_cuMemPoolGetAttribute(const struct args_cuMemPoolGetAttribute *args, struct effect *effect)
{
	uint64_t *member = pool_valid(args->pool) ? attribute_of(args->pool, args->attr) : NULL;

	if (!member || !args->value)
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	effect->size = *member;
	memcpy(args->value, member, sizeof(*member));
	return CUDA_OK;
}

/* The threshold may be any value. High marks may only be set to 0, which restarts them. */
cuda_result do_cuMemPoolSetAttribute(const struct args_cuMemPoolSetAttribute *args, struct effect *effect)
{
	struct cuda_pool *pool = args->pool;
	uint64_t wanted;

	if (!args->value || !pool_valid(pool))
		return CUDA_INVALID_VALUE;
	describe(pool, effect);
	memcpy(&wanted, args->value, sizeof(wanted));
	effect->size = wanted;
	if (args->attr == CUDA_POOL_RELEASE_THRESHOLD)
		pool->threshold = wanted;
	else if (args->attr == CUDA_POOL_RESERVED_HIGH && !wanted)
		pool->reserved_high = pool->reserved;
	else if (args->attr == CUDA_POOL_USED_HIGH && !wanted)
		pool->used_high = pool->used;
	else
		return CUDA_INVALID_VALUE;
	return CUDA_OK;
}

cuda_result do_cuMemPoolSetAccess(const struct args_cuMemPoolSetAccess *args, struct effect *effect)
{
	if (!pool_valid(args->pool) || !args->map || !args->count)
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	return CUDA_OK;
}

static cuda_result hand_out(struct cuda_pool **out, struct cuda_pool *pool, struct effect *effect)
{
	if (!pool)
		return CUDA_OUT_OF_MEMORY;
	describe(pool, effect);
	*out = pool;
	return CUDA_OK;
}

cuda_result do_cuDeviceGetDefaultMemPool(const struct args_cuDeviceGetDefaultMemPool *args, struct effect *effect)
{
	if (!args->pool_out)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	return hand_out(args->pool_out, pool_default(args->dev), effect);
}

cuda_result do_cuDeviceGetMemPool(const struct args_cuDeviceGetMemPool *args, struct effect *effect)
{
	if (!args->pool)
		return CUDA_INVALID_VALUE;
	if (!driver_device_valid(args->dev))
		return CUDA_INVALID_DEVICE;
	return hand_out(args->pool, pool_current(args->dev), effect);
}

cuda_result do_cuDeviceSetMemPool(const struct args_cuDeviceSetMemPool *args, struct effect *effect)
{
	if (!driver_device_valid(args->dev) || !pool_valid(args->pool) || args->pool->device != args->dev ||
	    args->pool->imported)
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	chosen[args->dev] = args->pool;
	return CUDA_OK;
}

/* The default pool of a place, made at the first question. NULL: no such place, or out of host memory. */
static struct cuda_pool *default_at(const struct cuda_location *location, int type)
{
	struct cuda_pool **pool = type == CUDA_MEMORY_MANAGED ? &managed : &host;
	cuda_device device;

	if (!location || !driver_place(location, &device))
		return NULL;
	if (type == CUDA_MEMORY_PINNED && device != HOST)
		return pool_default(device);
	if (!*pool)
		*pool = pool_new(device, type == CUDA_MEMORY_MANAGED ? MT_SPACE_MANAGED : MT_SPACE_PINNED, 0);
	return *pool;
}

cuda_result do_cuMemGetDefaultMemPool(const struct args_cuMemGetDefaultMemPool *args, struct effect *effect)
{
	struct cuda_pool *pool = default_at(args->location, args->type);

	return pool && args->pool_out ? hand_out(args->pool_out, pool, effect) : CUDA_INVALID_VALUE;
}

cuda_result do_cuMemGetMemPool(const struct args_cuMemGetMemPool *args, struct effect *effect)
{
	struct cuda_pool *pool = default_at(args->location, args->type);

	if (pool && pool->space == MT_SPACE_ASYNC)
		pool = pool_current(pool->device);
	return pool && args->pool ? hand_out(args->pool, pool, effect) : CUDA_INVALID_VALUE;
}

cuda_result do_cuMemSetMemPool(const struct args_cuMemSetMemPool *args, struct effect *effect)
{
	cuda_device device;

	if (!args->location || !pool_valid(args->pool) || args->pool->imported)
		return CUDA_INVALID_VALUE;
	if (!driver_place(args->location, &device) || args->pool->device != device)
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	if (args->pool->space == MT_SPACE_ASYNC)
		chosen[device] = args->pool;
	else if (args->pool->space == MT_SPACE_PINNED)
		host = args->pool;
	else
		managed = args->pool;
	return CUDA_OK;
}

/* ---- Recorded calls: a pool of this process for another one; a file stands for the pool ---- */

static const char exported_magic[8] = "st-pool";

cuda_result do_cuMemPoolExportToShareableHandle(const struct args_cuMemPoolExportToShareableHandle *args,
						struct effect *effect)
{
	int fd;

	if (!pool_valid(args->pool) || !args->handle_out || args->handleType != CUDA_EXPORT_POSIX_FD || args->flags)
		return CUDA_INVALID_VALUE;
	describe(args->pool, effect);
	fd = memfd_create("standin-pool", MFD_CLOEXEC);
	if (fd < 0 || write(fd, exported_magic, sizeof(exported_magic)) != sizeof(exported_magic))
		return CUDA_UNKNOWN;
	memcpy(args->handle_out, &fd, sizeof(fd));
	return CUDA_OK;
}

cuda_result do_cuMemPoolImportFromShareableHandle(const struct args_cuMemPoolImportFromShareableHandle *args,
						  struct effect *effect)
{
	char magic[sizeof(exported_magic)];

	if (!args->pool_out || args->handleType != CUDA_EXPORT_POSIX_FD || args->flags)
		return CUDA_INVALID_VALUE;
	if (pread((int)(intptr_t)args->handle, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, exported_magic, sizeof(magic)))
		return CUDA_INVALID_VALUE;
	*args->pool_out = pool_new(HOST, MT_SPACE_IMPORTED, 0);
	if (!*args->pool_out)
		return CUDA_OUT_OF_MEMORY;
	(*args->pool_out)->imported = 1;
	describe(*args->pool_out, effect);
	return CUDA_OK;
}
