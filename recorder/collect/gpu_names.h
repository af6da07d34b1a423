/*
 * gpu_names.h - which physical GPUs a process sees under which number.
 *
 * NVML counts physical GPUs in PCI order; a process counts those that CUDA_VISIBLE_DEVICES lets through, and sorts the
 * fastest first unless CUDA_DEVICE_ORDER says PCI_BUS_ID. Where the two cannot be matched for certain, a GPU stays
 * without a name.
 */
#ifndef MEMREC_GPU_NAMES_H
#define MEMREC_GPU_NAMES_H

#include <stdint.h>
#include <sys/types.h>
#include "nvml.h"

#define GPU_NAMES_MAX 64

struct gpu_name {
	char name[96]; /* "": not known */
	char uuid[96];
	uint64_t total;             /* bytes */
	struct nvml_device *device; /* to ask NVML with; NULL: not known */
};

/*
 * Fills `gpus` by ordinal of process `pid` and returns how many. `visible`: its CUDA_VISIBLE_DEVICES; "": as it was when
 * the process started. Takes some 10 ms with a driver.
 */
int gpu_names_read(struct gpu_name gpus[GPU_NAMES_MAX], const struct nvml *nvml, pid_t pid, const char *visible);

/*
 * The pure part: `visible` (NULL: not set) and `in_pci_order` of the process applied to the `count` physical GPUs.
 * Entries as CUDA reads them: numbers or UUIDs (a prefix will do) up to the first that means nothing.
 */
int gpu_names_visible(struct gpu_name gpus[GPU_NAMES_MAX], const struct gpu_name *physical, int count,
		      const char *visible, int in_pci_order);

#endif
