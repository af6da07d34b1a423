#include "query_phases.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"

/* One run of a phase in one process. */
struct run {
	int64_t process, first_seq, last_seq;
	int phase;
};

/* Bytes of one phase still there on a device after a run of the phase, or after a step of a process. */
struct left {
	int64_t key, process, device; /* key: index of the run; or the step, times phases, plus the phase */
	uint64_t bytes;
};

/* A growing hash table with open addressing. */
struct left_table {
	struct left *slot; /* bytes 0: free */
	size_t room, count;
};

struct loading {
	struct phases *phases;
	struct run *run; /* by process and first_seq */
	size_t count, room;
	struct left_table by_run, by_step;
	int told; /* 1: temp.phase_use has the bytes of each run, from facts */
};

/* ---- bytes left by each run and each step ---- */

static struct left *find_left(const struct left_table *table, int64_t key, int64_t process, int64_t device)
{
	uint64_t hash = ((uint64_t)key * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)process << 40) ^ ((uint64_t)device << 20);
	size_t at = (size_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull >> 16) & (table->room - 1);
	struct left *left;

	for (;; at = (at + 1) & (table->room - 1)) {
		left = &table->slot[at];
		if (!left->bytes || (left->key == key && left->process == process && left->device == device))
			return left;
	}
}

static int grow_left(struct left_table *table)
{
	struct left_table grown = { .room = table->room ? table->room * 2 : 256, .count = table->count };
	size_t i;

	grown.slot = calloc(grown.room, sizeof(*grown.slot));
	if (!grown.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < table->room; i++)
		if (table->slot[i].bytes)
			*find_left(&grown, table->slot[i].key, table->slot[i].process,
				   table->slot[i].device) = table->slot[i];
	free(table->slot);
	*table = grown;
	return 0;
}

/* *sum: bytes left so far under this key. Returns 0 or -MT_E_MEMORY. */
static int add_left(struct left_table *table, int64_t key, int64_t process, int64_t device, uint64_t bytes,
		    uint64_t *sum)
{
	struct left *left;

	if (table->count * 2 >= table->room && grow_left(table))
		return -MT_E_MEMORY;
	left = find_left(table, key, process, device);
	if (!left->bytes) {
		*left = (struct left){ .key = key, .process = process, .device = device };
		table->count++;
	}
	left->bytes += bytes;
	*sum = left->bytes;
	return 0;
}

/* ---- rows ---- */

static struct phases_device *find_device(struct phases *phases, int64_t id)
{
	size_t i;

	for (i = 0; i < phases->count; i++)
		if (phases->device[i].id == id)
			return &phases->device[i];
	return NULL;
}

static int take_device(void *context, struct db_stmt *stmt)
{
	struct phases *phases = ((struct loading *)context)->phases;
	struct phases_device *device;

	if (MT_ARRAY_ROOM(phases->device, phases->count, phases->room))
		return -MT_E_MEMORY;
	device = &phases->device[phases->count++];
	memset(device, 0, sizeof(*device));
	device->id = db_int(stmt, 0);
	device->number = db_int(stmt, 1);
	mt_copy_text(device->kind, sizeof(device->kind), db_text(stmt, 2));
	mt_copy_text(device->name, sizeof(device->name), db_text(stmt, 3));
	device->total = (uint64_t)db_int(stmt, 4);
	device->steps = db_int(stmt, 5);
	device->peak_phase = (int)finding_phase(db_text(stmt, 6));
	return 0;
}

static int take_peak(void *context, struct db_stmt *stmt)
{
	struct phases_device *device = find_device(((struct loading *)context)->phases, db_int(stmt, 0));
	struct phases_row *row = device ? &device->row[finding_phase(db_text(stmt, 1))] : NULL;

	if (!row)
		return 0;
	row->ran_peak = 1;
	row->peak = (uint64_t)db_int(stmt, 2);
	row->peak_time = db_int(stmt, 3);
	row->peak_step = db_int(stmt, 4);
	return 0;
}

static int take_heir(void *context, struct db_stmt *stmt)
{
	struct phases_device *device = find_device(((struct loading *)context)->phases, db_int(stmt, 0));

	if (device)
		device->row[finding_phase(db_text(stmt, 1))].inherits = 1;
	return 0;
}

static int take_runs(void *context, struct db_stmt *stmt)
{
	struct phases_device *device = find_device(((struct loading *)context)->phases, db_int(stmt, 0));
	struct phases_row *row = device ? &device->row[finding_phase(db_text(stmt, 1))] : NULL;

	if (!row)
		return 0;
	row->runs += (uint64_t)db_int(stmt, 2);
	row->time += db_int(stmt, 3);
	return 0;
}

static int take_run(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;

	if (MT_ARRAY_ROOM(loading->run, loading->count, loading->room))
		return -MT_E_MEMORY;
	loading->run[loading->count++] = (struct run){
		.process = db_int(stmt, 0),
		.first_seq = db_int(stmt, 1),
		.last_seq = db_int(stmt, 2),
		.phase = (int)finding_phase(db_text(stmt, 3)),
	};
	return 0;
}

/* The newest run that had begun, if it is of this phase. -1: the memory was allocated outside of any run. */
static int64_t run_of(const struct loading *loading, int64_t process, int64_t seq, int phase)
{
	size_t low = 0, high = loading->count, middle;
	const struct run *run;

	while (low < high) {
		middle = (low + high) / 2;
		run = &loading->run[middle];
		if (run->process < process || (run->process == process && run->first_seq <= seq))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || loading->run[low - 1].process != process || loading->run[low - 1].phase != phase)
		return -1;
	return (int64_t)low - 1;
}

static void keep_most(uint64_t *most, uint64_t bytes)
{
	if (bytes > *most)
		*most = bytes;
}

/*
 * Finds the processes that ended before the newest process on the device began. Their memory is gone at the end,
 * without a free. Uses a table, because each device and phase asks. Returns 0 or an error.
 */
static int find_replaced(struct db *db)
{
	static const char *const sql[] = {
		"CREATE TEMP TABLE IF NOT EXISTS replaced (process INTEGER, device INTEGER, PRIMARY KEY (process, device)) "
		"WITHOUT ROWID",
		"DELETE FROM temp.replaced",
		"INSERT INTO temp.replaced "
		"WITH here AS MATERIALIZED (SELECT DISTINCT process AS id, device FROM site), "
		"newest AS MATERIALIZED (SELECT device, max(first_time) AS began FROM here JOIN process USING (id) GROUP BY device) "
		"SELECT here.id, device FROM here JOIN process USING (id) JOIN newest USING (device) WHERE over_time < began",
	};
	size_t i;
	int error = 0;

	for (i = 0; i < MT_ARRAY_SIZE(sql) && !error; i++)
		error = db_execute(db, sql[i]);
	return error;
}

/* Columns of the last question: a stretch of an allocation's life, and its birth. */
enum {
	PROCESS,
	DEVICE,
	PHASE,
	BYTES,
	ASLEEP,
	SINCE_SEQ,
	UNTIL_SEQ,
	SINCE_STEP,
	UNTIL_STEP,
	ALLOC_SEQ,
	STEP,
	GONE,
	ALLOCATIONS
};

/* Whether the stretch goes on after `end`, by this pair of columns. */
static int is_there_after(const struct db_stmt *stmt, int since, int until, int64_t end)
{
	return db_int(stmt, since) <= end && (db_type(stmt, until) == DB_NULL || db_int(stmt, until) > end);
}

/* Notes memory that is alive at the end of its run, and at the end of its step. */
static int note_left(struct loading *loading, const struct db_stmt *stmt, struct phases_row *row, int phase)
{
	int64_t process = db_int(stmt, PROCESS), device = db_int(stmt, DEVICE), run;
	uint64_t bytes = (uint64_t)db_int(stmt, BYTES), sum;
	int error = 0;

	run = loading->told ? -1 : run_of(loading, process, db_int(stmt, ALLOC_SEQ), phase);
	if (run >= 0 && is_there_after(stmt, SINCE_SEQ, UNTIL_SEQ, loading->run[run].last_seq)) {
		error = add_left(&loading->by_run, run, process, device, bytes, &sum);
		if (!error)
			keep_most(&row->left_run, sum);
	}
	if (!error && is_there_after(stmt, SINCE_STEP, UNTIL_STEP, db_int(stmt, STEP))) {
		error = add_left(&loading->by_step, db_int(stmt, STEP) * MT_PHASE_COUNT + phase, process, device, bytes,
				 &sum);
		if (!error)
			keep_most(&row->left_step, sum);
	}
	return error;
}

static int take_bytes(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	struct phases_device *device = find_device(loading->phases, db_int(stmt, DEVICE));
	int phase = (int)finding_phase(db_text(stmt, PHASE));
	struct phases_row *row = device ? &device->row[phase] : NULL;

	if (!row || db_int(stmt, BYTES) < 0 || db_int(stmt, ASLEEP) < 0)
		return 0;
	if (!loading->told && db_int(stmt, SINCE_SEQ) == db_int(stmt, ALLOC_SEQ)) {
		row->bytes += (uint64_t)db_int(stmt, BYTES) + (uint64_t)db_int(stmt, ASLEEP);
		row->count += (uint64_t)db_int(stmt, ALLOCATIONS);
	}
	if (db_type(stmt, UNTIL_SEQ) == DB_NULL && !db_int(stmt, GONE)) {
		row->left_end += (uint64_t)db_int(stmt, BYTES);
		row->asleep_end += (uint64_t)db_int(stmt, ASLEEP);
	}
	return db_int(stmt, BYTES) ? note_left(loading, stmt, row, phase) : 0;
}

/* The pass has found these. */
static int take_use(void *context, struct db_stmt *stmt)
{
	struct phases_device *device = find_device(((struct loading *)context)->phases, db_int(stmt, 0));
	struct phases_row *row = device ? &device->row[finding_phase(db_text(stmt, 1))] : NULL;

	if (!row)
		return 0;
	row->bytes = (uint64_t)db_int(stmt, 2);
	row->count = (uint64_t)db_int(stmt, 3);
	row->left_run = (uint64_t)db_int(stmt, 4);
	return 0;
}

/* ---- places that are left, and the order of the phases ---- */

static int take_left(void *context, struct db_stmt *stmt)
{
	struct phases_device *device = find_device(((struct loading *)context)->phases, db_int(stmt, 0));
	struct phases_row *row = device ? &device->row[finding_phase(db_text(stmt, 1))] : NULL;
	struct phases_left *left;

	if (!row || row->places == PHASES_PLACES)
		return 0;
	if (!row->left)
		row->left = calloc(PHASES_PLACES, sizeof(*row->left));
	if (!row->left)
		return -MT_E_MEMORY;
	left = &row->left[row->places++];
	mt_copy_text(left->function, sizeof(left->function), db_text(stmt, 2));
	mt_copy_text(left->place, sizeof(left->place), db_text(stmt, 3));
	left->category = mt_category_name(mt_category_parse(db_text(stmt, 4)));
	left->bytes = db_int(stmt, 5);
	left->probable = db_int(stmt, 6);
	return 0;
}

static const char left_sql[] =
	"SELECT device, phase, function, place, category, bytes, probable FROM (SELECT device, phase, function, place, "
	"category, sum(bytes) AS bytes, sum(iif((SELECT known FROM site WHERE id = site) = 'probable', bytes, 0)) AS probable, "
	"row_number() OVER (PARTITION BY device, phase ORDER BY sum(bytes) DESC, place, function, category) AS number "
	"FROM (SELECT device, phase, site, node, category, sum(bytes) AS bytes FROM in_use_span WHERE until_seq IS NULL AND bytes "
	"AND (process, device) NOT IN temp.replaced GROUP BY site, category) LEFT JOIN place USING (node) "
	"GROUP BY device, phase, function, file, place, category) WHERE number <= 3 ORDER BY device, phase, number";

#define QUESTIONS_PEAKS 2u /* the devices and the peaks */

/*
 * Phases with the device's peak level that took no memory to reach it. After the peak, only memory taken since the peak
 * counts; before it, any memory.
 */
#define HEIRS                                                                                         \
	"SELECT phase_peak.device, phase_peak.phase FROM phase_peak JOIN peak USING (device, bytes) " \
	"JOIN device ON device.id = phase_peak.device WHERE phase_peak.phase <> peak.phase AND NOT EXISTS "

static const char heirs_sql[] = HEIRS
	"(SELECT 1 FROM allocation WHERE allocation.device = phase_peak.device AND allocation.phase = phase_peak.phase "
	"AND (memory <> 'tensor' OR device.kind = 'cpu') AND alloc_time <= phase_peak.time "
	"AND (phase_peak.time <= peak.time OR alloc_time > peak.time))";

static const char heirs_told_sql[] = HEIRS
	"(SELECT 1 FROM temp.phase_use AS use WHERE use.device = phase_peak.device AND use.phase = phase_peak.phase AND grew)";

static int did_something(const struct phases_row *row)
{
	return row->runs || row->count || row->ran_peak;
}

static int is_higher(const struct phases_device *device, const struct phases_row *one, const struct phases_row *two)
{
	return one->peak > two->peak || (one->peak == two->peak && one->phase == device->peak_phase);
}

/* Orders by peak, highest first. On a tie the phase that memana top names comes first, then the order of the phases. */
static void sort_rows(struct phases_device *device)
{
	struct phases_row *row;
	size_t i;
	int phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		row = &device->row[phase];
		row->phase = phase;
		if (!did_something(row))
			continue;
		for (i = device->rows++; i && is_higher(device, row, device->shown[i - 1]); i--)
			device->shown[i] = device->shown[i - 1];
		device->shown[i] = row;
	}
}

static int load(struct loading *loading, struct db *db, int peaks_alone)
{
	static const char run_sql[] =
		"SELECT process, first_seq, last_seq, phase FROM phase_span ORDER BY process, first_seq",
			  use_sql[] = "SELECT device, phase, bytes, count, left_bytes FROM temp.phase_use";
	const struct {
		const char *sql;
		int (*row)(void *context, struct db_stmt *stmt);
	} question[] = {
		{ "WITH used AS MATERIALIZED (SELECT device, max(steps) AS steps FROM "
		  "(SELECT DISTINCT device, process FROM site) JOIN process ON process.id = process GROUP BY device) "
		  "SELECT device.id, number, kind, name, total_bytes, steps, phase FROM device "
		  "JOIN peak ON peak.device = device.id LEFT JOIN used ON used.device = device.id "
		  "WHERE bytes > 0 AND number IS NOT NULL ORDER BY number",
		  take_device },
		{ "SELECT device, phase, bytes, time, step FROM phase_peak", take_peak },
		{ loading->told ? heirs_told_sql : heirs_sql, take_heir },
		{ loading->told ? use_sql : run_sql, loading->told ? take_use : take_run },
		{ "SELECT device, phase, sum(runs), sum(time) FROM temp.phase_run "
		  "JOIN (SELECT DISTINCT process, device FROM site) USING (process) GROUP BY device, phase",
		  take_runs },
		{ "SELECT process, device, phase, bytes, asleep_bytes, since_seq, until_seq, since_step, until_step, "
		  "alloc_seq, step, (process, device) IN temp.replaced, allocations FROM in_use_span",
		  take_bytes },
		{ left_sql, take_left },
	};
	int error = find_replaced(db);
	size_t i;

	if (!error)
		error = db_execute(db,
				   "CREATE TEMP TABLE IF NOT EXISTS phase_run AS SELECT process, phase, count(*) AS runs, "
				   "sum(last_time - first_time) AS time FROM phase_span GROUP BY process, phase");
	for (i = 0; i < (peaks_alone ? QUESTIONS_PEAKS : MT_ARRAY_SIZE(question)) && !error; i++)
		error = db_rows(db, question[i].sql, NULL, question[i].row, loading);
	return error;
}

int phases_load(struct phases *phases, struct db *db, int peaks_alone)
{
	struct loading loading = { .phases = phases };
	int64_t told = 0;
	size_t i;
	int error;

	memset(phases, 0, sizeof(*phases));
	error = db_number(db, "SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'phase_use')", NULL, &told);
	loading.told = told != 0;
	if (!error)
		error = load(&loading, db, peaks_alone);
	for (i = 0; i < phases->count; i++)
		sort_rows(&phases->device[i]);
	free(loading.run);
	free(loading.by_run.slot);
	free(loading.by_step.slot);
	return error;
}

void phases_release(struct phases *phases)
{
	size_t i;
	int phase;

	for (i = 0; i < phases->count; i++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			free(phases->device[i].row[phase].left);
	free(phases->device);
	memset(phases, 0, sizeof(*phases));
}

/* ---- columns ---- */

static void list_left(struct doc *doc, const char *key, const void *of)
{
	const struct phases_row *row = of;
	size_t i;

	doc_array(doc, key);
	for (i = 0; i < row->places; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "function", row->left[i].function);
		doc_string(doc, "place", row->left[i].place);
		doc_string(doc, "category", row->left[i].category);
		doc_int(doc, "bytes", row->left[i].bytes);
		doc_end(doc);
	}
	doc_end(doc);
}

#define PHASES_COLUMNS(X, T)                                                                                          \
	X(T, phase, PHASE, "phase", mt_phase_name((uint32_t)it->phase), "name of the phase")                          \
	X(T, runs, NUMBER, "runs", it->runs, "how often it ran")                                                      \
	X(T, time_ns, DURATION, "time", it->time, "time of all its runs")                                             \
	X(T, allocated_bytes, BYTES, "allocated", it->bytes, "allocated in it")                                       \
	X(T, allocations, COUNT, NULL, it->count, "number of allocations")                                            \
	X(T, peak_bytes, BYTES, "peak", COLUMN_IF(it->ran_peak, it->peak), "most that the device held while it ran")  \
	X(T, peak_ns, MOMENT, NULL, it->ran_peak ? it->peak_time : COLUMN_NONE, "moment of the peak")                 \
	X(T, peak_step, NUMBER, NULL, COLUMN_IF(it->ran_peak, it->peak_step), "step of the peak")                     \
	X(T, left_after_run_bytes, BYTES, "after run", it->left_run, "still in use after the run that left most")     \
	X(T, left_after_step_bytes, BYTES, "after step", it->left_step, "still in use after the step that left most") \
	X(T, left_at_end_bytes, BYTES, "at end", it->left_end, "still in use at the end of the recording")            \
	X(T, asleep_at_end_bytes, BYTES, NULL, it->asleep_end, "allocated at the end in a pool that sleeps")          \
	X(T, left_at_end, LIST, NULL, list_left, "places that left most at the end")

COLUMN_TABLE(phases, struct phases_row, PHASES_COLUMNS)
