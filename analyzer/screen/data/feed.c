#include "feed.h"
#include "feed_facts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/progress.h"
#include "base/text.h"
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/failed/failures.h"
#include "source/partial_file.h"
#include "store/store.h"
#include "timeline/inflow.h"

struct feed {
	struct model *model;
	struct source *source;
	struct analysis analysis;
	struct inflow inflow;
	struct db *db;  /* the summary */
	int summarized; /* 1: no part of the feed uses the summary any more. Under the model's lock */
	struct oom_failures failures;
	int64_t looked_at; /* ns: time of the last check whether the recordings run */
	pthread_t thread;
	int running; /* 1: the thread must be waited for */
	/* The model and the inflow of the exact tape, while the screen shows a first picture from facts. */
	struct model exact;
	int (*batch)(void *context, uint32_t process, uint64_t events, uint64_t bytes);
};

/* ---- facts known before the first event ---- */

static int add_processes(struct model *model, const struct source *source)
{
	struct model_process process = { 0 };
	const struct mt_process *info;
	uint32_t i;
	int error = 0;

	for (i = 0; i < source->inputs && !error; i++) {
		info = mt_reader_process(source->input[i].reader);
		process.pid = info->pid;
		process.rank = info->rank;
		process.file = model_text(model, source->input[i].file);
		error = process.file ? model_add_process(model, &process) : -MT_E_MEMORY;
		model->bytes_total += mt_reader_state(source->input[i].reader)->file_bytes;
	}
	return error;
}

/* ---- the end ---- */

/* Sets the number of a device, as people count devices. */
static int take_number(void *context, const struct query_device *row)
{
	struct model *model = context;

	model_lock(model);
	if (row->id > 0 && row->id <= model->devices)
		model->device[row->id - 1].number = (uint32_t)row->number;
	model_unlock(model);
	return 0;
}

/* Writes the faults of the traces, in report_damage's words. */
static void say_damage(struct feed *feed)
{
	const struct analysis_process *where;
	const struct analysis_loss *missing;
	char *trouble = feed->model->trouble, events[64];
	size_t size = sizeof(feed->model->trouble);
	int error = analysis_damage(&feed->analysis, &where);

	if (!error)
		return;
	missing = &where->loss[MT_LOSS_DAMAGED];
	model_lock(feed->model);
	if (missing->records)
		snprintf(trouble, size, "%.100s: %s at byte %lu (%s missing, everything else is shown)", where->file,
			 mt_strerror(error), (unsigned long)where->state->error_offset,
			 text_count(events, sizeof(events), missing->count, "event"));
	else
		snprintf(trouble, size, "%.100s: %s at byte %lu (everything before is shown)", where->file,
			 mt_strerror(error), (unsigned long)where->state->error_offset);
	model_unlock(feed->model);
}

/* Writes why the rest could not be read. */
static void say_failure(struct feed *feed, int error)
{
	struct model *model = feed->model;

	model->error = feed->inflow.stopped ? 0 : error;
	if (feed->inflow.stopped)
		snprintf(model->trouble, sizeof(model->trouble), "reading was stopped");
	else if (feed->inflow.no_disk)
		snprintf(model->trouble, sizeof(model->trouble),
			 "%.80s: %s (TMPDIR names another folder for the timeline's temporary file)",
			 partial_file_folder(), strerror(feed->inflow.disk_errno));
	else
		snprintf(model->trouble, sizeof(model->trouble), "reading: %s", mt_strerror(error));
}

/*
 * Folds the driver's refusals into the errors that they caused, as in all reports. The rows of the database are in the
 * model's order.
 */
static void fold_ooms(struct model *model, const struct oom_failures *all)
{
	uint32_t i, kept = 0;

	model_lock(model);
	for (i = 0; i < model->ooms && i < all->count; i++)
		if (!all->failure[i].is_part) {
			model->oom[kept] = model->oom[i];
			model->oom[kept++].had = (uint8_t)all->failure[i].had;
		}
	model->ooms = kept;
	model_unlock(model);
}

/* Writes the sentences about the run and about missing parts of its traces. */
static int say_run(struct feed *feed, struct sentence *sentence)
{
	int error = verdict_say(sentence, feed->db, feed->model);

	return error ? error : verdict_unended(feed->model, feed->db);
}

/* Hands the summary over, with the verdict from it. */
static int show_summary(struct feed *feed, const struct sentence *sentence)
{
	struct model *model = feed->model;
	const char *verdict;

	model_lock(model);
	verdict = model_text(model, sentence->text);
	if (verdict)
		model->verdict = verdict;
	feed->summarized = verdict != NULL;
	model_unlock(model);
	return verdict ? 0 : -MT_E_MEMORY;
}

/* No lock is needed: until there is a summary, no other thread uses the database or the sentence. */
static int make_summary(struct feed *feed)
{
	struct sentence sentence = { 0 };
	int error = db_create(&feed->db, NULL, schema_sql);

	if (!error)
		error = store_summary(feed->db, &feed->analysis, 1);
	if (!error)
		error = query_devices(feed->db, take_number, feed->model);
	if (!error)
		error = oom_failures_load(&feed->failures, feed->db);
	if (!error) {
		fold_ooms(feed->model, &feed->failures);
		say_damage(feed);
		error = say_run(feed, &sentence);
	}
	return error ? error : show_summary(feed, &sentence);
}

static void finish(struct feed *feed, int error)
{
	struct model *model = feed->model;

	model_lock(model);
	if (error)
		say_failure(feed, error);
	else
		model->bytes_read = model->bytes_total;
	model->state = error ? MODEL_FAILED : MODEL_READ;
	model_unlock(model);
}

/* Opens a named database. The database takes the place of the summary. */
static void *run_database(void *context)
{
	struct feed *feed = context;
	struct sentence sentence = { 0 };
	int error = feed_database(feed->model, feed->source->db);

	feed->db = feed->source->db;
	if (!error)
		error = say_run(feed, &sentence);
	if (!error)
		error = show_summary(feed, &sentence);
	finish(feed, error);
	return NULL;
}

/* ---- traces that are being written ---- */

#define FOLLOW_MS 40      /* between two looks at the files */
#define RUNS_NS 300000000 /* between two checks of the processes */

/*
 * Waits between looks at the traces. A file is looked at some 25 times a second, by its size alone. The collector
 * writes twice a second, and its data are read while they are in the page cache.
 */
static int wait_for_more(void *context)
{
	struct feed *feed = context;
	const struct timespec pause = { .tv_nsec = FOLLOW_MS * 1000000 };
	int64_t now = progress_now();

	if (now - feed->looked_at >= RUNS_NS) {
		feed->looked_at = now;
		if (!source_is_written(feed->source))
			return 0;
	}
	nanosleep(&pause, NULL);
	return 1;
}

/* Ends following: the recording has ended, or goes on in another file. The facts so far stay. */
static void finish_following(struct feed *feed, int error)
{
	struct model *model = feed->model;

	model_lock(model);
	if (error && (error != -MT_E_BUSY || feed->inflow.stopped)) {
		say_failure(feed, error);
		model->state = MODEL_FAILED;
	}
	model->follow = error == -MT_E_BUSY ? MODEL_REPLACED : MODEL_OVER;
	model_unlock(model);
}

static void *follow(void *context)
{
	struct feed *feed = context;
	const struct source *source = feed->source;
	struct analysis_sink sink;
	int error, published;

	feed->inflow.wait = wait_for_more;
	feed->inflow.wait_context = feed;
	sink = inflow_sink(&feed->inflow, feed->model, &feed->analysis);
	error = analysis_run(&feed->analysis, source->input, source->inputs, source->rules, &sink);
	published = inflow_publish(&feed->inflow, 0);
	finish_following(feed, error ? error : published);
	inflow_release(&feed->inflow);
	analysis_release(&feed->analysis);
	return NULL;
}

static int read_events(struct feed *feed, const struct analysis_sink *sink)
{
	const struct source *source = feed->source;
	int error = analysis_run(&feed->analysis, source->input, source->inputs, source->rules, sink);
	int published = inflow_publish(&feed->inflow, error == 0);

	return error ? error : published;
}

/* ---- behind a first picture ---- */

static int pass_on(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct feed *feed = (struct feed *)((char *)context - offsetof(struct feed, inflow));

	model_lock(feed->model);
	feed->exact.stop = feed->model->stop;
	feed->model->bytes_read += bytes;
	model_unlock(feed->model);
	return feed->batch(context, process, events, bytes);
}

/* The summary is that of the facts: places have their names before the events are read. */
static int read_exact(struct feed *feed)
{
	struct analysis_sink sink;
	int error = make_summary(feed);

	analysis_release(&feed->analysis);
	feed->analysis = (struct analysis){ 0 };
	mt_reader_rewind(feed->source->input[0].reader);
	if (!error)
		error = model_init(&feed->exact);
	if (error)
		return error;
	error = add_processes(&feed->exact, feed->source);
	sink = inflow_sink(&feed->inflow, &feed->exact, &feed->analysis);
	feed->batch = sink.batch;
	sink.batch = pass_on;
	if (!error)
		error = read_events(feed, &sink);
	fold_ooms(&feed->exact, &feed->failures);
	if (!error)
		error = feed_facts_replace(feed->model, &feed->exact);
	model_release(&feed->exact);
	return error;
}

static void *run(void *context)
{
	struct feed *feed = context;
	const struct source *source = feed->source;
	struct analysis_sink sink;
	int found = feed_facts(feed->model, &feed->analysis, source->input, source->inputs, source->rules);
	int error = found < 0 ? found : 0;

	if (found > 0) {
		error = read_exact(feed);
	} else if (!error) {
		sink = inflow_sink(&feed->inflow, feed->model, &feed->analysis);
		error = read_events(feed, &sink);
		if (!error)
			error = make_summary(feed);
	}
	finish(feed, error);
	inflow_release(&feed->inflow);
	analysis_release(&feed->analysis);
	return NULL;
}

/* ---- the thread ---- */

/*
 * Starts the thread. The thread blocks all signals except those of a crash: the screen handles signals. A file that is
 * too large (SIGXFSZ) is an ordinary error.
 */
static int start(struct feed *feed)
{
	static const int crash[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	sigset_t all, before;
	size_t i;
	int error;

	sigfillset(&all);
	for (i = 0; i < MT_ARRAY_SIZE(crash); i++)
		sigdelset(&all, crash[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&feed->thread, NULL,
			       feed->source->db        ? run_database
			       : feed->source->written ? follow
						       : run,
			       feed);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	feed->running = !error;
	return error ? -MT_E_SYSTEM : 0;
}

int feed_new(struct feed **feed, struct model *model, struct source *source)
{
	int error;

	*feed = calloc(1, sizeof(**feed));
	if (!*feed)
		return -MT_E_MEMORY;
	(*feed)->model = model;
	(*feed)->source = source;
	model_lock(model);
	error = add_processes(model, source);
	model->follow = source->written ? MODEL_FOLLOWS : MODEL_WHOLE;
	model_unlock(model);
	if (!error)
		error = start(*feed);
	if (error) {
		free(*feed);
		*feed = NULL;
	}
	return error;
}

void feed_wait(struct feed *feed)
{
	if (feed->running)
		pthread_join(feed->thread, NULL);
	feed->running = 0;
}

struct db *feed_summary(struct feed *feed)
{
	struct db *db;

	model_lock(feed->model);
	db = feed->summarized ? feed->db : NULL;
	model_unlock(feed->model);
	return db;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	model_lock(feed->model);
	feed->model->stop = 1;
	model_unlock(feed->model);
	feed_wait(feed);
	if (feed->db != feed->source->db)
		db_close(feed->db);
	oom_failures_release(&feed->failures);
	free(feed);
}
