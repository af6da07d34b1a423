/* guest_map.c - see guest_map.h. System calls that libc wraps as cancellation points are not made here. */
#include "guest_map.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "shared/textbuf.h"

#define SHARE 16u      /* one mapping takes at most this part (1/SHARE) of the room below a limit */
#define PAGE 4096u     /* the unit of /proc/self/statm */
#define SIGSET_BYTES 8 /* size of the kernel's sigset_t */

/* Fields of /proc/self/statm: pages of address space, and of data. */
enum { STATM_SIZE = 0, STATM_DATA = 5 };

static uint64_t statm(int field)
{
	char text[256], *at = text;
	uint64_t pages = 0;

	if (!textbuf_read_file("/proc/self/statm", text, sizeof(text)))
		return 0;
	for (; field >= 0; field--)
		pages = strtoull(at, &at, 10);
	return pages * PAGE;
}

/* A part of the room below the limit; UINT64_MAX: no limit. */
static uint64_t room_of(int resource, int field)
{
	struct rlimit limit;
	uint64_t used;

	if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	used = statm(field);
	return limit.rlim_cur > used ? (limit.rlim_cur - used) / SHARE : 0;
}

uint64_t guest_room(void)
{
	uint64_t space = room_of(RLIMIT_AS, STATM_SIZE), data = room_of(RLIMIT_DATA, STATM_DATA);

	return space < data ? space : data;
}

/* After mlockall(MCL_FUTURE) a new mapping is locked and filled; the pages of one without a file are given back. */
static void *tame(void *map, size_t bytes, int has_file)
{
	int saved = errno;

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, bytes, MADV_DONTDUMP);
	munlock(map, bytes);
	if (!has_file)
		madvise(map, bytes, MADV_DONTNEED);
	errno = saved;
	return map;
}

void *guest_map(size_t bytes, int protection)
{
	if (bytes > guest_room())
		return NULL;
	return tame(mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), bytes, 0);
}

void *guest_map_file(int fd, uint64_t offset, size_t bytes, void *place, int flags)
{
	if (!place && bytes > guest_room())
		return NULL;
	flags |= MAP_SHARED | (place ? MAP_FIXED : 0);
	return tame(mmap(place, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset), bytes, 1);
}

void guest_map_blank(void *place, size_t bytes)
{
	tame(mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0),
	     bytes, 0);
}

void guest_hold_signals(uint64_t *held)
{
	static const uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, held, SIGSET_BYTES);
}

void guest_release_signals(const uint64_t *held)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, held, NULL, SIGSET_BYTES);
}
