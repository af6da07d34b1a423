/*
 * clock.h - the clock for waits and time limits. A preloaded library may stop the clock of the C library; the clock of the
 * kernel goes on. Times in a trace come from clock_gettime(), the clock of the recorded program.
 */
#ifndef MEMTRACE_CLOCK_H
#define MEMTRACE_CLOCK_H

#include <stdint.h>
#include <time.h>
#include "memtrace/base.h"

/* ns of CLOCK_MONOTONIC: the clock of times in a trace. */
static inline uint64_t mt_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * MT_NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* ns of CLOCK_MONOTONIC, read by a system call. Keeps errno. */
uint64_t mt_wait_clock_ns(void);

#endif
