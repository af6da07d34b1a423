/* clock.c - see include/memtrace/clock.h. */
#include "memtrace/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/base.h"

/* The instruction itself, because a preloaded library may stand in for syscall(), too. */
uint64_t mt_wait_clock_ns(void)
{
	struct timespec now = { 0, 0 };
#ifdef __x86_64__
	long result = SYS_clock_gettime;

	__asm__ volatile("syscall" : "+a"(result) : "D"(CLOCK_MONOTONIC), "S"(&now) : "rcx", "r11", "memory");
#else
	int saved = errno;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	errno = saved;
#endif
	return (uint64_t)now.tv_sec * MT_NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}
