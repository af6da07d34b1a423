/*
 * code.c - modules and libraries. All kinds of images are alike: each takes the same bytes of the device, and each
 * kernel that is looked up takes some more, as with lazy loading. NVML and cuMemGetInfo count these bytes. The ledger
 * does not, because programs did not ask for them.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define IMAGE_BYTES (2ull << 20)
#define KERNEL_BYTES (64ull << 10)
#define GLOBAL_BYTES 256u /* size of every variable */

struct image {
	struct image *next; /* next loaded image */
	cuda_device device;
	struct cuda_context *context; /* context of a module; NULL: a library outlives contexts */
	int is_library;
	uint64_t bytes;
};

/* A kernel or function, which are the same here. Lives as long as its image. */
struct kernel {
	struct kernel *next;
	struct image *image;
	int is_loaded;
	char name[64];
};

static struct image *images;
static struct kernel *kernels;

static struct image **find(const void *handle, int is_library)
{
	struct image **link = &images;

	while (*link && (*link != handle || (*link)->is_library != is_library))
		link = &(*link)->next;
	return link;
}

static cuda_result load(void **out, const void *from, int is_library, struct effect *effect)
{
	struct cuda_context *context = driver_current();
	struct image *image;

	if (!out || !from)
		return CUDA_INVALID_VALUE;
	if (!context)
		return CUDA_INVALID_CONTEXT;
	effect->device = context->device;
	image = calloc(1, sizeof(*image));
	if (!image || !driver_take(context->device, IMAGE_BYTES)) {
		free(image);
		return CUDA_OUT_OF_MEMORY;
	}
	*image = (struct image){ images, context->device, is_library ? NULL : context->owner, is_library, IMAGE_BYTES };
	images = image;
	effect->address = (uint64_t)(uintptr_t)image;
	*out = image;
	return CUDA_OK;
}

static void drop(struct image **link)
{
	struct kernel **kernel = &kernels, *next;
	struct image *image = *link;

	while (*kernel) {
		next = (*kernel)->next;
		if ((*kernel)->image == image) {
			free(*kernel);
			*kernel = next;
		} else {
			kernel = &(*kernel)->next;
		}
	}
	driver_give(image->device, image->bytes);
	*link = image->next;
	free(image);
}

static cuda_result unload(const void *handle, int is_library, struct effect *effect)
{
	struct image **link = find(handle, is_library);

	effect->address = (uint64_t)(uintptr_t)handle;
	if (!*link)
		return CUDA_INVALID_HANDLE;
	effect->device = (*link)->device;
	drop(link);
	return CUDA_OK;
}

void code_context_gone(struct cuda_context *context)
{
	struct image **link = &images;

	while (*link) {
		if ((*link)->context == context)
			drop(link);
		else
			link = &(*link)->next;
	}
}

static struct kernel *kernel_of(struct image *image, const char *name)
{
	struct kernel *kernel = kernels;

	while (kernel && (kernel->image != image || strcmp(kernel->name, name)))
		kernel = kernel->next;
	if (kernel)
		return kernel;
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel)
		return NULL;
	mt_copy_text(kernel->name, sizeof(kernel->name), name);
	kernel->image = image;
	kernel->next = kernels;
	return kernels = kernel;
}

/* The code of a kernel is on the device from now on. */
static cuda_result load_kernel(struct kernel *kernel, struct effect *effect)
{
	effect->device = kernel->image->device;
	effect->address = (uint64_t)(uintptr_t)kernel;
	if (kernel->is_loaded)
		return CUDA_OK;
	if (!driver_take(kernel->image->device, KERNEL_BYTES))
		return CUDA_OUT_OF_MEMORY;
	kernel->is_loaded = 1;
	kernel->image->bytes += KERNEL_BYTES;
	return CUDA_OK;
}

static cuda_result find_global(struct image *image, const char *name, cuda_address *address, size_t *bytes,
			       struct effect *effect)
{
	if (!image)
		return CUDA_INVALID_HANDLE;
	if (!name)
		return CUDA_INVALID_VALUE;
	effect->device = image->device;
	effect->address = (uint64_t)(uintptr_t)image + GLOBAL_BYTES; /* part of the image */
	effect->size = GLOBAL_BYTES;
	if (address)
		*address = effect->address;
	if (bytes)
		*bytes = GLOBAL_BYTES;
	return CUDA_OK;
}

/* ---- Recorded calls: modules ---- */

cuda_result do_cuModuleLoad(const struct args_cuModuleLoad *args, struct effect *effect)
{
	return load((void **)args->module, args->fname, 0, effect);
}

cuda_result do_cuModuleLoadData(const struct args_cuModuleLoadData *args, struct effect *effect)
{
	return load((void **)args->module, args->image, 0, effect);
}

cuda_result do_cuModuleLoadDataEx(const struct args_cuModuleLoadDataEx *args, struct effect *effect)
{
	return load((void **)args->module, args->image, 0, effect);
}

cuda_result do_cuModuleLoadFatBinary(const struct args_cuModuleLoadFatBinary *args, struct effect *effect)
{
	return load((void **)args->module, args->fatCubin, 0, effect);
}

cuda_result do_cuModuleUnload(const struct args_cuModuleUnload *args, struct effect *effect)
{
	return unload(args->hmod, 0, effect);
}

cuda_result do_cuModuleGetFunction(const struct args_cuModuleGetFunction *args, struct effect *effect)
{
	struct image *image = *find(args->hmod, 0);
	struct kernel *kernel;

	if (!image)
		return CUDA_INVALID_HANDLE;
	if (!args->hfunc || !args->name)
		return CUDA_INVALID_VALUE;
	kernel = kernel_of(image, args->name);
	if (!kernel)
		return CUDA_OUT_OF_MEMORY;
	*args->hfunc = (struct cuda_function *)(void *)kernel;
	return load_kernel(kernel, effect);
}

cuda_result do_cuModuleGetGlobal_v2(const struct args_cuModuleGetGlobal_v2 *args, struct effect *effect)
{
	return find_global(*find(args->hmod, 0), args->name, args->dptr, args->bytes, effect);
}

/* ---- Recorded calls: libraries ---- */

cuda_result do_cuLibraryLoadData(const struct args_cuLibraryLoadData *args, struct effect *effect)
{
	return load((void **)args->library, args->code, 1, effect);
}

cuda_result do_cuLibraryLoadFromFile(const struct args_cuLibraryLoadFromFile *args, struct effect *effect)
{
	return load((void **)args->library, args->fileName, 1, effect);
}

cuda_result do_cuLibraryUnload(const struct args_cuLibraryUnload *args, struct effect *effect)
{
	return unload(args->library, 1, effect);
}

/* A module for the current context: the library itself. */
cuda_result do_cuLibraryGetModule(const struct args_cuLibraryGetModule *args, struct effect *effect)
{
	if (!*find(args->library, 1))
		return CUDA_INVALID_HANDLE;
	if (!args->pMod)
		return CUDA_INVALID_VALUE;
	effect->address = (uint64_t)(uintptr_t)args->library;
	*args->pMod = (struct cuda_module *)(void *)args->library;
	return CUDA_OK;
}

cuda_result do_cuLibraryGetGlobal(const struct args_cuLibraryGetGlobal *args, struct effect *effect)
{
	return find_global(*find(args->library, 1), args->name, args->dptr, args->bytes, effect);
}

cuda_result do_cuLibraryGetManaged(const struct args_cuLibraryGetManaged *args, struct effect *effect)
{
	return find_global(*find(args->library, 1), args->name, args->dptr, args->bytes, effect);
}

DRIVER_CALL(cuLibraryGetKernel(struct cuda_kernel **out, struct cuda_library *library, const char *name))
{
	struct image *image;

	driver_lock();
	image = *find(library, 1);
	if (image && out && name)
		*out = (struct cuda_kernel *)(void *)kernel_of(image, name);
	driver_unlock();
	if (!image)
		return CUDA_INVALID_HANDLE;
	return out && name ? CUDA_OK : CUDA_INVALID_VALUE;
}

cuda_result do_cuKernelGetFunction(const struct args_cuKernelGetFunction *args, struct effect *effect)
{
	struct kernel *kernel = kernels;

	while (kernel && (const void *)kernel != (const void *)args->kernel)
		kernel = kernel->next;
	if (!kernel || !args->pFunc)
		return CUDA_INVALID_VALUE;
	*args->pFunc = (struct cuda_function *)(void *)kernel;
	return load_kernel(kernel, effect);
}
