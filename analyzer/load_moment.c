/* Instants with a name, as rows: where reports and people look at what was alive. */
#include <stdint.h>
#include "load_more.h"
#include "memtrace/base.h"
#include "store.h"

static int store_moment(struct db_stmt *stmt, const char *name, uint32_t process, uint32_t device, int64_t time,
			uint64_t seq)
{
	db_bind_text(stmt, 1, name);
	db_bind(stmt, 2, store_process_id(process));
	db_bind(stmt, 3, store_device_id(device));
	db_bind(stmt, 4, time);
	db_bind_unsigned(stmt, 5, seq);
	return db_run(stmt);
}

/* The ends of a process, on one device that it uses. */
static int store_ends(struct db_stmt *stmt, const struct analysis *analysis, uint32_t number, uint32_t device)
{
	const struct analysis_process *process = &analysis->process[number];
	int error = store_moment(stmt, "start", number, device, process->first_time, process->first_seq - 1);

	return error ? error : store_moment(stmt, "end", number, device, process->last_time, process->last_seq);
}

static int load_ends(struct db *db, const struct analysis *analysis)
{
	const struct analysis_device *device;
	struct db_stmt *stmt;
	uint32_t i, user;
	int error = db_prepare(db, &stmt, "INSERT INTO moment VALUES (?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->devices; i++) {
		device = &analysis->device[i];
		for (user = 0; user < device->users && !error; user++)
			if (analysis->process[device->user[user]].events)
				error = store_ends(stmt, analysis, device->user[user], i);
	}
	db_finish(stmt);
	return error;
}

int load_moments(struct db *db, const struct analysis *analysis)
{
	static const char *const rest[] = {
		"INSERT INTO moment SELECT 'step:' || step || ':end', process, device, end_time, end_seq "
		"FROM step JOIN step_device USING (process, step) ORDER BY process, step, device",
		"INSERT INTO moment SELECT 'step:' || step, peak_process, device, peak_time, peak_seq FROM (SELECT *, "
		"row_number() OVER (PARTITION BY step, device ORDER BY peak_bytes DESC, peak_tensor_bytes DESC, peak_time, "
		"process) AS place FROM step_device WHERE (process, step) IN (SELECT process, step FROM phase_span)) "
		"WHERE place = 1 ORDER BY step, device",
		"INSERT INTO moment SELECT 'phase:' || phase, process, device, time, seq FROM phase_peak ORDER BY device, phase",
		"INSERT INTO moment SELECT 'oom:' || id, process, device, time, seq FROM oom ORDER BY id",
		"INSERT INTO moment SELECT 'oom', process, device, time, seq FROM oom "
		"WHERE id IN (SELECT max(id) FROM oom GROUP BY device) ORDER BY device",
		"INSERT INTO moment SELECT 'peak', process, device, time, seq FROM peak ORDER BY device",
	};
	size_t i;
	int error = load_ends(db, analysis);

	for (i = 0; i < MT_ARRAY_SIZE(rest) && !error; i++)
		error = db_execute(db, rest[i]);
	return error;
}
