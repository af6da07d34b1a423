/*
 * worker_load.c - loads the whole run into a temporary database, as commands do (report.h), but silently. The load ends
 * as soon as the screen is closed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"
#include "report/report.h"
#include "report/steps/retained.h"
#include "source/source.h"
#include "store/load.h"
#include "store/store.h"
#include "worker_impl.h"
#include "worker_query.h"

static int hear_of_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct worker *worker = context;

	(void)process, (void)events;
	worker->done += bytes;
	if (worker->serve_early)
		worker->serve_early(worker);
	return worker->stop ? -MT_E_BUSY : 0;
}

static int compare_site(void *context, struct db_stmt *row)
{
	struct model *model = ((struct worker *)context)->model;
	const struct model_site *site;
	int64_t number = db_int(row, 0);
	int same = 1;

	model_lock(model);
	if (number > 0 && number < model->sites) { /* a program that still runs may have made more */
		site = &model->site[number];
		same = store_process_id(site->process) == db_int(row, 1) &&
		       store_device_id(site->device) == db_int(row, 2) &&
		       store_id(site->process, site->stack) == db_int(row, 3) &&
		       !strcmp(mt_phase_name(site->phase), db_text(row, 4));
	}
	model_unlock(model);
	return same ? 0 : -MT_E_CORRUPT;
}

/*
 * Checks that the database numbers sites as the model does. Sites are numbered in order of appearance: the same traces
 * give the same numbers.
 */
static int check_sites(struct worker *worker, char *why, size_t why_size)
{
	int error = worker_query_sites(worker->db, compare_site, worker);

	if (error == -MT_E_CORRUPT)
		snprintf(why, why_size, "the traces have changed since they were read (leave, and open them again)");
	return error;
}

/* Loads into a new database. After an error *db is to be closed, too. */
static int fill(struct worker *worker, struct source *source, enum load_parts parts, struct db **db)
{
	const struct load_watch watch = { .context = worker, .quiet = 1, .batch = hear_of_batch };
	struct analysis analysis = { 0 };
	int error = report_database(db);

	if (error)
		return error;
	db_watch(*db, worker_stops, worker);
	error = load_run_watched(*db, &analysis, source->input, source->inputs, source->rules, parts, &watch);
	analysis_release(&analysis);
	if (!error)
		error = load_names(*db);
	if (!error && parts == LOAD_TIMELINE)
		error = worker_query_prepare(*db);
	return error ? error : db_commit(*db);
}

static void say_why(struct worker *worker, int error, char *why, size_t why_size)
{
	if (error == -MT_E_SPACE)
		snprintf(why, why_size, "no space left for a temporary database (TMPDIR names a folder with more)");
	else
		snprintf(why, why_size, "a temporary database could not be made: %s",
			 error == -MT_E_SYSTEM ? strerror(errno)
			 : error == -MT_E_SQL  ? db_message(worker->db)
					       : mt_strerror(error));
}

int worker_load(struct worker *worker, char *why, size_t why_size)
{
	struct source source;
	uint64_t total = 0;
	uint32_t i;
	int error = source_open_live(&source, worker->paths, worker->count, worker->follow);

	if (error) {
		snprintf(why, why_size, "%s", source.message);
	} else if (source.db) { /* a second connection: the first is the summary's */
		worker->db = source.db;
		source.db = NULL;
	} else {
		for (i = 0; i < source.inputs; i++)
			total += mt_reader_state(source.input[i].reader)->file_bytes;
		worker->done = 0;
		worker->total = total;
		error = fill(worker, &source, LOAD_TIMELINE, &worker->db);
		if (error)
			say_why(worker, error, why, why_size);
		else
			error = check_sites(worker, why, why_size);
	}
	source_release(&source);
	return error;
}

void worker_load_early(struct worker *worker)
{
	struct source source;
	int error = source_open_live(&source, worker->paths, worker->count, worker->follow), needed = 1;

	if (!error && !source.db)
		error = fill(worker, &source, LOAD_BATCHES, &worker->early);
	if (!error && worker->early)
		needed = retained_needs_lives(worker->early);
	if (error || needed)
		worker_drop_early(worker);
	source_release(&source);
}

void worker_drop_early(struct worker *worker)
{
	db_close(worker->early);
	worker->early = NULL;
}
