/*
 * strays.c - finds traces and processes of a run outside of the run's folder: see gather.h. An environment is hostile
 * input: memrec only looks for the name of the run in it. memrec opens no file of another user: any user who sees the
 * run's folder could write a trace that names the run.
 */
#include "gather.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/output.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/reader.h"
#include "memtrace/refusals.h"
#include "run/rundir.h"

/* ---- the content of a trace ---- */

static int is_of_run(const struct mt_process *process, const char *run_dir)
{
	struct memrec_options *options = malloc(sizeof(*options));
	int is = options && process->options && !memrec_options_decode(options, process->options) &&
		 !strcmp(options->run_dir, run_dir);

	free(options);
	return is;
}

/* Counts the figures of memrec's last line in the same way as a collector. */
struct count {
	struct run_result *result;
	struct mt_ledger *ledger;
	struct mt_refusals refusals;
};

static int count_event(struct count *count, const struct mt_event *event)
{
	struct mt_ledger_change change;
	struct run_result *result = count->result;
	int64_t held;

	if (mt_ledger_event(count->ledger, event, 0, 0, 0, &change))
		return -MT_E_MEMORY;
	held = event->device < MT_LEDGER_DEVICES ? (int64_t)mt_ledger_held(count->ledger, (uint32_t)event->device) : 0;
	if (held > result->peak_bytes)
		result->peak_bytes = held;
	result->steps += event->kind == MT_STEP;
	mt_refusals_event(&count->refusals, event);
	return 0;
}

static int count_events(struct mt_reader *reader, struct run_result *result)
{
	struct count count = { .result = result, .ledger = mt_ledger_new(NULL, NULL) };
	const struct mt_event *events;
	size_t size, i;
	int batch, error = count.ledger ? 0 : -MT_E_MEMORY;

	while (!error && !(error = mt_reader_next(reader, &events, &size, &batch)) && size) {
		if (batch == MT_BATCH_REPEAT)
			continue;
		if (batch == MT_BATCH_ANEW)
			mt_ledger_clear(count.ledger);
		for (i = 0; i < size && !error; i++)
			error = count_event(&count, &events[i]);
	}
	mt_refusals_end(&count.refusals);
	result->ooms = (int64_t)count.refusals.failed;
	result->survived = (int64_t)count.refusals.survived;
	result->events = (int64_t)mt_reader_state(reader)->events;
	result->lost = (int64_t)mt_reader_state(reader)->lost;
	result->bytes = (int64_t)mt_reader_state(reader)->file_bytes;
	mt_ledger_free(count.ledger);
	return error;
}

/* 1: the file is a trace of the run, and *stray is filled in. */
static int read_trace(struct stray *stray, const char *path, const char *run_dir)
{
	struct mt_reader *reader;
	int lock, is;

	memset(stray, 0, sizeof(*stray));
	if (mt_reader_open(&reader, path))
		return 0;
	is = is_of_run(mt_reader_process(reader), run_dir);
	if (is) {
		snprintf(stray->result.trace, sizeof(stray->result.trace), "%s", path);
		stray->result.pid = mt_reader_process(reader)->pid;
		stray->result.rank = mt_reader_process(reader)->rank;
		lock = filelock_open(path, 0);
		stray->is_written = lock == -MT_E_BUSY;
		if (!stray->is_written)
			is = !count_events(reader, &stray->result);
		if (lock >= 0)
			close(lock);
	}
	mt_reader_free(reader);
	return is;
}

/* ---- Folders ---- */

struct search {
	const char *run_dir;
	struct timespec since;
	int (*is_known)(void *context, const char *path);
	void (*visit)(void *context, const struct stray *stray);
	void *context;
};

/*
 * 1: the file changed after the command began. A trace of this user names its run, so whole seconds are enough: the
 * clock of a file server may differ a little. A file of another user is not opened, so the nanoseconds count, unless
 * the file system has none.
 */
static int is_recent(const struct search *search, const struct stat *st)
{
	const struct timespec *since = &search->since, *changed = &st->st_mtim;

	if (changed->tv_sec != since->tv_sec)
		return changed->tv_sec > since->tv_sec;
	return st->st_uid == geteuid() || !changed->tv_nsec || changed->tv_nsec >= since->tv_nsec;
}

static void tell_foreign(const struct search *search, const char *path)
{
	struct stray *stray = calloc(1, sizeof(*stray));

	if (stray) {
		stray->is_foreign = 1;
		snprintf(stray->result.trace, sizeof(stray->result.trace), "%s", path);
		search->visit(search->context, stray);
	}
	free(stray);
}

/* Visits a file if it is a stray. `begins_as`: beginning of the name that a trace of another user must have. */
static void look_at(const struct search *search, const char *path, const char *name, const char *begins_as)
{
	struct stray *stray = search->is_known(search->context, path) ? NULL : malloc(sizeof(*stray));
	struct stat st;

	if (stray && !lstat(path, &st) && S_ISREG(st.st_mode) && is_recent(search, &st)) {
		if (st.st_uid != geteuid() && !strncmp(name, begins_as, strlen(begins_as)))
			tell_foreign(search, path);
		else if (st.st_uid == geteuid() && read_trace(stray, path, search->run_dir))
			search->visit(search->context, stray);
	}
	free(stray);
}

/* Looks at all files of the folder, and closes `dir`. `dir` may be NULL. */
static void look_in(const struct search *search, const char *folder, DIR *dir, const char *begins_as)
{
	char path[PATH_MAX];
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < (int)sizeof(path))
			look_at(search, path, entry->d_name, begins_as);
	if (dir)
		closedir(dir);
}

/* Looks into a folder that a collector made. If the folder is another user's, only its name is reported. */
static void look_in_fallback(const struct search *search, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	DIR *dir = NULL;

	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid())
		dir = fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	if (dir)
		look_in(search, folder, dir, "");
	else if (!lstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid != geteuid() && is_recent(search, &st))
		tell_foreign(search, folder);
}

/* Looks into all folders below output_fallback() that collectors made in place of the trace's folder. */
static void look_in_fallbacks(const struct search *search)
{
	static const size_t size = sizeof(OUTPUT_FALLBACK_PREFIX "XXXXXX") - 1; /* as mkdtemp names them */
	char path[PATH_MAX];
	struct dirent *entry;
	const char *parent = output_fallback();
	DIR *dir = opendir(parent);

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, OUTPUT_FALLBACK_PREFIX, strlen(OUTPUT_FALLBACK_PREFIX)) &&
		    strlen(entry->d_name) == size &&
		    snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) < (int)sizeof(path))
			look_in_fallback(search, path);
	if (dir)
		closedir(dir);
}

/* Gets the beginning that all names of traces for this pattern have in common. */
static void beginning_of(char *begins_as, const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *base = slash ? slash + 1 : pattern, *dot = strrchr(base, '.');
	size_t size = strcspn(base, "%");

	if (dot && (size_t)(dot - base) < size)
		size = (size_t)(dot - base);
	snprintf(begins_as, MEMREC_PATH_MAX, "%.*s", (int)size, base);
}

void strays_each(const char *pattern, const char *run_dir, struct timespec since,
		 int (*is_known)(void *context, const char *path),
		 void (*visit)(void *context, const struct stray *stray), void *context)
{
	struct search search = { run_dir, since, is_known, visit, context };
	char folder[MEMREC_PATH_MAX], begins_as[MEMREC_PATH_MAX];

	output_dir(folder, pattern);
	beginning_of(begins_as, pattern);
	if (!strchr(folder, '%'))
		look_in(&search, folder, opendir(folder), begins_as);
	look_in_fallbacks(&search);
}

/* ---- Processes ---- */

#define EXEC_MS 50

size_t proc_read(long pid, const char *file, char *text, size_t size)
{
	char path[64];
	size_t used = 0;
	ssize_t got = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[used] = '\0';
	return used;
}

void proc_name(long pid, char *name, size_t size)
{
	proc_read(pid, "comm", name, size);
	name[strcspn(name, "\n")] = '\0';
}

void proc_each(void (*visit)(void *context, long pid), void *context)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	long pid;

	while (dir && (entry = readdir(dir))) {
		pid = isdigit((unsigned char)entry->d_name[0]) ? strtol(entry->d_name, NULL, 10) : 0;
		if (pid > 0 && pid != getpid())
			visit(context, pid);
	}
	if (dir)
		closedir(dir);
}

long proc_number(const char *text)
{
	size_t size = strspn(text, "0123456789");

	return *text >= '1' && size < 10 && !text[size] ? strtol(text, NULL, 10) : 0;
}

/* Returns word number `n` (from 0); each word ends in NUL. NULL: there are fewer words. */
static const char *word(const char *words, size_t size, int n)
{
	const char *at = words, *end = words + size;

	while (at < end && n--)
		at += strlen(at) + 1;
	return at < end ? at : NULL;
}

/* 1: the command is "memrec --collect RING RUN_DIR", and RING is outside of the run's folder. */
static int is_collector(const char *command, size_t size, const char *run_dir)
{
	const char *option = word(command, size, 1), *ring = word(command, size, 2), *run = word(command, size, 3);

	return run && !strcmp(option, "--collect") && !strcmp(run, run_dir) &&
	       strncmp(ring, run_dir, strlen(run_dir)) != 0;
}

struct collectors {
	const char *run_dir;
	size_t count;
	char *text; /* PROC_FILE_MAX bytes */
};

static void count_collector(void *context, long pid)
{
	struct collectors *collectors = context;
	size_t size = proc_read(pid, "cmdline", collectors->text, PROC_FILE_MAX);

	collectors->count += (size_t)is_collector(collectors->text, size, collectors->run_dir);
}

size_t strays_collectors(const char *run_dir)
{
	struct collectors collectors = { run_dir, 0, malloc(PROC_FILE_MAX) };

	if (collectors.text)
		proc_each(count_collector, &collectors);
	free(collectors.text);
	return collectors.count;
}

/* The options have "run-dir=PATH" at any position, so a search for PATH finds the run. */
int proc_names_run(const char *environment, size_t size, const char *run_dir)
{
	const char *at = environment, *end = environment + size;

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, MEMREC_OPTIONS_VARIABLE "=", sizeof(MEMREC_OPTIONS_VARIABLE)) && strstr(at, run_dir))
			return 1;
	return 0;
}

struct going_on {
	const char *run_dir;
	void (*visit)(void *context, long pid, const char *name);
	void *context;
	int found;
	char *text; /* PROC_FILE_MAX bytes */
};

static void visit_going_on(void *context, long pid)
{
	struct going_on *going_on = context;
	size_t size = proc_read(pid, "environ", going_on->text, PROC_FILE_MAX);
	char name[PROC_NAME_MAX];

	if (!proc_names_run(going_on->text, size, going_on->run_dir))
		return;
	proc_name(pid, name, sizeof(name));
	going_on->found = 1;
	going_on->visit(going_on->context, pid, name);
}

void strays_processes(const char *run_dir, void (*visit)(void *context, long pid, const char *name), void *context)
{
	struct going_on going_on = { run_dir, visit, context, 0, malloc(PROC_FILE_MAX) };

	if (going_on.text)
		proc_each(visit_going_on, &going_on);
	if (going_on.text && !going_on.found) {
		poll(NULL, 0, EXEC_MS); /* during exec, the environment of a process cannot be read */
		proc_each(visit_going_on, &going_on);
	}
	free(going_on.text);
}
