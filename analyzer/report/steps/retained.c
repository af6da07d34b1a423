#include "retained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/alive.h"
#include "report/finding.h"

#define EVALUATES "sum(phase IN ('backward', 'optimizer')) = 0 AND sum(phase = 'forward')" /* SQL, over spans */
#define EVALUATION_PARTS 7 /* calls of a model that are no batches, at most, in a process without a backward */

static int take_flag(void *context, const struct db_stmt *row)
{
	*(int *)context = db_int(row, 0) != 0;
	return 0;
}

/* ---- tables for the questions below ---- */

/*
 * Most allocations are freed in their step. Conditions on the allocation alone come first, before its site and spans are looked up: a span ends no
 * later than its allocation.
 */
#define OUTLIVES "(free_step IS NULL OR free_step > step)"

static int make_kept(struct db *db)
{
	return db_execute(db,
			  "CREATE TEMP TABLE kept AS SELECT process, device, ifnull(node, 0) AS node, phase, category, "
			  "step, since_step AS since, until_step AS gone, sum(bytes) AS bytes, sum(asleep_bytes) AS asleep, "
			  "sum(allocations) AS count "
			  "FROM in_use_span WHERE (until_step IS NULL OR until_step > since_step) AND " OUTLIVES
			  " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8");
}

/* The begin of each micro-batch in each step, as the facts of traces have it (store/load_sink.h). */
static const char told_sql[] = "INSERT INTO temp.batch SELECT process, step, first_seq, number FROM temp.batch_begin "
			       "WHERE (%lld = 0 OR step = %lld) AND batches > %d";

static const char spans_sql[] =
	"INSERT INTO temp.batch SELECT process, step, first_seq, number FROM (SELECT process, step, first_seq, "
	"row_number() OVER (PARTITION BY process, step ORDER BY first_seq) AS number, "
	"count(*) OVER (PARTITION BY process, step) AS batches FROM ("
	"SELECT process, step, phase, first_seq, lag(phase) OVER (PARTITION BY process, step ORDER BY first_seq) "
	"AS before FROM phase_span WHERE phase IN ('forward', 'backward') AND (%lld = 0 OR step = %lld)) "
	"WHERE phase = 'forward' AND before IS NOT 'forward') WHERE batches > %d";

/* Steps with only two or three micro-batches are not judged. */
static int make_batches(struct db *db, int64_t step)
{
	char sql[1024];
	int told = 0,
	    error = db_execute(db, "CREATE TEMP TABLE batch (process INTEGER, step INTEGER, first_seq INTEGER, "
				   "number INTEGER, PRIMARY KEY (process, step, first_seq)) WITHOUT ROWID");

	if (!error)
		error = finding_rows(db, "SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'batch_begin')",
				     take_flag, &told);
	if (error)
		return error;
	snprintf(sql, sizeof(sql), told ? told_sql : spans_sql, (long long)step, (long long)step, GROWTH_PARTS);
	return db_execute(db, sql);
}

/*
 * A process that computes without a backward is an evaluation. Its loop calls the model, and allocates between two calls: each call after such an
 * allocation begins a batch. Few batches do not count, because the set-up of a model also calls it a few times.
 */
static int make_evaluated(struct db *db, int64_t step)
{
	char sql[1600];
	int error = db_execute(
		db,
		"CREATE TEMP TABLE evaluating AS SELECT process FROM phase_span GROUP BY process HAVING " EVALUATES);

	if (!error)
		error = db_execute(
			db,
			"CREATE TEMP TABLE inside AS WITH RECURSIVE up(node, id) AS (SELECT DISTINCT node, node FROM site "
			"WHERE node IS NOT NULL AND process IN temp.evaluating UNION SELECT up.node, parent FROM up "
			"JOIN stack_node ON stack_node.id = up.id WHERE parent IS NOT NULL) SELECT DISTINCT up.node AS node FROM up "
			"JOIN stack_node ON stack_node.id = up.id JOIN frame ON frame.id = frame WHERE function LIKE '%_call_impl'");
	if (error)
		return error;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO temp.batch SELECT process, step, seq, number FROM (SELECT process, step, seq, row_number() OVER ("
		 "PARTITION BY process, step ORDER BY seq) AS number, count(*) OVER (PARTITION BY process, step) AS batches FROM ("
		 "SELECT process, step, seq, inside, lag(inside) OVER (PARTITION BY process, step ORDER BY seq) AS before FROM ("
		 "SELECT process, step, alloc_seq AS seq, node IN temp.inside AS inside FROM allocation "
		 "WHERE process IN temp.evaluating AND memory = 'tensor' AND phase <> 'init' AND (%lld = 0 OR step = %lld))) "
		 "WHERE inside AND before = 0) WHERE batches > %d",
		 (long long)step, (long long)step, EVALUATION_PARTS);
	return db_execute(db, sql);
}

/* Notes for each step the begin of its last micro-batch, its number of micro-batches, and the number of such steps. */
static int make_batch_steps(struct db *db)
{
	int error = db_execute(db,
			       "CREATE TEMP TABLE batch_step (process INTEGER, step INTEGER, last_seq INTEGER, batches "
			       "INTEGER, of_steps INTEGER, PRIMARY KEY (process, step)) WITHOUT ROWID");

	return error ? error
		     : db_execute(db, "INSERT INTO temp.batch_step SELECT process, step, max(first_seq), count(*), "
				      "count(*) OVER (PARTITION BY process) FROM temp.batch GROUP BY process, step");
}

/* Finds the moments of the question: the peaks of phases, or the newest begin of each phase in one step. */
static int make_instants(struct db *db, const struct retained_question *question)
{
	char sql[700];
	int error = db_execute(db, "CREATE TEMP TABLE instant (device INTEGER, time INTEGER, phase TEXT, "
				   "at_process INTEGER, seq INTEGER)");

	if (error)
		return error;
	if (question->step)
		snprintf(sql, sizeof(sql),
			 "INSERT INTO temp.instant SELECT device, first_time, phase, process, first_seq FROM (SELECT *, "
			 "row_number() OVER (PARTITION BY device, phase ORDER BY first_time DESC, process DESC, first_seq DESC) "
			 "AS place FROM phase_span JOIN (SELECT DISTINCT process, device FROM site) USING (process) "
			 "WHERE step = %lld) WHERE place = 1",
			 (long long)question->step);
	else
		snprintf(sql, sizeof(sql),
			 "INSERT INTO temp.instant SELECT device, time, phase, process, seq FROM phase_peak");
	error = db_execute(db, sql);
	return error ? error : db_execute(db, "CREATE INDEX temp.instant_time ON instant (device, time)");
}

/*
 * The memory at a phase's peak, by the phase that allocated it. CROSS JOIN makes SQLite pass over the allocations once.
 * Few of them were alive at a moment: the index tells this before sites and spans are looked up. Two numbers sort faster than six columns.
 */
static int make_crossings(struct db *db, const struct retained_question *question)
{
	static const char lives[] = "instant.device = allocation.device AND instant.time >= alloc_time AND "
				    "instant.time <= ifnull(free_time, 9223372036854775807)";
	char sql[2400], from[64] = "", to[64] = "";
	int error = make_instants(db, question);

	if (question->from)
		snprintf(from, sizeof(from), " AND allocation.phase = '%s'", question->from);
	if (question->to)
		snprintf(to, sizeof(to), " AND instant.phase = '%s'", question->to);
	snprintf(sql, sizeof(sql),
		 "CREATE TEMP TABLE crossing AS SELECT site.device AS device, process, instant.phase AS alive, ifnull(node, 0) "
		 "AS node, site.phase AS phase, category, sum(bytes) AS bytes, sum(count) AS count FROM (SELECT instant.rowid "
		 "AS at, site, sum(bytes) AS bytes, sum(allocations) AS count FROM in_use_span AS allocation CROSS JOIN temp.instant ON %s AND " ALIVE_AT(
			 "instant.time", "at_process",
			 "instant.seq") " AND instant.phase <> allocation.phase "
					"WHERE bytes AND EXISTS (SELECT 1 FROM temp.instant WHERE %s)%s%s GROUP BY 1, 2) "
					"JOIN temp.instant ON instant.rowid = at JOIN site ON site.id = site GROUP BY 1, 2, 3, 4, 5, 6",
		 lives, lives, from, to);
	return error ? error : db_execute(db, sql);
}

/* ---- growth ---- */

static int by_bytes(const void *a, const void *b)
{
	const struct growth_place *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->first_node > two->first_node) - (one->first_node < two->first_node);
}

static int find_batches(struct retained *retained, struct db *db)
{
	struct growth_list *list = &retained->batches;
	int error = retained_find_batches(list, db);

	if (list->count)
		qsort(list->place, list->count, sizeof(*list->place), by_bytes);
	return error ? error : growth_table_make(&retained->batch_table, list, db);
}

static int find_steps(struct retained *retained, struct db *db)
{
	struct growth_list *list = &retained->steps;
	size_t i;
	int error = growth_load(&retained->growth, db);

	for (i = 0; i < retained->growth.table.places.count && !error; i++)
		error = growth_list_add(list, &retained->growth.table.places.place[i]) ? 0 : -MT_E_MEMORY;
	if (list->count)
		qsort(list->place, list->count, sizeof(*list->place), by_bytes);
	return error;
}

/* ---- what stays, and what crosses ---- */

static int stays_row(void *context, const struct db_stmt *row)
{
	struct retained *retained = context;
	uint32_t i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (!strcmp(db_text(row, 0), mt_category_name(i)))
			retained->stays[i] += (uint64_t)db_int(row, 1);
	retained->stays_bytes += (uint64_t)db_int(row, 1);
	retained->later_bytes += (uint64_t)db_int(row, 2);
	retained->asleep_bytes += (uint64_t)db_int(row, 3);
	return 0;
}

static int find_stays(struct retained *retained, struct db *db)
{
	const struct growth_place *place;
	uint64_t grown;
	size_t i;
	int error = finding_rows(
		db,
		"SELECT category, sum(bytes) FILTER (WHERE step <= first), sum(bytes) FILTER (WHERE step > first), "
		"sum(asleep) "
		"FROM temp.kept AS kept CROSS JOIN (SELECT process, min(step) AS first, max(step) AS last FROM step "
		"GROUP BY process) AS span USING (process) WHERE since <= last AND (gone IS NULL OR gone > last) "
		"GROUP BY category",
		stays_row, retained);

	for (i = 0; i < retained->steps.count; i++) {
		place = &retained->steps.place[i];
		grown = place->bytes -
			(place->parts == place->of ? place->each : 0); /* memory of the first step is not later */
		retained->later_bytes -= grown < retained->later_bytes ? grown : retained->later_bytes;
	}
	return error;
}

static int crossing_row(void *context, const struct db_stmt *row)
{
	struct retained_crossings *list = context;
	struct retained_crossing *more;

	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		more = realloc(list->crossing, list->room * sizeof(*more));
		if (!more)
			return -MT_E_MEMORY;
		list->crossing = more;
	}
	list->crossing[list->count++] = (struct retained_crossing){
		.device = db_int(row, 0),
		.pid = db_int(row, 1),
		.from = mt_phase_name(finding_phase(db_text(row, 2))),
		.to = mt_phase_name(finding_phase(db_text(row, 3))),
		.bytes = (uint64_t)db_int(row, 4),
		.count = (uint64_t)db_int(row, 5),
		.category = db_type(row, 6) == DB_NULL ? NULL : mt_category_name(mt_category_parse(db_text(row, 6))),
		.node = db_int(row, 7),
		.first_node = db_int(row, 8),
		.number = db_int(row, 9),
		.device_kind = strcmp(db_text(row, 10), "cpu") ? "cuda" : "cpu"
	};
	return 0;
}

static int find_crossings(struct retained *retained, struct db *db, const struct retained_question *question)
{
	int error = finding_rows(db,
				 "SELECT device, 0, phase, alive, sum(bytes), sum(count), NULL, 0, 0, number, kind "
				 "FROM temp.crossing JOIN device ON device.id = device "
				 "GROUP BY device, phase, alive ORDER BY 5 DESC, 1, 3, 4",
				 crossing_row, &retained->phases);

	if (error || (!question->from && !question->to))
		return error;
	return finding_rows(
		db,
		"SELECT device, pid, crossing.phase, alive, sum(bytes), sum(count), category, min(crossing.node), "
		"first_node, number, kind FROM temp.crossing AS crossing LEFT JOIN temp.same_place AS same USING (node) "
		"JOIN process ON process.id = process JOIN device ON device.id = crossing.device "
		"GROUP BY device, process, crossing.phase, alive, category, first_node "
		"ORDER BY 5 DESC, device, process, crossing.phase, alive, category, first_node",
		crossing_row, &retained->places);
}

/* Finds a step's own memory. Memory that stays by nature (weights, optimizer state, caches, ...) is left out. */
static int find_outlived(struct retained *retained, struct db *db)
{
	char sql[1300];

	snprintf(sql, sizeof(sql),
		 "SELECT kept.device, pid, kept.phase, kept.phase, sum(bytes) AS all_bytes, sum(count), category, min(kept.node), first_node, "
		 "number, device.kind "
		 "FROM temp.kept AS kept LEFT JOIN temp.same_place AS same USING (node) "
		 "JOIN process ON process.id = kept.process JOIN device ON device.id = kept.device "
		 "JOIN (SELECT process, max(step) AS last FROM step GROUP BY process) AS span ON span.process = kept.process "
		 "WHERE since <= last AND (gone IS NULL OR gone > last) AND kept.phase <> '%s' "
		 "AND category IN ('%s', '%s', '%s', '%s', '%s') "
		 "GROUP BY kept.device, kept.process, first_node, kept.phase, category HAVING all_bytes > 0 "
		 "ORDER BY 5 DESC, kept.device, kept.process, kept.phase, category, first_node",
		 mt_phase_name(MT_PHASE_INIT), mt_category_name(MT_CATEGORY_ACTIVATIONS),
		 mt_category_name(MT_CATEGORY_RECOMPUTED), mt_category_name(MT_CATEGORY_LOGITS),
		 mt_category_name(MT_CATEGORY_WORKSPACE), mt_category_name(MT_CATEGORY_OTHER));
	return finding_rows(db, sql, crossing_row, &retained->outlived);
}

static int counts_row(void *context, const struct db_stmt *row)
{
	struct retained *retained = context;

	retained->step_count = (uint64_t)db_int(row, 0);
	retained->batch_count = (uint64_t)db_int(row, 1);
	retained->devices = (uint64_t)db_int(row, 2);
	return 0;
}

int retained_has_step(struct db *db, int64_t step)
{
	char sql[160];
	int there = 0, error;

	snprintf(sql, sizeof(sql),
		 "SELECT EXISTS (SELECT 1 FROM step WHERE step = %lld) OR EXISTS (SELECT 1 FROM phase_span WHERE step = %lld)",
		 (long long)step, (long long)step);
	error = finding_rows(db, sql, take_flag, &there);
	return error ? error : there;
}

int retained_needs_lives(struct db *db)
{
	int needed = 0, error;

	error = finding_rows(db, "SELECT EXISTS (SELECT 1 FROM phase_span GROUP BY process HAVING " EVALUATES ")",
			     take_flag, &needed);
	return error ? error : needed;
}

int retained_load(struct retained *retained, struct db *db, const struct retained_question *question)
{
	int error;

	memset(retained, 0, sizeof(*retained));
	retained->db = db;
	error = make_kept(db);
	if (!error)
		error = make_batches(db, question->step);
	if (!error)
		error = make_evaluated(db, question->step);
	if (!error)
		error = make_batch_steps(db);
	if (!error)
		error = make_crossings(db, question);
	if (!error)
		error = finding_same_places(db);
	if (!error)
		error = find_steps(retained, db);
	if (!error)
		error = find_batches(retained, db);
	if (!error)
		error = find_stays(retained, db);
	if (!error)
		error = find_outlived(retained, db);
	if (!error)
		error = find_crossings(retained, db, question);
	if (!error)
		error = finding_rows(
			db,
			"SELECT (SELECT max(count) FROM (SELECT count(*) AS count FROM step GROUP BY process)), "
			"(SELECT max(batches) FROM temp.batch_step), (SELECT count(DISTINCT device) FROM phase_peak)",
			counts_row, retained);
	return error;
}

void retained_release(struct retained *retained)
{
	growth_release(&retained->growth);
	growth_table_release(&retained->batch_table);
	free(retained->steps.place);
	free(retained->batches.place);
	free(retained->phases.crossing);
	free(retained->places.crossing);
	free(retained->outlived.crossing);
	memset(retained, 0, sizeof(*retained));
}
