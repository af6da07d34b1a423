/*
 * load_place.c - the place of every stack that allocated, freed, or was refused: a line of the user's code, and the
 * distinctive frame inside of the line (callstack_inner_frame).
 *
 * The line is the innermost frame of the user's own code. A helper that all parts of a program use is passed over for
 * the next frame outwards that tells these apart; in a module without names, for its next address. Such a line allocates
 * while the model is set up, while the model works, and in the optimizer: it identifies none of them. Forward and
 * backward, rollout and log-probs run the same lines, and are one kind of work here.
 */
#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "load.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "query/stack_tree.h"
#include "store.h"
#include "store_shared.h"

#define LEVELS 5    /* largest number of helpers that call one another */
#define USED_TOLD 2 /* bit: the place has a row */

/* Each place once, by all columns of the view place. */
static const char create_places[] =
	"CREATE TEMP TABLE place_found (id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, place TEXT, "
	"UNIQUE (function, file, line, place))";

/* Stacks with the kinds of work that these did, as bits: set-up, step, weight update, other work. 0: no kind is known. */
static const char all_nodes[] =
	"SELECT node, sum(DISTINCT kind) FROM (SELECT node, CASE phase WHEN 'other' THEN 0 WHEN 'init' THEN 1 "
	"WHEN 'optimizer' THEN 2 WHEN 'weight-update' THEN 4 ELSE 8 END AS kind FROM site "
	"UNION ALL SELECT node, 0 FROM oom UNION ALL SELECT node, 0 FROM temp.freed) "
	"WHERE node IS NOT NULL GROUP BY node ORDER BY node";

static const char fill_lines[] = "INSERT INTO place_name SELECT id, function, file, line, place FROM place_found "
				 "WHERE id IN (SELECT place_id FROM place_node) ORDER BY id";

static const char *const finish[] = { fill_lines, "DROP TABLE place_found", "DROP TABLE freed" };

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* A stack with frames of the user. */
struct candidates {
	int64_t node;
	uint32_t at[LEVELS];  /* rows of the places to choose from, innermost first */
	uint8_t count, level; /* number of entries of `at`; index of the entry that is looked at */
	uint8_t kinds;        /* bits, see all_nodes */
	uint8_t best, least;  /* index of the first entry whose stacks did the fewest kinds of work; that number */
	uint8_t own;          /* 1: the place gets a row */
};

struct finder {
	struct stack_tree *tree;
	struct candidates *stack;
	size_t stacks, stack_room;
	struct db_stmt *insert_place, *find_place;
	struct tuple_table known; /* places by their frames: a cache, because making the words is slow */
	int64_t *row;             /* id of each place's row */
	uint32_t rows, row_room;
};

/* Returns the id of the place with these words, added if new. */
static int place_row(struct finder *finder, const struct callstack *stack, size_t user,
		     const struct callstack_frame *inner, int64_t *at)
{
	struct db_stmt *stmt[] = { finder->insert_place, finder->find_place };
	char place[512], function[512];
	size_t i;
	int error;

	callstack_place_of(place, sizeof(place), stack, user);
	callstack_function_of(function, sizeof(function), stack, user);
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
	if (MT_ARRAY_ROOM(finder->row, finder->rows, finder->row_room))
		return -MT_E_MEMORY;
	finder->row[finder->rows++] = at;
	return tuple_add(&finder->known, key, finder->rows - 1);
}

static int find_place(struct finder *finder, const struct callstack *stack, size_t user, int64_t *at)
{
	struct callstack_parts parts = callstack_parts_of(stack, user);
	const struct tuple key = { { (uintptr_t)parts.user, (uintptr_t)parts.inner, (uintptr_t)parts.from,
				     (uint64_t)parts.in_user } };
	uint32_t number = tuple_find(&finder->known, &key);
	int error;

	if (number != TUPLE_NONE) {
		*at = finder->row[number];
		return 0;
	}
	error = place_row(finder, stack, user, parts.inner, at);
	return error ? error : add_row(finder, &key, *at);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* Adds a stack. NULL: out of memory. */
static struct candidates *new_candidates(struct finder *finder, int64_t node, uint8_t kinds)
{
	if (MT_ARRAY_ROOM(finder->stack, finder->stacks, finder->stack_room))
		return NULL;
	finder->stack[finder->stacks] = (struct candidates){ .node = node, .kinds = kinds, .own = 1 };
	return &finder->stack[finder->stacks++];
}

static int add_candidate(struct finder *finder, struct candidates *candidates, const struct callstack *stack,
			 size_t user)
{
	int64_t at = 0;
	int error = find_place(finder, stack, user, &at);

	candidates->at[candidates->count++] = (uint32_t)at;
	return error;
}

/* Whether an outer frame can replace an inner one: it is user code, or both are frames without names in one module. */
static int is_like(const struct callstack_frame *inner, const struct callstack_frame *outer)
{
	return callstack_is_user(outer) ||
	       (callstack_is_nameless(inner) && callstack_is_nameless(outer) && !strcmp(inner->module, outer->module));
}

/* Adds the user's frame as a candidate, and the outer frames that can replace it. */
static int add_candidates(struct finder *finder, int64_t node, uint8_t kinds, const struct callstack *stack)
{
	size_t user = callstack_user_frame(stack), at = user;
	struct candidates *candidates;
	int error;

	if (at == CALLSTACK_NO_FRAME)
		return 0;
	candidates = new_candidates(finder, node, kinds);
	error = candidates ? add_candidate(finder, candidates, stack, at) : -MT_E_MEMORY;
	while (!error && ++at < stack->count && candidates->count < LEVELS)
		if (is_like(stack->frame[user], stack->frame[at]))
			error = add_candidate(finder, candidates, stack, at);
	return error;
}

static int find_candidates(struct db *db, struct finder *finder)
{
	struct db_stmt *nodes = NULL;
	struct callstack stack = { .count = 0 };
	int64_t before = 0;
	int error = db_prepare(db, &nodes, all_nodes), more = 0;

	while (!error && (more = db_step(nodes)) == 1) {
		if (db_int(nodes, 0) >> 32 != before >> 32)
			stack_tree_trim(finder->tree);
		before = db_int(nodes, 0);
		error = stack_tree_load(finder->tree, before, &stack);
		if (!error)
			error = add_candidates(finder, db_int(nodes, 0), (uint8_t)db_int(nodes, 1), &stack);
	}
	callstack_release(&stack);
	db_finish(nodes);
	return error ? error : more;
}

/* ---- candidates of an analysis whose sites have no rows ---- */

#define KINDS 15u /* bits, see all_nodes */
#define NODE_IS_THERE 16u
#define NODE_IS_OWN 32u

struct all_sites {
	const struct analysis *analysis;
	const uint8_t *own; /* see store_choose */
};

static uint8_t kind_of(uint8_t phase)
{
	return phase == MT_PHASE_OTHER           ? 0
	       : phase == MT_PHASE_INIT          ? 1
	       : phase == MT_PHASE_OPTIMIZER     ? 2
	       : phase == MT_PHASE_WEIGHT_UPDATE ? 4
						 : 8;
}

/* The bits of the node's row. */
static uint8_t *kinds_of(uint8_t **kinds, const struct analysis *analysis, uint32_t process, uint32_t node)
{
	int64_t id = store_node_id(analysis, process, node);

	return &kinds[id >> 32][(uint32_t)id];
}

/* Returns the bits of all_nodes by process and node. The caller frees them. NULL: out of memory. */
static uint8_t **find_kinds(const struct all_sites *all)
{
	const struct analysis *analysis = all->analysis;
	uint8_t **kinds = calloc((size_t)analysis->processes + 1, sizeof(*kinds));
	const struct site *site;
	uint32_t i;
	int error = !kinds;

	for (i = 0; i < analysis->processes && !error; i++) {
		kinds[i] = calloc((size_t)mt_defs_count(analysis->process[i].defs, MT_DEF_NODE) + 1, 1);
		error = !kinds[i];
	}
	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		site = &analysis->attribution.site[i];
		if (site->key.process < analysis->processes)
			*kinds_of(kinds, analysis, site->key.process,
				  site->key.stack) |= (uint8_t)(kind_of(site->key.phase) | NODE_IS_THERE |
								(all->own[i] ? NODE_IS_OWN : 0));
	}
	for (i = 0; i < analysis->ooms && !error; i++)
		if (analysis->oom[i].process < analysis->processes &&
		    analysis->oom[i].stack <=
			    mt_defs_count(analysis->process[analysis->oom[i].process].defs, MT_DEF_NODE))
			*kinds_of(kinds, analysis, analysis->oom[i].process, analysis->oom[i].stack) |= NODE_IS_THERE |
													NODE_IS_OWN;
	for (i = 0; i < analysis->processes && error && kinds; i++)
		free(kinds[i]);
	if (error)
		free(kinds);
	return error ? NULL : kinds;
}

/* Reads a node for stack_tree_read. Ids come from store_id. */
static void read_node(const void *context, int64_t id, int64_t *parent, int64_t *frame)
{
	const struct analysis *analysis = context;
	uint32_t process = (uint32_t)(id >> 32);
	const struct mt_node *node = mt_defs_node(analysis->process[process].defs, (uint32_t)id);

	*parent = store_node_id(analysis, process, node->parent);
	*frame = store_frame_id(analysis, process, node->frame);
}

/* Reads a frame for stack_tree_read. Native frames, and frames with a module, are read from their rows: their names may be stored elsewhere. */
static int read_frame(const void *context, int64_t id, struct callstack_frame *told)
{
	const struct analysis *analysis = context;
	const struct mt_defs *defs = analysis->process[(uint32_t)(id >> 32)].defs;
	const struct mt_frame *frame = mt_defs_frame(defs, (uint32_t)id);

	if (!frame || !store_frame_is_plain(frame))
		return 0;
	*told = (struct callstack_frame){ .function = mt_defs_string(defs, frame->function),
					  .file = mt_defs_string(defs, frame->file),
					  .module = "",
					  .line = frame->line };
	return 1;
}

static int find_of_process(struct finder *finder, const struct all_sites *all, uint32_t process, const uint8_t *kinds)
{
	uint32_t node, count = mt_defs_count(all->analysis->process[process].defs, MT_DEF_NODE);
	struct callstack stack = { .count = 0 };
	size_t before;
	int error = 0;

	stack_tree_trim(finder->tree);
	for (node = 1; node <= count && !error; node++) {
		if (!(kinds[node] & NODE_IS_THERE))
			continue;
		before = finder->stacks;
		error = stack_tree_load(finder->tree, store_id(process, node), &stack);
		if (!error)
			error = add_candidates(finder, store_id(process, node), kinds[node] & KINDS, &stack);
		if (finder->stacks > before)
			finder->stack[before].own = (kinds[node] & NODE_IS_OWN) != 0;
	}
	callstack_release(&stack);
	return error;
}

static int find_all(struct finder *finder, const struct all_sites *all)
{
	uint8_t **kinds = find_kinds(all);
	uint32_t i;
	int error = kinds ? 0 : -MT_E_MEMORY;

	for (i = 0; i < all->analysis->processes && kinds; i++) {
		if (!error)
			error = find_of_process(finder, all, i, kinds[i]);
		free(kinds[i]);
	}
	free(kinds);
	return error;
}

/* Without an analysis the stacks are those of the database; without `own` the sites are. */
static int make_candidates(struct db *db, struct finder *finder, const struct all_sites *all)
{
	static const struct stack_tree_source source = { read_node, read_frame };
	int error = db_prepare(db, &finder->insert_place,
			       "INSERT OR IGNORE INTO place_found VALUES (NULL, ?, ?, ?, ?)");

	if (!error)
		error = db_prepare(db, &finder->find_place,
				   "SELECT id FROM place_found WHERE (function, file, line, place) = (?, ?, ?, ?)");
	if (all->analysis)
		stack_tree_read(finder->tree, &source, all->analysis);
	if (!error)
		error = all->own ? find_all(finder, all) : find_candidates(db, finder);
	db_finish(finder->insert_place);
	db_finish(finder->find_place);
	return error;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/*
 * Looks at the next frame outwards where the stacks of a line did more than one kind of work. Keeps the frame with the
 * fewest kinds: no caller of a loop in one line tells them apart. `kinds` has a zeroed entry for each place.
 */
static void step_out(struct finder *finder, uint8_t *kinds)
{
	struct candidates *stack;
	int count;

	for (stack = finder->stack; stack < finder->stack + finder->stacks; stack++)
		kinds[stack->at[stack->level]] |= stack->kinds;
	for (stack = finder->stack; stack < finder->stack + finder->stacks; stack++) {
		count = __builtin_popcount(kinds[stack->at[stack->level]]);
		if (!stack->level || count < stack->least) {
			stack->best = stack->level;
			stack->least = (uint8_t)count;
		}
		if (stack->level + 1 < stack->count && count > 1)
			stack->level++;
	}
}

static int choose(struct finder *finder)
{
	size_t places = finder->rows + 1u; /* their ids count from 1, and are no more than rows */
	uint8_t *kinds = malloc(places);
	int level;

	if (!kinds)
		return -MT_E_MEMORY;
	for (level = 0; level < LEVELS; level++) {
		memset(kinds, 0, places);
		step_out(finder, kinds);
	}
	free(kinds);
	return 0;
}

/*
 * Stores rows for own stacks, and for the first stack of each of their places. The first stack identifies and orders a
 * place (finding_same_places). Stacks come in the order of their nodes.
 */
static int store_rows(struct db_stmt *insert, const struct finder *finder, uint8_t *used)
{
	const struct candidates *stack, *end = finder->stack + finder->stacks;
	uint32_t at;
	int error = 0;

	for (stack = finder->stack; stack < end; stack++)
		used[stack->at[stack->best]] |= stack->own;
	for (stack = finder->stack; stack < end && !error; stack++) {
		at = stack->at[stack->best];
		if (!used[at] || (used[at] == USED_TOLD && !stack->own))
			continue;
		used[at] = USED_TOLD;
		db_bind(insert, 1, stack->node);
		db_bind(insert, 2, at);
		error = db_run(insert);
	}
	return error;
}

static int store_chosen(struct db *db, const struct finder *finder)
{
	uint8_t *used = calloc((size_t)finder->rows + 1, 1); /* by place */
	struct db_stmt *insert = NULL;
	int error = used ? db_prepare(db, &insert, "INSERT INTO place_node VALUES (?, ?)") : -MT_E_MEMORY;

	if (!error)
		error = store_rows(insert, finder, used);
	db_finish(insert);
	free(used);
	return error;
}

static int load_all(struct db *db, struct symbols *symbols, const struct all_sites *all)
{
	struct finder finder = { .tree = stack_tree_new(db, symbols) };
	int error = finder.tree ? 0 : -MT_E_MEMORY;
	size_t i;

	if (!error)
		error = db_execute(db, "CREATE TEMP TABLE IF NOT EXISTS freed (node INTEGER PRIMARY KEY)");
	if (!error)
		error = db_execute(db, create_places);
	if (!error)
		error = make_candidates(db, &finder, all);
	if (!error)
		error = choose(&finder);
	if (!error)
		error = store_chosen(db, &finder);
	for (i = 0; i < MT_ARRAY_SIZE(finish) && !error; i++)
		error = db_execute(db, finish[i]);
	tuple_release(&finder.known);
	free(finder.row);
	free(finder.stack);
	stack_tree_free(finder.tree);
	return error;
}

int load_places(struct db *db, struct symbols *symbols)
{
	return load_places_of(db, symbols, NULL, NULL);
}

int load_places_of(struct db *db, struct symbols *symbols, const struct analysis *analysis, const uint8_t *own)
{
	return load_all(db, symbols, &(struct all_sites){ .analysis = analysis, .own = own });
}
