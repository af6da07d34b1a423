/*
 * nvml.h - NVIDIA's management library (NVML), loaded when it is needed: names of the machine's GPUs, bytes in use, and
 * bytes of each process. memrec changes no setting through NVML.
 *
 * Any call may take long while the driver loads or hangs: gpu_sample.h makes all calls on one thread.
 */
#ifndef MEMREC_NVML_H
#define MEMREC_NVML_H

#include <stddef.h>
#include <stdint.h>
#include "agent/cuda/cuda_abi.h"

/*
 * X(member, symbol, needed, parameters): a function of NVML. `needed` 0: some drivers do not have the function. If a
 * function has two versions, the newer one is called first. Layouts are in cuda_abi.h.
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

/* Loads and initialises the library. Returns 0 and "" in `why`, or -MT_E_MISSING and the reason in `why`. */
int nvml_open(struct nvml *nvml, char *why, size_t size);
void nvml_close(struct nvml *nvml);

/* Words for the result of a call, such as "no permission". Do not free them. */
const char *nvml_word(int result);

/*
 * Reads the bytes in use and the bytes for programs. Neither has the bytes that the driver reserves for itself. An old
 * driver (without nvmlDeviceGetMemoryInfo_v2) counts its reserved bytes in both. Returns the result of NVML.
 */
int nvml_read_memory(const struct nvml *nvml, struct nvml_device *device, uint64_t *used, uint64_t *total);

/*
 * Reads the processes that hold memory of the GPU. *count: size of `list` before the call, number of processes after
 * it. Returns the result of NVML.
 */
int nvml_read_processes(const struct nvml *nvml, struct nvml_device *device, struct nvml_process *list,
			unsigned int *count);

/* 1: the GPU is cut into MIG instances. Figures of the whole GPU say nothing about the instance of a process. */
int nvml_is_split(const struct nvml *nvml, struct nvml_device *device);

#endif
