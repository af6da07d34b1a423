#include "export_moment.h"

#include <stdlib.h>
#include "facts/facts.h"
#include "memtrace/error.h"
#include "report/report.h"
#include "report/top/top_at.h"
#include "store/load.h"
#include "store/store.h"

int export_store_peak(struct export_run *run)
{
	int error = db_create(&run->db, NULL, schema_sql);

	if (!error)
		error = store_summary(run->db, &run->analysis, 0);
	if (!error)
		error = load_places(run->db, run->symbols);
	return error;
}

/*
 * Makes run->db a database in memory with all sites and their bytes at the peak, as memana top does. The source must be
 * traces. Returns 0 or -MT_E_x.
 */
static int export_load_peak(struct export_run *run)
{
	int error;

	export_rewind(run);
	error = facts_run(&run->analysis, run->source.input, run->source.inputs, run->source.rules);
	return error ? error : export_store_peak(run);
}

static int load_parts_of(struct export_run *run, enum load_parts parts)
{
	int error;

	export_rewind(run);
	error = report_database(&run->db);
	if (!error)
		error = load_run(run->db, &run->analysis, run->source.input, run->source.inputs, run->source.rules,
				 parts);
	if (!error)
		error = load_names(run->db);
	return error ? error : db_commit(run->db);
}

int export_load(struct export_run *run, enum load_parts parts)
{
	int error;

	if (run->source.db) {
		run->db = run->source.db;
		return 0;
	}
	if (run->has_lives)
		return 0;
	error = load_parts_of(run, parts);
	if (error == -MT_E_BUSY) { /* a free failed: only lives, and not sums, can undo it */
		parts = LOAD_LIVES;
		error = load_parts_of(run, parts);
	}
	run->has_steps = !error;
	run->has_lives = !error && parts >= LOAD_LIVES;
	return error;
}

/* ---- other moments ----------------------------------------------------------------------------------------------- */

int export_load_at(struct export_run *run, const int64_t *times, size_t count)
{
	const struct load_instants instants = { times, count };
	int error;

	if (run->source.db) {
		run->db = run->source.db;
		return 0;
	}
	export_rewind(run);
	error = report_database(&run->db);
	if (!error)
		error = load_run_at(run->db, &run->analysis, run->source.input, run->source.inputs, run->source.rules,
				    &instants);
	if (!error)
		error = load_names(run->db);
	run->has_steps = !error;
	return error ? error : db_commit(run->db);
}

/* Loads the lives at a moment. The time of a step or an error must be found before, by a pass of its own. */
static int load_moment(struct export_run *run, const struct moment *moment)
{
	int64_t *times = NULL;
	size_t count = 0;
	int error;

	if (moment->kind == MOMENT_TIME)
		return export_load_at(run, &moment->time, 1);
	error = export_load(run, LOAD_STEPS);
	if (!error && !run->source.db && !run->has_lives)
		error = load_moments(run->db, &run->analysis, LOAD_LIVES);
	if (!error)
		error = top_at_times(run->db, moment, &times, &count);
	if (!error && count)
		error = export_load_at(run, times, count);
	free(times);
	return error;
}

int export_moment(struct export_run *run, const struct moment *moment)
{
	int is_peak = moment->kind == MOMENT_PEAK, there, error = 0;

	if (run->source.db)
		run->db = run->source.db;
	else if (!is_peak)
		error = load_moment(run, moment);
	else if (!run->db)
		error = export_load_peak(run);
	if (error)
		return error;
	there = top_at(run->db, moment);
	return there < 0 ? there : there ? 0 : -MT_E_ARGUMENT;
}
