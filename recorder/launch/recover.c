/* recover.c - folds a ring that a dead collector left behind into a complete trace. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "collect/collect.h"
#include "collect/output.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "memtrace/reader.h"
#include "run/say.h"
#include "run/target.h"
#include "shared/textbuf.h"

/* The mode of the file at `path`; without a file, the mode by the user's umask. */
static mode_t mode_for(const char *path)
{
	struct stat st;
	mode_t mask;

	if (!stat(path, &st))
		return st.st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* Makes an empty file beside `path`, to be renamed to `path` later. */
static int make_beside(char *temporary, const char *path)
{
	int fd, error, n = snprintf(temporary, MEMREC_PATH_MAX, "%s.XXXXXX", path);

	if (n < 0 || n >= (int)MEMREC_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -MT_E_SYSTEM;
	}
	fd = mkstemp(temporary);
	if (fd < 0)
		return -MT_E_SYSTEM;
	error = fchmod(fd, mode_for(path)) ? -MT_E_SYSTEM : 0;
	close(fd);
	return error;
}

/* Folds trace and ring into the file `temporary`. `trace_path` NULL: the ring has no trace yet. */
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
	return error;
}

/* Removes the unfinished new file of a collector that died while --keep made one (memtrace/writer.h). */
static void forget_unfinished(const char *trace_path)
{
	char path[MEMREC_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s" MT_KEEP_SUFFIX, trace_path);

	if (n > 0 && n < (int)sizeof(path))
		unlink(path);
}

/* Renames `temporary` to `out_path`. An older file becomes FILE.old, unless the new file has all of its events. */
static int take_name(const char *temporary, const char *trace_path, const char *out_path)
{
	int same = trace_path && !strcmp(trace_path, out_path);

	if (!same && output_keep_old(out_path))
		return -MT_E_SYSTEM;
	if (!rename(temporary, out_path))
		return 0;
	if (!same)
		output_restore_old(out_path);
	return -MT_E_SYSTEM;
}

/* Folds trace (NULL: none) and ring into one file. The file replaces `out_path` by rename, after success. */
static int recover_into(const char *ring_path, const char *trace_path, const char *out_path, struct run_result *result)
{
	struct mt_fold_summary summary = { .events = 0 };
	char temporary[MEMREC_PATH_MAX];
	int error = make_beside(temporary, out_path);

	if (error)
		return error;
	error = fold_into(ring_path, trace_path, temporary, &summary);
	if (!error)
		error = take_name(temporary, trace_path, out_path);
	if (error) {
		int saved = errno;

		unlink(temporary);
		errno = saved;
		return error;
	}
	run_result_summary(result, &summary);
	snprintf(result->trace, sizeof(result->trace), "%s", out_path);
	if (trace_path && !strcmp(trace_path, out_path))
		forget_unfinished(trace_path);
	return 0;
}

static void result_of(struct run_result *result, const struct ring_header *header)
{
	memset(result, 0, sizeof(*result));
	result->pid = header->pid;
	result->rank = header->rank;
}

/* 1: the trace is a regular file with content. */
static int has_begun(const char *trace_path)
{
	struct stat st;

	return !stat(trace_path, &st) && S_ISREG(st.st_mode) && st.st_size;
}

static int recover_own(const char *ring_path, const struct ring_header *header, struct run_result *result)
{
	char trace_path[MEMREC_PATH_MAX];

	if (!rundir_own_trace(ring_path, trace_path, sizeof(trace_path)) || !has_begun(trace_path))
		return collect_ring(ring_path, result);
	result_of(result, header);
	return recover_into(ring_path, trace_path, trace_path, result);
}

int recover_ring(const char *ring_path, struct run_result *result)
{
	struct ring_header *header = malloc(sizeof(*header));
	int lock, error = header ? rundir_read_header(ring_path, header) : -MT_E_MEMORY;

	if (!error) {
		lock = rundir_lock_ring(ring_path);
		error = lock < 0 ? lock : 0;
		if (!error && target_runs((pid_t)header->pid, header->start_ticks))
			error = -MT_E_BUSY;
		if (!error)
			error = recover_own(ring_path, header, result);
		if (!error && rundir_is_spent(result))
			unlink(ring_path);
		if (lock >= 0)
			close(lock);
	}
	free(header);
	return error;
}

/* Reads the first 8 bytes of a file, and fills up a shorter file with 0. Returns 0 or -1. */
static int read_magic(const char *path, char magic[8])
{
	int fd = rundir_open_file(path), error;

	memset(magic, 0, 8);
	error = fd < 0 || read(fd, magic, 8) < 0 ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

static int is_ring(const char *path)
{
	char magic[8];

	return !read_magic(path, magic) && !memcmp(magic, RING_MAGIC, sizeof(magic));
}

#define RING_SUFFIX ".ring"

/* Length of `path` without the suffix .ring; 0: `path` does not have this suffix. */
static size_t ring_stem(const char *path)
{
	size_t size = strlen(path), cut = sizeof(RING_SUFFIX) - 1;

	return size > cut && !strcmp(path + size - cut, RING_SUFFIX) ? size - cut : 0;
}

/* The agent writes the magic after all other words of the header, so an unfinished ring has none. */
int recover_is_unborn(const char *ring_path)
{
	static const char none[8];
	char magic[8];

	return ring_stem(ring_path) && !read_magic(ring_path, magic) && !memcmp(magic, none, sizeof(magic));
}

/* The files of one `memrec recover FILE`. */
struct job {
	const char *file; /* name as the user wrote it */
	char ring_path[MEMREC_PATH_MAX];
	char trace_path[MEMREC_PATH_MAX]; /* trace of the ring; "": none */
	char out_path[MEMREC_PATH_MAX];   /* file to write; "": not chosen yet */
	struct ring_header header;
	struct run_result result;
};

/* A trace's process and ring, and whether it is complete. */
struct trace_facts {
	char ring_path[MEMREC_PATH_MAX]; /* path of the ring; "": none */
	char boot_id[40], host[65];
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
	snprintf(facts->host, sizeof(facts->host), "%s", process->host);
	facts->pid = process->pid;
	facts->start_monotonic = process->start_monotonic;
	while (!error && count)
		error = mt_reader_next(reader, &events, &count, &checkpoint);
	facts->complete = mt_reader_state(reader)->complete;
	mt_reader_free(reader);
	return 0;
}

/* 1: ring and trace are of one recording. Each knows the other only by its path, which another file may have by now. */
static int belong_together(const struct trace_facts *facts, const struct ring_header *header)
{
	return header->pid == facts->pid && header->start_monotonic == facts->start_monotonic &&
	       !strcmp(header->boot_id, facts->boot_id);
}

/*
 * 1: the ring may belong to the trace. A trace can name any file, so the ring must belong to the user or to the owner
 * of the trace.
 */
static int may_be_ring_of(const char *trace_path, const char *ring_path)
{
	struct stat trace, ring;

	return ring_stem(ring_path) && !lstat(ring_path, &ring) && S_ISREG(ring.st_mode) && !stat(trace_path, &trace) &&
	       (ring.st_uid == geteuid() || ring.st_uid == trace.st_uid);
}

/* Finds the ring of a trace. Returns 0; -MT_E_MISSING: the ring is gone; or the error of rundir_read_header. */
static int find_ring(struct job *job, const char *trace_path, const struct trace_facts *facts)
{
	int error = may_be_ring_of(trace_path, facts->ring_path) ? rundir_read_header(facts->ring_path, &job->header)
								 : -MT_E_MISSING;

	if (error == -MT_E_SYSTEM && errno == ENOENT)
		return -MT_E_MISSING;
	if (!error && !belong_together(facts, &job->header))
		return -MT_E_MISSING; /* a ring of another recording */
	snprintf(job->ring_path, sizeof(job->ring_path), "%s", facts->ring_path);
	return error;
}

/*
 * 1: the trace is from another machine: host name and boot id both differ. The host name alone differs in a container,
 * and the boot id alone differs after a restart.
 */
static int is_of_elsewhere(const struct trace_facts *facts)
{
	struct utsname name = { .nodename = "" };
	char boot_id[40];

	uname(&name);
	textbuf_read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	boot_id[strcspn(boot_id, "\n")] = '\0';
	return *boot_id && *facts->boot_id && *facts->host && strcmp(boot_id, facts->boot_id) != 0 &&
	       strcmp(name.nodename, facts->host) != 0;
}

static void say_no_ring(const struct job *job, const struct trace_facts *facts)
{
	if (is_of_elsewhere(facts))
		say("%s: its ring is not on this machine (recorded on %s: run memrec recover there)", job->file,
		    facts->host);
	else
		say("%s: its ring is gone (memana reads the trace up to where it ends)", job->file);
}

/* Prepares the job for a FILE that is a trace. 0: fold its ring; 1: *status is set, and the message is printed. */
static int from_trace(struct job *job, const char *path, int *status)
{
	struct trace_facts facts = { .pid = 0 };
	int error = read_trace(path, &facts);

	*status = mt_exit_code(error);
	if (error) {
		say("%s: cannot read it: %s", job->file, say_why(error, errno));
		return 1;
	}
	error = find_ring(job, path, &facts);
	if (error == -MT_E_MISSING && !facts.complete)
		(void)read_trace(path, &facts); /* the collector may have closed the trace after the first look */
	if (!error) {
		snprintf(job->trace_path, sizeof(job->trace_path), "%s", path);
		if (!*job->out_path)
			snprintf(job->out_path, sizeof(job->out_path), "%s", path);
		return 0;
	}
	if (error != -MT_E_MISSING) {
		say("%s: its ring cannot be read: %s: %s", job->file, facts.ring_path, say_why(error, errno));
		*status = mt_exit_code(error);
	} else if (facts.complete) {
		say("%s: is complete (nothing to recover)", job->file);
		*status = MEMREC_EXIT_OK;
	} else {
		say_no_ring(job, &facts);
		*status = MEMREC_EXIT_SYSTEM;
	}
	return 1;
}

/*
 * Prepares the job for a FILE that is a ring. A ring may be hostile: its texts and the link beside it do not choose the
 * file to write. The new trace lies beside the ring, or has the name of -o. The trace at the end of the link is read if
 * it belongs to this ring.
 */
static int from_ring(struct job *job, const char *path)
{
	size_t stem = ring_stem(path);
	struct trace_facts facts = { .pid = 0 };
	int error = rundir_read_header(path, &job->header);

	snprintf(job->ring_path, sizeof(job->ring_path), "%s", path);
	if (error)
		return error;
	if (!rundir_get_trace(path, job->trace_path, sizeof(job->trace_path)) || !has_begun(job->trace_path) ||
	    read_trace(job->trace_path, &facts) || !belong_together(&facts, &job->header))
		*job->trace_path = '\0';
	if (*job->out_path)
		return 0;
	if (!stem)
		stem = strlen(path);
	if ((size_t)snprintf(job->out_path, sizeof(job->out_path), "%.*s.zst", (int)stem, path) >=
	    sizeof(job->out_path))
		return -MT_E_LIMIT;
	return 0;
}

#define PATIENCE_MS 1000 /* longest wait for a collector, and for a process that does not seem to end */
#define ENDING_MS 60000  /* longest wait for a process that seems to end: perhaps only its first thread has ended */
#define LOOK_MS 50

/*
 * Waits for the process and its collector. A killed process exists until it has given back its memory. Its collector
 * then writes the last events. Returns the descriptor with the ring's lock, or an error (-MT_E_BUSY: the wait was too
 * short).
 */
static int wait_and_lock(const struct job *job, struct target *target)
{
	int waited, lock;

	for (waited = 0; target_alive(target); waited += LOOK_MS) {
		if (waited >= (target_is_ending(target) ? ENDING_MS : PATIENCE_MS))
			return -MT_E_BUSY;
		target_wait(target, LOOK_MS);
	}
	lock = rundir_lock_ring(job->ring_path);
	for (waited = 0; lock == -MT_E_BUSY && waited < PATIENCE_MS; waited += LOOK_MS) {
		poll(NULL, 0, LOOK_MS);
		lock = rundir_lock_ring(job->ring_path);
	}
	return lock;
}

static int do_job(struct job *job)
{
	struct target target;
	int lock, error;

	target_init(&target, (pid_t)job->header.pid, job->header.start_ticks);
	lock = wait_and_lock(job, &target);
	if (lock == -MT_E_BUSY && target_alive(&target))
		say("%s: its process is still running (wait for its end, or end it)", job->file);
	else if (lock == -MT_E_BUSY)
		say("%s: its collector is still writing (wait for its end)", job->file);
	target_release(&target);
	if (lock < 0)
		return lock;
	result_of(&job->result, &job->header);
	error = recover_into(job->ring_path, *job->trace_path ? job->trace_path : NULL, job->out_path, &job->result);
	if (!error && rundir_is_spent(&job->result))
		unlink(job->ring_path);
	close(lock);
	return error;
}

static int report(const struct job *job, int error)
{
	char dir[MEMREC_PATH_MAX];

	if (error == -MT_E_BUSY) /* the message is printed already */
		return MEMREC_EXIT_SYSTEM;
	if (error) {
		say("%s: cannot recover: %s (nothing was changed)", job->file, say_why(error, errno));
		return mt_exit_code(error);
	}
	summary_print(&job->result);
	if (*job->trace_path && strcmp(job->trace_path, job->out_path) != 0)
		say("%s, which had been begun, is part of it", summary_path(job->trace_path));
	if (job->result.error)
		return mt_exit_code((int)job->result.error);
	rundir_forget_ring(job->ring_path);
	output_dir(dir, job->ring_path);
	rundir_clean(dir);
	return MEMREC_EXIT_OK;
}

static int recover_file(struct job *job, const char *path)
{
	char trace[MEMREC_PATH_MAX];
	int status, error;

	if (recover_is_unborn(path)) {
		say("%s: its process was killed before it recorded anything (nothing to recover)", job->file);
		return MEMREC_EXIT_OK;
	}
	if (!is_ring(path)) {
		if (from_trace(job, path, &status))
			return status;
		error = do_job(job);
		/* The collector was alive, and has removed the ring after the last event. */
		if (error == -MT_E_SYSTEM && errno == ENOENT && from_trace(job, path, &status))
			return status;
		return report(job, error);
	}
	error = from_ring(job, path);
	if (!error)
		error = do_job(job);
	if (error == -MT_E_SYSTEM && errno == ENOENT && *job->trace_path) { /* the collector has removed the ring */
		snprintf(trace, sizeof(trace), "%s", job->trace_path);
		job->file = trace;
		if (from_trace(job, trace, &status))
			return status;
	}
	return report(job, error);
}

/* Makes job->out_path from the value of -o. Its folder must exist; the file need not. */
static int choose_output(struct job *job, const char *name)
{
	char folder[MEMREC_PATH_MAX], *whole;
	const char *base = strrchr(name, '/');
	int n;

	output_dir(folder, name);
	whole = realpath(folder, NULL);
	base = base ? base + 1 : name;
	n = whole ? snprintf(job->out_path, sizeof(job->out_path), "%s/%s", strcmp(whole, "/") ? whole : "", base) : -1;
	free(whole);
	return n > 0 && (size_t)n < sizeof(job->out_path) && *base ? 0 : -MT_E_SYSTEM;
}

static void print_help(void)
{
	printf("usage: memrec recover [-o FILE] FILE\n\nFolds the ring that a killed collector left behind into a complete trace.\n"
	       "FILE is the trace, or the ring.\n\n"
	       "  -o, --output FILE   where the complete trace goes (default: in place of the trace, or beside the ring);\n"
	       "                      an older file is kept as FILE.old\n"
	       "  -h, --help          this text\n");
}

/* Returns the operand FILE; NULL: *status is set, and the help or a message is printed. */
static const char *read_recover_arguments(int argc, char **argv, const char **output, int *status)
{
	static const struct option words[] = { { "output", required_argument, NULL, 'o' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int letter;

	opterr = 0;
	*status = MEMREC_EXIT_OK;
	while ((letter = getopt_long(argc, argv, "o:h", words, NULL)) != -1) {
		if (letter == 'h') {
			print_help();
			return NULL;
		}
		if (letter != 'o')
			break;
		*output = optarg;
	}
	if (letter == -1 && optind + 1 == argc && argv[optind][0])
		return argv[optind];
	say("recover: one FILE is needed (memrec recover [-o FILE] FILE)");
	*status = MEMREC_EXIT_USAGE;
	return NULL;
}

int recover_main(int argc, char **argv)
{
	const char *output = NULL, *file;
	struct job *job;
	char *path;
	int status;

	say_outlive_readers(NULL);
	file = read_recover_arguments(argc, argv, &output, &status);
	if (!file)
		return status;
	path = realpath(file, NULL);
	job = calloc(1, sizeof(*job));
	if (!path || !job) {
		say("%s: %s", file, strerror(errno));
		status = MEMREC_EXIT_SYSTEM;
	} else if (output && choose_output(job, output)) {
		say("%s: %s", output, strerror(errno));
		status = MEMREC_EXIT_SYSTEM;
	} else {
		job->file = file;
		status = recover_file(job, path);
	}
	free(path);
	free(job);
	return status;
}
