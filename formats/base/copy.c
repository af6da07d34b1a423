/* copy.c - copies bytes between files: by the kernel if possible, else through a buffer. */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define COPY_BYTES (1u << 16)

int mt_write_error(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -MT_E_SPACE : -MT_E_SYSTEM;
}

int mt_write_all(int fd, const void *data, uint64_t size)
{
	const char *at = data;
	ssize_t written;

	while (size) {
		written = write(fd, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return mt_write_error();
		at += written;
		size -= (uint64_t)written;
	}
	return 0;
}

int mt_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *at = data;
	ssize_t got;

	while (size) {
		got = pread(fd, at, size, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -MT_E_SYSTEM;
		if (!got)
			return -MT_E_TRUNCATED;
		at += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static int copy_by_hand(int from, uint64_t offset, int to, uint64_t size)
{
	char block[COPY_BYTES];
	size_t part;
	int error = 0;

	for (; size && !error; offset += part, size -= part) {
		part = size < sizeof(block) ? (size_t)size : sizeof(block);
		error = mt_read_at(from, block, part, offset);
		if (!error)
			error = mt_write_all(to, block, part);
	}
	return error;
}

int mt_copy_bytes(int from, uint64_t offset, int to, uint64_t size)
{
	off_t at = (off_t)offset;
	ssize_t copied;

	while (size && (copied = copy_file_range(from, &at, to, NULL, size, 0)) > 0)
		size -= (uint64_t)copied;
	return copy_by_hand(from, (uint64_t)at, to, size);
}

/* 0, or the errno of why the file is not opened. */
static int is_refused(int place)
{
	struct stat st;

	if (fstat(place, &st))
		return errno;
	if (S_ISLNK(st.st_mode))
		return ELOOP;
	return S_ISREG(st.st_mode) && (st.st_uid == geteuid() || !geteuid()) ? 0 : EPERM;
}

int mt_open_named(const char *path)
{
	int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, why;
	char name[64];

	if (place < 0)
		return -1;
	why = is_refused(place);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	if (!why)
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	why = why ? why : errno;
	close(place);
	errno = why;
	return fd;
}
