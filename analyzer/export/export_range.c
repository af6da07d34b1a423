/* export_range.c - finds the part of a run that --since, --until and --steps name. */
#include "export_moment.h"

#include "database/db.h"
#include "memtrace/error.h"

int export_has_range(const struct export_run *run)
{
	const struct export_options *options = run->options;

	return options->since != EXPORT_NO_TIME || options->until != EXPORT_NO_TIME || options->first_step;
}

/* Cuts the range to the time of the steps. -MT_E_ARGUMENT: none of the steps ended. */
static int find_steps(struct export_run *run, struct export_range *range)
{
	struct db_stmt *stmt;
	int error = export_load(run, LOAD_STEPS), found = 0;

	if (error)
		return error;
	error = db_first(run->db, &stmt, "SELECT min(begin_time), max(end_time) FROM step WHERE step BETWEEN ?1 AND ?2",
			 DB_NUMBERS(run->options->first_step, run->options->last_step));
	if (error == 1 && db_type(stmt, 0) != DB_NULL) {
		found = 1;
		range->first = db_int(stmt, 0) > range->first ? db_int(stmt, 0) : range->first;
		range->last = db_int(stmt, 1) < range->last ? db_int(stmt, 1) : range->last;
	}
	db_finish(stmt);
	return error < 0 ? error : found ? 0 : -MT_E_ARGUMENT;
}

int export_find_range(struct export_run *run, struct export_range *range)
{
	*range = (struct export_range){ INT64_MIN, INT64_MAX };
	if (run->options->since != EXPORT_NO_TIME)
		range->first = run->options->since;
	if (run->options->until != EXPORT_NO_TIME)
		range->last = run->options->until;
	return run->options->first_step ? find_steps(run, range) : 0;
}
