/* nvml.c - loads NVML and calls its functions: see nvml.h. */
#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"

#define LIBRARY "libnvidia-ml.so.1"

/* Finds the functions of NVML_LIST. Returns the name of a needed function that is missing; NULL: none is. */
static const char *find_functions(struct nvml *nvml)
{
#define FIND(member, symbol, needed, parameters)                                \
	nvml->member = (__typeof__(nvml->member))dlsym(nvml->library, #symbol); \
	if ((needed) && !nvml->member)                                          \
		return #symbol;
	NVML_LIST(FIND)
#undef FIND
	return NULL;
}

int nvml_open(struct nvml *nvml, char *why, size_t size)
{
	const char *missing;
	int result = 0;

	memset(nvml, 0, sizeof(*nvml));
	*why = '\0';
	nvml->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library) {
		snprintf(why, size, "there is no %s here", LIBRARY);
		return -MT_E_MISSING;
	}
	missing = find_functions(nvml);
	if (!missing)
		result = nvml->init();
	if (!missing && !result)
		return 0;
	if (missing)
		snprintf(why, size, "%s has no %s", LIBRARY, missing);
	else
		snprintf(why, size, "nvmlInit: %s", nvml_word(result));
	dlclose(nvml->library);
	return -MT_E_MISSING;
}

void nvml_close(struct nvml *nvml)
{
	nvml->shutdown();
	dlclose(nvml->library);
}

const char *nvml_word(int result)
{
	switch (result) {
	case NVML_NOT_SUPPORTED:
		return "not supported by this GPU or driver";
	case NVML_NO_PERMISSION:
		return "no permission";
	case NVML_NO_DRIVER:
		return "the driver is not loaded";
	case NVML_GPU_LOST:
		return "the GPU has fallen off the bus";
	case NVML_MISMATCH:
		return "library and driver are of different versions";
	default:
		return "the call failed";
	}
}

int nvml_read_memory(const struct nvml *nvml, struct nvml_device *device, uint64_t *used, uint64_t *total)
{
	struct nvml_memory_v2 memory = { .version = NVML_MEMORY_V2 };
	struct nvml_memory old;
	int result;

	if (nvml->memory_v2 && !nvml->memory_v2(device, &memory)) {
		*used = memory.used;
		*total = memory.total - memory.reserved;
		return NVML_OK;
	}
	result = nvml->memory(device, &old);
	if (!result) {
		*used = old.used;
		*total = old.total;
	}
	return result;
}

int nvml_read_processes(const struct nvml *nvml, struct nvml_device *device, struct nvml_process *list,
			unsigned int *count)
{
	unsigned int room = *count;
	int result = NVML_NOT_SUPPORTED;

	if (nvml->processes_v3)
		result = nvml->processes_v3(device, count, list);
	if (result && result != NVML_SMALL_BUFFER && nvml->processes_v2) {
		*count = room;
		result = nvml->processes_v2(device, count, list);
	}
	return result;
}

int nvml_is_split(const struct nvml *nvml, struct nvml_device *device)
{
	unsigned int now = 0, pending = 0;

	return nvml->mig_mode && !nvml->mig_mode(device, &now, &pending) && now;
}
