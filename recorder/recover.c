/* recover.c - left-over rings. */
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "memtrace/reader.h"
#include "output.h"
#include "say.h"
#include "summary.h"
#include "target.h"

/* An empty file beside `path`, with its mode, for what will replace it. */
static int make_beside(char *temporary, const char *path)
{
	struct stat st;
	int fd, n = snprintf(temporary, MEMREC_PATH_MAX, "%s.XXXXXX", path);

	if (n < 0 || n >= (int)MEMREC_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -MT_E_SYSTEM;
	}
	if (stat(path, &st))
		return -MT_E_SYSTEM;
	fd = mkstemp(temporary);
	if (fd < 0)
		return -MT_E_SYSTEM;
	n = fchmod(fd, st.st_mode & 0777);
	close(fd);
	return n ? -MT_E_SYSTEM : 0;
}

static int fold_into(const char *ring_path, const char *trace_path, const char *temporary,
		     struct mt_fold_summary *summary)
{
	struct mt_rules *rules;
	char message[256];
	int error = mt_rules_new(&rules, message, sizeof(message));

	if (error)
		return error;
	error = mt_fold_recover(trace_path, ring_path, rules, temporary, summary);
	mt_rules_free(rules);
	if (!error && rename(temporary, trace_path))
		error = -MT_E_SYSTEM;
	return error;
}

/* With --keep a collector may have died while it made a new file of the old one (memtrace/writer.h). */
static void forget_unfinished(const char *trace_path)
{
	char path[MEMREC_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s" MT_KEEP_SUFFIX, trace_path);

	if (n > 0 && n < (int)sizeof(path))
		unlink(path);
}

/* The collector had begun a trace. */
static int recover_begun(const char *ring_path, const char *trace_path, struct run_result *result)
{
	struct mt_fold_summary summary = { .events = 0 };
	char temporary[MEMREC_PATH_MAX];
	int error = make_beside(temporary, trace_path);

	if (error)
		return error;
	error = fold_into(ring_path, trace_path, temporary, &summary);
	if (error) {
		int saved = errno;

		unlink(temporary);
		errno = saved;
		return error;
	}
	run_result_summary(result, &summary);
	snprintf(result->trace, sizeof(result->trace), "%s", trace_path);
	forget_unfinished(trace_path);
	return 0;
}

static int recover_locked(const char *ring_path, const char *trace_path, const struct ring_header *header,
			  struct run_result *result)
{
	char linked[MEMREC_PATH_MAX];
	struct stat st;

	if (target_runs((pid_t)header->pid, header->start_ticks))
		return -MT_E_BUSY;
	if (!trace_path && rundir_get_trace(ring_path, linked, sizeof(linked)) && !stat(linked, &st) && st.st_size)
		trace_path = linked;
	if (!trace_path)
		return collect_ring(ring_path, result);
	memset(result, 0, sizeof(*result));
	result->pid = header->pid;
	result->rank = header->rank;
	return recover_begun(ring_path, trace_path, result);
}

int recover_ring(const char *ring_path, const char *trace_path, struct run_result *result)
{
	struct ring_header *header = malloc(sizeof(*header));
	int lock, error = header ? rundir_read_header(ring_path, header) : -MT_E_MEMORY;

	if (!error) {
		lock = rundir_lock_ring(ring_path);
		error = lock < 0 ? lock : recover_locked(ring_path, trace_path, header, result);
		if (!error && rundir_is_spent(result))
			unlink(ring_path);
		if (lock >= 0)
			close(lock);
	}
	free(header);
	return error;
}

static int begins_with_ring_magic(const char *path)
{
	char magic[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC), is;

	if (fd < 0)
		return 0;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, RING_MAGIC, sizeof(magic));
	close(fd);
	return is;
}

/* What a trace says of its ring, and whether it needs one. */
struct trace_facts {
	char ring_path[MEMREC_PATH_MAX]; /* "": none */
	char boot_id[40];
	uint32_t pid;
	uint64_t start_monotonic;
	int complete;
};

static int read_trace(const char *path, struct trace_facts *facts)
{
	const struct mt_event *events;
	const struct mt_process *process;
	struct mt_reader *reader;
	size_t count = 1;
	int checkpoint, error = mt_reader_open(&reader, path);

	if (error)
		return error;
	process = mt_reader_process(reader);
	snprintf(facts->ring_path, sizeof(facts->ring_path), "%s", process->ring_path);
	snprintf(facts->boot_id, sizeof(facts->boot_id), "%s", process->boot_id);
	facts->pid = process->pid;
	facts->start_monotonic = process->start_monotonic;
	while (!error && count)
		error = mt_reader_next(reader, &events, &count, &checkpoint);
	facts->complete = mt_reader_state(reader)->complete;
	mt_reader_free(reader);
	return 0;
}

/* A trace names its ring by a path, and anything may lie there by now. 0, or why it is not the trace's ring. */
static int check_ring(const struct trace_facts *facts)
{
	struct ring_header *header = malloc(sizeof(*header));
	int error = header ? rundir_read_header(facts->ring_path, header) : -MT_E_MEMORY;

	if (!error && (header->pid != facts->pid || header->start_monotonic != facts->start_monotonic ||
		       strcmp(header->boot_id, facts->boot_id) != 0))
		error = -MT_E_MISSING; /* another recording's */
	if (error == -MT_E_SYSTEM && errno == ENOENT)
		error = -MT_E_MISSING;
	free(header);
	return error;
}

static int report(const char *file, const char *ring_path, int error, const struct run_result *result)
{
	char dir[MEMREC_PATH_MAX];

	if (error == -MT_E_BUSY) {
		say("%s: its process is still running (wait for its end, or end it)", file);
		return MEMREC_EXIT_SYSTEM;
	}
	if (error) {
		say("%s: cannot recover: %s (nothing was changed)", file, say_why(error, errno));
		return mt_exit_code(error);
	}
	summary_print(result);
	if (result->error)
		return mt_exit_code((int)result->error);
	rundir_forget_ring(ring_path);
	output_dir(dir, ring_path);
	rundir_clean(dir);
	return MEMREC_EXIT_OK;
}

static int recover_trace(const char *file, const char *trace_path, struct run_result *result)
{
	struct trace_facts facts = { .pid = 0 };
	int error = read_trace(trace_path, &facts);

	if (error) {
		say("%s: cannot read it: %s", file, say_why(error, errno));
		return mt_exit_code(error);
	}
	error = *facts.ring_path ? check_ring(&facts) : -MT_E_MISSING;
	if (error == -MT_E_MISSING && facts.complete) {
		say("%s: is complete (nothing to recover)", file);
		return MEMREC_EXIT_OK;
	}
	if (error == -MT_E_MISSING) {
		say("%s: its ring is gone (memana reads the trace up to where it ends)", file);
		return MEMREC_EXIT_SYSTEM;
	}
	if (error) {
		say("%s: its ring cannot be read: %s: %s", file, facts.ring_path, say_why(error, errno));
		return mt_exit_code(error);
	}
	error = recover_ring(facts.ring_path, trace_path, result);
	return report(file, facts.ring_path, error, result);
}

int recover_main(int argc, char **argv)
{
	struct run_result *result;
	char *path;
	int status;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		printf("usage: memrec recover FILE\n\nFolds the ring that a killed collector left behind into a complete trace.\n"
		       "FILE is the trace, or the ring.\n");
		return MEMREC_EXIT_OK;
	}
	if (argc != 2 || argv[1][0] == '-') {
		say("recover: one FILE is needed (memrec recover FILE)");
		return MEMREC_EXIT_USAGE;
	}
	path = realpath(argv[1], NULL);
	result = calloc(1, sizeof(*result));
	if (!path || !result) {
		say("%s: %s", argv[1], strerror(errno));
		status = MEMREC_EXIT_SYSTEM;
	} else if (begins_with_ring_magic(path)) {
		status = recover_ring(path, NULL, result);
		status = report(argv[1], path, status, result);
	} else {
		status = recover_trace(argv[1], path, result);
	}
	free(path);
	free(result);
	return status;
}
