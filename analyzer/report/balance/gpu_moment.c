#include "gpu_moment.h"

#include <stdlib.h>
#include "memtrace/error.h"
#include "report/answer.h"
#include "store/store.h"

struct samples {
	struct db *db;
	struct analysis analysis; /* processes and one device, as store_gpu_totals needs these */
	struct analysis_device device;
	uint32_t room;
	int error;
};

static int add_process(void *context, struct db_stmt *row)
{
	struct samples *samples = context;
	struct analysis *analysis = &samples->analysis;
	uint32_t room = analysis->processes ? 2 * samples->room : 8;
	void *grown;

	if (!analysis->processes || analysis->processes == samples->room) {
		grown = realloc(analysis->process, room * sizeof(*analysis->process));
		if (!grown)
			return -MT_E_MEMORY;
		analysis->process = grown;
		samples->room = room;
	}
	analysis->process[analysis->processes++] = (struct analysis_process){ .first_time = db_int(row, 1),
									      .last_time = db_int(row, 2),
									      .events = (uint64_t)db_int(row, 0) };
	return 0;
}

static int take_sample(struct samples *samples, const char *sql, int64_t process, int64_t device, int64_t time,
		       struct gpu_total_parts *parts)
{
	struct db_stmt *stmt;
	int known = db_first(samples->db, &stmt, sql, DB_NUMBERS(process, device, time)), cause;

	if (known == 1) {
		parts->sample = (struct gpu_total_sample){ .time = db_int(stmt, 0),
							   .used = (uint64_t)db_int(stmt, 1),
							   .total = (uint64_t)db_int(stmt, 2),
							   .own = (uint64_t)db_int(stmt, 3),
							   .own_known = db_type(stmt, 3) != DB_NULL };
		parts->held = (uint64_t)db_int(stmt, 4);
		for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
			parts->cause[cause] = db_int(stmt, 5 + cause);
		parts->unexplained = db_int(stmt, 5 + GPU_TOTAL_CAUSES);
		gpu_total_set_mixed(parts, db_int(stmt, 6 + GPU_TOTAL_CAUSES));
	}
	db_finish(stmt);
	return known;
}

#define SAMPLE                                                                                                 \
	"SELECT time, used_bytes, total_bytes, process_bytes, recorded_bytes, context_bytes, code_bytes, "     \
	"graph_bytes, pool_bytes, earlier_bytes, unexplained_bytes, mixed FROM gpu_sample WHERE process = ?1 " \
	"AND device = ?2 AND recorded_bytes IS NOT NULL AND time "

/* Returns 1 if the process uses the device or has sampled it, 0 if not; or an error. */
static int uses(struct db *db, int64_t process, int64_t device)
{
	int64_t used = 0;
	int error = db_number(db,
			      "SELECT 1 WHERE EXISTS (SELECT 1 FROM site WHERE process = ?1 AND device = ?2) OR EXISTS "
			      "(SELECT 1 FROM gpu_sample WHERE process = ?1 AND device = ?2)",
			      DB_NUMBERS(process, device), &used);

	return error ? error : (int)used;
}

/* Reads the samples of one process around the moment. */
static int add_user(struct samples *samples, uint32_t process, int64_t device, int64_t time)
{
	struct analysis_device *into = &samples->device;
	struct analysis_gpu_total *gpu = &into->gpu[into->users * ANALYSIS_PEAKS];
	int64_t id = (int64_t)samples->analysis.process[process].events;
	int used = uses(samples->db, id, device), after, before;

	if (used <= 0)
		return used;
	after = take_sample(samples, SAMPLE ">= ?3 ORDER BY time, rowid LIMIT 1", id, device, time, &gpu->after);
	before = after < 0 ? 0
			   : take_sample(samples, SAMPLE "< ?3 ORDER BY time DESC, rowid DESC LIMIT 1", id, device,
					 time, &gpu->before);
	gpu->peak_time = time;
	gpu->after_known = after == 1;
	gpu->before_known = before == 1 && (after || samples->analysis.process[process].last_time >= time);
	into->user[into->users++] = process;
	return after < 0 ? after : before < 0 ? before : 0;
}

/* Gives the rows an id that no device has. The rows were stored with the id of the first device. */
static int name_device(struct db *db, int64_t device)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "UPDATE temp.gpu_total SET device = -?1 WHERE device = ?2");

	if (error)
		return error;
	db_bind(stmt, 1, device);
	db_bind(stmt, 2, store_device_id(0));
	error = db_run(stmt);
	db_finish(stmt);
	return error;
}

/* Stores the rows of one device, then sets their id. */
static int add_device(void *context, struct db_stmt *row)
{
	struct samples *samples = context;
	const struct analysis *analysis = &samples->analysis;
	struct analysis_device *device = &samples->device;
	uint32_t i;
	int error = 0;

	*device = (struct analysis_device){ .used = 1, .peak = { .time = db_int(row, 1) } };
	device->user = calloc(analysis->processes, sizeof(*device->user));
	device->gpu = calloc((size_t)analysis->processes * ANALYSIS_PEAKS, sizeof(*device->gpu));
	if (!device->user || !device->gpu)
		error = -MT_E_MEMORY;
	for (i = 0; i < analysis->processes && !error; i++) {
		if ((int64_t)analysis->process[i].events == db_int(row, 2))
			device->peak.process = i;
		error = add_user(samples, i, db_int(row, 0), db_int(row, 1));
	}
	if (!error)
		error = store_gpu_totals(samples->db, analysis);
	if (!error)
		error = name_device(samples->db, db_int(row, 0));
	free(device->user);
	free(device->gpu);
	return error;
}

int gpu_moment_totals(struct db *db, const char *moments)
{
	struct samples samples = { .db = db };
	int error = db_execute(db, "CREATE TEMP TABLE gpu_total AS SELECT * FROM main.gpu_total WHERE 0");

	samples.analysis.device = &samples.device;
	samples.analysis.devices = 1;
	if (!error)
		error = db_rows(db, "SELECT id, first_time, last_time FROM process ORDER BY id", NULL, add_process,
				&samples);
	if (!error)
		error = db_rows(db, moments, NULL, add_device, &samples);
	if (!error)
		error = db_execute(db, "UPDATE temp.gpu_total SET device = -device");
	if (!error)
		error = db_execute(db, "INSERT INTO temp.gpu_total SELECT * FROM main.gpu_total WHERE peak <> 'peak'");
	free(samples.analysis.process);
	return error;
}
