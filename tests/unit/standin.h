/*
 * standin.h - for tests of the stand-in GPU: its three libraries, loaded from the build that the test belongs to. Every
 * recorded driver entry is a function pointer of its own name, and so are the further calls listed below.
 */
#ifndef TESTS_STANDIN_H
#define TESTS_STANDIN_H

#include <dlfcn.h>
#include "agent/cuda/driver_entries.h"
#include "memtrace/base.h"
#include "test.h"

#define MIB (1ull << 20)

#define PARAMETER(type, name) type name
#define COMMA() ,
#define DECLARE_ENTRY(entry, id, class, space, since) \
	static MT_UNUSED cuda_result (*entry)(CUDA_ARGS_##entry(PARAMETER, COMMA));
CUDA_ENTRY_LIST(DECLARE_ENTRY)

struct cuda_event;

/* X(name, parameters) */
#define MORE_LIST(X)                                                                        \
	X(cuInit, (unsigned int))                                                           \
	X(cuCtxSetCurrent, (struct cuda_context *))                                         \
	X(cuCtxGetDevice, (cuda_device *))                                                  \
	X(cuCtxSynchronize, (void))                                                         \
	X(cuGraphCreate, (struct cuda_graph **, unsigned int))                              \
	X(cuLibraryGetKernel, (struct cuda_kernel **, struct cuda_library *, const char *)) \
	X(cuStreamCreate, (struct cuda_stream **, unsigned int))                            \
	X(cuStreamDestroy_v2, (struct cuda_stream *))                                       \
	X(cuStreamWaitEvent, (struct cuda_stream *, struct cuda_event *, unsigned int))     \
	X(cuEventCreate, (struct cuda_event **, unsigned int))                              \
	X(cuEventRecord, (struct cuda_event *, struct cuda_stream *))                       \
	X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))               \
	X(cuGetErrorName, (cuda_result, const char **))                                     \
	X(cuGetExportTable, (const void **, const struct cuda_uuid *))

#define CUPTI_LIST(X)                                                                                                \
	X(cuptiGetVersion, (uint32_t *))                                                                             \
	X(cuptiSubscribe, (struct cupti_subscriber **, cupti_callback, void *))                                      \
	X(cuptiSubscribe_v2, (struct cupti_subscriber **, cupti_callback, void *, struct cupti_subscriber_params *)) \
	X(cuptiUnsubscribe, (struct cupti_subscriber *))                                                             \
	X(cuptiEnableCallback, (uint32_t, struct cupti_subscriber *, int, uint32_t))                                 \
	X(cuptiGetCallbackState, (uint32_t *, struct cupti_subscriber *, int, uint32_t))                             \
	X(cuptiGetDeviceId, (struct cuda_context *, uint32_t *))

#define NVML_LIST(X)                                                             \
	X(nvmlInit_v2, (void))                                                   \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned int, struct nvml_device **))  \
	X(nvmlDeviceGetUUID, (struct nvml_device *, char *, unsigned int))       \
	X(nvmlDeviceGetMemoryInfo, (struct nvml_device *, struct nvml_memory *)) \
	X(nvmlDeviceGetComputeRunningProcesses_v3, (struct nvml_device *, unsigned int *, struct nvml_process *))

#define DECLARE(name, parameters) static MT_UNUSED int(*name) parameters;
MORE_LIST(DECLARE)
CUPTI_LIST(DECLARE)
NVML_LIST(DECLARE)

static MT_UNUSED void *library(const char *name)
{
	char path[4096], self[2048];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	void *handle;

	CHECK(size > 0);
	self[size] = '\0';
	*strrchr(self, '/') = '\0'; /* BUILD/tests/unit */
	snprintf(path, sizeof(path), "%s/../../standin/%s", self, name);
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!handle)
		printf("# %s\n", dlerror());
	CHECK(handle);
	return handle;
}

static MT_UNUSED void load_cuda(void)
{
	void *cuda = library("libcuda.so.1");

#define LOAD_ENTRY(entry, id, class, space, since) CHECK(*(void **)&entry = dlsym(cuda, #entry));
	CUDA_ENTRY_LIST(LOAD_ENTRY)
#define LOAD(name, parameters) CHECK(*(void **)&name = dlsym(from, #name));
	{
		void *from = cuda;

		MORE_LIST(LOAD)
	}
}

static MT_UNUSED void load_cupti(void)
{
	void *from = library("libcupti.so.13");

	CUPTI_LIST(LOAD)
}

static MT_UNUSED void load_nvml(void)
{
	void *from = library("libnvidia-ml.so.1");

	NVML_LIST(LOAD)
}

static MT_UNUSED struct cuda_context *make_current(cuda_device device)
{
	struct cuda_context *context;

	CHECK_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_OK);
	CHECK_EQ(cuCtxSetCurrent(context), CUDA_OK);
	return context;
}

/* A GPU of 64 MiB, its context current and taking nothing. */
static MT_UNUSED struct cuda_context *start(void)
{
	setenv("STANDIN_MEM", "64MiB", 1);
	setenv("STANDIN_CONTEXT", "0", 1);
	load_cuda();
	CHECK_EQ(cuInit(0), CUDA_OK);
	return make_current(0);
}

static MT_UNUSED uint64_t used(void)
{
	size_t free_bytes, total;

	CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total), CUDA_OK);
	return total - free_bytes;
}

static MT_UNUSED const struct cuda_memory_props on_gpu = {
	.type = CUDA_MEMORY_PINNED,
	.export_types = CUDA_EXPORT_POSIX_FD,
	.location = { CUDA_LOCATION_DEVICE, 0 },
};

#endif
