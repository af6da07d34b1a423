#include "spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "partial_file.h"

static int write_all(int fd, const char *data, size_t size)
{
	ssize_t written;

	while (size) {
		written = write(fd, data, size);
		if (written < 0 && errno != EINTR)
			return -MT_E_SYSTEM;
		if (written > 0) {
			data += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

static int copy_to(int fd)
{
	static char data[1 << 16];
	ssize_t got;

	while ((got = read(STDIN_FILENO, data, sizeof(data))))
		if ((got < 0 && errno != EINTR) || (got > 0 && write_all(fd, data, (size_t)got)))
			return -MT_E_SYSTEM;
	return 0;
}

int spool_standard_input(void)
{
	struct stat status;
	int fd, error;

	if (fstat(STDIN_FILENO, &status))
		return -MT_E_SYSTEM;
	if (S_ISREG(status.st_mode))
		return 0;
	if (isatty(STDIN_FILENO))
		return -MT_E_ARGUMENT;
	fd = partial_file_nameless();
	if (fd < 0)
		return -MT_E_SYSTEM;
	error = copy_to(fd);
	if (!error && dup2(fd, STDIN_FILENO) < 0)
		error = -MT_E_SYSTEM;
	close(fd);
	return error;
}
