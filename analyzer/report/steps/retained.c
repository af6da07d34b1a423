#include "retained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"
#include "retained_lives.h"
#include "rows/sums_steps.h"
#include "store/load.h"

#define EVALUATES "sum(phase IN ('backward', 'optimizer')) = 0 AND sum(phase = 'forward')" /* SQL, over spans */
#define EVALUATION_PARTS 7 /* calls of a model that are no batches, at most, in a process without a backward */

_Static_assert(SUMS_PARTS == GROWTH_PARTS, "facts have the micro-batches of the steps that are judged");

/* ---- micro-batches ---- */

/* Each forward that does not follow a forward of its step begins a micro-batch. Facts of traces tell the table (store/load_sink.h). */
static int make_batches(struct db *db, int64_t step)
{
	char sql[700];
	int64_t told = 0;
	int error = db_number(db, "SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'batch_begin')", NULL,
			      &told);

	if (error || told)
		return error;
	error = db_execute(db, "CREATE TEMP TABLE batch_begin " LOAD_BATCH_BEGIN);
	if (error)
		return error;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO temp.batch_begin SELECT process, step, first_seq FROM ("
		 "SELECT process, step, phase, first_seq, lag(phase) OVER (PARTITION BY process, step ORDER BY first_seq) "
		 "AS before FROM phase_span WHERE phase IN ('forward', 'backward') AND process NOT IN temp.evaluating "
		 "AND (%lld = 0 OR step = %lld)) "
		 "WHERE phase = 'forward' AND before IS NOT 'forward'",
		 (long long)step, (long long)step);
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
		"CREATE TEMP TABLE inside AS WITH RECURSIVE up(node, id) AS (SELECT DISTINCT node, node FROM site "
		"WHERE node IS NOT NULL AND process IN temp.evaluating UNION SELECT up.node, parent FROM up "
		"JOIN stack_node ON stack_node.id = up.id WHERE parent IS NOT NULL) SELECT DISTINCT up.node AS node FROM up "
		"JOIN stack_node ON stack_node.id = up.id JOIN frame ON frame.id = frame WHERE function LIKE '%_call_impl'");

	if (error)
		return error;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO temp.batch_begin SELECT process, step, seq FROM (SELECT process, step, seq, count(*) OVER (PARTITION BY process, step) AS batches FROM ("
		 "SELECT process, step, seq, inside, lag(inside) OVER (PARTITION BY process, step ORDER BY seq) AS before FROM ("
		 "SELECT process, step, alloc_seq AS seq, node IN temp.inside AS inside FROM allocation "
		 "WHERE process IN temp.evaluating AND memory = 'tensor' AND phase <> 'init' AND (%lld = 0 OR step = %lld))) "
		 "WHERE inside AND before = 0) WHERE batches > %d",
		 (long long)step, (long long)step, EVALUATION_PARTS);
	return db_execute(db, sql);
}

/* ---- growth ---- */

static int by_bytes(const void *a, const void *b)
{
	const struct growth_place *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->first_node > two->first_node) - (one->first_node < two->first_node);
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

/* ---- the lives ---- */

/* Tells both counts the lives of the owner. 0 or an error. */
static int take_owner(struct retained_lives *lives, struct retained_alive *alive, struct retained_batches *batches)
{
	struct retained_life life;
	int more = 0, error = retained_alive_owner(alive, &lives->owner);

	if (!error)
		error = retained_batches_owner(batches, lives);
	while (!error && (more = retained_lives_next(lives, &life)) > 0) {
		error = retained_alive_take(alive, &life);
		if (!error)
			error = retained_batches_take(batches, &life);
	}
	error = error ? error : more;
	return error ? error : retained_batches_judge(batches);
}

/* Memory that grows by steps is later, too. The memory of the first step is not. */
static void take_growth_off(struct retained *retained)
{
	const struct growth_place *place;
	uint64_t grown;
	size_t i;

	for (i = 0; i < retained->steps.count; i++) {
		place = &retained->steps.place[i];
		grown = place->bytes - (place->parts == place->of ? place->each : 0);
		retained->later_bytes -= grown < retained->later_bytes ? grown : retained->later_bytes;
	}
}

/* Counts what the lives kept, in one pass over them. 0 or an error. */
static int find_kept(struct retained *retained, struct db *db, const struct retained_question *question)
{
	struct growth_list *list = &retained->batches;
	struct retained_batches batches = { .db = db, .list = list, .only = question->step };
	struct retained_alive alive;
	struct retained_lives lives;
	int more = 0, error = retained_alive_open(&alive, retained, db, question);

	if (error)
		lives = (struct retained_lives){ 0 };
	else
		error = retained_lives_open(&lives, db);
	while (!error && (more = retained_lives_owner(&lives)) > 0)
		error = take_owner(&lives, &alive, &batches);
	error = error ? error : more;
	if (!error)
		error = retained_alive_finish(&alive);
	take_growth_off(retained);
	retained_batches_finish(&batches);
	if (list->count)
		qsort(list->place, list->count, sizeof(*list->place), by_bytes);
	retained_lives_release(&lives);
	retained_alive_release(&alive);
	retained_batches_release(&batches);
	return error ? error : growth_table_make(&retained->batch_table, list, db);
}

static int counts_row(void *context, struct db_stmt *row)
{
	struct retained *retained = context;

	retained->step_count = (uint64_t)db_int(row, 0);
	retained->batch_count = (uint64_t)db_int(row, 1);
	retained->devices = (uint64_t)db_int(row, 2);
	return 0;
}

int retained_has_step(struct db *db, int64_t step)
{
	int64_t there = 0;
	int error = db_number(
		db,
		"SELECT EXISTS (SELECT 1 FROM step WHERE step = ?1) OR EXISTS (SELECT 1 FROM phase_span WHERE step = ?1)",
		DB_NUMBERS(step), &there);

	return error ? error : there != 0;
}

int retained_needs_lives(struct db *db)
{
	int64_t needed = 0;
	int error = db_number(db, "SELECT EXISTS (SELECT 1 FROM phase_span GROUP BY process HAVING " EVALUATES ")",
			      NULL, &needed);

	return error ? error : needed != 0;
}

int retained_load(struct retained *retained, struct db *db, const struct retained_question *question)
{
	char sql[400];
	uint64_t lost = 0;
	int error;

	memset(retained, 0, sizeof(*retained));
	retained->db = db;
	error = db_execute(
		db,
		"CREATE TEMP TABLE evaluating AS SELECT process FROM phase_span GROUP BY process HAVING " EVALUATES);
	if (!error)
		error = make_batches(db, question->step);
	if (!error)
		error = make_evaluated(db, question->step);
	if (!error)
		error = finding_same_places(db);
	if (!error)
		error = find_steps(retained, db);
	if (!error)
		error = find_kept(retained, db, question);
	if (!error)
		error = answer_say_lost(&retained->lost, db, &lost);
	snprintf(sql, sizeof(sql),
		 "SELECT (SELECT max(count) FROM (SELECT count(*) AS count FROM step GROUP BY process)), (SELECT max(count) FROM "
		 "(SELECT count(*) AS count FROM temp.batch_begin GROUP BY process, step) WHERE count > %d), "
		 "(SELECT count(DISTINCT device) FROM phase_peak)",
		 GROWTH_PARTS);
	return error ? error : db_rows(db, sql, NULL, counts_row, retained);
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
