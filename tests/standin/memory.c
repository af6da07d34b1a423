/*
 * memory.c - allocations: linear, in rows, managed, pinned, registered, of other processes. Allocations from pools ask
 * pool.c for room. On a capturing stream they become nodes of its graph.
 *
 * An allocation is found by its first address, which the driver requires for a free.
 */
#include "memory.h"
#include <stdlib.h>
#include <sys/mman.h>

#define BUCKETS (1u << 16)
#define ROW_ALIGNMENT 512u /* the distance between rows of cuMemAllocPitch is a multiple of this */

struct allocation {
	struct allocation *next; /* in the bucket */
	cuda_address address;
	uint64_t bytes;
	enum mt_space space;
	cuda_device device;
	struct cuda_context *context; /* ends with this context; NULL: independent */
	struct cuda_pool *pool;
	int is_ipc; /* ends by cuIpcCloseMemHandle alone */
};

static struct allocation *bucket[BUCKETS];

static struct allocation **bucket_of(cuda_address address)
{
	return &bucket[(address * 0x9e3779b97f4a7c15ull) >> 48];
}

/* The link to the allocation with this address, or the last link, which is NULL. */
static struct allocation **find(cuda_address address)
{
	struct allocation **link = bucket_of(address);

	while (*link && (*link)->address != address)
		link = &(*link)->next;
	return link;
}

/* ---- The source of the bytes, by space ---- */

static int takes_device_memory(enum mt_space space)
{
	return space == MT_SPACE_DEVICE; /* pools count their own; managed memory is never touched here */
}

/* Takes the bytes. 1: done. */
static int take_bytes(const struct allocation *a)
{
	if (a->pool)
		return pool_take(a->pool, a->bytes);
	return !takes_device_memory(a->space) || driver_take(a->device, a->bytes);
}

static void give_bytes(const struct allocation *a)
{
	if (a->pool)
		pool_give(a->pool, a->bytes);
	else if (takes_device_memory(a->space))
		driver_give(a->device, a->bytes);
}

/* 1: the host may access it. */
static int is_mapped(const struct allocation *a)
{
	return a->space == MT_SPACE_PINNED || a->space == MT_SPACE_MANAGED;
}

static cuda_address take_address(const struct allocation *a)
{
	void *host;

	if (!is_mapped(a))
		return addresses_take(a->bytes);
	/* The host may write here; untouched pages cost nothing. */
	host = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return host == MAP_FAILED ? 0 : (cuda_address)(uintptr_t)host;
}

static void give_address(const struct allocation *a)
{
	if (is_mapped(a))
		munmap((void *)(uintptr_t)a->address, a->bytes);
	else if (a->space != MT_SPACE_HOST)
		addresses_give(a->address, a->bytes);
}

/* ---- Making and ending allocations ---- */

static void describe(const struct allocation *a, struct effect *effect, int64_t sign)
{
	effect->device = a->device;
	effect->space = a->space;
	effect->address = a->address;
	effect->size = a->bytes;
	effect->bytes = a->space == MT_SPACE_IMPORTED ? 0 : sign * (int64_t)a->bytes;
}

static void insert(struct allocation *a)
{
	struct allocation **link = bucket_of(a->address);

	a->next = *link;
	*link = a;
}

/* Allocates. Sets `effect->size` also after a failure, so the ledger shows the requested bytes. */
static cuda_result allocate(const struct allocation *wish, cuda_address *out, struct effect *effect)
{
	struct allocation *a;

	effect->device = wish->device;
	effect->size = wish->bytes;
	if (!out || !wish->bytes)
		return CUDA_INVALID_VALUE;
	a = malloc(sizeof(*a));
	if (!a)
		return CUDA_OUT_OF_MEMORY;
	*a = *wish;
	if (!take_bytes(a))
		goto no_bytes;
	a->address = take_address(a);
	if (!a->address)
		goto no_address;
	insert(a);
	describe(a, effect, 1);
	*out = a->address;
	return CUDA_OK;

no_address:
	give_bytes(a);
no_bytes:
	free(a);
	return CUDA_OUT_OF_MEMORY;
}

static void end(struct allocation **link, struct effect *effect)
{
	struct allocation *a = *link;

	describe(a, effect, -1);
	*link = a->next;
	give_bytes(a);
	give_address(a);
	free(a);
}

#define SPACE_BIT(space) (1u << (space))
#define FREE_BY_ADDRESS                                                                         \
	(SPACE_BIT(MT_SPACE_DEVICE) | SPACE_BIT(MT_SPACE_ASYNC) | SPACE_BIT(MT_SPACE_MANAGED) | \
	 SPACE_BIT(MT_SPACE_IMPORTED))

/* Frees memory of the given spaces. For other memory or an unknown address, returns `otherwise`. */
static cuda_result release(cuda_address address, unsigned int spaces, cuda_result otherwise, struct effect *effect)
{
	struct allocation **link = find(address);
	enum mt_space space;

	effect->address = address;
	if (!*link || (*link)->is_ipc)
		return otherwise;
	space = (*link)->pool ? MT_SPACE_ASYNC : (*link)->space; /* in any place of a pool */
	if (!(spaces & SPACE_BIT(space)))
		return otherwise;
	end(link, effect);
	return CUDA_OK;
}

cuda_result memory_import(uint64_t bytes, cuda_device device, int is_ipc, cuda_address *out, struct effect *effect)
{
	struct allocation wish = { .bytes = bytes, .space = MT_SPACE_IMPORTED, .device = device, .is_ipc = is_ipc };

	return allocate(&wish, out, effect);
}

cuda_result memory_close(cuda_address address, struct effect *effect)
{
	struct allocation **link = find(address);

	effect->address = address;
	if (!*link || !(*link)->is_ipc)
		return CUDA_INVALID_VALUE;
	end(link, effect);
	return CUDA_OK;
}

int memory_find(cuda_address address, uint64_t *bytes, cuda_device *device, struct cuda_pool **pool)
{
	const struct allocation *a = *find(address);

	if (!a)
		return 0;
	*bytes = a->bytes;
	*device = a->device;
	*pool = a->pool;
	return 1;
}

void memory_context_gone(struct cuda_context *context)
{
	struct effect effect;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		struct allocation **link = &bucket[i];

		while (*link) {
			if ((*link)->context != context) {
				link = &(*link)->next;
				continue;
			}
			end(link, &effect);
			ledger_write("gone", CUDA_OK, &effect);
		}
	}
}

/* The start of every allocation in the current context. 0: there is no context. */
static int wish_here(struct allocation *wish, uint64_t bytes, enum mt_space space)
{
	struct cuda_context *context = driver_current();

	if (!context)
		return 0;
	*wish = (struct allocation){
		.bytes = bytes, .space = space, .device = context->device, .context = context->owner
	};
	return 1;
}

/* ---- Recorded calls: device memory ---- */

cuda_result do_cuMemAlloc_v2(const struct args_cuMemAlloc_v2 *args, struct effect *effect)
{
	struct allocation wish;

	effect->size = args->bytesize;
	if (!wish_here(&wish, args->bytesize, MT_SPACE_DEVICE))
		return CUDA_INVALID_CONTEXT;
	return allocate(&wish, args->dptr, effect);
}

cuda_result do_cuMemAllocPitch_v2(const struct args_cuMemAllocPitch_v2 *args, struct effect *effect)
{
	unsigned int element = args->ElementSizeBytes;
	struct allocation wish;
	uint64_t pitch, bytes;
	cuda_result result;

	if (!args->pPitch || (element != 4 && element != 8 && element != 16))
		return CUDA_INVALID_VALUE;
	if (args->WidthInBytes > UINT64_MAX - ROW_ALIGNMENT)
		return CUDA_INVALID_VALUE;
	pitch = (args->WidthInBytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
	if (__builtin_mul_overflow(pitch, args->Height, &bytes))
		return CUDA_INVALID_VALUE;
	effect->size = bytes;
	if (!wish_here(&wish, bytes, MT_SPACE_DEVICE))
		return CUDA_INVALID_CONTEXT;
	result = allocate(&wish, args->dptr, effect);
	if (!result)
		*args->pPitch = pitch;
	return result;
}

cuda_result do_cuMemFree_v2(const struct args_cuMemFree_v2 *args, struct effect *effect)
{
	if (graph_free_outside(args->dptr, effect))
		return CUDA_OK;
	return release(args->dptr, FREE_BY_ADDRESS, CUDA_INVALID_VALUE, effect);
}

cuda_result do_cuMemAllocManaged(const struct args_cuMemAllocManaged *args, struct effect *effect)
{
	struct allocation wish;

	effect->size = args->bytesize;
	if (args->flags != 1 && args->flags != 2) /* CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST */
		return CUDA_INVALID_VALUE;
	if (!wish_here(&wish, args->bytesize, MT_SPACE_MANAGED))
		return CUDA_INVALID_CONTEXT;
	return allocate(&wish, args->dptr, effect);
}

/* ---- Recorded calls: in stream order. Here the stream is always already there. ---- */

static cuda_result allocate_from(struct cuda_pool *pool, struct cuda_stream *stream, cuda_address *out, size_t bytes,
				 struct effect *effect)
{
	struct allocation wish = { .bytes = bytes, .pool = pool };

	effect->size = bytes;
	if (!pool_valid(pool) || pool_imported(pool))
		return CUDA_INVALID_VALUE;
	wish.device = pool_device(pool);
	wish.space = pool_space(pool);
	if (stream_graph(stream))
		return graph_add_alloc(stream_graph(stream), wish.device, bytes, out, NULL, effect);
	return allocate(&wish, out, effect);
}

cuda_result do_cuMemAllocAsync(const struct args_cuMemAllocAsync *args, struct effect *effect)
{
	struct cuda_context *context = driver_current();

	effect->size = args->bytesize;
	if (!context)
		return CUDA_INVALID_CONTEXT;
	return allocate_from(pool_current(context->device), args->hStream, args->dptr, args->bytesize, effect);
}

cuda_result do_cuMemAllocFromPoolAsync(const struct args_cuMemAllocFromPoolAsync *args, struct effect *effect)
{
	return allocate_from(args->pool, args->hStream, args->dptr, args->bytesize, effect);
}

cuda_result do_cuMemFreeAsync(const struct args_cuMemFreeAsync *args, struct effect *effect)
{
	if (stream_graph(args->hStream))
		return graph_add_free(stream_graph(args->hStream), args->dptr, NULL, effect);
	if (graph_free_outside(args->dptr, effect))
		return CUDA_OK;
	return release(args->dptr, FREE_BY_ADDRESS, CUDA_INVALID_VALUE, effect);
}

DRIVER_SAME(cuMemAllocAsync_ptsz, cuMemAllocAsync)
DRIVER_SAME(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync)
DRIVER_SAME(cuMemFreeAsync_ptsz, cuMemFreeAsync)

/* ---- Recorded calls: host memory ---- */

static cuda_result allocate_pinned(void **out, size_t bytes, struct effect *effect)
{
	struct allocation wish;
	cuda_address address;
	cuda_result result;

	effect->size = bytes;
	if (!wish_here(&wish, bytes, MT_SPACE_PINNED))
		return CUDA_INVALID_CONTEXT;
	wish.device = HOST;
	result = allocate(&wish, out ? &address : NULL, effect);
	if (!result)
		*out = (void *)(uintptr_t)address;
	return result;
}

cuda_result do_cuMemHostAlloc(const struct args_cuMemHostAlloc *args, struct effect *effect)
{
	return allocate_pinned(args->pp, args->bytesize, effect);
}

cuda_result do_cuMemAllocHost_v2(const struct args_cuMemAllocHost_v2 *args, struct effect *effect)
{
	return allocate_pinned(args->pp, args->bytesize, effect);
}

cuda_result do_cuMemFreeHost(const struct args_cuMemFreeHost *args, struct effect *effect)
{
	return release((cuda_address)(uintptr_t)args->p, SPACE_BIT(MT_SPACE_PINNED), CUDA_INVALID_VALUE, effect);
}

cuda_result do_cuMemHostRegister_v2(const struct args_cuMemHostRegister_v2 *args, struct effect *effect)
{
	struct allocation *a, wish;

	effect->address = (cuda_address)(uintptr_t)args->p;
	effect->size = args->bytesize;
	if (!args->p || !args->bytesize)
		return CUDA_INVALID_VALUE;
	if (*find((cuda_address)(uintptr_t)args->p))
		return CUDA_ALREADY_REGISTERED;
	if (!wish_here(&wish, args->bytesize, MT_SPACE_HOST))
		return CUDA_INVALID_CONTEXT;
	a = malloc(sizeof(*a));
	if (!a)
		return CUDA_OUT_OF_MEMORY;
	*a = wish;
	a->device = HOST;
	a->address = effect->address;
	insert(a);
	describe(a, effect, 1);
	return CUDA_OK;
}

DRIVER_SAME(cuMemHostRegister, cuMemHostRegister_v2)

cuda_result do_cuMemHostUnregister(const struct args_cuMemHostUnregister *args, struct effect *effect)
{
	return release((cuda_address)(uintptr_t)args->p, SPACE_BIT(MT_SPACE_HOST), CUDA_NOT_REGISTERED, effect);
}
