/*
 * gpu_sample.h - how full the GPUs are that a process sees, and with how much of its own memory, by NVML.
 *
 *   collector: ask ──> ┌──────── thread ────────┐ ──> take
 *   (never waits)      │ NVML, as long as it takes │
 *                      └───────────────────────────┘
 *
 * Everything of NVML happens on one thread of the collector. Every wait for it has a limit, so a driver that
 * hangs costs the samples and nothing else; when the collector ends it leaves such a thread behind.
 */
#ifndef MEMREC_GPU_SAMPLE_H
#define MEMREC_GPU_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>
#include "nvml.h"

/*
 * Which physical GPUs a process sees under which number.
 *
 * NVML counts physical GPUs in PCI order; a process counts those that CUDA_VISIBLE_DEVICES lets through, and sorts
 * the fastest first unless CUDA_DEVICE_ORDER says PCI_BUS_ID. If the two cannot be matched for certain, a GPU stays
 * without a name.
 */

#define GPU_NAMES_MAX 64

struct gpu_name {
	char name[96]; /* "": not known */
	char uuid[96];
	uint64_t total;             /* bytes for programs, as of nvml_read_memory; 0: not known */
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

#define GPU_PIDS_MAX 8         /* nested pid namespaces that are looked at */
#define GPU_PROCESSES_MAX 256u /* most processes of one GPU that are looked at */

/* One GPU at one instant. */
struct gpu_figures {
	int read; /* 0: not asked for, or why says why not */
	int own_known;
	uint64_t used, total, own; /* bytes: of everybody, there are for programs, of the process */
	uint64_t time, micros;     /* CLOCK_MONOTONIC when the reading began, ns; how long it took, us */
	const char *why;           /* static; NULL: nothing is wrong */
};

/* The result of one reading, by ordinal of the process. */
struct gpu_reading {
	int count;
	struct gpu_figures gpu[GPU_NAMES_MAX];
};

/* The things to read. `held`: what the process is known to hold of each GPU, bytes. */
struct gpu_question {
	uint64_t wanted; /* bit per ordinal */
	uint64_t held[GPU_NAMES_MAX];
};

struct gpu_sampler;

/* Starts the thread for process `pid`; `visible` as in gpu_names_read, copied. NULL: no thread. */
struct gpu_sampler *gpu_sampler_start(pid_t pid, const char *visible);

/*
 * Waits at most `ms` for NVML to come up. > 0: number of GPUs in `gpus`; 0: none, or not yet, or no NVML; then `why`
 * has words for it.
 */
int gpu_sampler_names(struct gpu_sampler *sampler, struct gpu_name gpus[GPU_NAMES_MAX], int ms, char *why, size_t size);

/* Has a reading made. 0: under way; -MT_E_BUSY: the one before still is, and nothing changes. */
int gpu_sampler_ask(struct gpu_sampler *sampler, const struct gpu_question *question);

/* The reading that was asked for, waited for at most `ms`. 1: there it is, and it is not given twice; 0: not yet. */
int gpu_sampler_take(struct gpu_sampler *sampler, struct gpu_reading *reading, int ms);

/* Ends the thread, waits for it at most `ms`. 0: gone; 1: it hangs and is left behind: leave by _exit. NULL is fine. */
int gpu_sampler_stop(struct gpu_sampler *sampler, int ms);

/* ---- the pure part ---- */

/* The process's identity for others. */
struct gpu_pids {
	unsigned int pid[GPU_PIDS_MAX]; /* in each pid namespace that /proc knows of */
	int count;
	int outermost;                    /* /proc is that of the whole machine: its numbers are the driver's */
	int (*is_here)(unsigned int pid); /* does /proc know such a process? */
};

void gpu_pids_read(struct gpu_pids *pids, pid_t pid);

/*
 * Which of the `count` processes of a GPU is ours, if that is certain: by number where the numbers are the driver's; in
 * a container, where NVML may show numbers of the machine, only if all of the list are known here; or because what we
 * are known to hold (`held`) does not fit into what the one process of the list leaves of `used`. 1: *own has its bytes.
 */
int gpu_own_bytes(uint64_t *own, const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids,
		  uint64_t used, uint64_t held);

/* Static words for what gpu_own_bytes could not tell. */
const char *gpu_own_why(const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids);

#endif
