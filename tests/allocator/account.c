/*
 * account.c - the independent truth. One line per action, blanks between the columns:
 *
 *     action  device  address  size  real  allocated  reserved  stream  thread  microseconds  label
 *
 * Actions, and `size`, are those of PyTorch's history: requested bytes of a block (of "oom" the rounded ones, and
 * `address` is what was free); `real` is the block's size. allocated and reserved: of the device, after the action.
 * `label`: what the program said it is doing.
 */
#include "allocator.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sums over all threads: backward runs on one of its own. `label` without blanks. */
void allocator_label(const char *label) __attribute__((visibility("default")));

static int account_fd = -1;
static char current[64] = "-";

void account_open(const char *path)
{
	account_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (account_fd < 0) {
		perror(path);
		exit(2);
	}
}

void allocator_label(const char *label)
{
	mt_copy_text(current, sizeof(current), label);
}

void account_write(const char *action, const struct device *device, uint64_t addr, uint64_t size, uint64_t real,
		   int stream)
{
	struct timespec now;
	char line[256];
	int bytes;

	clock_gettime(CLOCK_REALTIME, &now);
	bytes = snprintf(line, sizeof(line),
			 "%s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %ld %lld %s\n", action,
			 device->index, addr, size, real, device->allocated, device->reserved, stream,
			 syscall(SYS_gettid), (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000, current);
	if (write(account_fd, line, (size_t)bytes) != bytes) {
		perror("account");
		abort();
	}
}
