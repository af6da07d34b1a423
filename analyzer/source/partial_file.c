#include "partial_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

#define NEW_INFIX ".new-"
#define DIGITS_MAX 10 /* digits of a pid */

static char path[4096];
static int locked_fd = -1;
static struct sigaction before[MT_ARRAY_SIZE(signals)], before_limit;

/*
 * Removes the file. The default action of the signal is already restored: the signal ends the program when this handler
 * returns.
 */
static void remove_it(int signal)
{
	unlink(path);
	raise(signal);
}

void partial_file_begin(const char *file)
{
	struct sigaction action = { .sa_handler = remove_it, .sa_flags = (int)SA_RESETHAND };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	size_t i;

	if (strlen(file) >= sizeof(path) || *path)
		return;
	memcpy(path, file, strlen(file) + 1);
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	sigaction(SIGXFSZ, &ignore, &before_limit);
}

/* ---- beside the target ---- */

/* The pid in a name "BASE.new-PID"; 0: the name has another form. */
static long pid_of(const char *name, const char *base)
{
	size_t size = strlen(base), digits;
	const char *number = name + size + strlen(NEW_INFIX);

	if (strncmp(name, base, size) || strncmp(name + size, NEW_INFIX, strlen(NEW_INFIX)))
		return 0;
	digits = strspn(number, "0123456789");
	return digits && digits <= DIGITS_MAX && !number[digits] ? strtol(number, NULL, 10) : 0;
}

static int is_gone(long pid)
{
	return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) && errno == ESRCH;
}

/*
 * Whether another process locks the file, also on another host: the pages of a database, or the first byte. Without an
 * answer, the file counts as locked.
 */
static int is_locked(int folder, const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), locked = 1;
	struct stat st;

	if (fd < 0)
		return 1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !fcntl(fd, F_GETLK, &lock))
		locked = lock.l_type != F_UNLCK;
	close(fd);
	return locked;
}

static void remove_leftovers(const char *target)
{
	const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
	char folder[4096] = ".";
	struct dirent *entry;
	DIR *dir;

	if (slash && (size_t)(slash - target) + 2 < sizeof(folder)) {
		memcpy(folder, target, (size_t)(slash - target) + 1);
		folder[slash - target + 1] = '\0';
	}
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (is_gone(pid_of(entry->d_name, base)) && !is_locked(dirfd(dir), entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

int partial_file_beside(char *file, size_t size, const char *target)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	snprintf(file, size, "%.4000s" NEW_INFIX "%ld", target, (long)getpid());
	remove_leftovers(target);
	unlink(file);
	partial_file_begin(file);
	locked_fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (locked_fd < 0)
		return -MT_E_SYSTEM;
	fcntl(locked_fd, F_OFD_SETLK, &lock); /* without locks, other processes cannot test it either */
	return 0;
}

const char *partial_file_folder(void)
{
	static const char *const folders[] = { "/tmp", "/var/tmp", "/dev/shm" };
	const char *own = getenv("TMPDIR");
	size_t i;

	if (own && *own)
		return own;
	for (i = 0; i < MT_ARRAY_SIZE(folders); i++)
		if (!access(folders[i], W_OK | X_OK))
			return folders[i];
	return folders[0];
}

/* mkostemp and partial_file_begin, with signals blocked in between. */
static int make_file(char *file)
{
	sigset_t all, mask;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	fd = mkostemp(file, O_CLOEXEC);
	if (fd >= 0)
		partial_file_begin(file);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return fd;
}

int partial_file_temporary(char *file, size_t size)
{
	int fd;

	snprintf(file, size, "%.4000s/memana-XXXXXX", partial_file_folder());
	fd = make_file(file);
	if (fd < 0)
		return -MT_E_SYSTEM;
	close(fd);
	return 0;
}

int partial_file_nameless(void)
{
	const char *const folder[] = { partial_file_folder(), "/tmp", "/var/tmp", "/dev/shm" };
	char file[4096];
	sigset_t all, mask;
	int fd = -1;
	size_t i;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	for (i = 0; i < MT_ARRAY_SIZE(folder) && fd < 0; i++) {
		snprintf(file, sizeof(file), "%.4000s/memana-XXXXXX", folder[i]);
		fd = mkostemp(file, O_CLOEXEC);
	}
	if (fd >= 0)
		unlink(file);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return fd;
}

void partial_file_end(void)
{
	size_t i;

	if (!*path)
		return;
	for (i = 0; i < MT_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &before[i], NULL);
	sigaction(SIGXFSZ, &before_limit, NULL);
	if (locked_fd >= 0)
		close(locked_fd);
	locked_fd = -1;
	*path = '\0';
}
