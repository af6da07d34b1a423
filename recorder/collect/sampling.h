/*
 * sampling.h - when the collector looks at the GPUs and at the host, and what of it goes into the trace.
 *
 * It looks about every 100 ms while events come, at once when they pause (a figure is worth most while nothing moves),
 * and soon after an out-of-memory error or a call that takes bytes outside the ledger; once a second else; and never so
 * often that looking takes more than a hundredth of the time. Written is what has changed by a noticeable amount, what
 * was looked at for a reason, and once a second while events come.
 */
#ifndef MEMREC_SAMPLING_H
#define MEMREC_SAMPLING_H

#include <stdint.h>
#include <sys/types.h>
#include "gpu_sample.h"
#include "memtrace/fold.h"

/*
 * The host's side of a process: its resident memory, its cgroup's use and limit, what the machine has
 * left. Read from /proc and the cgroup file systems, version 2 or 1.
 *
 * Resident memory is taken from statm: smaps_rollup knows more, but walks all of the process's pages with its lock held.
 */

#define HOST_PATH_MAX 1024

/* Bytes. */
struct host_figures {
	uint64_t resident;     /* 0: the process is gone */
	uint64_t cgroup;       /* bytes of the level with the least room; without file cache, which can be dropped */
	uint64_t cgroup_limit; /* limit of that level; 0: no level has a limit, and cgroup is the innermost one's */
	/* Both are 0 where no level holds the process: the use of each is below half of its anonymous memory. */
	uint64_t available; /* available bytes of the machine, 0: unknown */
	uint64_t killed; /* processes of the cgroup that the kernel killed for want of memory since host_sampler_init */
};

/* The files with a process's figures. */
struct host_sampler {
	pid_t pid;
	int version; /* version of its memory cgroup: 2, 1, 0: none found */
	char root[256];
	char cgroup[HOST_PATH_MAX]; /* folder of the innermost level */
	size_t mount;               /* length of the part of it that is the mount point: where levels end */
	uint64_t killed_before;
};

/* `root`: in front of every path; "", but for tests. Never fails: what is not there is not read. */
void host_sampler_init(struct host_sampler *sampler, const char *root, pid_t pid);

void host_sampler_read(const struct host_sampler *sampler, struct host_figures *figures);

struct sampling {
	struct mt_fold *fold;
	struct ring_header *header; /* header of the fold's ring */
	pid_t pid;
	int started;             /* there is a thread for NVML, or there can be none */
	struct gpu_sampler *gpu; /* NULL: no thread */
	int live;                /* the target was alive at the beginning */
	int gpus;                /* number that NVML knows of those the process sees */
	int reported;            /* enum mt_source_state + 1 of the GPU's source, 0: not yet */
	char why[256];           /* no GPUs: the reason */
	struct host_sampler host;

	uint64_t events;                /* folded */
	uint64_t asked;                 /* ms; when the newest reading was asked for */
	uint64_t asked_events, notable; /* `events` and mt_fold_notable as of then */
	uint64_t swept;                 /* ms; when all GPUs were asked for */
	int waiting;                    /* for the newest reading */
	uint64_t micros;                /* it took */
	int urgent;                     /* write the reading that is in progress */
	int have_reading;               /* read, but events from before it may still be in the ring */
	struct gpu_reading reading;

	/* As last written. */
	struct {
		uint64_t used, own, at, events; /* at: ms, 0: never */
		int known;
	} gpu_written[GPU_NAMES_MAX];
	struct host_figures host_written;
	uint64_t host_at; /* ms */
};

/* When the trace is there. `alive` 0: the target is gone, there is nothing to look at but the names of its devices. */
void sampling_begin(struct sampling *sampling, struct mt_fold *fold, pid_t pid, int alive);

/*
 * Before each mt_fold_run: starts NVML once the target has started CUDA. The fold asks for the names of the devices when
 * it needs them, and waits for NVML then, 2 s at most. `sampling` must stay where it is.
 */
void sampling_prepare(struct sampling *sampling);

/* After each mt_fold_run, which took `folded` events. `alive`: the target is, so its bytes are counted. */
void sampling_tick(struct sampling *sampling, uint64_t folded, int alive);

/* After the last one. 1: NVML hangs, and the process has to be left by _exit. */
int sampling_end(struct sampling *sampling, int alive);

/* The pure part: whether it is time for a look, `now` in ms; `folded` events are the newest of `events`. */
int sampling_is_due(const struct sampling *sampling, uint64_t now, uint64_t folded, uint64_t notable);

#endif
