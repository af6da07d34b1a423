/*
 * load_callsite.c - the line of the user's code behind every stack that allocated, freed, or was refused, and what inside
 * of it tells things apart (callstack_inner_frame).
 *
 * The line is the innermost frame of the user's own code, unless that is a helper that everybody allocates with. Such
 * a line allocates while the model is set up, while it works and in the optimizer, and says nothing of any of them.
 * Then it is the next frame outwards. Forward and backward, rollout and log-probs run the same lines, and are one
 * kind of work here.
 */
#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "load.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "query/stack_tree.h"

#define LEVELS 5 /* helpers that call helpers */

/* Places, each once, by all that a row of callsite says of them. */
static const char create_places[] =
	"CREATE TEMP TABLE callsite_place (id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, place TEXT, "
	"UNIQUE (function, file, line, place))";

/* Frames that may be the callsite, innermost first: level 0 and up. */
static const char create_candidates[] = "CREATE TEMP TABLE candidate (node INTEGER, level INTEGER, at INTEGER, "
					"PRIMARY KEY (node, level)) WITHOUT ROWID";

static const char create_chosen[] = "CREATE TEMP TABLE chosen (node INTEGER PRIMARY KEY, level INTEGER)";

static const char all_nodes[] =
	"SELECT node FROM site WHERE node IS NOT NULL UNION SELECT node FROM oom WHERE node IS NOT NULL "
	"UNION SELECT node FROM temp.freed ORDER BY node";

static const char choose[] = "INSERT INTO chosen SELECT node, 0 FROM candidate WHERE level = 0";

static const char step_out[] =
	"WITH work AS (SELECT DISTINCT node, CASE WHEN phase IN ('init', 'optimizer', 'weight-update') THEN phase "
	"ELSE 'work' END AS kind FROM site WHERE phase <> 'other'), "
	"helper AS (SELECT at FROM chosen JOIN candidate USING (node, level) JOIN work USING (node) "
	"GROUP BY at HAVING count(DISTINCT kind) > 1) "
	"UPDATE chosen SET level = level + 1 "
	"WHERE EXISTS (SELECT 1 FROM candidate AS outer "
	"WHERE outer.node = chosen.node AND outer.level = chosen.level + 1) "
	"AND EXISTS (SELECT 1 FROM candidate JOIN helper USING (at) "
	"WHERE candidate.node = chosen.node AND candidate.level = chosen.level)";

static const char fill_lines[] = "INSERT INTO callsite_line SELECT id, function, file, line, place FROM callsite_place "
				 "WHERE id IN (SELECT at FROM callsite_node) ORDER BY id";

static const char *const fill[] = {
	"INSERT INTO callsite_node SELECT node, at FROM chosen JOIN candidate USING (node, level) ORDER BY node",
	fill_lines,
	"DROP TABLE chosen",
	"DROP TABLE candidate",
	"DROP TABLE callsite_place",
	"DROP TABLE freed",
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

struct finder {
	struct stack_tree *tree;
	struct db_stmt *insert_place, *find_place, *insert;
	struct tuple_table known; /* places by their frames: to make the words is dear, and to find them by these, too */
	int64_t *row;             /* row of each */
	uint32_t rows, row_room;
};

/* The id of the row with the words; one more, if there is none. */
static int place_row(struct finder *finder, const struct callstack *stack, size_t user,
		     const struct callstack_frame *inner, int64_t *at)
{
	struct db_stmt *stmt[] = { finder->insert_place, finder->find_place };
	char place[512], function[512];
	size_t i;
	int error;

	callstack_spot_place(place, sizeof(place), stack, user);
	callstack_spot_function(function, sizeof(function), stack, user);
	for (i = 0; i < MT_ARRAY_SIZE(stmt); i++) {
		db_bind_text(stmt[i], 1, function);
		db_bind_text(stmt[i], 2, inner->file);
		db_bind(stmt[i], 3, inner->line);
		db_bind_text(stmt[i], 4, place);
	}
	error = db_run(finder->insert_place);
	if (error)
		return error;
	error = db_step(finder->find_place);
	if (error == 1)
		*at = db_int(finder->find_place, 0);
	db_rewind(finder->find_place);
	return error < 0 ? error : 0;
}

static int add_row(struct finder *finder, const struct tuple *key, int64_t at)
{
	uint32_t room = finder->row_room ? finder->row_room * 2 : 256;
	int64_t *larger;

	if (finder->rows == finder->row_room) {
		larger = realloc(finder->row, room * sizeof(*larger));
		if (!larger)
			return -MT_E_MEMORY;
		finder->row = larger;
		finder->row_room = room;
	}
	finder->row[finder->rows++] = at;
	return tuple_add(&finder->known, key, finder->rows - 1);
}

static int find_place(struct finder *finder, const struct callstack *stack, size_t user, int64_t *at)
{
	struct callstack_spot spot = callstack_spot(stack, user);
	const struct tuple key = { { (uintptr_t)spot.user, (uintptr_t)spot.inner, (uintptr_t)spot.from,
				     (uint64_t)spot.in_user } };
	uint32_t number = tuple_find(&finder->known, &key);
	int error;

	if (number != TUPLE_NONE) {
		*at = finder->row[number];
		return 0;
	}
	error = place_row(finder, stack, user, spot.inner, at);
	return error ? error : add_row(finder, &key, *at);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static int add_candidate(struct finder *finder, int64_t node, int level, const struct callstack *stack, size_t user)
{
	int64_t at = 0;
	int error = find_place(finder, stack, user, &at);

	if (error)
		return error;
	db_bind(finder->insert, 1, node);
	db_bind(finder->insert, 2, level);
	db_bind(finder->insert, 3, at);
	return db_run(finder->insert);
}

/* The user's frame and those further out that are the user's as well. */
static int add_candidates(struct finder *finder, int64_t node, const struct callstack *stack)
{
	size_t at = callstack_user_frame(stack);
	int level = 0, error;

	if (at == CALLSTACK_NO_FRAME)
		return 0;
	error = add_candidate(finder, node, level++, stack, at);
	while (++at < stack->count && level < LEVELS && !error)
		if (callstack_is_user(stack->frame[at]))
			error = add_candidate(finder, node, level++, stack, at);
	return error;
}

static int find_candidates(struct db *db, struct finder *finder)
{
	struct db_stmt *nodes = NULL;
	struct callstack stack = { .count = 0 };
	int error = db_prepare(db, &nodes, all_nodes), more = 0;

	while (!error && (more = db_step(nodes)) == 1) {
		error = stack_tree_load(finder->tree, db_int(nodes, 0), &stack);
		if (!error)
			error = add_candidates(finder, db_int(nodes, 0), &stack);
	}
	callstack_release(&stack);
	db_finish(nodes);
	return error ? error : more;
}

static int make_candidates(struct db *db, struct symbols *symbols)
{
	struct finder finder = { .tree = stack_tree_new(db, symbols) };
	int error = finder.tree ? 0 : -MT_E_MEMORY;

	if (!error)
		error = db_prepare(db, &finder.insert_place,
				   "INSERT OR IGNORE INTO callsite_place VALUES (NULL, ?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &finder.find_place,
				   "SELECT id FROM callsite_place WHERE (function, file, line, place) = (?, ?, ?, ?)");
	if (!error)
		error = db_prepare(db, &finder.insert, "INSERT INTO candidate VALUES (?, ?, ?)");
	if (!error)
		error = find_candidates(db, &finder);
	db_finish(finder.insert_place);
	db_finish(finder.find_place);
	db_finish(finder.insert);
	tuple_release(&finder.known);
	free(finder.row);
	stack_tree_free(finder.tree);
	return error;
}

int load_callsites(struct db *db, struct symbols *symbols)
{
	static const char *const create[] = { "CREATE TEMP TABLE IF NOT EXISTS freed (node INTEGER PRIMARY KEY)",
					      create_places, create_candidates, create_chosen };
	int error = 0, level;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(create) && !error; i++)
		error = db_execute(db, create[i]);
	if (!error)
		error = make_candidates(db, symbols);
	if (!error)
		error = db_execute(db, choose);
	for (level = 1; level < LEVELS && !error; level++)
		error = db_execute(db, step_out);
	for (i = 0; i < MT_ARRAY_SIZE(fill) && !error; i++)
		error = db_execute(db, fill[i]);
	return error;
}
