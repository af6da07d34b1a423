/* prepared.c - finds processes under `memrec --paused`: see control.h. The texts in /proc are hostile input. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "control.h"
#include "inject.h"
#include "memtrace/error.h"
#include "memtrace/ring.h"
#include "run/rundir.h"
#include "run/say.h"
#include "run/target.h"

enum { LOCK_STEP_MS = 5 };

/* The real user of the process. root owns the files in /proc of a process that the kernel hides. */
static uid_t real_user(long pid, uid_t otherwise)
{
	char text[4096], *line;

	proc_read(pid, "status", text, sizeof(text));
	line = strstr(text, "\nUid:");
	return line ? (uid_t)strtoul(line + 5, NULL, 10) : otherwise;
}

/* The pid of the process in its own pid namespace. */
static long own_number(long pid)
{
	char text[4096], *line, *last;

	proc_read(pid, "status", text, sizeof(text));
	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	last = strrchr(line, '\t');
	return last ? strtol(last + 1, NULL, 10) : pid;
}

/* Writes "/PID.TICKS.control", the name of the process's own page. A process may also map the page of another one. */
static void page_name(char *name, size_t size, long pid)
{
	control_name(name, size, "", (uint64_t)own_number(pid), target_start_ticks((pid_t)pid));
}

static int ends_with(const char *text, const char *tail)
{
	size_t size = strlen(text), tail_size = strlen(tail);

	return size >= tail_size && !strcmp(text + size - tail_size, tail);
}

/* Finds the page among the mappings. 1: prepared->path is set; 0: no page; -1: the mappings cannot be read (errno). */
static int find_mapping(struct prepared *prepared, const char *name)
{
	char path[64], *line = NULL, *at;
	size_t room = 0;
	int found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", prepared->pid);
	maps = fopen(path, "re");
	if (!maps)
		return -1;
	while (!found && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		at = strchr(line, '/');
		found = at && ends_with(at, name) && strstr(at, "/" RING_RUN_PREFIX) &&
			snprintf(prepared->path, sizeof(prepared->path), "/proc/%ld/root%s", prepared->pid, at) <
				(int)sizeof(prepared->path);
	}
	free(line);
	fclose(maps);
	return found;
}

/* Reads MEMREC_OPTIONS of the process's environment. 1: *options is set. */
static int read_options(long pid, struct memrec_options *options)
{
	static const char variable[] = MEMREC_OPTIONS_VARIABLE "=";
	char *text = malloc(PROC_FILE_MAX), *at;
	size_t size = text ? proc_read(pid, "environ", text, PROC_FILE_MAX) : 0;
	int found = 0;

	for (at = text; at && at < text + size && !found; at += strlen(at) + 1)
		if (!strncmp(at, variable, sizeof(variable) - 1))
			found = !memrec_options_decode(options, at + sizeof(variable) - 1);
	free(text);
	return found;
}

/* Looks for the page in the folder of the run. Without a launcher, the agent will make the page in its own folder. */
static enum prepared_kind find_page(struct prepared *prepared, const char *run_dir, const char *name)
{
	if (!*run_dir)
		return PREPARED_UNTOUCHED;
	if (snprintf(prepared->path, sizeof(prepared->path), "/proc/%ld/root%s%s", prepared->pid, run_dir, name) >=
	    (int)sizeof(prepared->path))
		return PREPARED_NOT;
	return control_map(&prepared->page, prepared->path, 0) ? PREPARED_UNTOUCHED : PREPARED_PAGE;
}

static enum prepared_kind kind_by_options(struct prepared *prepared, const char *name)
{
	struct memrec_options *options = malloc(sizeof(*options));
	enum prepared_kind kind = PREPARED_NOT;

	if (options && read_options(prepared->pid, options))
		kind = options->paused ? find_page(prepared, options->run_dir, name) : PREPARED_RECORDED;
	free(options);
	return kind;
}

static enum prepared_kind look(struct prepared *prepared)
{
	char path[64], name[128];
	struct stat st;
	int found;

	snprintf(path, sizeof(path), "/proc/%ld", prepared->pid);
	if (stat(path, &st))
		return PREPARED_GONE;
	prepared->uid = real_user(prepared->pid, st.st_uid);
	if (prepared->uid != geteuid())
		return PREPARED_FOREIGN;
	if (st.st_uid != geteuid()) {
		errno = EACCES;
		return PREPARED_HIDDEN;
	}
	proc_name(prepared->pid, prepared->name, sizeof(prepared->name));
	page_name(name, sizeof(name), prepared->pid);
	found = find_mapping(prepared, name);
	if (found < 0)
		return PREPARED_HIDDEN;
	if (!found)
		return kind_by_options(prepared, name);
	return control_map(&prepared->page, prepared->path, 0) ? PREPARED_HIDDEN : PREPARED_PAGE;
}

void prepared_look(struct prepared *prepared, long pid)
{
	*prepared = (struct prepared){ .pid = pid };
	errno = 0;
	prepared->kind = look(prepared);
	prepared->error = errno;
}

struct list {
	struct prepared *all;
	size_t count;
	int error;
};

static void add(void *context, long pid)
{
	struct list *list = context;
	struct prepared *one = malloc(sizeof(*one)), *more;

	if (!one) {
		list->error = -MT_E_MEMORY;
		return;
	}
	prepared_look(one, pid);
	more = one->kind == PREPARED_PAGE || one->kind == PREPARED_UNTOUCHED
		       ? realloc(list->all, (list->count + 1) * sizeof(*more))
		       : NULL;
	if (more) {
		list->all = more;
		more[list->count++] = *one;
	}
	free(one);
}

static int by_pid(const void *a, const void *b)
{
	const struct prepared *first = a, *second = b;

	return (first->pid > second->pid) - (first->pid < second->pid);
}

int prepared_all(struct prepared **all, size_t *count)
{
	struct list list = { NULL, 0, 0 };

	proc_each(add, &list);
	if (list.count)
		qsort(list.all, list.count, sizeof(*list.all), by_pid);
	*all = list.all;
	*count = list.count;
	return list.error;
}

int prepared_touch(struct prepared *prepared)
{
	int error = control_map(&prepared->page, prepared->path, 1);

	if (!error)
		prepared->kind = PREPARED_PAGE;
	return error;
}

int prepared_runs(const struct prepared *prepared)
{
	return target_runs((pid_t)prepared->pid, 0);
}

/* 1: the process and memrec have the same root directory, so paths have the same meaning for both. */
static int shares_root(long pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/root/.", pid);
	return !stat("/", &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

/* Runs in the child: becomes the collector of the ring. Does not return. */
static void become_collector(char *ring)
{
	char program[MEMREC_PATH_MAX];
	char *words[] = { program, (char *)"--collect", ring, NULL };

	inject_clear();
	if (!inject_find_program(program))
		execv(program, words);
	_exit(MEMREC_EXIT_SYSTEM);
}

/* 1: the ring had a collector before. Only the agent starts the first collector of a ring. */
static int had_collector(const char *ring)
{
	struct ring_header *header = malloc(sizeof(*header));
	int had = header && !rundir_read_header(ring, header) && atomic_load(&header->collector_pid);

	free(header);
	return had;
}

void prepared_revive(const struct prepared *prepared)
{
	char ring[MEMREC_PATH_MAX];
	int lock;
	pid_t pid;

	snprintf(ring, sizeof(ring), "%.*s", (int)sizeof(ring) - 1, prepared->page->ring);
	if (!*ring || !shares_root(prepared->pid) || !had_collector(ring))
		return;
	lock = rundir_lock_ring(ring);
	if (lock < 0)
		return;
	close(lock);
	pid = fork();
	if (pid == 0)
		become_collector(ring);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int prepared_lock(const struct prepared *prepared, int ms)
{
	int fd = open(prepared->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), saved;

	if (fd < 0)
		return -MT_E_SYSTEM;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		saved = errno;
		if (saved != EWOULDBLOCK || ms <= 0) {
			close(fd);
			errno = saved;
			return saved == EWOULDBLOCK ? -MT_E_BUSY : -MT_E_SYSTEM;
		}
		poll(NULL, 0, LOCK_STEP_MS);
		ms -= LOCK_STEP_MS;
	}
	return fd;
}
