/*
 * nvml.c - the stand-in's libnvidia-ml.so.1: names, UUIDs, memory and processes of the GPUs. It reads the driver's
 * account: the files of STANDIN_STATE, else that of the driver in this process, if there is one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "account.h"
#include "config.h"
#include "hub.h"
#include "memtrace/base.h"

#define EXPORT_NVML(signature)   \
	MT_EXPORT int signature; \
	MT_EXPORT int signature

struct nvml_device {
	struct account *account; /* NULL: no account, so no bytes are held */
};

static struct nvml_device device[STANDIN_GPUS_MAX];
static _Atomic int users;

/* The account of GPU `i`. Without one it is searched again, because the driver may be loaded later. */
static struct account *account_of(unsigned int i)
{
	struct standin_hub *hub;
	void *library;

	if (device[i].account)
		return device[i].account;
	if (standin_config()->state)
		return device[i].account = account_open(standin_config()->state, i);
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	hub = library ? dlsym(library, HUB_SYMBOL) : NULL;
	return device[i].account = hub ? hub->account(i) : NULL;
}

static int fault_is(const char *word)
{
	return standin_config()->nvml && !strcmp(standin_config()->nvml, word);
}

/* The configured fault of the memory figure; NVML_OK: none. */
static int figure_fault(void)
{
	static const struct timespec slow = { 0, 50000000 };

	while (fault_is("hang"))
		pause();
	if (fault_is("slow"))
		nanosleep(&slow, NULL);
	return fault_is("lost") ? NVML_GPU_LOST : NVML_OK;
}

EXPORT_NVML(nvmlInit_v2(void))
{
	users++;
	return NVML_OK;
}

EXPORT_NVML(nvmlShutdown(void))
{
	if (!users)
		return NVML_UNINITIALIZED;
	users--;
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetCount_v2(unsigned int *count))
{
	if (!users)
		return NVML_UNINITIALIZED;
	if (!count)
		return NVML_INVALID_ARGUMENT;
	*count = (unsigned int)standin_config()->gpus;
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct nvml_device **out))
{
	if (!users)
		return NVML_UNINITIALIZED;
	if (!out || index >= standin_config()->gpus)
		return NVML_INVALID_ARGUMENT;
	*out = &device[index];
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **out))
{
	char text[STANDIN_UUID_TEXT];
	unsigned int i;

	if (!users)
		return NVML_UNINITIALIZED;
	if (!uuid || !out)
		return NVML_INVALID_ARGUMENT;
	for (i = 0; i < standin_config()->gpus; i++) {
		standin_uuid_text(i, text);
		if (!strcmp(text, uuid)) {
			*out = &device[i];
			return NVML_OK;
		}
	}
	return NVML_NOT_FOUND;
}

/* The index of a handle; check() refuses a wrong one. */
static unsigned int index_of(const struct nvml_device *handle)
{
	return (unsigned int)(handle - device);
}

static int check(const struct nvml_device *handle, const void *out)
{
	if (!users)
		return NVML_UNINITIALIZED;
	if (!out || handle < device || handle >= device + standin_config()->gpus)
		return NVML_INVALID_ARGUMENT;
	return NVML_OK;
}

static int copy_text(char *out, unsigned int size, const char *text)
{
	if (strlen(text) >= size)
		return NVML_SMALL_BUFFER;
	memcpy(out, text, strlen(text) + 1);
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetName(struct nvml_device *handle, char *name, unsigned int size))
{
	int result = check(handle, name);

	return result ? result : copy_text(name, size, STANDIN_NAME);
}

EXPORT_NVML(nvmlDeviceGetUUID(struct nvml_device *handle, char *uuid, unsigned int size))
{
	int result = check(handle, uuid);
	char text[STANDIN_UUID_TEXT];

	if (result)
		return result;
	standin_uuid_text(index_of(handle), text);
	return copy_text(uuid, size, text);
}

EXPORT_NVML(nvmlDeviceGetMemoryInfo(struct nvml_device *handle, struct nvml_memory *memory))
{
	int result = check(handle, memory);
	struct account *account;

	if (!result)
		result = figure_fault();
	if (result)
		return result;
	account = account_of(index_of(handle));
	memory->total = standin_config()->memory + standin_config()->reserved;
	memory->used = standin_config()->reserved + (account ? account_used(account) : 0);
	memory->free = memory->total - memory->used;
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetMemoryInfo_v2(struct nvml_device *handle, struct nvml_memory_v2 *memory))
{
	struct nvml_memory figures;
	int result = check(handle, memory);

	if (!result && memory->version != NVML_MEMORY_V2)
		result = NVML_INVALID_ARGUMENT;
	if (!result)
		result = nvmlDeviceGetMemoryInfo(handle, &figures);
	if (result)
		return result;
	memory->total = figures.total;
	memory->reserved = standin_config()->reserved;
	memory->used = figures.used - memory->reserved;
	memory->free = figures.free;
	return NVML_OK;
}

/* *count: in, room in `list`; out, processes there are. */
static int list_processes(struct nvml_device *handle, unsigned int *count, struct nvml_process *list)
{
	struct account *account = account_of(index_of(handle));
	unsigned int i, found = 0, renumbered = fault_is("renumbered") ? 1000000000 : 0;
	int result;

	for (i = 0; account && i < ACCOUNT_ROWS; i++) {
		if (!account_row_alive(account, i))
			continue;
		if (list && found < *count)
			list[found] = (struct nvml_process){
				.pid = account->row[i].pid + renumbered,
				.used = account->row[i].bytes,
				.gpu_instance = UINT32_MAX, /* not a part of a GPU */
				.compute_instance = UINT32_MAX,
			};
		found++;
	}
	result = found > *count || (found && !list) ? NVML_SMALL_BUFFER : NVML_OK;
	*count = found;
	return result;
}

EXPORT_NVML(nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *handle, unsigned int *count,
						    struct nvml_process *list))
{
	int result = check(handle, count);

	if (!result)
		result = figure_fault();
	if (!result && fault_is("refused"))
		result = NVML_NO_PERMISSION;
	if (result)
		return result;
	if (!fault_is("empty"))
		return list_processes(handle, count, list);
	*count = 0;
	return NVML_OK;
}

EXPORT_NVML(nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *handle, unsigned int *count,
						    struct nvml_process *list))
{
	return fault_is("old") ? NVML_NO_FUNCTION : nvmlDeviceGetComputeRunningProcesses_v2(handle, count, list);
}

MT_EXPORT const char *nvmlErrorString(int result);
MT_EXPORT const char *nvmlErrorString(int result)
{
	switch (result) {
	case NVML_OK:
		return "Success";
	case NVML_UNINITIALIZED:
		return "Uninitialized";
	case NVML_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_NOT_FOUND:
		return "Not Found";
	case NVML_SMALL_BUFFER:
		return "Insufficient Size";
	default:
		return "Unknown Error";
	}
}
