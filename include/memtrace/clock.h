/*
 * clock.h - the clock for waits and time limits. A preloaded library may stop the clock of the C library; the clock of the
 * kernel goes on. Times in a trace come from clock_gettime(), the clock of the recorded program.
 */
#ifndef MEMTRACE_CLOCK_H
#define MEMTRACE_CLOCK_H

#include <stdint.h>

/* ns of CLOCK_MONOTONIC, read by a system call. Keeps errno. */
uint64_t mt_wait_clock_ns(void);

#endif
