/*
 * target.h - watches the recorded process from outside: whether it is still the same process, and its end.
 */
#ifndef MEMREC_TARGET_H
#define MEMREC_TARGET_H

#include <stdint.h>
#include <sys/types.h>

struct target {
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat; another value is another process with the same number,
				 0: not known */
	int pidfd;            /* -1: dead already, or no pidfd in this kernel (before 5.3) */
};

/* Never fails: a process that is gone counts as not alive. */
void target_init(struct target *target, pid_t pid, uint64_t start_ticks);
void target_release(struct target *target);

/* 1: a thread of the process runs. */
int target_alive(const struct target *target);

/* 1: the process is ending, such as a killed process with much memory to give back. */
int target_is_ending(const struct target *target);

/* Field 22 of /proc/PID/stat; 0: there is no such process. */
uint64_t target_start_ticks(pid_t pid);

/* The same as target_alive, for one question without a struct. */
int target_runs(pid_t pid, uint64_t start_ticks);

/* Returns when the target has ended, when a signal came, or after `ms` milliseconds. */
void target_wait(const struct target *target, int ms);

#endif
