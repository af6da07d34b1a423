/*
 * gpu_sample.h - reads from NVML how many bytes of each visible GPU are in use, and how many the process holds.
 *
 *   collector: ask ──> ┌──────── thread ────────┐ ──> take
 *   (never waits)      │ NVML, as long as it takes │
 *                      └───────────────────────────┘
 *
 * One thread of the collector makes all calls of NVML. Every wait for this thread has a limit. A driver that hangs
 * costs the samples and nothing else. The collector does not wait for a thread that hangs in the driver.
 */
#ifndef MEMREC_GPU_SAMPLE_H
#define MEMREC_GPU_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>
#include "nvml.h"

/*
 * The physical GPU behind each CUDA ordinal of a process.
 *
 * NVML counts physical GPUs in PCI order. CUDA counts the GPUs of CUDA_VISIBLE_DEVICES, the fastest first unless
 * CUDA_DEVICE_ORDER is PCI_BUS_ID. A GPU gets no name if the match is not certain.
 */

#define GPU_NAMES_MAX 64

struct gpu_name {
	char name[96]; /* "": not known */
	char uuid[96];
	uint64_t total;             /* bytes of the GPU for programs (nvml_read_memory); 0: not known */
	struct nvml_device *device; /* NVML's handle of the GPU; NULL: not known */
};

/*
 * Fills `gpus` in the order of the CUDA ordinals of process `pid`, and returns their number. `visible`: the process's
 * CUDA_VISIBLE_DEVICES; "": the value at the start of the process. Takes about 10 ms with a driver.
 */
int gpu_names_read(struct gpu_name gpus[GPU_NAMES_MAX], const struct nvml *nvml, pid_t pid, const char *visible);

/*
 * As gpu_names_read, without NVML and /proc: from the `count` physical GPUs, `visible` (NULL: not set) and
 * `in_pci_order` (1: CUDA_DEVICE_ORDER is PCI_BUS_ID). As in CUDA, an entry is a number, a UUID or the beginning of a
 * UUID, and the first invalid entry ends the list.
 */
int gpu_names_visible(struct gpu_name gpus[GPU_NAMES_MAX], const struct gpu_name *physical, int count,
		      const char *visible, int in_pci_order);

#define GPU_PIDS_MAX 8         /* largest number of nested pid namespaces that are read */
#define GPU_PROCESSES_MAX 256u /* largest number of processes of one GPU that are read */

/* The memory of one GPU at one instant. */
struct gpu_figures {
	int read;                  /* 0: not asked for, or not readable: `why` has the reason */
	int own_known;             /* 1: `own` is known */
	uint64_t used, total, own; /* bytes of all processes, bytes of the GPU for programs, bytes of the process */
	uint64_t time, micros;     /* begin of the reading, ns of CLOCK_MONOTONIC; its duration, us */
	const char *why;           /* reason why a figure is missing, static; NULL: none is missing */
};

/* The result of one reading, by CUDA ordinal of the process. */
struct gpu_reading {
	int count;
	struct gpu_figures gpu[GPU_NAMES_MAX];
};

/* The GPUs to read. */
struct gpu_question {
	uint64_t wanted;              /* one bit for each CUDA ordinal */
	uint64_t held[GPU_NAMES_MAX]; /* bytes of each GPU that the trace says the process holds */
};

struct gpu_sampler;

/* Starts the thread for process `pid`; `visible` as in gpu_names_read, copied. NULL: no thread. */
struct gpu_sampler *gpu_sampler_start(pid_t pid, const char *visible);

/*
 * Waits at most `ms` milliseconds until NVML is open. Returns the number of GPUs in `gpus`. 0: no GPU, no NVML, or no
 * answer yet; `why` has the reason.
 */
int gpu_sampler_names(struct gpu_sampler *sampler, struct gpu_name gpus[GPU_NAMES_MAX], int ms, char *why, size_t size);

/* Asks for a reading, and does not wait. Returns 0, or -MT_E_BUSY: the reading before is not done. */
int gpu_sampler_ask(struct gpu_sampler *sampler, const struct gpu_question *question);

/* Waits at most `ms` milliseconds for the reading. 1: *reading has it; each reading is returned once. 0: not yet. */
int gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_reading *reading, int ms);

/*
 * Ends the thread and waits for each of its states at most `ms` milliseconds. 0: the thread has ended, and `sampler` is
 * freed. 1: the thread hangs, and the process must end with _exit. `sampler` may be NULL.
 */
int gpu_sampler_stop(struct gpu_sampler *sampler, int ms);

/* ---- the pure part ---- */

/* The numbers of the recorded process in its pid namespaces. */
struct gpu_pids {
	unsigned int pid[GPU_PIDS_MAX]; /* number of the process in each pid namespace that /proc shows */
	int count;                      /* number of entries in `pid` */
	int outermost; /* 1: the collector runs in the machine's first pid namespace, as the driver does */
	int (*is_here)(unsigned int pid); /* 1: /proc shows a process with this number */
};

/* Never fails: without NSpid in /proc, `pid` is the only number. */
void gpu_pids_read(struct gpu_pids *pids, pid_t pid);

/*
 * Finds the recorded process in the `count` processes of a GPU. 1: *own has its bytes. 0: the match is not certain.
 * In the outermost pid namespace, the pid decides. In a container, NVML may list the machine's pids: a pid counts only
 * if /proc shows all processes of the list. Otherwise the size decides, if the list has one process: the `held` bytes
 * must be more than `used` bytes without the bytes of this process.
 */
int gpu_own_bytes(uint64_t *own, const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids,
		  uint64_t used, uint64_t held);

/* The reason why gpu_own_bytes returned 0. Do not free it. */
const char *gpu_own_why(const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids);

#endif
