#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "memtrace/ring.h"
#include "partial_file.h"

static int fail(struct source *source, const char *path, int error)
{
	snprintf(source->message, sizeof(source->message), "%.400s: %s", path,
		 error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error));
	return error;
}

/* ---- left-over rings ---- */

/* Whether `fd` is the ring of this recording and not of a later process that got its name. */
static int is_ring_of(int fd, const struct mt_process *process)
{
	struct ring_header *header = malloc(sizeof(*header));
	struct stat status;
	int same = 0;

	if (header && !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(*header) &&
	    pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header))
		same = !memcmp(header->magic, RING_MAGIC, sizeof(header->magic)) && header->pid == process->pid &&
		       header->start_monotonic == process->start_monotonic &&
		       !strncmp(header->boot_id, process->boot_id, sizeof(header->boot_id));
	free(header);
	return same;
}

/* Opens and locks the ring against collectors; -1: there is none, or one works on it. */
static int lock_ring(const struct mt_process *process)
{
	int fd;

	if (!*process->ring_path)
		return -1;
	fd = open(process->ring_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (is_ring_of(fd, process) && !flock(fd, LOCK_SH | LOCK_NB))
		return fd;
	close(fd);
	return -1;
}

/* An empty file that only we know, unfinished; `path` has room for 4096 bytes. */
static int temporary_file(char *path, size_t size)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	snprintf(path, size, "%s/memana-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = partial_file_make(path);
	if (fd < 0)
		return -MT_E_SYSTEM;
	close(fd);
	return 0;
}

/* Replaces the reader of `trace` by one that has the ring's events too. What cannot be folded in stays out. */
static void complete(struct source *source, struct mt_reader **reader, const char *trace, const char *ring)
{
	char path[4096];
	struct mt_reader *completed;

	if (temporary_file(path, sizeof(path)))
		return;
	if (!mt_fold_recover(trace, ring, source->rules, path, NULL) && !mt_reader_open(&completed, path)) {
		mt_reader_free(*reader);
		*reader = completed;
	}
	unlink(path);
	partial_file_end();
}

/* ---- opening ---- */

/* Folders and pipes are no traces; opening a pipe would wait for somebody to write to it. */
static int open_reader(struct mt_reader **reader, const char *path)
{
	struct stat status;

	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return -MT_E_MAGIC;
	return mt_reader_open(reader, path);
}

/* The same process twice, perhaps under two names, would be counted twice. */
static int is_open_already(const struct source *source, const struct mt_process *process)
{
	const struct mt_process *other;
	uint32_t i;

	for (i = 0; i < source->inputs; i++) {
		other = mt_reader_process(source->input[i].reader);
		if (other->pid == process->pid && other->start_monotonic == process->start_monotonic &&
		    !strcmp(other->boot_id, process->boot_id))
			return 1;
	}
	return 0;
}

static int open_trace(struct source *source, const char *path)
{
	struct mt_reader *reader;
	int error = open_reader(&reader, path), ring;

	if (error && db_is_database(path))
		snprintf(source->message, sizeof(source->message), "%.400s: a database, not a trace (name the trace)",
			 path);
	else if (error)
		fail(source, path, error);
	if (error)
		return error;
	if (is_open_already(source, mt_reader_process(reader))) {
		snprintf(source->message, sizeof(source->message), "%.400s: this process was named already", path);
		mt_reader_free(reader);
		return -MT_E_ARGUMENT;
	}
	ring = lock_ring(mt_reader_process(reader));
	if (ring >= 0) {
		complete(source, &reader, path, mt_reader_process(reader)->ring_path);
		close(ring);
	}
	source->input[source->inputs].file = path;
	source->input[source->inputs++].reader = reader;
	return 0;
}

static int open_database(struct source *source, const char *path)
{
	int error = db_open(&source->db, path);

	if (error == -MT_E_MAGIC)
		snprintf(source->message, sizeof(source->message), "%.400s: a database, but not one of memana", path);
	else if (error == -MT_E_VERSION)
		snprintf(source->message, sizeof(source->message),
			 "%.400s: made by another version of memana (run memana load again)", path);
	else if (error == -MT_E_CORRUPT)
		snprintf(source->message, sizeof(source->message), "%.400s: a damaged database (run memana load again)",
			 path);
	else if (error)
		fail(source, path, error);
	return error;
}

static struct {
	const char *path[SOURCE_RULES_MAX];
	uint32_t count;
} more_rules; /* of the command line */

int source_rules(const char *path)
{
	if (more_rules.count == SOURCE_RULES_MAX)
		return -MT_E_LIMIT;
	more_rules.path[more_rules.count++] = path;
	return 0;
}

static int load_rules(struct source *source)
{
	int error = mt_rules_new(&source->rules, source->message, sizeof(source->message));
	uint32_t i;

	for (i = 0; i < more_rules.count && !error; i++)
		error = mt_rules_load(source->rules, more_rules.path[i], source->message, sizeof(source->message));
	return error;
}

int source_open_traces(struct source *source, char *const *paths, uint32_t count)
{
	uint32_t i;
	int error;

	memset(source, 0, sizeof(*source));
	source->input = calloc((size_t)count + 1, sizeof(*source->input));
	if (!source->input)
		return fail(source, paths[0], -MT_E_MEMORY);
	error = load_rules(source);
	for (i = 0; i < count && !error; i++)
		error = open_trace(source, paths[i]);
	return error;
}

int source_open(struct source *source, char *const *paths, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (db_is_database(paths[i]))
			break;
	if (i == count)
		return source_open_traces(source, paths, count);
	memset(source, 0, sizeof(*source));
	if (more_rules.count) {
		snprintf(source->message, sizeof(source->message),
			 "%.400s: a database has its phases already (give --rules to memana load)", paths[i]);
		return -MT_E_ARGUMENT;
	}
	if (count == 1)
		return open_database(source, paths[i]);
	snprintf(source->message, sizeof(source->message), "%.400s: a database stands alone (name one, or only traces)",
		 paths[i]);
	return -MT_E_ARGUMENT;
}

void source_release(struct source *source)
{
	uint32_t i;

	for (i = 0; i < source->inputs; i++)
		mt_reader_free(source->input[i].reader);
	free(source->input);
	mt_rules_free(source->rules);
	db_close(source->db);
	memset(source, 0, sizeof(*source));
}
