/* gpu_memory.c - see gpu_memory.h. */
#include "gpu_memory.h"

#define ALIGNMENT 512u /* bytes */

struct gpu_account gpu_account;
double gpu_scale = 1;

static const struct cuda_memory_props on_gpu_0 = {
	.type = CUDA_MEMORY_PINNED,
	.location = { .type = CUDA_LOCATION_DEVICE, .id = 0 },
};

/* ---- The account ---- */

static void count_call(cuda_result result, const char *what)
{
	cuda_check(result, what);
	gpu_account.calls++;
}

static void hold(uint64_t bytes)
{
	gpu_account.bytes += bytes;
	if (gpu_account.bytes <= gpu_account.peak)
		return;
	gpu_account.peak = gpu_account.bytes;
	gpu_account.peak_step = gpu_account.step;
	gpu_account.peak_phase = gpu_account.phase;
}

static void give(uint64_t bytes)
{
	gpu_account.bytes -= bytes;
}

double gpu_scale_to_fit(double needed)
{
	size_t free_bytes, total;

	cuda_check(cu.MemGetInfo(&free_bytes, &total), "cuMemGetInfo");
	return (double)free_bytes < needed ? (double)free_bytes / needed : 1;
}

static uint64_t scaled(uint64_t bytes, uint64_t granularity)
{
	uint64_t wanted = (uint64_t)((double)bytes * gpu_scale);

	return wanted ? (wanted + granularity - 1) / granularity * granularity : granularity;
}

/* ---- Tensors ---- */

struct tensor tensor_new(uint64_t elements, uint64_t element_bytes)
{
	struct tensor tensor = { .bytes = scaled(elements * element_bytes, ALIGNMENT) };

	count_call(cu.MemAlloc(&tensor.address, tensor.bytes), "cuMemAlloc");
	hold(tensor.bytes);
	return tensor;
}

void tensor_free(struct tensor *tensor)
{
	if (!tensor->address)
		return;
	count_call(cu.MemFree(tensor->address), "cuMemFree");
	give(tensor->bytes);
	*tensor = (struct tensor){ 0 };
}

/* ---- Buffers ---- */

struct tensor buffer_new(uint64_t bytes)
{
	struct tensor buffer = { .bytes = scaled(bytes, ALIGNMENT) };

	count_call(cu.MemAllocAsync(&buffer.address, buffer.bytes, NULL), "cuMemAllocAsync");
	hold(buffer.bytes);
	return buffer;
}

void buffer_free(struct tensor *buffer)
{
	if (!buffer->address)
		return;
	count_call(cu.MemFreeAsync(buffer->address, NULL), "cuMemFreeAsync");
	give(buffer->bytes);
	*buffer = (struct tensor){ 0 };
}

/* ---- Pages ---- */

static uint64_t page_size(void)
{
	static size_t bytes;

	if (!bytes)
		cuda_check(cu.MemGetAllocationGranularity(&bytes, &on_gpu_0, CUDA_GRANULARITY_RECOMMENDED),
			   "cuMemGetAllocationGranularity");
	return bytes;
}

struct pages pages_reserve(uint64_t elements, uint64_t element_bytes)
{
	struct pages pages = { .bytes = scaled(elements * element_bytes, page_size()) };

	count_call(cu.MemAddressReserve(&pages.address, pages.bytes, 0, 0, 0), "cuMemAddressReserve");
	return pages;
}

static void wake(struct pages *pages)
{
	const struct cuda_access access = { .location = on_gpu_0.location, .flags = CUDA_ACCESS_READ_WRITE };

	count_call(cu.MemCreate(&pages->handle, pages->bytes, &on_gpu_0, 0), "cuMemCreate");
	hold(pages->bytes);
	count_call(cu.MemMap(pages->address, pages->bytes, 0, pages->handle, 0), "cuMemMap");
	cuda_check(cu.MemSetAccess(pages->address, pages->bytes, &access, 1), "cuMemSetAccess");
}

static void sleep_now(struct pages *pages)
{
	count_call(cu.MemUnmap(pages->address, pages->bytes), "cuMemUnmap");
	count_call(cu.MemRelease(pages->handle), "cuMemRelease");
	give(pages->bytes);
	pages->handle = 0;
}

void pages_wake(struct pages *pages, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (!pages[i].handle)
			wake(&pages[i]);
}

void pages_sleep(struct pages *pages, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (pages[i].handle)
			sleep_now(&pages[i]);
}

/* ---- Host memory ---- */

void *pinned_new(uint64_t bytes)
{
	void *memory;

	count_call(cu.MemHostAlloc(&memory, scaled(bytes, ALIGNMENT), 0), "cuMemHostAlloc");
	return memory;
}

void pinned_free(void *memory)
{
	count_call(cu.MemFreeHost(memory), "cuMemFreeHost");
}
