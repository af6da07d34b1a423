#include "worker_query.h"

#include <stdio.h>
#include <string.h>
#include "report/answer.h"

/* ---- the summary ---- */

int worker_query_has_places(struct db *db, int *has)
{
	int64_t exists = 0;
	int error = db_number(db, "SELECT EXISTS (SELECT * FROM place)", NULL, &exists);

	*has = exists != 0;
	return error;
}

int worker_query_places(struct db *db, worker_query_row *row, void *context)
{
	return db_rows(db, "SELECT node, function, place FROM place", NULL, row, context);
}

int worker_query_evidence(struct db *db, worker_query_row *row, void *context)
{
	return db_rows(db, "SELECT id, evidence, decided_by FROM site", NULL, row, context);
}

/* ---- the whole run ---- */

int worker_query_prepare(struct db *db)
{
	int error = db_execute(db, "CREATE INDEX allocation_by_site ON allocation_raw (site)");

	return error ? error
		     : db_execute(db, "CREATE INDEX IF NOT EXISTS span_by_seq ON phase_span (process, first_seq)");
}

int worker_query_sites(struct db *db, worker_query_row *row, void *context)
{
	return db_rows(db, "SELECT id, process, device, node, phase FROM site", NULL, row, context);
}

/* ---- of one place ---- */

/* A place: the sites that are one row of the screen (model_same_line). */
#define SITES_OF_PLACE                                                                                                                     \
	"(SELECT twin.id FROM site AS one JOIN site AS twin ON twin.process = one.process "                                                \
	"AND twin.device = one.device AND twin.phase = one.phase AND twin.category = one.category "                                        \
	"AND twin.memory = one.memory LEFT JOIN place AS here ON here.node = one.node LEFT JOIN place AS there ON there.node = twin.node " \
	"WHERE one.id = ?1 AND (twin.node IS one.node OR "                                                                                 \
	"(there.function = here.function AND there.place = here.place)))"

int worker_query_life(struct db *db, int64_t site, int64_t limit, worker_query_row *row, void *context)
{
	static const char sql[] =
		"SELECT alloc_time, free_time, bytes, step, "
		"(SELECT span.phase FROM phase_span AS span WHERE span.process = one.process "
		"AND span.first_seq <= one.free_seq ORDER BY span.first_seq DESC LIMIT 1), "
		"free_step, ifnull(place.function, ''), ifnull(place.place, ''), free_node IS NULL "
		"FROM (SELECT * FROM allocation WHERE site IN " SITES_OF_PLACE
		" ORDER BY bytes DESC, alloc_time DESC, id DESC LIMIT ?2) AS one "
		"LEFT JOIN place ON place.node = free_node ORDER BY bytes DESC, alloc_time DESC, one.id DESC";
	const int64_t value[DB_PARAMETERS] = { site, limit };

	return db_rows(db, sql, value, row, context);
}

int worker_query_life_sums(struct db *db, int64_t site, worker_query_row *row, void *context)
{
	static const char sql[] = "SELECT count(*), ifnull(sum(bytes), 0), count(free_time), "
				  "ifnull(sum(bytes) FILTER (WHERE free_time IS NULL), 0), count(DISTINCT step), "
				  "ifnull(min(free_time - alloc_time), 0), ifnull(max(free_time - alloc_time), 0), "
				  "ifnull(avg(free_time - alloc_time), 0), ifnull(max(bytes), 0) "
				  "FROM allocation WHERE site IN " SITES_OF_PLACE;
	const int64_t value[DB_PARAMETERS] = { site };

	return db_rows(db, sql, value, row, context);
}

int worker_query_freed_by(struct db *db, int64_t site, worker_query_row *row, void *context)
{
	static const char sql[] = "SELECT function, place, count(*), count(*) OVER () "
				  "FROM allocation JOIN place ON place.node = free_node WHERE site IN " SITES_OF_PLACE
				  " GROUP BY function, file, line, place ORDER BY count(*) DESC, place LIMIT 1";
	const int64_t value[DB_PARAMETERS] = { site };

	return db_rows(db, sql, value, row, context);
}

/* ---- lists of places ---- */

#define IN_USE_AT(time)                                                                                          \
	"(one.since_time <= " time " AND CASE WHEN one.until_time IS NULL THEN ifnull((SELECT over_time > " time \
	" FROM main.process AS gone WHERE gone.id = one.process), 1) ELSE one.until_time > " time " END)"
#define BORN "(one.alloc_time > ?2 AND one.alloc_time <= ?3)"
#define KEPT "(" BORN " AND " IN_USE_AT("?3") ")"

int worker_query_between(struct db *db, int64_t device, int64_t from, int64_t to, worker_query_row *row, void *context)
{
	static const char sql[] = "SELECT sum(one.bytes * (" IN_USE_AT("?3") " - " IN_USE_AT(
		"?2") ")) AS grown, "
		      "sum(one.bytes * (" BORN " AND one.since_seq = one.alloc_seq)), sum(one.bytes * " KEPT
		      ") AS kept, "
		      "sum(" KEPT "), one.phase, one.category, ifnull(place.function, ''), "
		      "ifnull(place.place, ''), ifnull(process.rank, -1), process.pid, one.site, max(one.bytes) "
		      "FROM in_use_span AS one JOIN process ON process.id = one.process "
		      "LEFT JOIN place ON place.node = one.node "
		      "WHERE one.device = ?1 AND one.since_time <= ?3 AND (one.until_time IS NULL OR one.until_time > ?2) "
		      "AND one.bytes > 0 AND NOT (" IN_USE_AT("?2") " AND " IN_USE_AT(
			      "?3") ") "
				    "GROUP BY one.process, one.phase, one.category, place.function, place.file, place.line, "
				    "place.place HAVING grown <> 0 OR kept > 0 "
				    "ORDER BY grown DESC, kept DESC, one.phase, one.category, 8, one.process";
	const int64_t value[DB_PARAMETERS] = { device, from, to };

	return db_rows(db, sql, value, row, context);
}

int worker_query_in_use(struct db *db, int64_t device, int64_t from, int64_t to, worker_query_row *row, void *context)
{
	static const char sql[] = "SELECT ifnull(sum(one.bytes * " IN_USE_AT(
		"?2") "), 0), "
		      "ifnull(sum(one.bytes * " IN_USE_AT("?3") "), 0) FROM in_use_span AS one "
								"WHERE one.device = ?1";
	const int64_t value[DB_PARAMETERS] = { device, from, to };

	return db_rows(db, sql, value, row, context);
}

int worker_query_beside(struct db *db, int64_t device, const struct alive_moment *when, worker_query_row *row,
			void *context)
{
	static const char sql[] = "SELECT bytes, alloc_time, phase, step, ifnull(site, 0), ifnull(node, 0), memory "
				  "FROM in_use_span WHERE device = ?1 AND memory <> 'tensor' AND bytes > 0 "
				  "AND " ALIVE_SPAN_AT("?2", "?3", "?4") " ORDER BY bytes DESC, alloc_time, id";
	const int64_t value[DB_PARAMETERS] = { device, when->time, when->process, when->seq };

	return db_rows(db, sql, value, row, context);
}

int worker_query_tables(struct db *db, worker_query_row *row, void *context)
{
	return db_rows(db, SCHEMA_RELATIONS(SCHEMA_FOR_PEOPLE), NULL, row, context);
}

int worker_query_phase_peak(struct db *db, int64_t device, const char *phase, int64_t *time)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "SELECT time FROM phase_peak WHERE device = ? AND phase = ?"), more;

	*time = -1;
	if (error)
		return error;
	db_bind(stmt, 1, device);
	db_bind_text(stmt, 2, phase);
	more = db_step(stmt);
	if (more > 0)
		*time = db_int(stmt, 0);
	db_finish(stmt);
	return more < 0 ? more : 0;
}

int worker_query_site_of(struct db *db, const struct worker_query_stack *stack, int64_t *site)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt,
			       "SELECT id FROM site WHERE device = ?1 AND process = ?2 "
			       "AND ifnull(node, 0) = ?3 AND phase = ?4 ORDER BY category = ?5 DESC, id LIMIT 1"),
	    more;

	*site = 0;
	if (error)
		return error;
	db_bind(stmt, 1, stack->device);
	db_bind(stmt, 2, stack->process);
	db_bind(stmt, 3, stack->node);
	db_bind_text(stmt, 4, stack->phase);
	db_bind_text(stmt, 5, stack->category);
	more = db_step(stmt);
	if (more > 0)
		*site = db_int(stmt, 0);
	db_finish(stmt);
	return more < 0 ? more : 0;
}

static int add_name(void *context, struct db_stmt *row)
{
	struct sentence *names = context;

	sentence_say(names, "%s%s", names->size ? " " : "", db_text(row, 0));
	return 0;
}

int worker_query_forget(struct db *db)
{
	struct sentence names = { 0 };
	char *rest = names.text, *name, sql[300];
	int error = db_rows(db, "SELECT name FROM sqlite_temp_schema WHERE type = 'table' AND name <> 'batch_begin'",
			    NULL, add_name, &names);

	while (!error && (name = strsep(&rest, " ")) && *name) {
		snprintf(sql, sizeof(sql), "DROP TABLE temp.\"%.200s\"", name);
		error = db_execute(db, sql);
	}
	return error;
}
