/* filelock.c - open, lock, and look whether it is still the file that is meant. */
#include "filelock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"

/* The lock is worth something only while the file still has its name: whoever is done with a file moves it away. */
static int still_there(int fd, const char *path)
{
	struct stat by_fd, by_path;

	return !fstat(fd, &by_fd) && !stat(path, &by_path) && by_fd.st_ino == by_path.st_ino &&
	       by_fd.st_dev == by_path.st_dev;
}

int filelock_open(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0666), saved;

	if (fd < 0)
		return -MT_E_SYSTEM;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		if (still_there(fd, path))
			return fd;
		errno = ENOENT;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return saved == EWOULDBLOCK ? -MT_E_BUSY : -MT_E_SYSTEM;
}
