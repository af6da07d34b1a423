#include "top_at.h"

#include <stdio.h>
#include <stdlib.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/alive.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/balance/gpu_moment.h"
#include "report/frag/frag.h"

/* ---- when, on which device ---- */

static const char create_sql[] =
	"CREATE TEMP TABLE at (device INTEGER PRIMARY KEY, at_time INTEGER, at_process INTEGER, at_seq INTEGER, "
	"process INTEGER, step INTEGER, phase TEXT, role TEXT)";

/* The step of an event is one more than the number of steps that have ended. */
static const char step_sql[] =
	"INSERT INTO temp.at SELECT device, time, process, seq, process, ifnull((SELECT max(step) + 1 FROM step "
	"WHERE step.process = it.process AND end_seq <= it.seq), ?1), ifnull((SELECT phase FROM phase_span AS span "
	"WHERE span.process = it.process AND first_seq <= it.seq ORDER BY first_seq DESC LIMIT 1), 'other'), "
	"ifnull((SELECT peak_role FROM step_device AS made WHERE made.step = ?1 AND made.device = it.device "
	"AND peak_process = it.process AND peak_seq = it.seq), 'none') FROM named_moment AS it WHERE name = 'step:' || ?1";

/* The newest failure of each device, as memana oom has it. */
static const char oom_sql[] =
	"INSERT INTO temp.at SELECT oom.device, oom.time, oom.process, oom.seq, oom.process, step, phase, role "
	"FROM named_moment AS it JOIN oom USING (process, device, seq) WHERE name = 'oom'";

/* The newest action of a process decides its phase: a memory event, or an event in a phase. */
static const char time_sql[] =
	"INSERT INTO temp.at WITH act AS MATERIALIZED (SELECT process, max(time) AS time FROM (SELECT process, max(alloc_time) AS time FROM "
	"allocation WHERE alloc_time <= ?1 GROUP BY process UNION ALL SELECT process, max(free_time) FROM allocation WHERE "
	"free_time <= ?1 GROUP BY process UNION ALL SELECT process, max(first_time) FROM phase_span WHERE first_time <= ?1 "
	"GROUP BY process UNION ALL SELECT process, max(last_time) FROM phase_span WHERE last_time <= ?1 GROUP BY process "
	"UNION ALL SELECT id, first_time FROM process WHERE first_time <= ?1) GROUP BY process), "
	"newest AS MATERIALIZED (SELECT device, (SELECT process FROM act WHERE process IN (SELECT site.process FROM site "
	"WHERE site.device = main.peak.device) ORDER BY time DESC, process DESC LIMIT 1) AS process FROM main.peak) "
	"SELECT device, ?1, ?2, ?2, newest.process, ifnull(span.step, 1), "
	"ifnull(span.phase, 'other'), 'none' FROM newest LEFT JOIN phase_span AS span ON span.id = (SELECT id FROM "
	"phase_span AS one WHERE one.process = newest.process AND first_time <= ?1 ORDER BY first_seq DESC LIMIT 1) "
	"WHERE newest.process IS NOT NULL";

static int run(struct db *db, const char *sql, int64_t one, int64_t two)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql);

	if (error)
		return error;
	db_bind(stmt, 1, one);
	db_bind(stmt, 2, two);
	error = db_run(stmt);
	db_finish(stmt);
	return error;
}

static int find(struct db *db, const struct moment *moment)
{
	int error = db_execute(db, create_sql);

	if (error)
		return error;
	if (moment->kind == MOMENT_STEP)
		return run(db, step_sql, moment->step, 0);
	if (moment->kind == MOMENT_OOM)
		return db_execute(db, oom_sql);
	return run(db, time_sql, moment->time, ALIVE_BY_TIME);
}

/* ---- the holders ---- */

struct place {
	struct db *db;
	struct db_stmt *inside; /* statement that adds a row to temp.inside */
};

/* Notes how much of the driver memory of each site is in tensors. */
static int note_inside(void *context, struct db_stmt *row)
{
	const struct place *place = context;
	const struct alive_moment when = { db_int(row, 1), db_int(row, 2), db_int(row, 3) };
	struct frag_map map;
	size_t i;
	int error = frag_load(&map, place->db, db_int(row, 0), 0, &when);

	for (i = 0; i < map.pieces && !error; i++) {
		if (!map.piece[i].used)
			continue;
		db_bind(place->inside, 1, map.piece[i].id);
		db_bind_unsigned(place->inside, 2, map.piece[i].used);
		error = db_run(place->inside);
	}
	frag_release(&map);
	return error;
}

static const char part_sql[] =
	"CREATE TEMP TABLE peak_part AS WITH here AS (SELECT site, at.device AS device, count(*) AS count, "
	"sum(CASE WHEN memory IN ('pinned', 'host', 'imported', 'multicast') THEN 0 ELSE bytes END) AS bytes "
	"FROM temp.at AS at JOIN (SELECT *, process AS owner_process FROM allocation_span) AS allocation_span USING (device) "
	"WHERE (since_time, owner_process, since_seq) <= (at_time, at_process, at_seq) AND " ALIVE_UNTIL(
		"owner_process", "at_time", "at_process",
		"at_seq") " GROUP BY site), "
			  "filled AS (SELECT site, sum(bytes) AS bytes FROM temp.inside GROUP BY site) "
			  "SELECT site.id AS site, here.device AS device, site.process AS process, phase, "
			  "CASE WHEN tensors_inside THEN 'allocator slack' ELSE category END AS category, "
			  "CASE WHEN tensors_inside THEN 'pytorch' ELSE owner END AS owner, here.bytes - ifnull(filled.bytes, 0) AS bytes, count "
			  "FROM here JOIN site ON site.id = here.site LEFT JOIN filled ON filled.site = here.site "
			  "WHERE here.bytes > ifnull(filled.bytes, 0)";

static int make_parts(struct db *db)
{
	struct place place = { .db = db };
	int error = db_execute(db, "CREATE TEMP TABLE inside (site INTEGER, bytes INTEGER)");

	if (!error)
		error = db_prepare(db, &place.inside, "INSERT INTO temp.inside VALUES (?, ?)");
	if (!error)
		error = db_rows(db, "SELECT device, at_time, at_process, at_seq FROM temp.at", NULL, note_inside,
				&place);
	db_finish(place.inside);
	return error ? error : db_execute(db, part_sql);
}

/* As for the peak (analysis_modules.c): memory that the census names has modules of its own; other memory has the modules of its site. */
static int make_modules(struct db *db)
{
	static const char *const make[] = {
		"CREATE TEMP TABLE named_module AS SELECT site, submodule, sum(born.bytes) AS bytes, count(*) AS count "
		"FROM temp.at AS at JOIN (SELECT *, process AS owner_process FROM allocation_span WHERE NOT asleep_bytes) AS allocation_span "
		"USING (device) JOIN allocation_module AS born ON born.process = owner_process AND born.alloc_seq = allocation_span.alloc_seq "
		"WHERE (since_time, owner_process, since_seq) <= (at_time, at_process, at_seq) AND " ALIVE_UNTIL(
			"owner_process", "at_time", "at_process", "at_seq") " GROUP BY site, submodule",
		"DELETE FROM temp.named_module WHERE site NOT IN (SELECT part.site FROM temp.peak_part AS part JOIN (SELECT site, sum(bytes) "
		"AS bytes FROM temp.named_module GROUP BY site) AS named USING (site) WHERE named.bytes <= part.bytes "
		"AND category <> 'allocator slack')",
		"CREATE TEMP TABLE peak_module AS SELECT * FROM temp.named_module UNION ALL SELECT part.site, "
		"iif(category = 'allocator slack', NULL, submodule), part.bytes - ifnull(named.bytes, 0), "
		"max(part.count - ifnull(named.count, 0), 0) FROM temp.peak_part AS part LEFT JOIN (SELECT site, sum(bytes) AS bytes, "
		"sum(count) AS count FROM temp.named_module GROUP BY site) AS named USING (site) LEFT JOIN site_module USING (site) "
		"WHERE part.bytes > ifnull(named.bytes, 0)",
		"CREATE TEMP VIEW peak_module_site AS SELECT part.device AS device, part.process AS process, part.site AS site, "
		"held.submodule AS submodule, path, type, part.phase AS phase, part.category AS category, held.bytes AS bytes, "
		"held.count AS count FROM temp.peak_module AS held JOIN temp.peak_part AS part USING (site) LEFT JOIN submodule "
		"ON submodule.id = held.submodule",
	};
	size_t i;
	int error = 0;

	for (i = 0; i < MT_ARRAY_SIZE(make) && !error; i++)
		error = db_execute(db, make[i]);
	return error;
}

/* Memory of another process: an allocation of a kind of its own, or a mapping. */
#define IMPORTED                                                                                                         \
	"(SELECT ifnull(sum(bytes), 0) FROM (SELECT process, device, bytes, alloc_time AS since_time, alloc_seq AS "     \
	"since_seq, free_time AS until_time, free_seq AS until_seq FROM allocation WHERE memory = 'imported' "           \
	"AND (process, address) NOT IN (SELECT process, handle FROM mapping) UNION ALL SELECT mapping.process, device, " \
	"mapping.bytes, map_time, map_seq, unmap_time, unmap_seq FROM mapping JOIN allocation AS handle "                \
	"ON handle.id = mapping.allocation WHERE memory = 'imported') AS it "                                            \
	"WHERE it.device = at.device AND (since_time, it.process, since_seq) <= (at_time, at_process, at_seq) "          \
	"AND " ALIVE_UNTIL("it.process", "at_time", "at_process", "at_seq") ")"

/* A device without the moment has no bytes in the answer; with a failed request as moment, the device is left out. */
static int make_peaks(struct db *db, const struct moment *moment)
{
	char sql[4096];

	snprintf(sql, sizeof(sql),
		 "CREATE TEMP TABLE peak AS SELECT was.device AS device, (SELECT ifnull(sum(bytes), 0) FROM temp.peak_part AS part "
		 "WHERE part.device = was.device) AS bytes, (SELECT ifnull(sum(bytes), 0) FROM temp.peak_part AS part "
		 "WHERE part.device = was.device AND category = 'allocator slack') AS slack_bytes, ifnull(at_time, 0) AS time, "
		 "ifnull(at_seq, 0) AS seq, ifnull(at.process, (SELECT min(id) FROM process)) AS process, "
		 "ifnull(at.step, %d) AS step, ifnull(at.phase, 'other') AS phase, ifnull(at.role, 'none') AS role, "
		 "CASE WHEN at_time IS NULL THEN 0 ELSE " IMPORTED " END AS imported_bytes, "
		 "NULL AS requested_bytes, NULL AS block_bytes, NULL AS block_bytes_exact "
		 "FROM main.peak AS was %sJOIN temp.at AS at ON at.device = was.device",
		 moment->kind == MOMENT_TIME, moment->kind == MOMENT_OOM ? "" : "LEFT ");
	return db_execute(db, sql);
}

/* ---- all tables ---- */

/* Drops the tables of the previous moment. */
static int forget(struct db *db)
{
	static const char *const drop[] = {
		"DROP VIEW IF EXISTS temp.peak_module_site",
		"DROP TABLE IF EXISTS temp.peak_module",
		"DROP TABLE IF EXISTS temp.named_module",
		"DROP TABLE IF EXISTS temp.peak_part",
		"DROP TABLE IF EXISTS temp.peak",
		"DROP TABLE IF EXISTS temp.inside",
		"DROP TABLE IF EXISTS temp.at",
		"DROP TABLE IF EXISTS temp.gpu_total",
	};
	size_t i;
	int error = 0;

	for (i = 0; i < MT_ARRAY_SIZE(drop) && !error; i++)
		error = db_execute(db, drop[i]);
	return error;
}

/* The end of a run. */
struct extent {
	uint64_t steps;
	int64_t last; /* ns since the run began */
};

static int extend(void *context, const struct query_process *row)
{
	struct extent *extent = context;

	extent->steps = row->steps > extent->steps ? row->steps : extent->steps;
	extent->last = row->last_time > extent->last ? row->last_time : extent->last;
	return 0;
}

/* Whether the run has the moment. Returns 1, 0 or -MT_E_x. */
static int is_there(struct db *db, const struct moment *moment)
{
	struct extent extent = { 0 };
	int64_t found = 0;
	int error = query_processes(db, extend, &extent);

	if (!error && moment->kind == MOMENT_TIME)
		return moment->time <= extent.last;
	if (!error)
		error = db_number(db, "SELECT count(*) FROM temp.at", NULL, &found);
	return error ? error : found > 0;
}

struct times {
	int64_t *time;
	size_t count;
};

static int take_time(void *context, struct db_stmt *row)
{
	struct times *times = context;
	int64_t *more = realloc(times->time, (times->count + 1) * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	times->time = more;
	times->time[times->count++] = db_int(row, 0);
	return 0;
}

int top_at_times(struct db *db, const struct moment *moment, int64_t **times, size_t *count)
{
	struct times found = { 0 };
	int error = forget(db);

	if (!error)
		error = find(db, moment);
	if (!error)
		error = db_rows(db, "SELECT DISTINCT at_time FROM temp.at ORDER BY at_time", NULL, take_time, &found);
	*times = found.time;
	*count = found.count;
	return error;
}

int top_at(struct db *db, const struct moment *moment)
{
	int error = forget(db), there;

	if (error || moment->kind == MOMENT_PEAK)
		return error ? error : 1;
	error = find(db, moment);
	there = error ? error : is_there(db, moment);
	if (there != 1)
		return there;
	error = make_parts(db);
	if (!error)
		error = make_modules(db);
	if (!error)
		error = make_peaks(db, moment);
	if (!error)
		error = gpu_moment_totals(db, "SELECT device, at_time, process FROM temp.at");
	return error ? error : 1;
}

const char *top_at_absent(char *out, size_t size, struct db *db, const struct moment *moment)
{
	struct extent extent = { 0 };
	char text[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], count[64];

	query_processes(db, extend, &extent);
	if (moment->kind == MOMENT_OOM)
		snprintf(out, size, "oom: no out-of-memory error was recorded");
	else if (moment->kind == MOMENT_STEP)
		snprintf(out, size, "step:%u: the run has %s", moment->step,
			 text_count(count, sizeof(count), extent.steps, "step"));
	else
		snprintf(out, size, "%s: the recording is over by then (it ends at %s, %lldns)",
			 text_time(time, moment->time), text_time(text, extent.last), (long long)extent.last);
	return out;
}
