/* readable.h - tests whether an address can be read, for pointers that may be wrong. */
#ifndef RECORDER_READABLE_H
#define RECORDER_READABLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "valgrind_request.h"

/* As readable_at, by copying a byte. Slower, and not every container permits it. */
static inline int readable_by_copy(uintptr_t address)
{
	uint8_t byte;
	struct iovec here = { &byte, 1 }, there = { (void *)address, 1 };

	return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == 1;
}

/*
 * 1: the 8 aligned bytes around `address` can be read. The kernel reads the signal mask before it refuses the invalid
 * `how`. Changes errno. valgrind would report this call.
 */
static inline int readable_at(uintptr_t address)
{
	const long nothing_to_do = -1;
	const uintptr_t mask_bytes = 8;

	if (valgrind_runs())
		return readable_by_copy(address);
	syscall(SYS_rt_sigprocmask, nothing_to_do, address & ~(mask_bytes - 1), NULL, mask_bytes);
	return errno != EFAULT;
}

/* 1: `bytes` (at most a page) from `address` on can be read. */
static inline int readable_range(const void *address, size_t bytes)
{
	return readable_at((uintptr_t)address) && readable_at((uintptr_t)address + bytes - 1);
}

#endif
