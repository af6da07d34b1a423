/* target.c - watches a process by its pidfd, or by /proc if the kernel has no pidfd. */
#include "target.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IS_EXITING 0x4u /* PF_EXITING of the kernel, in field 9 of /proc/PID/stat (proc(5)) */

/* Three fields of /proc/PID/stat. `state` 0: the process does not exist, or /proc cannot be read. */
struct stat_line {
	char state;
	unsigned flags;
	uint64_t start_ticks;
};

static char read_stat(pid_t pid, struct stat_line *line)
{
	char path[32], text[1024];
	unsigned long long ticks;
	const char *rest;
	ssize_t size;
	int fd;

	memset(line, 0, sizeof(*line));
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	rest = strrchr(text, ')'); /* the name before it can contain anything */
	if (!rest || sscanf(rest, ") %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			    &line->state, &line->flags, &ticks) != 3)
		return line->state = 0;
	line->start_ticks = ticks;
	return line->state;
}

static int pidfd_of(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

void target_init(struct target *target, pid_t pid, uint64_t start_ticks)
{
	struct stat_line line;

	target->pid = pid;
	target->start_ticks = start_ticks;
	target->pidfd = pid > 0 ? pidfd_of(pid) : -1;
	if (target->pidfd < 0)
		return;
	/*
	 * The start time is read after the pidfd is open: from now on the pid cannot pass to another process unseen.
	 * Without /proc, now or at the process's start, the pid alone must do.
	 */
	if (start_ticks && read_stat(pid, &line) && line.start_ticks != start_ticks) {
		close(target->pidfd);
		target->pidfd = -1;
	}
}

void target_release(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

int target_alive(const struct target *target)
{
	struct pollfd poll_pid = { .fd = target->pidfd, .events = POLLIN };
	struct stat_line line;

	if (target->pidfd >= 0)
		return poll(&poll_pid, 1, 0) <= 0;
	return read_stat(target->pid, &line) && line.state != 'Z' && line.state != 'X' &&
	       line.start_ticks == target->start_ticks;
}

int target_is_ending(const struct target *target)
{
	struct stat_line line;

	return read_stat(target->pid, &line) && line.start_ticks == target->start_ticks && (line.flags & IS_EXITING);
}

uint64_t target_start_ticks(pid_t pid)
{
	struct stat_line line;

	return read_stat(pid, &line) ? line.start_ticks : 0;
}

int target_runs(pid_t pid, uint64_t start_ticks)
{
	struct target target;
	int alive;

	target_init(&target, pid, start_ticks);
	alive = target_alive(&target);
	target_release(&target);
	return alive;
}

void target_wait(const struct target *target, int ms)
{
	struct pollfd poll_pid = { .fd = target->pidfd, .events = POLLIN };

	poll(&poll_pid, target->pidfd >= 0, ms);
}
