/* The parts of a run that formats share: a pass over its events, and the range that was asked for. */
#include <string.h>
#include "export.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"

void export_run_release(struct export_run *run)
{
	if (run->db != run->source.db)
		db_close(run->db);
	run->db = NULL;
	run->has_steps = run->has_lives = 0;
	analysis_release(&run->analysis);
	memset(&run->analysis, 0, sizeof(run->analysis));
}

void export_rewind(struct export_run *run)
{
	uint32_t i;

	export_run_release(run);
	for (i = 0; i < run->source.inputs; i++)
		mt_reader_rewind(run->source.input[i].reader);
}

int export_pass(struct export_run *run, const struct analysis_sink *sink)
{
	if (run->source.db)
		return -MT_E_ARGUMENT;
	export_rewind(run);
	return analysis_run(&run->analysis, run->source.input, run->source.inputs, run->source.rules, sink);
}

/* ---- the range --------------------------------------------------------------------------------------------------- */

int export_has_range(const struct export_run *run)
{
	const struct export_options *options = run->options;

	return options->since != EXPORT_NO_TIME || options->until != EXPORT_NO_TIME || options->first_step;
}

struct steps {
	struct export_run *run;
	struct export_range range;
	int found;
};

static void add_step(struct steps *steps, int64_t first, int64_t last)
{
	if (!steps->found || first < steps->range.first)
		steps->range.first = first;
	if (!steps->found || last > steps->range.last)
		steps->range.last = last;
	steps->found = 1;
}

static int take_step(void *context, uint32_t number, const struct mt_event *event)
{
	struct steps *steps = context;
	const struct export_options *options = steps->run->options;
	const struct analysis_process *process = &steps->run->analysis.process[number];

	if (event->value >= options->first_step && event->value <= options->last_step)
		add_step(steps, process->step_time, analysis_time(process, event->time));
	return 0;
}

static int ask_steps(struct steps *steps, struct db *db)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt,
			       "SELECT min(begin_time), max(end_time) FROM step WHERE step BETWEEN ?1 AND ?2");

	if (error)
		return error;
	db_bind(stmt, 1, steps->run->options->first_step);
	db_bind(stmt, 2, steps->run->options->last_step);
	error = db_step(stmt);
	if (error == 1 && db_type(stmt, 0) != DB_NULL)
		add_step(steps, db_int(stmt, 0), db_int(stmt, 1));
	db_finish(stmt);
	return error < 0 ? error : 0;
}

int export_find_range(struct export_run *run, struct export_range *range)
{
	struct steps steps = { .run = run };
	const struct analysis_sink sink = { .context = &steps, .step = take_step };
	int error = 0;

	*range = (struct export_range){ INT64_MIN, INT64_MAX };
	if (run->options->since != EXPORT_NO_TIME)
		range->first = run->options->since;
	if (run->options->until != EXPORT_NO_TIME)
		range->last = run->options->until;
	if (!run->options->first_step)
		return 0;
	if (run->source.db)
		error = ask_steps(&steps, run->source.db);
	else
		error = run->has_steps ? ask_steps(&steps, run->db) : export_pass(run, &sink);
	if (error)
		return error;
	if (!steps.found)
		return -MT_E_ARGUMENT;
	range->first = steps.range.first > range->first ? steps.range.first : range->first;
	range->last = steps.range.last < range->last ? steps.range.last : range->last;
	return 0;
}
