/* driver.c - cuInit with injection, devices, error names, cuGetProcAddress. */
#include "driver.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t init_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic int ready;
static struct account *account[STANDIN_GPUS_MAX]; /* by physical GPU */
static unsigned int visible[STANDIN_GPUS_MAX];    /* ordinal -> physical GPU */
static int visible_count;

/* Reads CUDA_VISIBLE_DEVICES: ordinals in order, up to the first invalid one. Not set: all GPUs. */
static void choose_devices(void)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	unsigned long gpu;
	char *rest;

	if (!text) {
		while (visible_count < (int)standin_config()->gpus) {
			visible[visible_count] = (unsigned int)visible_count;
			visible_count++;
		}
		return;
	}
	while (visible_count < (int)standin_config()->gpus) {
		gpu = strtoul(text, &rest, 10);
		if (rest == text || gpu >= standin_config()->gpus)
			return;
		visible[visible_count++] = (unsigned int)gpu;
		if (*rest != ',')
			return;
		text = rest + 1;
	}
}

static void open_accounts(void)
{
	unsigned int gpu;

	for (gpu = 0; gpu < standin_config()->gpus; gpu++) {
		account[gpu] = account_open(standin_config()->state, gpu);
		if (!account[gpu]) {
			perror("stand-in GPU: STANDIN_STATE");
			exit(2);
		}
	}
}

/* The real driver's actions for profilers. A library that cannot be loaded is passed over in silence, as there. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	cuda_injection *initialize;
	void *library;

	if (!path || !*path || !strcmp(path, "none"))
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	initialize = (cuda_injection *)dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

/* Injects the library once, with or without a GPU, like the real driver. */
DRIVER_CALL(cuInit(unsigned int flags))
{
	static int injected;
	cuda_result result = CUDA_OK;

	if (flags)
		return CUDA_INVALID_VALUE;
	pthread_mutex_lock(&init_lock); /* other threads wait for the injected library; it may call cuInit itself */
	if (!ready) {
		result = driver_has_gpu() ? CUDA_OK : CUDA_NO_DEVICE;
		if (!result) {
			open_accounts();
			ledger_open(standin_config()->ledger);
			ready = 1;
		}
		if (!injected) {
			injected = 1;
			inject();
		}
	}
	pthread_mutex_unlock(&init_lock);
	return result;
}

int driver_has_gpu(void)
{
	int found;

	pthread_mutex_lock(&init_lock);
	if (!visible_count)
		choose_devices();
	found = visible_count > 0;
	pthread_mutex_unlock(&init_lock);
	return found;
}

int driver_ready(void)
{
	return ready;
}

int driver_device_valid(cuda_device device)
{
	return device >= 0 && device < visible_count;
}

struct account *driver_account(unsigned int gpu)
{
	return gpu < STANDIN_GPUS_MAX ? account[gpu] : NULL;
}

int driver_take(cuda_device device, uint64_t bytes)
{
	return device == HOST || account_take(account[visible[device]], bytes, standin_config()->memory);
}

void driver_give(cuda_device device, uint64_t bytes)
{
	if (device != HOST)
		account_give(account[visible[device]], bytes);
}

/* ---- Devices ---- */

DRIVER_CALL(cuDriverGetVersion(int *version))
{
	if (!version)
		return CUDA_INVALID_VALUE;
	*version = (int)standin_config()->driver;
	return CUDA_OK;
}

cuda_result do_cuDeviceGetCount(const struct args_cuDeviceGetCount *args, struct effect *effect)
{
	if (!args->count)
		return CUDA_INVALID_VALUE;
	effect->size = (uint64_t)visible_count;
	*args->count = visible_count;
	return CUDA_OK;
}

/* The device of a location, HOST for host memory. 0: no such place. */
int driver_place(const struct cuda_location *location, cuda_device *device)
{
	switch (location->type) {
	case CUDA_LOCATION_DEVICE:
		*device = location->id;
		return driver_device_valid(location->id);
	case CUDA_LOCATION_LOCALITY:
		*device = location->id & 0xff;
		return driver_device_valid(*device);
	case CUDA_LOCATION_HOST:
	case CUDA_LOCATION_NUMA:
	case CUDA_LOCATION_NUMA_CURRENT:
		*device = HOST;
		return 1;
	default:
		return 0;
	}
}

/* The first check of every question about a device. */
static cuda_result check_device(cuda_device device, const void *out)
{
	if (!ready)
		return CUDA_NOT_INITIALIZED;
	if (!out)
		return CUDA_INVALID_VALUE;
	return driver_device_valid(device) ? CUDA_OK : CUDA_INVALID_DEVICE;
}

DRIVER_CALL(cuDeviceGet(cuda_device *device, int ordinal))
{
	cuda_result result = check_device(ordinal, device);

	if (!result)
		*device = ordinal;
	return result;
}

DRIVER_CALL(cuDeviceGetName(char *name, int size, cuda_device device))
{
	cuda_result result = check_device(device, name);

	if (!result && size <= 0)
		return CUDA_INVALID_VALUE;
	if (!result)
		snprintf(name, (size_t)size, "%s", STANDIN_NAME);
	return result;
}

DRIVER_CALL(cuDeviceGetUuid_v2(struct cuda_uuid *uuid, cuda_device device))
{
	cuda_result result = check_device(device, uuid);

	if (!result)
		standin_uuid(visible[device], uuid->bytes);
	return result;
}

DRIVER_CALL(cuDeviceGetUuid(struct cuda_uuid *uuid, cuda_device device))
{
	return cuDeviceGetUuid_v2(uuid, device);
}

DRIVER_CALL(cuDeviceTotalMem_v2(size_t *bytes, cuda_device device))
{
	cuda_result result = check_device(device, bytes);

	if (!result)
		*bytes = standin_config()->memory;
	return result;
}

DRIVER_CALL(cuDeviceGetAttribute(int *value, int attribute, cuda_device device))
{
	cuda_result result = check_device(device, value);

	if (result)
		return result;
	switch (attribute) {
	case CUDA_DEVICE_PROCESSORS:
		*value = 132;
		return CUDA_OK;
	case CUDA_DEVICE_MAJOR:
		*value = 9;
		return CUDA_OK;
	case CUDA_DEVICE_UNIFIED_ADDRESSING:
	case CUDA_DEVICE_MANAGED:
	case CUDA_DEVICE_VMM:
	case CUDA_DEVICE_POOLS:
		*value = 1;
		return CUDA_OK;
	default:
		*value = 0; /* the GPU has no such memory */
		return CUDA_OK;
	}
}

cuda_result do_cuMemGetInfo_v2(const struct args_cuMemGetInfo_v2 *args, struct effect *effect)
{
	struct cuda_context *context = driver_current();

	if (!context)
		return CUDA_INVALID_CONTEXT;
	if (!args->free || !args->total)
		return CUDA_INVALID_VALUE;
	effect->device = context->device;
	effect->size = *args->total = standin_config()->memory;
	*args->free = *args->total - account_used(account[visible[context->device]]);
	return CUDA_OK;
}

/* ---- Names ---- */

/* X(value, name, text): all results of this driver. */
#define ERROR_LIST(X)                                                                                           \
	X(CUDA_OK, "CUDA_SUCCESS", "no error")                                                                  \
	X(CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                   \
	X(CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                      \
	X(CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                           \
	X(CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                         \
	X(CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                           \
	X(CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                         \
	X(CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                          \
	X(CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                     \
	X(CUDA_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "memory is already registered") \
	X(CUDA_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory was not registered")            \
	X(CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")

DRIVER_CALL(cuGetErrorName(cuda_result error, const char **name))
{
	if (!name)
		return CUDA_INVALID_VALUE;
	*name = NULL;
#define NAME_IF(value, word, text) \
	if (error == (value))      \
		*name = word;
	ERROR_LIST(NAME_IF)
#undef NAME_IF
	return *name ? CUDA_OK : CUDA_INVALID_VALUE;
}

DRIVER_CALL(cuGetErrorString(cuda_result error, const char **string))
{
	if (!string)
		return CUDA_INVALID_VALUE;
	*string = NULL;
#define TEXT_IF(value, word, text) \
	if (error == (value))      \
		*string = text;
	ERROR_LIST(TEXT_IF)
#undef TEXT_IF
	return *string ? CUDA_OK : CUDA_INVALID_VALUE;
}

/* The versions of a name, newest first. */
static const char *const suffixes[] = { "_v4", "_v3", "_v2", "" };

/* The first version of CUDA in which a program may ask for a call by its plain name. */
static int since_of(const char *name)
{
#define SINCE_IF(entry, id, class, space, version) \
	if (!strcmp(name, #entry))                 \
		return version;
	CUDA_ENTRY_LIST(SINCE_IF)
#undef SINCE_IF
	return 2000;
}

static void *find_symbol(const char *symbol, const char *stream, int version)
{
	static void *self;
	char name[128];
	Dl_info info;
	void *found = NULL;
	size_t i;

	if (!self && dladdr((void *)(uintptr_t)find_symbol, &info))
		self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	for (i = 0; self && !found && i < MT_ARRAY_SIZE(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s%s", symbol, suffixes[i], stream);
		if (version >= since_of(name))
			found = dlsym(self, name);
	}
	return found;
}

DRIVER_CALL(cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status))
{
	const uint64_t per_thread = 2; /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

	if (!symbol || !function)
		return CUDA_INVALID_VALUE;
	*function = flags & per_thread ? find_symbol(symbol, "_ptsz", version) : NULL;
	if (!*function)
		*function = find_symbol(symbol, "", version);
	if (status)
		*status = *function ? 0 : 1;
	return *function ? CUDA_OK : CUDA_NOT_FOUND;
}

/* The vendor's private tables are missing: programs that need them need the real driver. */
DRIVER_CALL(cuGetExportTable(const void **table, const struct cuda_uuid *id))
{
	(void)id;
	if (table)
		*table = NULL;
	return CUDA_NOT_FOUND;
}
