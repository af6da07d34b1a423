/* clock.c - see include/memtrace/clock.h. */
#include "memtrace/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include "memtrace/base.h"

/* The instruction itself, because a preloaded library may stand in for syscall(), too. */
uint64_t mt_wait_clock_ns(void)
{
	struct timespec now = { 0, 0 };
	long result = SYS_clock_gettime;

	__asm__ volatile("syscall" : "+a"(result) : "D"(CLOCK_MONOTONIC), "S"(&now) : "rcx", "r11", "memory");
	return (uint64_t)now.tv_sec * MT_NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}
