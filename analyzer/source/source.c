#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text.h"
#include "live.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "partial_file.h"
#include "runs.h"
#include "snapshot.h"
#include "spool.h"

static int is_empty(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !status.st_size;
}

static int fail(struct source *source, const char *path, int error)
{
	const char *words = error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error);

	if (error == -MT_E_TRUNCATED && is_empty(path))
		words = "empty, not a trace";
	snprintf(source->message, sizeof(source->message), "%.400s: %s", path, words);
	return error;
}

/* ---- left-over rings ---- */

/* Opens and locks the ring against collectors. -1: there is no ring, or a collector works on it. */
static int lock_ring(const struct mt_process *process)
{
	struct ring_header *header = malloc(sizeof(*header));
	int fd = header ? live_open_ring(process, header) : -1;

	free(header);
	if (fd >= 0 && !flock(fd, LOCK_SH | LOCK_NB))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Replaces the reader of `trace` by a reader that has the ring's events, too. A ring that cannot be added is left out.
 */
static void complete(struct source *source, struct mt_reader **reader, const char *trace, const char *ring)
{
	char path[4096];
	struct mt_reader *completed;

	if (partial_file_temporary(path, sizeof(path)))
		return;
	if (!mt_fold_recover(trace, ring, source->rules, path, NULL) && !mt_reader_open(&completed, path)) {
		mt_reader_free(*reader);
		*reader = completed;
	}
	unlink(path);
	partial_file_end();
}

/* ---- opening ---- */

/* Opens regular files only. Folders are no traces, and opening a pipe would wait for a writer. */
static int open_reader(struct mt_reader **reader, const char *path)
{
	struct stat status;

	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return -MT_E_MAGIC;
	return mt_reader_open(reader, path);
}

/*
 * Whether two traces are of one process, perhaps under two names: its bytes would count twice. A snapshot does not name
 * its process: the name of its file (the command of its trace) stands for the process.
 */
static int is_same(const struct mt_process *one, const struct mt_process *two)
{
	return one->pid == two->pid && one->start_monotonic == two->start_monotonic &&
	       !strcmp(one->boot_id, two->boot_id) &&
	       (one->pid || !strcmp(text_base_name(one->command), text_base_name(two->command)));
}

/* Returns 1 if the process is open already, and *key is useless. Returns 0 if *key is free for the process. */
static int is_open_already(const struct source *source, const struct mt_process *process, struct tuple *key)
{
	uint32_t i;

	*key = (struct tuple){ { process->pid, process->start_monotonic, tuple_text(process->boot_id),
				 process->pid ? 0 : tuple_text(text_base_name(process->command)) } };
	while ((i = tuple_find(&source->process, key)) != TUPLE_NONE) {
		if (is_same(mt_reader_process(source->input[i].reader), process))
			return 1;
		key->at[3]++;
	}
	return 0;
}

#define FILES_OPEN_MOST 128u

/* Number of traces that stay open: an eighth of the descriptors. Other traces are opened for each chunk. */
static uint32_t files_open_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return limit.rlim_cur / 8 < FILES_OPEN_MOST ? (uint32_t)(limit.rlim_cur / 8) : FILES_OPEN_MOST;
}

/* Adds an input. The input owns the reader. */
static int add_input(struct source *source, const char *path, struct mt_reader *reader, int running)
{
	struct analysis_input *larger = source->input;
	uint32_t inputs = source->inputs;
	struct tuple key;

	if (is_open_already(source, mt_reader_process(reader), &key)) {
		snprintf(source->message, sizeof(source->message), "%.400s: this process was named already", path);
		mt_reader_free(reader);
		return -MT_E_ARGUMENT;
	}
	if (!(inputs & (inputs - 1))) /* at a power of two (and at 0) all room is used */
		larger = realloc(source->input, (inputs ? 2 * (size_t)inputs : 1) * sizeof(*larger));
	if (larger)
		source->input = larger;
	if (!larger || tuple_add(&source->process, &key, source->inputs)) {
		mt_reader_free(reader);
		return fail(source, path, -MT_E_MEMORY);
	}
	source->input[source->inputs++] = (struct analysis_input){ .file = path, .reader = reader, .running = running };
	return 0;
}

static int open_snapshot(struct source *source, const char *path)
{
	struct mt_import_summary summary;
	struct mt_reader *reader;
	char why[256];
	int error = snapshot_open(&reader, path, source->rules, &summary);

	if (error) {
		snprintf(source->message, sizeof(source->message), "%.400s: %.100s", path,
			 snapshot_why(why, sizeof(why), error, &summary));
		return error;
	}
	error = add_input(source, path, reader, 0);
	if (!error && summary.damage && !source->damage) {
		source->damage = summary.damage;
		snprintf(source->damaged, sizeof(source->damaged),
			 "%.400s: %s at byte %llu (everything before is in the answer)", path,
			 mt_strerror(summary.damage), (unsigned long long)summary.damage_offset);
	}
	return error;
}

static int open_trace(struct source *source, const char *path)
{
	struct mt_reader *reader;
	int error, ring, running;

	if (snapshot_is_pickle(path))
		return open_snapshot(source, path);
	error = open_reader(&reader, path);
	if (error && db_is_database(path))
		snprintf(source->message, sizeof(source->message), "%.400s: a database, not a trace (name the trace)",
			 path);
	else if (error)
		fail(source, path, error);
	if (error)
		return error;
	running = live_is_written(path, mt_reader_process(reader), source->follow == SOURCE_PATIENTLY);
	if (source->follow && running) {
		source->written++;
		return add_input(source, path, reader, 1);
	}
	ring = lock_ring(mt_reader_process(reader));
	if (ring >= 0) {
		complete(source, &reader, path, mt_reader_process(reader)->ring_path);
		close(ring);
	} else if (!running && source->inputs >= files_open_most()) {
		mt_reader_rest(reader, path);
	}
	return add_input(source, path, reader, running);
}

/* ---- folders ---- */

/*
 * Whether a file of a folder may be left out: no trace, or a process that is open already. A damaged trace is an error.
 */
static int may_be_left_out(const char *path, int error)
{
	if (error == -MT_E_MAGIC || error == -MT_E_ARGUMENT)
		return 1;
	if (snapshot_is_pickle(path))
		return error == -MT_E_REFUSED || error == -MT_E_CORRUPT || error == -MT_E_VERSION;
	return is_empty(path);
}

#define SKIPPED_NAMED 3u

static void say_skipped(struct source *source, const char *folder, const char *const *name, uint32_t count)
{
	char *text = source->skipped;
	size_t size = sizeof(source->skipped);
	uint32_t i;
	int at;

	if (!count)
		return;
	at = snprintf(text, size, "%.200s: ignored (no trace, or a second trace of one process): ", folder);
	for (i = 0; i < count && i < SKIPPED_NAMED; i++)
		at += snprintf(text + at, size - (size_t)at, "%s%.60s", i ? ", " : "", name[i]);
	if (count > SKIPPED_NAMED)
		snprintf(text + at, size - (size_t)at, " and %u more", count - SKIPPED_NAMED);
}

static int open_files(struct source *source, const char *path, const struct folder *folder)
{
	const char *skipped[SKIPPED_NAMED];
	uint32_t i, left_out = 0;
	int error = 0;

	for (i = 0; i < folder->count && !error; i++) {
		error = open_trace(source, folder->path[i]);
		/* A recording writes the first chunk of a trace at once: the file was empty a moment ago, and is a trace now. */
		if (error == -MT_E_TRUNCATED && !is_empty(folder->path[i]))
			error = open_trace(source, folder->path[i]);
		if (!error || !may_be_left_out(folder->path[i], error))
			continue;
		error = 0;
		if (left_out++ < SKIPPED_NAMED)
			skipped[left_out - 1] = text_base_name(folder->path[i]);
	}
	if (error)
		return error;
	say_skipped(source, path, skipped, left_out);
	if (left_out < folder->count)
		return 0;
	snprintf(source->message, sizeof(source->message),
		 left_out ? "%.300s: no trace is in this folder (other files: %u)"
			  : "%.300s: an empty folder (memrec -o FOLDER/trace.zst -- COMMAND records into one)",
		 path, left_out);
	return -MT_E_MAGIC;
}

static int open_folder(struct source *source, const char *path)
{
	struct folder *larger = realloc(source->folder, ((size_t)source->folders + 1) * sizeof(*larger));
	int error;

	if (!larger)
		return fail(source, path, -MT_E_MEMORY);
	source->folder = larger;
	error = folder_list(&larger[source->folders++], path);
	return error ? fail(source, path, error) : open_files(source, path, &larger[source->folders - 1]);
}

/* ---- databases ---- */

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
} more_rules; /* rules files of the command line */

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

/* ---- runs ---- */

static int take_all; /* --all was given */

void source_take_all(void)
{
	take_all = 1;
}

/* Time of the newest event, ns since 1970; 0: unknown. */
static int64_t last_of(const struct analysis_input *input)
{
	const struct mt_process *process = mt_reader_process(input->reader);
	uint32_t i, count;
	const struct mt_chunk_info *chunk = mt_reader_chunks(input->reader, &count);
	uint64_t last = 0;

	if (input->running)
		return INT64_MAX;
	for (i = 0; i < count; i++)
		if (!chunk[i].error && chunk[i].last_time > last)
			last = chunk[i].last_time;
	if (process->snapshot & MT_SNAPSHOT_NO_TIMES || !process->start_realtime)
		return 0;
	if (last < process->start_monotonic)
		return (int64_t)process->start_realtime;
	last = last - process->start_monotonic + process->start_realtime;
	return last < INT64_MAX ? (int64_t)last : INT64_MAX - 1;
}

static void leave_out(struct source *source, const struct runs_trace *trace, uint32_t newest)
{
	uint32_t i, kept = 0;

	for (i = 0; i < source->inputs; i++) {
		if (trace[i].of == newest) {
			source->input[kept++] = source->input[i];
			continue;
		}
		mt_reader_free(source->input[i].reader);
		source->left_out[source->left_outs++] = source->input[i].file;
	}
	source->inputs = kept;
}

#define OTHERS_NAMED 3u

static void say_others(struct source *source, uint32_t others, int snapshots)
{
	char *text = source->others;
	size_t size = sizeof(source->others);
	uint32_t i;
	int at = 0;

	for (i = 0; i < source->left_outs && i < OTHERS_NAMED; i++)
		at += snprintf(text + at, size - (size_t)at, "%s%.100s", i ? ", " : "", source->left_out[i]);
	if (source->left_outs > OTHERS_NAMED)
		at += snprintf(text + at, size - (size_t)at, " and %u more", source->left_outs - OTHERS_NAMED);
	snprintf(text + at, size - (size_t)at, ": %s%s, left out (--all takes all)",
		 snapshots ? "a snapshot next to a recording" : "of ",
		 !others       ? ""
		 : snapshots   ? ", or of another run"
		 : others == 1 ? "another run"
			       : "other runs");
}

/*
 * Leaves out snapshots next to recordings. Most are of a recorded process, or exports of a recording, and would count its memory twice. Returns 1 for
 * any such snapshot.
 */
static int leave_out_snapshots(struct source *source, struct runs_trace *trace)
{
	uint32_t i, snapshots = 0;

	for (i = 0; i < source->inputs; i++) {
		trace[i].of = mt_reader_process(source->input[i].reader)->snapshot != 0;
		snapshots += trace[i].of;
	}
	if (!snapshots || snapshots == source->inputs)
		return 0;
	leave_out(source, trace, 0);
	return 1;
}

/* Chooses the traces of the newest run: one answer is about one run. */
static int choose_run(struct source *source)
{
	struct runs_trace *trace = calloc((size_t)source->inputs + 1, sizeof(*trace));
	uint32_t i, newest = 0, runs = 0;
	int error = 0, snapshots = 0;

	source->left_out = calloc((size_t)source->inputs + 1, sizeof(*source->left_out));
	if (!trace || !source->left_out)
		error = -MT_E_MEMORY;
	else
		snapshots = leave_out_snapshots(source, trace);
	for (i = 0; i < source->inputs && !error; i++)
		trace[i] = (struct runs_trace){
			.run = mt_reader_process(source->input[i].reader)->run,
			.host = mt_reader_process(source->input[i].reader)->host,
			.first = (int64_t)mt_reader_process(source->input[i].reader)->start_realtime,
			.last = last_of(&source->input[i])
		};
	if (!error)
		error = runs_find(trace, source->inputs, &newest, &runs);
	if (!error && runs > 1)
		leave_out(source, trace, newest);
	if (!error && source->left_outs)
		say_others(source, runs - 1, snapshots);
	free(trace);
	return error ? fail(source, "traces", error) : 0;
}

/* ---- standard input ---- */

static int refuse_input(struct source *source, const char *why)
{
	snprintf(source->message, sizeof(source->message), SPOOL_PATH ": %s", why);
	return -MT_E_ARGUMENT;
}

/* Reads standard input to its end into a file. The file replaces standard input. Sets *source only if this failed. */
static int take_standard_input(struct source *source, char *const *paths, uint32_t count, enum source_follow follow)
{
	uint32_t i;
	int error;

	for (i = 0; i < count && strcmp(paths[i], SPOOL_PATH) != 0; i++)
		;
	if (i == count)
		return 0;
	error = follow ? -MT_E_ARGUMENT : spool_standard_input();
	if (error)
		memset(source, 0, sizeof(*source));
	if (follow)
		return refuse_input(source, "the keys come by standard input (write the trace to a file first)");
	if (error == -MT_E_ARGUMENT)
		return refuse_input(source, "a terminal, not a trace (ssh HOST cat trace.zst | memana top -)");
	if (error)
		return fail(source, SPOOL_PATH, error);
	if (!db_is_database(SPOOL_PATH))
		return 0;
	memset(source, 0, sizeof(*source));
	return refuse_input(source, "a database cannot be read from a pipe (name its file)");
}

/* ---- all of it ---- */

static int open_traces(struct source *source, char *const *paths, uint32_t count, enum source_follow follow)
{
	uint32_t i;
	int error;

	memset(source, 0, sizeof(*source));
	source->follow = follow;
	error = load_rules(source);
	for (i = 0; i < count && !error; i++)
		error = folder_is(paths[i]) ? open_folder(source, paths[i]) : open_trace(source, paths[i]);
	return error || take_all || source->inputs < 2 ? error : choose_run(source);
}

int source_open_traces(struct source *source, char *const *paths, uint32_t count)
{
	int error = take_standard_input(source, paths, count, SOURCE_WHOLE);

	return error ? error : open_traces(source, paths, count, SOURCE_WHOLE);
}

static int open_any(struct source *source, char *const *paths, uint32_t count, enum source_follow follow)
{
	uint32_t i;
	int error = take_standard_input(source, paths, count, follow);

	if (error)
		return error;
	for (i = 0; i < count; i++)
		if (db_is_database(paths[i]))
			break;
	if (i == count)
		return open_traces(source, paths, count, follow);
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

int source_open(struct source *source, char *const *paths, uint32_t count)
{
	return open_any(source, paths, count, SOURCE_WHOLE);
}

int source_open_live(struct source *source, char *const *paths, uint32_t count, enum source_follow follow)
{
	return open_any(source, paths, count, follow);
}

int source_is_written(const struct source *source)
{
	uint32_t i;

	for (i = 0; i < source->inputs; i++)
		if (live_is_written(source->input[i].file, mt_reader_process(source->input[i].reader),
				    source->follow == SOURCE_PATIENTLY))
			return 1;
	return 0;
}

static void know_database(struct db *db)
{
	struct db_stmt *stmt;

	if (db_first(db, &stmt,
		     "SELECT ifnull(min(has_times), 1), ifnull(max(has_history), 1), ifnull(max(history_cut), 0), "
		     "ifnull(max(recorded_by = 'pytorch'), 0) FROM process",
		     NULL) == 1) {
		text_known.times = db_int(stmt, 0) != 0;
		text_known.history = db_int(stmt, 1) != 0;
		text_known.cut = db_int(stmt, 2) != 0;
		text_known.snapshot = db_int(stmt, 3) != 0;
	}
	db_finish(stmt);
}

void source_know(const struct source *source)
{
	uint32_t i, snapshot;

	text_known = (struct text_known){ .times = 1, .history = !source->inputs };
	if (source->db)
		know_database(source->db);
	for (i = 0; i < source->inputs; i++) {
		snapshot = mt_reader_process(source->input[i].reader)->snapshot;
		text_known.times &= !(snapshot & MT_SNAPSHOT_NO_TIMES);
		text_known.history |=
			!(snapshot &
			  MT_SNAPSHOT_NO_HISTORY); /* a part without history has an empty one if another part has one */
		text_known.cut |= (snapshot & MT_SNAPSHOT_CUT) != 0;
		text_known.snapshot |= snapshot != 0;
	}
}

void source_release(struct source *source)
{
	uint32_t i;

	for (i = 0; i < source->inputs; i++)
		mt_reader_free(source->input[i].reader);
	free(source->input);
	tuple_release(&source->process);
	free(source->left_out);
	for (i = 0; i < source->folders; i++)
		folder_release(&source->folder[i]);
	free(source->folder);
	mt_rules_free(source->rules);
	db_close(source->db);
	memset(source, 0, sizeof(*source));
}
