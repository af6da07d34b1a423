#include "live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define INDEX_END "MEMINDEX" /* last bytes of a closed trace (trace-v1.md, "Index") */
#define FOLDERS_MAX 4096u    /* entries of a folder that are looked at */

/* ---- one trace ---- */

static int ends_in_index(int fd, off_t size)
{
	char end[sizeof(INDEX_END) - 1];

	return size > (off_t)sizeof(end) &&
	       pread(fd, end, sizeof(end), size - (off_t)sizeof(end)) == (ssize_t)sizeof(end) &&
	       !memcmp(end, INDEX_END, sizeof(end));
}

int live_open_ring(const struct mt_process *process, struct ring_header *header)
{
	struct stat status;
	int fd;

	if (!*process->ring_path)
		return -1;
	fd = mt_open_named(process->ring_path);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && status.st_size > (off_t)sizeof(*header) &&
	    pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
	    !memcmp(header->magic, RING_MAGIC, sizeof(header->magic)) && header->pid == process->pid &&
	    header->start_monotonic == process->start_monotonic &&
	    !strncmp(header->boot_id, process->boot_id, sizeof(header->boot_id)))
		return fd;
	close(fd);
	return -1;
}

/* Whether the process runs. A zombie does not. */
static int is_alive(uint32_t pid)
{
	char path[64], text[512] = "", *state;
	FILE *file;

	if (!pid || pid > INT32_MAX || (kill((pid_t)pid, 0) && errno != EPERM))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

/* Returns 1: the ring exists, and its program or collector runs; 0: neither runs; -1: no ring is visible. */
static int ring_is_served(const struct mt_process *process)
{
	struct ring_header *header = malloc(sizeof(*header));
	int fd = header ? live_open_ring(process, header) : -1, served = -1;

	if (fd >= 0)
		served = is_alive(header->pid) || is_alive(header->collector_pid);
	if (fd >= 0)
		close(fd);
	free(header);
	return served;
}

int live_is_written(const char *path, const struct mt_process *process, int patient)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), written, served;
	struct stat status;

	if (fd < 0)
		return 0;
	written = !fstat(fd, &status) && S_ISREG(status.st_mode) && !ends_in_index(fd, status.st_size);
	close(fd);
	if (!written || process->snapshot)
		return 0;
	served = ring_is_served(process);
	return served < 0 ? patient && time(NULL) - status.st_mtime <= LIVE_QUIET : served;
}

/* ---- all recordings of this machine ---- */

static int ends_with(const char *text, const char *suffix)
{
	size_t size = strlen(text), tail = strlen(suffix);

	return size > tail && !strcmp(text + size - tail, suffix);
}

static int is_known(const struct live_traces *traces, const char *path)
{
	uint32_t i;

	for (i = 0; i < traces->count; i++)
		if (!strcmp(traces->path[i], path))
			return 1;
	return 0;
}

static int add_trace(struct live_traces *traces, const char *path)
{
	char **larger;

	if (is_known(traces, path))
		return 0;
	larger = realloc(traces->path, ((size_t)traces->count + 1) * sizeof(*larger));
	if (!larger)
		return -MT_E_MEMORY;
	traces->path = larger;
	larger[traces->count] = strdup(path);
	if (!larger[traces->count])
		return -MT_E_MEMORY;
	traces->count++;
	return 0;
}

/* Adds the trace that the link `name` of a run's folder leads to, if the trace is being written. */
static int take_link(struct live_traces *traces, const char *folder, const char *name)
{
	char link[PATH_MAX], path[PATH_MAX];
	struct mt_reader *reader;
	struct stat status;
	ssize_t size;
	int error = 0;

	if (snprintf(link, sizeof(link), "%s/%s", folder, name) >= (int)sizeof(link))
		return 0;
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return 0;
	path[size] = '\0';
	if (lstat(path, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    mt_reader_open(&reader, path))
		return 0;
	if (live_is_written(path, mt_reader_process(reader), 0))
		error = add_trace(traces, path);
	mt_reader_free(reader);
	return error;
}

/* Opens the folder of a run, if this user owns it and it is no link. */
static DIR *open_run(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	DIR *directory = NULL;

	if (fd >= 0 && !fstat(fd, &status) && status.st_uid == geteuid())
		directory = fdopendir(fd);
	if (fd >= 0 && !directory)
		close(fd);
	return directory;
}

/* Calls `take` for the names in a folder, and closes the folder. NULL (it could not be opened): no names. */
static int each_name(struct live_traces *traces, const char *folder, DIR *directory,
		     int (*take)(struct live_traces *traces, const char *folder, const char *name))
{
	struct dirent *entry;
	uint32_t looked_at = 0;
	int error = 0;

	while (directory && !error && looked_at++ < FOLDERS_MAX && (entry = readdir(directory)))
		error = take(traces, folder, entry->d_name);
	if (directory)
		closedir(directory);
	return error;
}

static int take_ring_name(struct live_traces *traces, const char *folder, const char *name)
{
	return ends_with(name, RING_TRACE_SUFFIX) ? take_link(traces, folder, name) : 0;
}

static int take_run_name(struct live_traces *traces, const char *folder, const char *name)
{
	char path[PATH_MAX];

	if (strncmp(name, RING_RUN_PREFIX, sizeof(RING_RUN_PREFIX) - 1) != 0 ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return 0;
	return each_name(traces, path, open_run(path), take_ring_name);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int live_find(struct live_traces *traces, const char *const *folders, uint32_t count)
{
	uint32_t i;
	int error;

	*traces = (struct live_traces){ 0 };
	error = each_name(traces, RING_SHM_DIR, opendir(RING_SHM_DIR), take_run_name);
	for (i = 0; i < count && !error; i++)
		error = each_name(traces, folders[i], opendir(folders[i]), take_run_name);
	if (!error)
		error = each_name(traces, ".", opendir("."), take_run_name);
	if (traces->count)
		qsort(traces->path, traces->count, sizeof(*traces->path), by_name);
	return error;
}

void live_release(struct live_traces *traces)
{
	uint32_t i;

	for (i = 0; i < traces->count; i++)
		free(traces->path[i]);
	free(traces->path);
	*traces = (struct live_traces){ 0 };
}
