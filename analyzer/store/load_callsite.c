/*
 * load_callsite.c - the line of the user's code behind every stack that allocated, freed, or was refused, and what inside
 * of it tells things apart (callstack_inner_frame).
 *
 * The line is the innermost frame of the user's own code, unless that is a helper that everybody allocates with: a line that
 * does so while the model is set up, while it works and in the optimizer says nothing of any of them. Then it is the
 * next frame outwards. Forward and backward, rollout and log-probs run the same lines, and are one kind of work here.
 */
#include <string.h>
#include "load.h"
#include "memtrace/error.h"
#include "query/callstack.h"

#define LEVELS 5 /* helpers that call helpers */

/* Frames that may be the callsite, innermost first: level 0 and up. */
static const char create_candidates[] =
	"CREATE TEMP TABLE candidate (node INTEGER, level INTEGER, function TEXT, file TEXT, line INTEGER, place TEXT, "
	"PRIMARY KEY (node, level)) WITHOUT ROWID";

static const char create_chosen[] = "CREATE TEMP TABLE chosen (node INTEGER PRIMARY KEY, level INTEGER)";

static const char all_nodes[] =
	"SELECT node FROM site WHERE node IS NOT NULL UNION SELECT node FROM oom WHERE node IS NOT NULL "
	"UNION SELECT node FROM temp.freed ORDER BY node";

static const char choose[] = "INSERT INTO chosen SELECT node, 0 FROM candidate WHERE level = 0";

static const char step_out[] =
	"WITH work AS (SELECT DISTINCT node, CASE WHEN phase IN ('init', 'optimizer', 'weight-update') THEN phase "
	"ELSE 'work' END AS kind FROM site WHERE phase <> 'other'), "
	"helper AS (SELECT function, file, line, place FROM chosen JOIN candidate USING (node, level) "
	"JOIN work USING (node) "
	"GROUP BY function, file, line, place HAVING count(DISTINCT kind) > 1) "
	"UPDATE chosen SET level = level + 1 "
	"WHERE EXISTS (SELECT 1 FROM candidate AS outer "
	"WHERE outer.node = chosen.node AND outer.level = chosen.level + 1) "
	"AND EXISTS (SELECT 1 FROM candidate JOIN helper USING (function, file, line, place) "
	"WHERE candidate.node = chosen.node AND candidate.level = chosen.level)";

static const char fill[] =
	"INSERT INTO callsite SELECT node, function, file, line, place FROM chosen JOIN candidate USING (node, level) "
	"ORDER BY node";

static int add_candidate(struct db_stmt *insert, int64_t node, int level, const struct callstack *stack, size_t user)
{
	const struct callstack_frame *frame = &stack->frame[callstack_inner_frame(stack, user)];
	char place[512], function[512];

	callstack_spot_place(place, sizeof(place), stack, user);
	db_bind(insert, 1, node);
	db_bind(insert, 2, level);
	db_bind_text(insert, 3, callstack_spot_function(function, sizeof(function), stack, user));
	db_bind_text(insert, 4, frame->file);
	db_bind(insert, 5, frame->line);
	db_bind_text(insert, 6, place);
	return db_run(insert);
}

/* The user's frame and those further out that are the user's as well. */
static int add_candidates(struct db_stmt *insert, int64_t node, const struct callstack *stack)
{
	size_t at = callstack_user_frame(stack);
	int level = 0, error;

	if (at == CALLSTACK_NO_FRAME)
		return 0;
	error = add_candidate(insert, node, level++, stack, at);
	while (++at < stack->count && level < LEVELS && !error)
		if (callstack_is_user(&stack->frame[at]))
			error = add_candidate(insert, node, level++, stack, at);
	return error;
}

static int find_candidates(struct db *db, struct symbols *symbols)
{
	struct db_stmt *nodes = NULL, *insert = NULL;
	struct callstack stack;
	int error = db_prepare(db, &insert, "INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?)"), more = 0;

	if (!error)
		error = db_prepare(db, &nodes, all_nodes);
	while (!error && (more = db_step(nodes)) == 1) {
		error = callstack_load(&stack, db, db_int(nodes, 0), symbols);
		if (!error)
			error = add_candidates(insert, db_int(nodes, 0), &stack);
		callstack_release(&stack);
	}
	db_finish(nodes);
	db_finish(insert);
	return error ? error : more;
}

int load_callsites(struct db *db, struct symbols *symbols)
{
	int error = db_execute(db, "CREATE TEMP TABLE IF NOT EXISTS freed (node INTEGER PRIMARY KEY)"), level;

	if (!error)
		error = db_execute(db, create_candidates);
	if (!error)
		error = find_candidates(db, symbols);
	if (!error)
		error = db_execute(db, create_chosen);
	if (!error)
		error = db_execute(db, choose);
	for (level = 1; level < LEVELS && !error; level++)
		error = db_execute(db, step_out);
	if (!error)
		error = db_execute(db, fill);
	if (!error)
		error = db_execute(db, "DROP TABLE chosen");
	if (!error)
		error = db_execute(db, "DROP TABLE candidate");
	return error ? error : db_execute(db, "DROP TABLE freed");
}
