/*
 * host_sample.h - the host's side of a process: its resident memory, its cgroup's use and limit, what the machine has
 * left. Read from /proc and the cgroup file systems, version 2 or 1.
 *
 * Resident memory is taken from statm: smaps_rollup knows more, but walks all of the process's pages with its lock held.
 */
#ifndef MEMREC_HOST_SAMPLE_H
#define MEMREC_HOST_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>

#define HOST_PATH_MAX 1024

/* Bytes. */
struct host_figures {
	uint64_t resident;     /* 0: the process is gone */
	uint64_t cgroup;       /* of the level that has the least room left; without file cache, which can be dropped */
	uint64_t cgroup_limit; /* of that level; 0: no level has a limit, and cgroup is the innermost one's */
	uint64_t available;    /* of the machine, 0: unknown */
	uint64_t killed; /* processes of the cgroup that the kernel killed for want of memory since host_sampler_init */
};

/* Where the figures of a process are. */
struct host_sampler {
	pid_t pid;
	int version; /* of its memory cgroup: 2, 1, 0: none found */
	char root[256];
	char cgroup[HOST_PATH_MAX]; /* folder of the innermost level */
	size_t mount;               /* length of the part of it that is the mount point: where levels end */
	uint64_t killed_before;
};

/* `root`: in front of every path; "", but for tests. Never fails: what is not there is not read. */
void host_sampler_init(struct host_sampler *sampler, const char *root, pid_t pid);

void host_sampler_read(const struct host_sampler *sampler, struct host_figures *figures);

#endif
