#include "export_moment.h"

#include "memtrace/error.h"
#include "report/report.h"
#include "report/top/top_at.h"
#include "store/load.h"
#include "store/store.h"

/* The peak needs sums alone: a database in memory, as of memana top. */
static int load_peak(struct export_run *run)
{
	int error = export_pass(run, NULL);

	if (!error)
		error = db_create(&run->db, NULL, schema_sql);
	if (!error)
		error = store_summary(run->db, &run->analysis, 0);
	if (!error)
		error = load_places(run->db, run->symbols);
	return error;
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
	if (error == -MT_E_BUSY) { /* sums cannot undo a free that failed */
		parts = LOAD_LIVES;
		error = load_parts_of(run, parts);
	}
	run->has_steps = !error;
	run->has_lives = !error && parts >= LOAD_LIVES;
	return error;
}

int export_moment(struct export_run *run, const struct moment *moment)
{
	int is_peak = moment->kind == MOMENT_PEAK, there, error = 0;

	if (is_peak && !run->source.db && !run->db)
		error = load_peak(run);
	else if (run->source.db || !is_peak) /* other moments are looked for in the lives of all allocations */
		error = export_load(run, LOAD_LIVES);
	if (error)
		return error;
	there = top_at(run->db, moment);
	return there < 0 ? there : there ? 0 : -MT_E_ARGUMENT;
}
