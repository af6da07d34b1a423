#include "query_parameter.h"

#include <string.h>

#define SUM(member, word) ", sum(CASE WHEN what = '" word "' AND NOT tied THEN bytes ELSE 0 END)"
#define SUMS "sum(CASE WHEN tied THEN 0 ELSE bytes END)" QUERY_PARAMETER_LIST(SUM)

static struct query_parameter read_row(struct db_stmt *stmt)
{
	int column = 0;
	struct query_parameter row;

	memset(&row, 0, sizeof(row));
	row.name = db_text(stmt, column++);
	row.model = db_text(stmt, column++);
	row.module = db_text(stmt, column++);
	row.optimizer = db_text(stmt, column++);
	row.dtype = db_text(stmt, column++);
	row.shape = db_text(stmt, column++);
	row.count = (uint64_t)db_int(stmt, column++);
	row.processes = (uint64_t)db_int(stmt, column++);
	row.bytes = (uint64_t)db_int(stmt, column++);
#define READ(member, word) row.member = (uint64_t)db_int(stmt, column++);
	QUERY_PARAMETER_LIST(READ)
#undef READ
	return row;
}

static int ask(struct db *db, const char *sql, int64_t limit, query_parameter_row *give, void *context)
{
	struct query_parameter row;
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, sql), more;

	if (error)
		return error;
	db_bind(stmt, 1, limit);
	while (!error && (more = db_step(stmt)) != 0) {
		if (more > 0)
			row = read_row(stmt);
		error = more < 0 ? more : give(context, &row);
	}
	db_finish(stmt);
	return error;
}

int query_parameters(struct db *db, int64_t limit, query_parameter_row *row, void *context)
{
	return ask(db,
		   "SELECT pattern, ifnull(model, ''), ifnull(max(module), ''), ifnull(optimizer, ''), "
		   "ifnull(max(CASE WHEN what IN ('weights', 'buffers', 'master weights') THEN dtype END), ''), "
		   "ifnull(max(CASE WHEN what IN ('weights', 'buffers', 'master weights') THEN shape END), ''), "
		   "count(DISTINCT name), count(DISTINCT process), " SUMS " FROM parameter WHERE newest "
		   "GROUP BY pattern, model, optimizer ORDER BY 9 DESC, 1, 2, 4 LIMIT ?1",
		   limit, row, context);
}

int query_parameter_sum(struct db *db, query_parameter_row *row, void *context)
{
	return ask(db,
		   "SELECT '', '', '', '', '', '', count(DISTINCT ifnull(model, '') || ' ' || name), count(DISTINCT process), " SUMS
		   " FROM parameter WHERE newest HAVING count(*) > 0 AND ?1",
		   1, row, context);
}
