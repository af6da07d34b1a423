/*
 * clerk_load.c - the whole run in a temporary database, as the commands that answer from one have it (asked.h), but
 * silently, and given up as soon as the screen is closed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "clerk_impl.h"
#include "clerk_query.h"
#include "memtrace/error.h"
#include "report/asked.h"
#include "source/source.h"
#include "store/load.h"
#include "store/store.h"

static int hear_of_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct clerk *clerk = context;

	(void)process, (void)events;
	clerk->done += bytes;
	return clerk->stop ? -MT_E_BUSY : 0;
}

static int compare_site(void *context, struct db_stmt *row)
{
	struct model *model = ((struct clerk *)context)->model;
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

/* Sites are numbered in the order in which they come: the same traces give the same numbers. */
static int check_sites(struct clerk *clerk, char *why, size_t why_size)
{
	int error = clerk_query_sites(clerk->db, compare_site, clerk);

	if (error == -MT_E_CORRUPT)
		snprintf(why, why_size, "the traces have changed since they were read (leave, and open them again)");
	return error;
}

static int fill(struct clerk *clerk, struct source *source)
{
	const struct load_watch watch = { .context = clerk, .batch = hear_of_batch };
	struct analysis analysis = { 0 };
	int error = asked_database(&clerk->db);

	if (error)
		return error;
	db_watch(clerk->db, clerk_stops, clerk);
	error = load_run_watched(clerk->db, &analysis, source->input, source->inputs, source->rules, &watch);
	analysis_release(&analysis);
	if (!error)
		error = load_names(clerk->db);
	if (!error)
		error = clerk_query_prepare(clerk->db);
	return error ? error : db_commit(clerk->db);
}

static void say_why(struct clerk *clerk, int error, char *why, size_t why_size)
{
	if (error == -MT_E_SPACE)
		snprintf(why, why_size, "no space left for a temporary database (TMPDIR names a folder with more)");
	else
		snprintf(why, why_size, "a temporary database could not be made: %s",
			 error == -MT_E_SYSTEM ? strerror(errno)
			 : error == -MT_E_SQL  ? db_message(clerk->db)
					       : mt_strerror(error));
}

int clerk_load(struct clerk *clerk, char *why, size_t why_size)
{
	struct source source;
	uint64_t total = 0;
	uint32_t i;
	int error = source_open(&source, clerk->paths, clerk->count);

	if (error) {
		snprintf(why, why_size, "%s", source.message);
	} else if (source.db) { /* a connection of its own: the other one is the summary's */
		clerk->db = source.db;
		source.db = NULL;
	} else {
		for (i = 0; i < source.inputs; i++)
			total += mt_reader_state(source.input[i].reader)->file_bytes;
		clerk->done = 0;
		clerk->total = total;
		error = fill(clerk, &source);
		if (error)
			say_why(clerk, error, why, why_size);
		else
			error = check_sites(clerk, why, why_size);
	}
	source_release(&source);
	return error;
}
