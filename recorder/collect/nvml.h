/*
 * nvml.h - NVIDIA's management library, loaded when it is wanted: what the GPUs of the machine are, how full they are
 * and with whose memory. Nothing is changed through it.
 *
 * Any call may take long (the driver may be loading, or hang): gpu_sample.h makes them on a thread of their own.
 */
#ifndef MEMREC_NVML_H
#define MEMREC_NVML_H

#include <stddef.h>
#include <stdint.h>
#include "agent/cuda/cuda_abi.h"

/*
 * Functions: X(member, symbol, needed, parameters). Each driver has some of the others: the newer one is asked first.
 * Layouts are in cuda_abi.h.
 */
#define NVML_LIST(X)                                                                                        \
	X(init, nvmlInit_v2, 1, (void))                                                                     \
	X(shutdown, nvmlShutdown, 1, (void))                                                                \
	X(count, nvmlDeviceGetCount_v2, 1, (unsigned int *count))                                           \
	X(by_index, nvmlDeviceGetHandleByIndex_v2, 1, (unsigned int index, struct nvml_device **device))    \
	X(name, nvmlDeviceGetName, 1, (struct nvml_device *, char *name, unsigned int size))                \
	X(uuid, nvmlDeviceGetUUID, 1, (struct nvml_device *, char *uuid, unsigned int size))                \
	X(memory, nvmlDeviceGetMemoryInfo, 1, (struct nvml_device *, struct nvml_memory * memory))          \
	X(memory_v2, nvmlDeviceGetMemoryInfo_v2, 0, (struct nvml_device *, struct nvml_memory_v2 * memory)) \
	X(processes_v3, nvmlDeviceGetComputeRunningProcesses_v3, 0,                                         \
	  (struct nvml_device *, unsigned int *count, struct nvml_process *list))                           \
	X(processes_v2, nvmlDeviceGetComputeRunningProcesses_v2, 0,                                         \
	  (struct nvml_device *, unsigned int *count, struct nvml_process *list))                           \
	X(mig_mode, nvmlDeviceGetMigMode, 0, (struct nvml_device *, unsigned int *now, unsigned int *pending))

struct nvml {
	void *library;
#define NVML_MEMBER(member, symbol, needed, parameters) int(*member) parameters;
	NVML_LIST(NVML_MEMBER)
#undef NVML_MEMBER
};

/* Loads the library and initialises it. 0, or -MT_E_MISSING with the reason in `why` ("" on success). */
int nvml_open(struct nvml *nvml, char *why, size_t size);
void nvml_close(struct nvml *nvml);

/* A few words for what a call returned: "no permission". Static storage. */
const char *nvml_word(int result);

/*
 * Bytes in use and bytes there are for programs: what the driver keeps back for itself is in neither, where the
 * driver tells it (v2; before, it counts as used). Results of nvml calls.
 */
int nvml_read_memory(const struct nvml *nvml, struct nvml_device *device, uint64_t *used, uint64_t *total);

/* The processes that hold memory of the GPU; *count: in, room in `list`; out, how many. */
int nvml_read_processes(const struct nvml *nvml, struct nvml_device *device, struct nvml_process *list,
			unsigned int *count);

/* 1: the GPU is cut into instances (MIG), and figures of the whole are not those of the part a process has. */
int nvml_is_split(const struct nvml *nvml, struct nvml_device *device);

#endif
