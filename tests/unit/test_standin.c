/* test_standin.c - the stand-in driver hands out memory, and refuses to, as a real one does. */
#include "standin.h"

/* ---- Driver ---- */

TEST(nothing_works_before_init)
{
	cuda_address address;
	int count;

	load_cuda();
	CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_NOT_INITIALIZED);
	CHECK_EQ(cuDeviceGetCount(&count), CUDA_NOT_INITIALIZED);
	CHECK_EQ(cuInit(1), CUDA_INVALID_VALUE);
	CHECK_EQ(cuInit(0), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_INVALID_CONTEXT);
}

TEST(memory_runs_out_and_comes_back)
{
	cuda_address a, b, c;

	start();
	CHECK_EQ(cuMemAlloc_v2(&a, 40 * MIB), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&b, 24 * MIB), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&c, 1), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(used(), 64 * MIB);
	CHECK_EQ(cuMemFree_v2(a), CUDA_OK);
	CHECK_EQ(cuMemFree_v2(a), CUDA_INVALID_VALUE);
	CHECK_EQ(used(), 24 * MIB);
	CHECK_EQ(cuMemAlloc_v2(&c, 40 * MIB), CUDA_OK);
	CHECK_EQ(c, a); /* the newest freed address is the next one */
	CHECK_EQ(cuMemAlloc_v2(&c, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemFree_v2(b + 1), CUDA_INVALID_VALUE);
}

TEST(rows_are_padded)
{
	cuda_address address;
	size_t pitch;

	start();
	CHECK_EQ(cuMemAllocPitch_v2(&address, &pitch, 1000, 100, 4), CUDA_OK);
	CHECK_EQ(pitch, 1024);
	CHECK_EQ(used(), 102400);
	CHECK_EQ(cuMemAllocPitch_v2(&address, &pitch, 1000, 100, 3), CUDA_INVALID_VALUE);
}

TEST(contexts_take_memory_and_free_it)
{
	struct cuda_context *primary, *own;
	cuda_address address;
	cuda_device device;

	setenv("STANDIN_MEM", "64MiB", 1);
	setenv("STANDIN_CONTEXT", "10MiB", 1);
	setenv("STANDIN_GPUS", "2", 1);
	load_cuda();
	CHECK_EQ(cuInit(0), CUDA_OK);
	primary = make_current(1);
	CHECK_EQ(used(), 10 * MIB);
	CHECK_EQ(cuMemAlloc_v2(&address, MIB), CUDA_OK);
	CHECK_EQ(cuCtxCreate_v2(&own, 0, 1), CUDA_OK);
	CHECK_EQ(cuMemAlloc_v2(&address, 20 * MIB), CUDA_OK);
	CHECK_EQ(used(), 41 * MIB);
	CHECK_EQ(cuCtxGetDevice(&device), CUDA_OK);
	CHECK_EQ(device, 1);
	CHECK_EQ(cuCtxDestroy_v2(own), CUDA_OK);
	CHECK_EQ(used(), 11 * MIB); /* the primary context is current again */
	CHECK_EQ(cuMemFree_v2(address), CUDA_INVALID_VALUE);
	CHECK_EQ(cuCtxDestroy_v2(own), CUDA_INVALID_CONTEXT);
	CHECK_EQ(cuCtxDestroy_v2(primary), CUDA_INVALID_CONTEXT);
	CHECK_EQ(cuDevicePrimaryCtxRelease_v2(1), CUDA_OK);
	CHECK_EQ(cuDevicePrimaryCtxRelease_v2(1), CUDA_INVALID_CONTEXT);
	CHECK_EQ(cuMemAlloc_v2(&address, 1), CUDA_INVALID_CONTEXT);
	make_current(0);
	CHECK_EQ(used(), 10 * MIB);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&own, 2), CUDA_INVALID_DEVICE);
}

static uint64_t pool_value(struct cuda_pool *pool, int attribute)
{
	uint64_t value;

	CHECK_EQ(cuMemPoolGetAttribute(pool, attribute, &value), CUDA_OK);
	return value;
}

TEST(pools_keep_memory_until_somebody_synchronizes)
{
	uint64_t keep = 4 * MIB;
	struct cuda_pool *pool;
	cuda_address a, b;

	start();
	CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_OK);
	CHECK_EQ(cuMemPoolSetAttribute(pool, CUDA_POOL_RELEASE_THRESHOLD, &keep), CUDA_OK);
	CHECK_EQ(cuMemAllocAsync(&a, 10 * MIB, NULL), CUDA_OK);
	CHECK_EQ(cuMemAllocAsync_ptsz(&b, 5 * MIB, NULL), CUDA_OK);
	CHECK_EQ(cuMemFreeAsync(a, NULL), CUDA_OK);
	CHECK_EQ(pool_value(pool, CUDA_POOL_USED_NOW), 5 * MIB);
	CHECK_EQ(pool_value(pool, CUDA_POOL_RESERVED_NOW), 15 * MIB);
	CHECK_EQ(used(), 15 * MIB);
	CHECK_EQ(cuCtxSynchronize(), CUDA_OK);
	CHECK_EQ(used(), 5 * MIB);
	CHECK_EQ(cuMemFree_v2(b), CUDA_OK);
	CHECK_EQ(cuCtxSynchronize(), CUDA_OK);
	CHECK_EQ(used(), 4 * MIB);
	CHECK_EQ(pool_value(pool, CUDA_POOL_USED_HIGH), 15 * MIB);
	CHECK_EQ(cuMemAllocAsync(&a, 65 * MIB, NULL), CUDA_OUT_OF_MEMORY);
}

TEST(pools_of_ones_own_have_limits)
{
	struct cuda_pool_props props = {
		.type = CUDA_MEMORY_PINNED,
		.location = { CUDA_LOCATION_DEVICE, 0 },
		.max_size = 8 * MIB,
	};
	struct cuda_pool *pool;
	cuda_address a, b;

	start();
	CHECK_EQ(cuMemPoolCreate(&pool, &props), CUDA_OK);
	CHECK_EQ(cuMemAllocFromPoolAsync(&a, 6 * MIB, pool, NULL), CUDA_OK);
	CHECK_EQ(cuMemAllocFromPoolAsync(&b, 6 * MIB, pool, NULL), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(cuMemPoolDestroy(pool), CUDA_OK);
	CHECK_EQ(cuMemAllocFromPoolAsync(&b, MIB, pool, NULL), CUDA_INVALID_VALUE);
	CHECK_EQ(used(), 6 * MIB);
	CHECK_EQ(cuMemFreeAsync_ptsz(a, NULL), CUDA_OK);
	CHECK_EQ(used(), 0);
}

TEST(host_memory_is_real_and_not_the_devices)
{
	char registered[4096], *pinned, *managed;
	cuda_address address;
	void *memory;

	start();
	CHECK_EQ(cuMemHostAlloc(&memory, 100 * MIB, 0), CUDA_OK); /* more than the GPU has */
	pinned = memory;
	pinned[100 * MIB - 1] = 1;
	CHECK_EQ(cuMemAllocManaged(&address, 100 * MIB, 1), CUDA_OK);
	managed = (char *)(uintptr_t)address;
	managed[0] = 1;
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemFree_v2((cuda_address)(uintptr_t)pinned), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemFreeHost(pinned), CUDA_OK);
	CHECK_EQ(cuMemFree_v2(address), CUDA_OK);
	CHECK_EQ(cuMemHostRegister_v2(registered, sizeof(registered), 0), CUDA_OK);
	CHECK_EQ(cuMemHostRegister_v2(registered, sizeof(registered), 0), CUDA_ALREADY_REGISTERED);
	CHECK_EQ(cuMemHostUnregister(registered), CUDA_OK);
	CHECK_EQ(cuMemHostUnregister(registered), CUDA_NOT_REGISTERED);
}

TEST(the_right_version_of_a_name_is_found)
{
	void *function;
	const char *name;
	int status;

	load_cuda();
	CHECK_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status), CUDA_OK);
	CHECK(function == (void *)(uintptr_t)cuMemAlloc_v2 && !status);
	CHECK_EQ(cuGetProcAddress_v2("cuCtxCreate", &function, 13000, 0, NULL), CUDA_OK);
	CHECK(function == (void *)(uintptr_t)cuCtxCreate_v4);
	CHECK_EQ(cuGetProcAddress_v2("cuCtxCreate", &function, 11000, 0, NULL), CUDA_OK);
	CHECK(function == (void *)(uintptr_t)cuCtxCreate_v2);
	CHECK_EQ(cuGetProcAddress_v2("cuMemAllocAsync", &function, 13000, 2, NULL), CUDA_OK);
	CHECK(function == (void *)(uintptr_t)cuMemAllocAsync_ptsz);
	CHECK_EQ(cuGetProcAddress_v2("cuMemAllocAsync", &function, 13000, 1, NULL), CUDA_OK);
	CHECK(function == (void *)(uintptr_t)cuMemAllocAsync);
	CHECK_EQ(cuGetProcAddress_v2("cuNoSuchCall", &function, 13000, 0, &status), CUDA_NOT_FOUND);
	CHECK(!function && status == 1);
	CHECK_EQ(cuGetErrorName(CUDA_OUT_OF_MEMORY, &name), CUDA_OK);
	CHECK_STR(name, "CUDA_ERROR_OUT_OF_MEMORY");
	CHECK(cuGetExportTable((const void **)&function, NULL) != CUDA_OK);
}

/* ---- Virtual memory ---- */

TEST(physical_memory_lives_while_referenced_or_mapped)
{
	cuda_handle handle, again;
	cuda_address address;

	start();
	CHECK_EQ(cuMemAddressReserve(&address, 16 * MIB, 0, 0, 0), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemCreate(&handle, 8 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(address, 8 * MIB, 0, handle, 0), CUDA_OK);
	CHECK_EQ(cuMemRelease(handle), CUDA_OK);
	CHECK_EQ(used(), 8 * MIB);
	CHECK_EQ(cuMemRelease(handle), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address + MIB)), CUDA_OK);
	CHECK_EQ(again, handle);
	CHECK_EQ(cuMemUnmap(address, 8 * MIB), CUDA_OK);
	CHECK_EQ(used(), 8 * MIB);
	CHECK_EQ(cuMemRelease(handle), CUDA_OK);
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemAddressFree(address, 16 * MIB), CUDA_OK);
}

TEST(parts_of_a_handle_are_mapped_and_unmapped)
{
	struct cuda_access access = { { CUDA_LOCATION_DEVICE, 0 }, CUDA_ACCESS_READ_WRITE };
	cuda_handle handle;
	cuda_address a;

	start();
	CHECK_EQ(cuMemAddressReserve(&a, 16 * MIB, 0, 0, 0), CUDA_OK);
	CHECK_EQ(cuMemCreate(&handle, 8 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(a + 4 * MIB, 2 * MIB, 6 * MIB, handle, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(a + 2 * MIB, 2 * MIB, 0, handle, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(a + 8 * MIB, 8 * MIB, 0, handle, 0), CUDA_OK); /* twice at once */
	CHECK_EQ(cuMemRelease(handle), CUDA_OK);
	CHECK_EQ(cuMemSetAccess(a + 2 * MIB, 4 * MIB, &access, 1), CUDA_OK);
	CHECK_EQ(cuMemSetAccess(a, 4 * MIB, &access, 1), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemUnmap(a + 8 * MIB, 4 * MIB), CUDA_INVALID_VALUE); /* half a mapping */
	CHECK_EQ(cuMemUnmap(a + 8 * MIB, 8 * MIB), CUDA_OK);
	CHECK_EQ(used(), 8 * MIB);
	CHECK_EQ(cuMemUnmap(a + 2 * MIB, 4 * MIB), CUDA_OK); /* two mappings */
	CHECK_EQ(used(), 0);
	CHECK_EQ(cuMemUnmap(a + 2 * MIB, 4 * MIB), CUDA_INVALID_VALUE);
}

TEST(wrong_use_of_virtual_memory_is_refused)
{
	struct cuda_memory_props nowhere = on_gpu;
	cuda_handle handle;
	cuda_address a;

	start();
	nowhere.location.id = 1;
	CHECK_EQ(cuMemCreate(&handle, MIB, &on_gpu, 0), CUDA_INVALID_VALUE); /* not whole pages */
	CHECK_EQ(cuMemCreate(&handle, 2 * MIB, &nowhere, 0), CUDA_INVALID_DEVICE);
	CHECK_EQ(cuMemCreate(&handle, 66 * MIB, &on_gpu, 0), CUDA_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAddressReserve(&a, MIB, 0, 0, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemAddressReserve(&a, 8 * MIB, 3, 0, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemAddressReserve(&a, 8 * MIB, 0, 0, 0), CUDA_OK);
	CHECK_EQ(cuMemCreate(&handle, 4 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(a, 6 * MIB, 0, handle, 0), CUDA_INVALID_VALUE); /* longer than the handle */
	CHECK_EQ(cuMemMap(a, 4 * MIB, 2 * MIB, handle, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemMap(a + 6 * MIB, 4 * MIB, 0, handle, 0), CUDA_INVALID_VALUE); /* behind the range */
	CHECK_EQ(cuMemMap(a + MIB, 2 * MIB, 0, handle, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemMap(a, 4 * MIB, 0, handle + 1, 0), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemMap(a, 4 * MIB, 0, handle, 0), CUDA_OK);
	CHECK_EQ(cuMemMap(a + 2 * MIB, 4 * MIB, 0, handle, 0), CUDA_INVALID_VALUE); /* on another mapping */
	CHECK_EQ(cuMemAddressFree(a, 8 * MIB), CUDA_INVALID_VALUE);                 /* still mapped */
	CHECK_EQ(cuMemAddressFree(a, 4 * MIB), CUDA_INVALID_VALUE);
	CHECK_EQ(cuMemUnmap(a, 4 * MIB), CUDA_OK);
	CHECK_EQ(cuMemAddressFree(a, 8 * MIB), CUDA_OK);
}

TEST(imported_memory_is_the_exporters)
{
	cuda_handle handle, imported;
	int fd;

	start();
	CHECK_EQ(cuMemCreate(&handle, 8 * MIB, &on_gpu, 0), CUDA_OK);
	CHECK_EQ(cuMemExportToShareableHandle(&fd, handle, CUDA_EXPORT_POSIX_FD, 0), CUDA_OK);
	CHECK_EQ(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd, CUDA_EXPORT_POSIX_FD), CUDA_OK);
	CHECK(imported != handle);
	CHECK_EQ(used(), 8 * MIB);
	CHECK_EQ(cuMemRelease(imported), CUDA_OK);
	CHECK_EQ(used(), 8 * MIB);
	CHECK_EQ(cuMemImportFromShareableHandle(&imported, (void *)0, CUDA_EXPORT_POSIX_FD), CUDA_INVALID_VALUE);
}

TEST_MAIN()
