/*
 * cuda_double.c - a CUDA runtime and cuBLAS in which nothing is computed, so that PyTorch runs its own caching allocator
 * without a GPU. Memory goes to the stand-in driver, and copies to the host read zeros. The script
 * cuda_double.sh adds all other functions that PyTorch's libraries want; they do nothing and succeed.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* A function of one expression that always succeeds. */
#define DOES(signature, ...)         \
	EXPORT cudaError_t signature \
	{                            \
		__VA_ARGS__;         \
		return cudaSuccess;  \
	}
/* A function that passes on to the driver, in a context of this thread's GPU. */
#define DRIVER(signature, ...)              \
	EXPORT cudaError_t signature        \
	{                                   \
		enter_context();            \
		return result(__VA_ARGS__); \
	}

static __thread int current;
static __thread cudaError_t last_error;

static void enter_context(void)
{
	static __thread int entered = -1;
	CUcontext context;

	if (entered == current)
		return;
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, current);
	cuCtxSetCurrent(context);
	entered = current;
}

static cudaError_t result(CUresult driver)
{
	cudaError_t error = cudaErrorInvalidValue;

	if (driver == CUDA_SUCCESS)
		return cudaSuccess;
	if (driver == CUDA_ERROR_OUT_OF_MEMORY)
		error = cudaErrorMemoryAllocation;
	return last_error = error;
}

/* Streams, events and handles are numbers that are never used twice. */
static void *fresh(void)
{
	static long made;

	return (void *)(0x5000000 + 64 * __sync_add_and_fetch(&made, 1));
}

DRIVER(cudaMalloc(void **p, size_t n), cuMemAlloc_v2((CUdeviceptr *)p, n))
DRIVER(cudaFree(void *p), p ? cuMemFree_v2((CUdeviceptr)p) : CUDA_SUCCESS)
DRIVER(cudaMallocAsync(void **p, size_t n, cudaStream_t s), cuMemAllocAsync((CUdeviceptr *)p, n, s))
DRIVER(cudaFreeAsync(void *p, cudaStream_t s), cuMemFreeAsync((CUdeviceptr)p, s))
DRIVER(cudaHostAlloc(void **p, size_t n, unsigned f), cuMemHostAlloc(p, n, f))
DRIVER(cudaMallocHost(void **p, size_t n), cuMemHostAlloc(p, n, 0))
DRIVER(cudaFreeHost(void *p), cuMemFreeHost(p))
DRIVER(cudaMemGetInfo(size_t *free, size_t *total), cuMemGetInfo_v2(free, total))
DRIVER(cudaGetSymbolAddress(void **p, const void *s), cuMemAlloc_v2((CUdeviceptr *)p, 256))

EXPORT cudaError_t cudaGetDeviceCount(int *n)
{
	cuInit(0);
	return result(cuDeviceGetCount(n));
}

DOES(cudaGetDevice(int *d), *d = current)
DOES(cudaSetDevice(int d), current = d; enter_context())
DOES(cudaDriverGetVersion(int *v), *v = CUDA_VERSION)
DOES(cudaRuntimeGetVersion(int *v), *v = CUDA_VERSION)
DOES(cudaDeviceCanAccessPeer(int *v, int a, int b), *v = a != b)
DOES(cudaDeviceGetPCIBusId(char *s, int n, int d), snprintf(s, n, "0000:%02x:00.0", d))
DOES(cudaDeviceGetStreamPriorityRange(int *least, int *greatest), *least = 0; *greatest = -5)
DOES(cudaStreamCreateWithFlags(cudaStream_t *s, unsigned f), *s = fresh())
DOES(cudaStreamCreateWithPriority(cudaStream_t *s, unsigned f, int p), *s = fresh())
DOES(cudaStreamGetPriority(cudaStream_t s, int *p), *p = 0)
DOES(cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *c), *c = cudaStreamCaptureStatusNone)
DOES(cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *c, unsigned long long *id, cudaGraph_t *g,
			      const cudaGraphNode_t **d, const cudaGraphEdgeData **e, size_t *n),
     *c = cudaStreamCaptureStatusNone)
DOES(cudaEventCreate(cudaEvent_t *e), *e = fresh())
DOES(cudaEventCreateWithFlags(cudaEvent_t *e, unsigned f), *e = fresh())
DOES(cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b), *ms = 1)
DOES(cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f), memset(a, 0, sizeof(*a));
     a->maxThreadsPerBlock = 1024; a->ptxVersion = a->binaryVersion = 80; a->numRegs = 32)
DOES(cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int b, size_t s), *n = 2)
DOES(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int b, size_t s, unsigned g), *n = 2)
DOES(cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p), memset(a, 0, sizeof(*a));
     a->type = cudaMemoryTypeUnregistered)
DOES(cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s),
     if (kind == cudaMemcpyDeviceToHost) memset(to, 0, n);
     else if (kind == cudaMemcpyHostToHost) memmove(to, from, n))
DOES(cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind),
     cudaMemcpyAsync(to, from, n, kind, NULL))

EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

EXPORT cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the double";
}

EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}

/* An A100, as far as PyTorch looks. */
EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	memset(p, 0, sizeof(*p));
	cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
	cuDeviceGetName(p->name, sizeof(p->name), device);
	cuDeviceGetUuid_v2((CUuuid *)&p->uuid, device);
	p->major = 8;
	p->warpSize = 32;
	p->multiProcessorCount = 108;
	p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
	p->maxThreadsDim[2] = 64;
	p->maxGridSize[0] = 2147483647;
	p->maxGridSize[1] = p->maxGridSize[2] = 65535;
	p->maxThreadsPerMultiProcessor = 2048;
	p->sharedMemPerBlock = 49152;
	p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = 166912;
	p->regsPerBlock = 65536;
	return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
	static const int known[][2] = {
		{ cudaDevAttrMultiProcessorCount, 108 },
		{ cudaDevAttrComputeCapabilityMajor, 8 },
		{ cudaDevAttrMaxThreadsPerBlock, 1024 },
		{ cudaDevAttrMaxSharedMemoryPerBlock, 49152 },
		{ cudaDevAttrMaxSharedMemoryPerBlockOptin, 166912 },
		{ cudaDevAttrWarpSize, 32 },
		{ cudaDevAttrMaxThreadsPerMultiProcessor, 2048 },
		{ cudaDevAttrMaxGridDimX, 2147483647 },
		{ cudaDevAttrMaxGridDimY, 65535 },
		{ cudaDevAttrMaxGridDimZ, 65535 },
	};

	*value = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i][0] == (int)which)
			*value = known[i][1];
	return cudaSuccess;
}

static int does_nothing(void)
{
	return 0;
}

/* The newest form of a driver function, as the runtime finds it; one that the stand-in lacks does nothing. */
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
						    unsigned long long flags,
						    enum cudaDriverEntryPointQueryResult *found)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
	char newer[200];

	snprintf(newer, sizeof(newer), "%s_v2", symbol);
	*function = dlsym(driver, newer);
	if (!*function)
		*function = dlsym(driver, symbol);
	if (!*function)
		*function = (void *)does_nothing;
	if (found)
		*found = cudaDriverEntryPointSuccess;
	return cudaSuccess;
}

/* Calls that nvcc writes around a kernel and its launch. */
EXPORT void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle[4];

	return handle;
}

EXPORT int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = *block = (dim3){ 1, 1, 1 };
	*shared = 0;
	*(void **)stream = NULL;
	return 0;
}

DOES(cublasCreate_v2(void **handle), *handle = fresh())
DOES(cublasLtMatmulDescCreate(void **made, int compute, int scale), *made = fresh())
DOES(cublasLtMatmulPreferenceCreate(void **made), *made = fresh())
DOES(cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, int64_t stride),
     *made = fresh())
DOES(cublasLtMatmulAlgoGetHeuristic(void *handle, void *matmul, void *a, void *b, void *c, void *d, void *preference,
				    int asked, void *results, int *found),
     *found = 1)
DOES(cublasGetMathMode(void *handle, int *mode), *mode = 0)
DOES(cublasGetPointerMode_v2(void *handle, int *mode), *mode = 0)
