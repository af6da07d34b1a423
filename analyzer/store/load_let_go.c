/* Rows for steps whose events a flight recorder dropped. The trace still has the records of these steps. */
#include <string.h>
#include "load_sink.h"
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/summary.h"
#include "store.h"

struct filling {
	const struct analysis *analysis;
	struct db_stmt *insert;
	uint32_t process;
	struct {
		uint64_t peak;
		uint32_t phase;
	} highest[MT_LEDGER_DEVICES]; /* by id, since the newest step ended; a failed request has a record, too */
};

/* Returns the run's device for an id of the process; UINT32_MAX: unknown. */
static uint32_t device_of(const struct analysis *analysis, uint32_t process, uint32_t id)
{
	const struct mt_defs *defs = analysis->process[process].defs;
	const struct mt_device *own = mt_defs_device(defs, id);
	const char *uuid = own ? mt_defs_string(defs, own->uuid) : "";
	const struct analysis_device *device;
	uint32_t i, user;

	for (i = 0; i < analysis->devices && own; i++) {
		device = &analysis->device[i];
		for (user = 0; user < device->users && device->user[user] != process; user++)
			;
		if (user < device->users && device->kind == own->kind &&
		    (*uuid ? !strcmp(uuid, device->uuid) : device->index == own->index))
			return i;
	}
	return UINT32_MAX;
}

static int add_row(struct filling *filling, const struct mt_summary *record, const struct mt_summary_device *figures)
{
	struct db_stmt *stmt = filling->insert;
	uint32_t device = device_of(filling->analysis, filling->process, figures->device);

	if (device == UINT32_MAX)
		return 0;
	db_bind(stmt, 1, store_process_id(filling->process));
	db_bind(stmt, 2, store_device_id(device));
	db_bind(stmt, 3, record->step);
	db_bind(stmt, 4, record->steps);
	db_bind(stmt, 5, analysis_time(&filling->analysis->process[filling->process], record->time));
	db_bind_unsigned(stmt, 6, filling->highest[figures->device].peak);
	db_bind_text(stmt, 7, mt_phase_name(filling->highest[figures->device].phase));
	db_bind_unsigned(stmt, 8, figures->held);
	db_bind_unsigned(stmt, 9, figures->slack);
	db_bind_unsigned(stmt, 10, figures->tensors);
	return db_run(stmt);
}

static int take_record(void *context, const struct mt_summary *record)
{
	struct filling *filling = context;
	const struct mt_summary_device *figures;
	uint32_t i;
	int error = 0;

	for (i = 0; i < record->devices && !error; i++) {
		figures = &record->device[i];
		if (figures->device >= MT_LEDGER_DEVICES)
			continue;
		if (figures->peak >= filling->highest[figures->device].peak) {
			filling->highest[figures->device].peak = figures->peak;
			filling->highest[figures->device].phase = figures->peak_phase;
		}
		if (record->why != MT_SUMMARY_STEP)
			continue;
		error = add_row(filling, record, figures);
		filling->highest[figures->device].peak = 0;
	}
	return error;
}

int load_let_go(struct db *db, const struct analysis *analysis, const struct analysis_input *input)
{
	struct filling filling = { .analysis = analysis };
	uint32_t *process = &filling.process;
	int error = db_prepare(db, &filling.insert, "INSERT INTO step_let_go VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (*process = 0; *process < analysis->processes && !error; ++*process) {
		memset(filling.highest, 0, sizeof(filling.highest));
		if (analysis->process[*process].cuts)
			error = mt_reader_summaries(input[*process].reader, take_record, &filling);
	}
	db_finish(filling.insert);
	if (error)
		return error;
	/* A kept step has figures of its own: delete the row of several steps if all of them were kept. */
	return db_execute(db,
			  "DELETE FROM step_let_go WHERE (process, step) IN (SELECT process, step FROM step) AND "
			  "(steps = 1 OR steps = (SELECT count(*) FROM step WHERE step.process = step_let_go.process "
			  "AND step.step BETWEEN step_let_go.step - steps + 1 AND step_let_go.step))");
}
