/*
 * sampling.h - takes samples of the GPUs and of the host for the trace.
 *
 * The collector looks about every 100 ms while events come, and 20 ms after a look when events pause. It looks after
 * 10 ms when an out-of-memory error came, or a call that takes bytes outside of the ledger. Otherwise it looks once a
 * second. It looks at the host no sooner after a pause, because each level of the cgroup has several files.
 * Readings of GPUs take at most a hundredth of the time. A sample is written if a figure changed noticeably, if the
 * look had a special reason, and once a second while events come.
 */
#ifndef MEMREC_SAMPLING_H
#define MEMREC_SAMPLING_H

#include <stdint.h>
#include <sys/types.h>
#include "gpu_sample.h"
#include "memtrace/fold.h"

/*
 * The host memory of a process: its resident memory, use and limit of its cgroup, and the available memory of the
 * machine. The figures come from /proc and from the cgroup file systems, version 2 or 1.
 *
 * Resident memory comes from statm. smaps_rollup has more figures, but the kernel holds the process's lock while it
 * walks all pages for them.
 */

#define HOST_PATH_MAX 1024

/* Host memory at one instant, bytes. */
struct host_figures {
	uint64_t resident;     /* resident bytes of the process; 0: the process is gone */
	uint64_t cgroup;       /* use of the level with the least room, without file cache, which can be dropped */
	uint64_t cgroup_limit; /* limit of that level; 0: no level has a limit, and `cgroup` is for the innermost one */
	/* Both are 0 if the use of each level is below half of the process's anonymous memory. */
	uint64_t available; /* available bytes of the machine, 0: unknown */
	uint64_t killed;    /* number of processes in the cgroup that the OOM killer ended since host_sampler_init */
};

/* The files with the figures of a process. */
struct host_sampler {
	pid_t pid;
	int version;                /* version of the process's memory cgroup, 1 or 2; 0: not found */
	char root[256];             /* text before every path */
	char cgroup[HOST_PATH_MAX]; /* folder of the innermost level */
	size_t mount;               /* length of the mount point in `cgroup`: the outermost level */
	uint64_t killed_before;     /* number of killed processes at host_sampler_init */
};

/* `root`: text before every path, "" outside of tests. Never fails: a missing file gives figures of 0. */
void host_sampler_init(struct host_sampler *sampler, const char *root, pid_t pid);

void host_sampler_read(const struct host_sampler *sampler, struct host_figures *figures);

struct sampling {
	struct mt_fold *fold;
	struct ring_header *header; /* header of the fold's ring */
	pid_t pid;
	int started;             /* 1: start_gpu was called, and `gpu` is final */
	struct gpu_sampler *gpu; /* NULL: no thread */
	int live;                /* 1: the target was alive at the beginning */
	int gpus;                /* number of GPUs that the process sees and NVML knows */
	int reported;            /* enum mt_source_state + 1 of the source MT_SOURCE_GPU, 0: not reported yet */
	char why[256];           /* reason why `gpus` is 0 */
	struct host_sampler host;

	uint64_t events;                /* number of folded events */
	uint64_t asked;                 /* ms; time of the newest question to NVML */
	uint64_t asked_events, notable; /* `events` and mt_fold_notable at that time */
	uint64_t swept;                 /* ms; time of the newest question about all GPUs */
	int waiting;                    /* 1: the newest question has no answer yet */
	uint64_t micros;                /* duration of the newest reading, us */
	int urgent;                     /* 1: write the next reading also if no figure changed */
	int have_reading;               /* 1: `reading` waits until the events from before it are folded */
	struct gpu_reading reading;

	/* The newest written samples. */
	struct {
		uint64_t used, own, at, events; /* at: ms, 0: never written */
		int known;                      /* 1: `own` is known */
	} gpu_written[GPU_NAMES_MAX];
	struct host_figures host_written;
	uint64_t host_at;                   /* ms; 0: never written */
	uint64_t host_looked;               /* ms; time of the newest look at the host */
	uint64_t host_events, host_notable; /* `events` and mt_fold_notable at that time */
};

/* Call it when the trace exists. `alive` 0: the target has ended, and only the names of its devices are read. */
void sampling_begin(struct sampling *sampling, struct mt_fold *fold, pid_t pid, int alive);

/*
 * Call it before each mt_fold_run. Starts NVML when the target has started CUDA. mt_fold_run asks for the names of the
 * devices when it needs them, and then waits for NVML, 2 s at most. Do not move `sampling`: the fold has its address.
 */
void sampling_prepare(struct sampling *sampling);

/* Call it after each mt_fold_run, which took `folded` events. `alive` 1: the target is alive, and its bytes count. */
void sampling_tick(struct sampling *sampling, uint64_t folded, int alive);

/* Call it after the last mt_fold_run. 1: the thread hangs in NVML, and the process must end with _exit. */
int sampling_end(struct sampling *sampling, int alive);

/* 1: the next look is due. `now`: ms; `folded`: number of the newest events; `notable`: mt_fold_notable. */
int sampling_is_due(const struct sampling *sampling, uint64_t now, uint64_t folded, uint64_t notable);

/* The same for a look at the host. */
int sampling_host_is_due(const struct sampling *sampling, uint64_t now, uint64_t notable);

#endif
