#include "load.h"

#include <string.h>
#include "base/symbol.h"
#include "facts/facts.h"
#include "load_sink.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "store.h"
#include "store_shared.h"

/* Named moments as rows: the moments at which reports show live memory. */

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

/* Stores the end of each process on one device that the process uses. */
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
	int error = db_prepare(db, &stmt, "INSERT INTO named_moment VALUES (?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->devices; i++) {
		device = &analysis->device[i];
		for (user = 0; user < device->users && !error; user++)
			if (analysis->process[device->user[user]].events)
				error = store_ends(stmt, analysis, device->user[user], i);
	}
	db_finish(stmt);
	return error;
}

static int execute_all(struct db *db, const char *const *sql, size_t count)
{
	size_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = db_execute(db, sql[i]);
	return error;
}

static int load_step_moments(struct db *db)
{
	static const char *const of_steps[] = {
		"INSERT INTO named_moment SELECT 'step:' || step || ':end', process, device, end_time, end_seq "
		"FROM step JOIN step_device USING (process, step) ORDER BY process, step, device",
		"INSERT INTO named_moment SELECT 'step:' || step, peak_process, device, peak_time, peak_seq FROM (SELECT *, "
		"row_number() OVER (PARTITION BY step, device ORDER BY peak_bytes DESC, peak_tensor_bytes DESC, peak_time, "
		"process) AS place FROM step_device WHERE (process, step) IN (SELECT process, step FROM phase_span)) "
		"WHERE place = 1 ORDER BY step, device",
	};

	return execute_all(db, of_steps, MT_ARRAY_SIZE(of_steps));
}

static int load_other_moments(struct db *db)
{
	static const char *const rest[] = {
		"INSERT INTO named_moment SELECT 'phase:' || phase, process, device, time, seq FROM phase_peak ORDER BY device, phase",
		"INSERT INTO named_moment SELECT 'oom:' || id, process, device, time, seq FROM oom ORDER BY id",
		"INSERT INTO named_moment SELECT 'oom', process, device, time, seq FROM oom "
		"WHERE id IN (SELECT max(id) FROM oom WHERE NOT had OR NOT EXISTS (SELECT 1 FROM oom WHERE NOT had) GROUP BY device) ORDER BY device",
		"INSERT INTO named_moment SELECT 'peak', process, device, time, seq FROM peak ORDER BY device",
	};

	return execute_all(db, rest, MT_ARRAY_SIZE(rest));
}

int load_moments(struct db *db, const struct analysis *analysis, enum load_parts parts)
{
	int error = load_ends(db, analysis);

	if (!error && !(load_keeps(parts) && analysis->processes == 1))
		error = load_step_moments(db);
	return error ? error : load_other_moments(db);
}

/* Finds the owner of mapped memory. Several allocations can have had the number of the handle: the owner is the one at the time of the mapping. */
static int load_handles(struct db *db)
{
	static const char *const find[] = {
		"CREATE TEMP TABLE handle (process INTEGER, address INTEGER, alloc_seq INTEGER, free_seq INTEGER, id INTEGER, "
		"PRIMARY KEY (process, address, alloc_seq)) WITHOUT ROWID",
		"INSERT OR IGNORE INTO handle SELECT process, address, alloc_seq, free_seq, id FROM allocation_raw "
		"WHERE memory NOT IN ('tensor', 'pinned', 'host') AND address IN (SELECT handle FROM mapping)",
		"UPDATE mapping SET allocation = (SELECT iif(free_seq IS NULL OR free_seq >= map_seq, id, NULL) FROM temp.handle AS it "
		"WHERE it.process = mapping.process AND it.address = mapping.handle AND it.alloc_seq <= map_seq "
		"ORDER BY it.alloc_seq DESC LIMIT 1)",
		"DROP TABLE temp.handle",
	};
	int64_t mapped = 0;
	int error = db_number(db, "SELECT 1 FROM mapping LIMIT 1", NULL, &mapped);

	return error || !mapped ? error : execute_all(db, find, MT_ARRAY_SIZE(find));
}

/* Makes indices. Reports ask by device and process: without indices, each question would read the rows of all devices and processes. */
static int load_indices(struct db *db, int packed)
{
	static const char *const indices[] = {
		"CREATE INDEX named_moment_device ON named_moment (device, name, process)",
		"CREATE INDEX site_process ON site (process, device)",
		"CREATE INDEX step_process ON step (process, step)",
		"CREATE INDEX phase_span_process ON phase_span (process, first_time)",
		"CREATE INDEX span_by_seq ON phase_span (process, first_seq)",
		"CREATE INDEX allocation_device ON allocation_raw (device, process)", /* the last: not of packed lives */
	};
	int64_t several = 0;
	int error = db_number(db,
			      "SELECT (SELECT count(*) FROM device WHERE number IS NOT NULL) > 1 OR "
			      "(SELECT count(*) FROM process) > 1",
			      NULL, &several);

	return error || !several ? error : execute_all(db, indices, MT_ARRAY_SIZE(indices) - (size_t)packed);
}

/* Takes these parts of the database from the facts of a trace. Returns 1; 0: the events must be read; or an error. */
static int take_facts(struct load_sink *load, struct analysis *analysis, const struct analysis_input *input,
		      uint32_t inputs, const struct mt_rules *rules, enum load_parts parts)
{
	struct facts_taker taker = { .maker = &load->maker, .freed = &load->sink.freed };
	int found;

	if (load_keeps(parts)) {
		taker.moment = &load->moment;
		taker.lives = load_kept_lives;
		taker.lives_context = load;
	} else if (load_has_sums(parts))
		taker.detail = parts == LOAD_SUMS ? SUMS_ALL : parts == LOAD_BATCHES ? SUMS_BATCHES : SUMS_STEPS;
	else
		return 0;
	taker.course = parts == LOAD_ADVICE ? &load->course : NULL;
	taker.use = parts == LOAD_PHASES ? &load->use : NULL;
	if (parts != LOAD_STEPS && parts != LOAD_SUMS)
		load->spans.analysis = analysis;
	load->spans.moment = taker.moment;
	load->spans.parts = parts;
	found = facts_run_rows(analysis, input, inputs, rules, &taker);
	if (!found)
		load->spans.analysis = NULL;
	return found;
}

/* The screen and database files have the stacks of each process. */
static int is_report(enum load_parts parts)
{
	return parts > LOAD_HISTORY && parts < LOAD_TIMELINE;
}

/* Whether the parts include steps with dropped events (--keep): only tables of steps show these. */
static int has_let_go(enum load_parts parts)
{
	return parts <= LOAD_STEPS || parts >= LOAD_LIVES;
}

static int run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	       const struct mt_rules *rules, enum load_parts parts, const struct load_watch *watch,
	       const struct load_instants *instants, uint32_t failure)
{
	struct load_sink load;
	struct analysis_sink sink;
	int found = 0, packed = load_keeps(parts) && inputs == 1,
	    error = load_sink_init(&load, &sink, db, analysis, parts, watch);

	if (instants)
		load_at_init(&load, &sink, analysis, instants);
	memset(analysis, 0, sizeof(*analysis));
	if (!error && load_keeps(parts))
		error = load_sink_keep(&load, &sink, analysis, failure);
	if (!error && packed)
		error = load_lives_new(&load, analysis);
	if (!error && !failure)
		found = take_facts(&load, analysis, input, inputs, rules, parts);
	if (!error)
		error = found < 0 ? found : 0;
	if (!error && !found)
		error = analysis_run(analysis, input, inputs, rules, &sink);
	if (!error && !found)
		error = load_sink_find(&load, parts == LOAD_ADVICE);
	if (!error)
		error = load_kept_rows(&load, parts == LOAD_ADVICE);
	if (!error)
		error = load_sink_finish(&load);
	if (!error)
		error = load_lives_store(&load, db);
	if (!error && !found)
		error = load_renumber(db, analysis);
	if (!error && is_report(parts))
		error = store_share(analysis);
	if (!error)
		error = store_summary(db, analysis, 1);
	if (!error && load.timeline.model.tape)
		error = found ? load_timeline_course(&load.course, analysis, load.moment.device, db)
			      : load_timeline_store(&load.timeline, db);
	if (!error)
		error = load_freed_store(&load.sink.freed, analysis, db);
	if (!error)
		error = load_resident_finish(&load.resident, 1);
	if (!error)
		error = load_kept_store(&load.moment, db);
	if (!error)
		error = load_use_store(&load.use, db);
	if (!error)
		error = load_spans_store(&load.spans, db);
	if (!error)
		error = load_twins(db, analysis, packed);
	if (!error && has_let_go(parts))
		error = load_let_go(db, analysis, input);
	if (!error && parts >= LOAD_LIVES)
		error = load_births(db, analysis);
	if (!error && parts >= LOAD_MOMENT)
		error = load_handles(db);
	load_sink_release(&load);
	if (!error && !load_has_sums(parts))
		error = load_moments(db, analysis, parts);
	return error ? error : load_indices(db, packed);
}

int load_run(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	     const struct mt_rules *rules, enum load_parts parts)
{
	return run(db, analysis, input, inputs, rules, parts, NULL, NULL, 0);
}

int load_run_watched(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, enum load_parts parts, const struct load_watch *watch)
{
	return run(db, analysis, input, inputs, rules, parts, watch, NULL, 0);
}

int load_run_failure(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		     const struct mt_rules *rules, uint32_t failure)
{
	return run(db, analysis, input, inputs, rules, LOAD_MOMENT, NULL, NULL, failure);
}

int load_run_at(struct db *db, struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		const struct mt_rules *rules, const struct load_instants *instants)
{
	return run(db, analysis, input, inputs, rules, LOAD_LIVES, NULL, instants, 0);
}

/* Stores the innermost function at the address of the frame in the current row of `frames`. */
static int load_name(struct db_stmt *update, const struct db_stmt *frames, struct symbols *symbols)
{
	struct symbol symbol;
	size_t size;
	const void *build_id = db_blob(frames, 2, &size);

	if (!symbols_find(symbols, db_text(frames, 1), build_id, size, (uint64_t)db_int(frames, 3), &symbol, 1))
		return 0;
	db_bind(update, 1, db_int(frames, 0));
	db_bind_text(update, 2, *symbol.function ? symbol.function : NULL);
	db_bind_text(update, 3, *symbol.file ? symbol.file : NULL);
	store_bind_id(update, 4, symbol.line);
	return db_run(update);
}

int load_names_of(struct db *db, const struct analysis *analysis)
{
	struct symbols *symbols = symbols_new();
	struct db_stmt *frames = NULL, *update = NULL;
	int error = symbols ? 0 : -MT_E_MEMORY, more = 0;

	if (!error)
		error = db_prepare(db, &frames,
				   "SELECT frame.id, path, build_id, offset FROM frame "
				   "JOIN elf_file ON elf_file.id = elf_file WHERE kind = 'native'");
	if (!error)
		error = db_prepare(
			db, &update,
			"UPDATE frame SET function = coalesce(?2, function), file = ?3, line = ?4 WHERE id = ?1");
	while (!error && (more = db_step(frames)) == 1)
		error = load_name(update, frames, symbols);
	db_finish(frames);
	db_finish(update);
	if (!error && !more)
		error = load_places_of(db, symbols, analysis, NULL);
	symbols_free(symbols);
	return error ? error : more;
}

int load_names(struct db *db)
{
	return load_names_of(db, NULL);
}
