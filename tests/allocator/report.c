/*
 * report.c - libc10's functions, called as PyTorch's own libraries call them: undefined here, bound by the dynamic
 * linker through the procedure linkage table. PyTorch 1.13 and 2.0 mangle differently; C10_LETTER says which.
 */
#include "allocator.h"

/* c10::Device */
struct c10_device {
	int8_t type, index;
};

enum { C10_CUDA = 1 };

void c10_report_memory(void *block, int64_t size, uint64_t allocated, uint64_t reserved,
		       struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvl" C10_LETTER C10_LETTER
							 "NS_6DeviceE");
void c10_report_oom(int64_t size, uint64_t allocated, uint64_t reserved,
		    struct c10_device device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerEl" C10_LETTER C10_LETTER
						      "NS_6DeviceE");

/* Reports by the same functions from other devices' allocators and other libraries. */
void allocator_report(uint64_t addr, int64_t bytes, uint64_t allocated, uint64_t reserved, int type, int index)
	__attribute__((visibility("default")));

void allocator_report(uint64_t addr, int64_t bytes, uint64_t allocated, uint64_t reserved, int type, int index)
{
	struct c10_device device = { (int8_t)type, (int8_t)index };

	c10_report_memory((void *)(uintptr_t)addr, bytes, allocated, reserved, device);
}

void report_memory(const struct device *device, uint64_t addr, int64_t bytes)
{
	allocator_report(addr, bytes, device->allocated, device->reserved, C10_CUDA, device->index);
}

void report_oom(const struct device *device, uint64_t bytes)
{
	struct c10_device where = { C10_CUDA, (int8_t)device->index };

	c10_report_oom((int64_t)bytes, device->allocated, device->reserved, where);
}
