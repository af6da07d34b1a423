/* cuda_driver.c - see cuda_driver.h. */
#include "cuda_driver.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct cuda_driver cu;

void cuda_check(cuda_result result, const char *what)
{
	const char *name = "unknown error";

	if (result == CUDA_OK)
		return;
	if (cu.GetErrorName)
		cu.GetErrorName(result, &name);
	fprintf(stderr, "%s: %s (%d)\n", what, name, result);
	exit(1);
}

static void *find(void *library, const char *symbol)
{
	void *found = dlsym(library, symbol);

	if (!found) {
		fprintf(stderr, "libcuda.so.1: no %s: the driver is too old\n", symbol);
		exit(1);
	}
	return found;
}

void cuda_wait(void)
{
	cuda_check(cu.CtxSynchronize(), "cuCtxSynchronize");
}

void cuda_driver_load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	struct cuda_context *context;

	if (!library) {
		fprintf(stderr, "%s: no NVIDIA driver here (for a stand-in see samples/README.md)\n", dlerror());
		exit(1);
	}
#define LOAD(member, symbol, parameters) *(void **)&cu.member = find(library, #symbol);
	CUDA_DRIVER_LIST(LOAD)
#undef LOAD
	cuda_check(cu.Init(0), "cuInit");
	cuda_check(cu.PrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	cuda_check(cu.CtxSetCurrent(context), "cuCtxSetCurrent");
}
