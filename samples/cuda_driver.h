/*
 * cuda_driver.h - the CUDA driver API for the samples: libcuda.so.1 loaded at run time, so that they build without the
 * toolkit. cu.MemAlloc is cuMemAlloc_v2 and so on; types and constants are in recorder/agent/cuda/cuda_abi.h.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include "../recorder/agent/cuda/cuda_abi.h"

struct cuda_module; /* CUmodule and CUfunction are pointers to them */
struct cuda_function;

/* X(member, symbol, parameters) */
#define CUDA_DRIVER_LIST(X)                                                                                          \
	X(Init, cuInit, (unsigned int flags))                                                                        \
	X(DeviceGet, cuDeviceGet, (cuda_device *, int ordinal))                                                      \
	X(DeviceGetName, cuDeviceGetName, (char *, int size, cuda_device))                                           \
	X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (struct cuda_context **, cuda_device))                         \
	X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (cuda_device))                                            \
	X(CtxSetCurrent, cuCtxSetCurrent, (struct cuda_context *))                                                   \
	X(CtxSynchronize, cuCtxSynchronize, (void))                                                                  \
	X(GetErrorName, cuGetErrorName, (cuda_result, const char **))                                                \
	X(ModuleLoadData, cuModuleLoadData, (struct cuda_module **, const void *image))                              \
	X(ModuleGetFunction, cuModuleGetFunction, (struct cuda_function **, struct cuda_module *, const char *name)) \
	X(MemGetInfo, cuMemGetInfo_v2, (size_t * free_bytes, size_t * total))                                        \
	X(MemAlloc, cuMemAlloc_v2, (cuda_address *, size_t bytes))                                                   \
	X(MemFree, cuMemFree_v2, (cuda_address))                                                                     \
	X(MemAllocAsync, cuMemAllocAsync, (cuda_address *, size_t bytes, struct cuda_stream *))                      \
	X(MemFreeAsync, cuMemFreeAsync, (cuda_address, struct cuda_stream *))                                        \
	X(MemHostAlloc, cuMemHostAlloc, (void **, size_t bytes, unsigned int flags))                                 \
	X(MemFreeHost, cuMemFreeHost, (void *))                                                                      \
	X(MemGetAllocationGranularity, cuMemGetAllocationGranularity,                                                \
	  (size_t *, const struct cuda_memory_props *, int option))                                                  \
	X(MemAddressReserve, cuMemAddressReserve,                                                                    \
	  (cuda_address *, size_t bytes, size_t alignment, cuda_address wish, unsigned long long flags))             \
	X(MemAddressFree, cuMemAddressFree, (cuda_address, size_t bytes))                                            \
	X(MemCreate, cuMemCreate,                                                                                    \
	  (cuda_handle *, size_t bytes, const struct cuda_memory_props *, unsigned long long flags))                 \
	X(MemRelease, cuMemRelease, (cuda_handle))                                                                   \
	X(MemMap, cuMemMap, (cuda_address, size_t bytes, size_t offset, cuda_handle, unsigned long long flags))      \
	X(MemUnmap, cuMemUnmap, (cuda_address, size_t bytes))                                                        \
	X(MemSetAccess, cuMemSetAccess, (cuda_address, size_t bytes, const struct cuda_access *, size_t count))

struct cuda_driver {
#define CUDA_DRIVER_MEMBER(member, symbol, parameters) cuda_result(*member) parameters;
	CUDA_DRIVER_LIST(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

extern struct cuda_driver cu;

/* Loads the driver and makes GPU 0's primary context current; ends the program with a message when that fails. */
void cuda_driver_load(void);

/* Waits until the GPU has done what it was told, as programs do when they want to see a result. */
void cuda_wait(void);

/* Ends the program with a message when a call failed: cuda_check(cu.MemFree(p), "cuMemFree"). */
void cuda_check(cuda_result result, const char *what);

#endif
