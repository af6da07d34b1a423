/* control.c - the file of a page. Runs inside the target too: no allocation, no locale, no stdio. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "textbuf.h"

int control_name(char *path, size_t size, const char *dir, uint64_t pid, uint64_t start_ticks)
{
	struct textbuf text;

	textbuf_init(&text, path, size);
	textbuf_add(&text, dir);
	textbuf_add(&text, "/");
	textbuf_add_number(&text, pid);
	textbuf_add(&text, ".");
	textbuf_add_number(&text, start_ticks);
	textbuf_add(&text, CONTROL_SUFFIX);
	return text.cut ? -MT_E_LIMIT : 0;
}

/* 1: the limit on file sizes is below the page. Writing beyond it raises SIGXFSZ, which would end the program. */
static int is_limited(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < sizeof(struct control);
}

/*
 * Fills a new page. Two processes may do this at once, because both write the same. Space is reserved before it is
 * used.
 */
static int make(int fd)
{
	int error;

	if (is_limited())
		return -MT_E_LIMIT;
	if (fchmod(fd, 0600))
		return -MT_E_SYSTEM;
	error = posix_fallocate(fd, 0, sizeof(struct control));
	if (error)
		errno = error;
	return error || pwrite(fd, CONTROL_MAGIC, 8, 0) != 8 ? -MT_E_SYSTEM : 0;
}

static int check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -MT_E_SYSTEM;
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
		return 0;
	errno = EPERM;
	return -MT_E_SYSTEM;
}

static int is_short(int fd)
{
	struct stat st;
	char magic[8];

	return !fstat(fd, &st) &&
	       (st.st_size < (off_t)sizeof(struct control) || pread(fd, magic, 8, 0) != 8 || !magic[0]);
}

static int check_content(int fd)
{
	struct stat st;
	char magic[8];

	if (fstat(fd, &st))
		return -MT_E_SYSTEM;
	return st.st_size != sizeof(struct control) || pread(fd, magic, 8, 0) != 8 || memcmp(magic, CONTROL_MAGIC, 8)
		       ? -MT_E_MAGIC
		       : 0;
}

static int map(struct control **page, int fd)
{
	void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -MT_E_SYSTEM;
	madvise(at, sizeof(struct control), MADV_DONTFORK);
	madvise(at, sizeof(struct control), MADV_DONTDUMP);
	*page = at;
	return 0;
}

int control_map(struct control **page, const char *path, int create)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (create ? O_CREAT : 0);
	int fd = open(path, flags, 0600), error, saved;

	if (fd < 0)
		return -MT_E_SYSTEM;
	error = check(fd);
	if (!error && create && is_short(fd))
		error = make(fd);
	if (!error)
		error = check_content(fd);
	if (!error)
		error = map(page, fd);
	saved = errno;
	close(fd);
	errno = saved;
	return error;
}
