/*
 * target.h - watches the recorded process from outside: is the process alive, and is the pid still its own?
 */
#ifndef MEMREC_TARGET_H
#define MEMREC_TARGET_H

#include <stdint.h>
#include <sys/types.h>

struct target {
	pid_t pid;
	uint64_t start_ticks; /* start time, field 22 of /proc/PID/stat; tells processes with the same pid apart;
				 0: not known */
	int pidfd;            /* -1: the process has ended, or the kernel has no pidfd (before 5.3) */
};

/* Begins to watch a process, also one that has ended. target_release closes the pidfd. */
void target_init(struct target *target, pid_t pid, uint64_t start_ticks);
void target_release(struct target *target);

/* 1: the process has not ended. */
int target_alive(const struct target *target);

/* 1: the process is ending: a killed process may still give back much memory. */
int target_is_ending(const struct target *target);

/* Returns field 22 of /proc/PID/stat; 0: the process does not exist. */
uint64_t target_start_ticks(pid_t pid);

/* As target_alive, for one question without a struct. */
int target_runs(pid_t pid, uint64_t start_ticks);

/*
 * Returns when the target has ended, when a signal came, or after `ms` milliseconds. Without a pidfd, the end of the
 * target is not noticed.
 */
void target_wait(const struct target *target, int ms);

#endif
