/* rundir.c - the folder of one run. */
#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "shared/control.h"
#include "shared/options.h"

#define NEW_SUFFIX ".new" /* a result being written */
#define NAME_PREFIX "name."
#define RING_SUFFIX ".ring"

static int ends_with(const char *text, const char *suffix)
{
	size_t size = strlen(text), tail = strlen(suffix);

	return size > tail && !strcmp(text + size - tail, suffix);
}

static int starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Joins the pieces to a path of PATH_MAX bytes; -MT_E_SYSTEM (ENAMETOOLONG): too long. */
static int join(char *path, const char *first, const char *second, const char *third)
{
	int n = snprintf(path, PATH_MAX, "%s%s%s", first, second, third);

	if (n >= 0 && n < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -MT_E_SYSTEM;
}

static int make_in(char *path, const char *dir)
{
	char absolute[PATH_MAX]; /* path without links: the collector compares it with the path of a ring */

	if (!realpath(dir, absolute) || join(path, absolute, "/", RING_RUN_PREFIX "XXXXXX"))
		return -MT_E_SYSTEM;
	return mkdtemp(path) && !chmod(path, 0700) ? 0 : -MT_E_SYSTEM; /* independent of the umask */
}

int rundir_make(char *path, const char *ring_dir, const char *output_dir)
{
	if (ring_dir)
		return make_in(path, ring_dir);
	if (shm_has_room() && !make_in(path, RING_SHM_DIR))
		return 0;
	return make_in(path, output_dir);
}

/* Opens a folder and refuses a link. Returns a descriptor, or -1 (errno). */
static int open_folder(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int rundir_lock(const char *path)
{
	int fd = open_folder(AT_FDCWD, path), saved;

	if (fd < 0)
		return -MT_E_SYSTEM;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return saved == EWOULDBLOCK ? -MT_E_BUSY : -MT_E_SYSTEM;
}

/* 1: the file is a note, a result or a page of wishes, not a ring. */
static int is_note(const char *name)
{
#define OR_UNSEEN(source, suffix, words) || ends_with(name, suffix)
	return starts_with(name, NAME_PREFIX) || ends_with(name, MEMREC_DONE_SUFFIX) ||
	       ends_with(name, RING_TRACE_SUFFIX) || ends_with(name, NEW_SUFFIX) || ends_with(name, CONTROL_SUFFIX) ||
	       ends_with(name, MEMREC_FAILED_SUFFIX) || ends_with(name, MEMREC_ATTACHED_SUFFIX) ||
	       ends_with(name, MEMREC_ELSEWHERE_SUFFIX) MEMREC_UNSEEN_LIST(OR_UNSEEN);
#undef OR_UNSEEN
}

/* 1: the name begins with a pid, or with the prefix of a note on a taken name. */
static int begins_as_note(const char *name)
{
	return (*name >= '0' && *name <= '9') || starts_with(name, NAME_PREFIX);
}

/* 1: PID.ring.done, PID.ring.2.done, or an unfinished file of this kind. */
static int is_result(const char *name)
{
	return strstr(name, RING_SUFFIX ".") && strstr(name, MEMREC_DONE_SUFFIX);
}

/*
 * 1: rundir_clean may remove the file. Notes are links. Results and pages of wishes are regular files. Any other file
 * stays.
 */
static int is_removable(int folder, const char *name)
{
	struct stat st;

	if (!is_note(name) || !begins_as_note(name) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && (ends_with(name, CONTROL_SUFFIX) || is_result(name)));
}

/* Opens `folder` for readdir. The caller keeps `folder` and closes the result. NULL: errno has the reason. */
static DIR *list(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* Removes the folder of links to the traces (launch/screen.h). */
static void remove_screen(int run)
{
	int folder = open_folder(run, RUNDIR_SCREEN);
	DIR *dir = folder < 0 ? NULL : list(folder);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
			unlinkat(folder, entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (folder >= 0)
		close(folder);
	unlinkat(run, RUNDIR_SCREEN, AT_REMOVEDIR);
}

static int has_rings(DIR *dir)
{
	struct dirent *entry;
	int rings = 0;

	while ((entry = readdir(dir)))
		rings += entry->d_name[0] != '.' && !is_note(entry->d_name);
	rewinddir(dir);
	return rings != 0;
}

/* 1: the folder had no ring, and its notes are removed. 0: a ring is there, and nothing changed. */
static int sweep(int folder)
{
	DIR *dir = list(folder);
	struct dirent *entry;
	int rings = !dir || has_rings(dir);

	while (!rings && (entry = readdir(dir)))
		if (is_removable(folder, entry->d_name))
			unlinkat(folder, entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (!rings)
		remove_screen(folder);
	return !rings;
}

/* 1: the folder has no ring now. */
static int is_spent(const char *path)
{
	int folder = open_folder(AT_FDCWD, path), spent;
	DIR *dir = folder < 0 ? NULL : list(folder);

	spent = dir && !has_rings(dir);
	if (dir)
		closedir(dir);
	if (folder >= 0)
		close(folder);
	return spent;
}

/*
 * A process without the lock leaves the folder to the holder of the lock. The holder therefore looks once more after
 * its release: the last ring may have gone meanwhile.
 */
void rundir_clean(const char *path)
{
	const char *base = strrchr(path, '/');
	int lock, swept;

	if (!base || !starts_with(base + 1, RING_RUN_PREFIX))
		return;
	do {
		lock = rundir_lock(path);
		if (lock < 0)
			return;
		swept = sweep(lock);
		if (swept)
			rmdir(path);
		close(lock);
	} while (!swept && is_spent(path));
}

int rundir_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

/* Reads the text of a link. 1: `text` has all of it, with a NUL. */
static int read_link(const char *path, char *text, size_t size)
{
	ssize_t n = readlink(path, text, size);

	if (n < 0 || (size_t)n >= size)
		return 0;
	text[n] = '\0';
	return 1;
}

/*
 * 1: the header of the ring names the folder of this run. A note alone may lead anywhere. `path`: path of the note, in
 * the folder of the run.
 */
static int is_ring_of_run(const char *ring_path, const char *path)
{
	struct ring_header *header = malloc(sizeof(*header));
	size_t size = (size_t)(strrchr(path, '/') - path);
	int is = header && !rundir_read_header(ring_path, header) && strlen(header->run_dir) == size &&
		 !memcmp(header->run_dir, path, size);

	free(header);
	return is;
}

/*
 * 1: `name` is a ring, a note of a ring elsewhere, or the result of a removed ring. Sets `path` to the ring's path. The
 * note counts only while its ring exists: afterwards the result in this folder counts.
 */
static int is_ring_or_result(const char *name, char *path, int *ring)
{
	char where[PATH_MAX];

	*ring = !is_note(name);
	if (*ring)
		return 1;
	if (ends_with(name, MEMREC_ELSEWHERE_SUFFIX)) {
		*ring = read_link(path, where, sizeof(where)) && is_ring_of_run(where, path) &&
			!join(path, where, "", "");
		return *ring;
	}
	if (!ends_with(name, MEMREC_DONE_SUFFIX))
		return 0;
	path[strlen(path) - strlen(MEMREC_DONE_SUFFIX)] = '\0';
	return access(path, F_OK) != 0;
}

int rundir_each(const char *path, int (*visit)(void *context, const char *ring_path, int ring), void *context)
{
	char file[PATH_MAX];
	struct dirent *entry;
	int ring, stop = 0;
	DIR *dir = opendir(path);

	if (!dir)
		return -MT_E_SYSTEM;
	while (!stop && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || join(file, path, "/", entry->d_name))
			continue;
		if (is_ring_or_result(entry->d_name, file, &ring))
			stop = visit(context, file, ring);
	}
	closedir(dir);
	return stop;
}

int rundir_lock_ring(const char *ring_path)
{
	return filelock_open(ring_path, 0);
}

static int read_whole(int fd, void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -MT_E_SYSTEM : -MT_E_TRUNCATED;
		done += (size_t)n;
	}
	return 0;
}

int rundir_read_header(const char *ring_path, struct ring_header *header)
{
	int fd = rundir_open_file(ring_path), error, saved;
	size_t i;

	if (fd < 0)
		return -MT_E_SYSTEM;
	error = read_whole(fd, header, sizeof(*header));
	saved = errno;
	close(fd);
	errno = saved;
	if (error)
		return error;
	if (memcmp(header->magic, RING_MAGIC, sizeof(header->magic)))
		return -MT_E_MAGIC;
	if (header->version != RING_VERSION)
		return -MT_E_VERSION;
#define END_TEXT(text) (text)[sizeof(text) - 1] = '\0'
	END_TEXT(header->host);
	END_TEXT(header->boot_id);
	END_TEXT(header->options);
	END_TEXT(header->output);
	END_TEXT(header->run_dir);
	END_TEXT(header->run);
	END_TEXT(header->command);
	END_TEXT(header->visible_devices);
	END_TEXT(header->control);
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		END_TEXT(header->source_why[i]);
#undef END_TEXT
	return 0;
}

uint64_t rundir_progress(const char *ring_path)
{
	struct ring_header *header = malloc(sizeof(*header));
	uint64_t sum = 0;
	size_t i;

	if (header && !rundir_read_header(ring_path, header))
		for (i = 0; i < RING_SLOTS; i++)
			sum += header->slot[i].tail;
	free(header);
	return sum;
}

void rundir_take_notes(const char *path, const char *suffix, void (*visit)(void *context, long pid, const char *why),
		       void *context)
{
	char file[PATH_MAX], why[256];
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (!ends_with(entry->d_name, suffix) || join(file, path, "/", entry->d_name) ||
		    !read_link(file, why, sizeof(why)))
			continue;
		unlink(file);
		visit(context, strtol(entry->d_name, NULL, 10), why);
	}
	if (dir)
		closedir(dir);
}

int rundir_set_trace(const char *ring_path, const char *trace_path)
{
	char link[PATH_MAX];

	if (join(link, ring_path, RING_TRACE_SUFFIX, ""))
		return -MT_E_SYSTEM;
	unlink(link);
	return trace_path && symlink(trace_path, link) ? -MT_E_SYSTEM : 0;
}

int rundir_get_trace(const char *ring_path, char *trace_path, size_t size)
{
	char link[PATH_MAX];
	ssize_t n = -1;

	if (!join(link, ring_path, RING_TRACE_SUFFIX, ""))
		n = readlink(link, trace_path, size - 1);
	trace_path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int rundir_own_trace(const char *ring_path, char *trace_path, size_t size)
{
	char link[PATH_MAX];
	struct stat st;

	if (!join(link, ring_path, RING_TRACE_SUFFIX, "") && !lstat(link, &st) && st.st_uid == geteuid())
		return rundir_get_trace(ring_path, trace_path, size);
	*trace_path = '\0';
	return 0;
}

/* Prints a reason on one line. */
static void print_why(FILE *file, size_t source, const char *why)
{
	fprintf(file, "why.%zu=", source);
	for (; *why; why++)
		putc((unsigned char)*why < ' ' ? ' ' : *why, file);
	putc('\n', file);
}

/*
 * 1: the launcher holds the folder. Otherwise cleans the folder, because another collector may have been refused the
 * lock in the meantime.
 */
static int is_locked(const char *path)
{
	int lock = rundir_lock(path);

	if (lock >= 0) {
		close(lock);
		rundir_clean(path);
	}
	return lock == -MT_E_BUSY;
}

/*
 * Creates a file in place of any file of that name; NULL (errno). All users may read the file: below sudo, collector
 * and launcher belong to different users.
 */
static FILE *create_result(const char *path)
{
	FILE *file;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		fchmod(fd, 0644);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/*
 * Finds the path of a ring's result without its suffix. The result lies beside the ring. A ring outside of the run's
 * folder has its result in that folder while the launcher waits there.
 */
static void find_place(char *place, const char *ring_path)
{
	struct ring_header *header = malloc(sizeof(*header));
	const char *base = strrchr(ring_path, '/');

	if (!header || !base || rundir_read_header(ring_path, header) || !header->run_dir[0] ||
	    !strncmp(header->run_dir, ring_path, (size_t)(base - ring_path)) || !is_locked(header->run_dir) ||
	    join(place, header->run_dir, base, ""))
		snprintf(place, PATH_MAX, "%s", ring_path);
	free(header);
}

static int write_result(const char *ring_path, const struct run_result *result)
{
	char done[PATH_MAX], temporary[PATH_MAX];
	FILE *file;
	size_t i;
	int bad;

	if (join(done, ring_path, MEMREC_DONE_SUFFIX, "") || join(temporary, ring_path, MEMREC_DONE_SUFFIX, NEW_SUFFIX))
		return -MT_E_SYSTEM;
	file = create_result(temporary);
	if (!file)
		return -MT_E_SYSTEM;
#define PRINT_MEMBER(member, meaning) fprintf(file, #member "=%" PRId64 "\n", result->member);
	RUN_RESULT_LIST(PRINT_MEMBER)
#undef PRINT_MEMBER
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		if (result->why[i][0])
			print_why(file, i, result->why[i]);
	bad = ferror(file);
	bad |= fclose(file);
	return bad || rename(temporary, done) ? -MT_E_SYSTEM : 0;
}

/* Appends the number of the recording to the path of its result. */
static int number_place(char *place, const struct run_result *result)
{
	char number[24], first[PATH_MAX];

	snprintf(number, sizeof(number), ".%" PRId64, result->recording);
	snprintf(first, sizeof(first), "%s", place);
	return join(place, first, number, "");
}

int rundir_write_result(const char *ring_path, int goes_on, const struct run_result *result)
{
	char place[PATH_MAX];
	int error;

	find_place(place, ring_path);
	if (goes_on && number_place(place, result))
		return -MT_E_SYSTEM;
	if (strcmp(place, ring_path) != 0 && rundir_set_trace(place, result->trace[0] ? result->trace : NULL))
		return -MT_E_SYSTEM;
	error = write_result(place, result);
	return error || !goes_on ? error : rundir_set_trace(ring_path, NULL);
}

static void read_result_line(const char *line, struct run_result *result)
{
	const char *value = strchr(line, '=');
	unsigned source;

	if (!value++)
		return;
	if (sscanf(line, "why.%u=", &source) == 1 && source < MT_SOURCE_COUNT)
		snprintf(result->why[source], sizeof(result->why[source]), "%.*s", (int)strcspn(value, "\n"), value);
#define READ_MEMBER(member, meaning)        \
	if (starts_with(line, #member "=")) \
		result->member = strtoll(value, NULL, 10);
	RUN_RESULT_LIST(READ_MEMBER)
#undef READ_MEMBER
}

int rundir_read_result(const char *ring_path, struct run_result *result)
{
	char path[PATH_MAX], line[512];
	FILE *file;
	int fd;

	memset(result, 0, sizeof(*result));
	if (join(path, ring_path, MEMREC_DONE_SUFFIX, ""))
		return -MT_E_SYSTEM;
	fd = rundir_open_file(path);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return -MT_E_SYSTEM;
	}
	while (fgets(line, sizeof(line), file))
		read_result_line(line, result);
	fclose(file);
	rundir_get_trace(ring_path, result->trace, sizeof(result->trace));
	return 0;
}

void run_result_summary(struct run_result *result, const struct mt_fold_summary *summary)
{
	result->events = (int64_t)summary->events;
	result->steps = (int64_t)summary->steps;
	result->lost = (int64_t)summary->lost;
	result->bytes = (int64_t)summary->bytes;
	result->peak_bytes = (int64_t)summary->peak_bytes;
	result->ooms = (int64_t)summary->ooms;
	result->survived = (int64_t)summary->survived;
	result->cut = (int64_t)summary->cut;
	result->keep_error = -summary->keep_error;
}

int rundir_is_spent(const struct run_result *result)
{
	return !result->error || !result->trace[0];
}

void rundir_forget_ring(const char *ring_path)
{
	char path[PATH_MAX];

	if (!join(path, ring_path, MEMREC_DONE_SUFFIX, ""))
		unlink(path);
	if (access(ring_path, F_OK) && !join(path, ring_path, RING_TRACE_SUFFIX, ""))
		unlink(path);
}

/* ---- open, lock, and check that the file still has its name ------------------------------------------------------ */

/*
 * 1: the locked file still has its name. Its former holder may have moved the file away before the lock was free: the
 * lock of a moved file protects nothing.
 */
static int still_there(int fd, const char *path)
{
	struct stat by_fd, by_path;

	return !fstat(fd, &by_fd) && !stat(path, &by_path) && by_fd.st_ino == by_path.st_ino &&
	       by_fd.st_dev == by_path.st_dev;
}

/* 1: the path is a device, a pipe, a link or a folder. Opening a device or a pipe for writing can have effects. */
static int is_something_else(const char *path)
{
	struct stat st;

	if (lstat(path, &st) || S_ISREG(st.st_mode))
		return 0;
	errno = S_ISLNK(st.st_mode) ? ELOOP : ENODEV;
	return 1;
}

int filelock_open(const char *path, int flags)
{
	int fd = is_something_else(path) ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666),
	    saved;

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
