#include "unwalked.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "report/answer.h"

#define BACKWARDS_MAX 65536 /* the newest of a run are looked at */
#define MADE_MAX (1 << 18)  /* most tensors of forwards */
#define FORWARDS_MAX 1024
#define LINES_MAX 65536   /* stacks of a loop */
#define PILE 8            /* tensors that one forward keeps: an output is a few */
#define PARTS_MAX 8       /* most parts of one forward: a loop inside of the loop */
#define LOOPS_MAX 4       /* functions, from the one that calls the model outwards */
#define KEPT_SHARE 4      /* least share of a forward's memory: outputs that somebody collects are less */
#define LOOKED_BACK 8     /* backwards before: what is usual shows in these */
#define BACKWARDS_LEAST 4 /* else nothing is usual yet */

struct made {
	int64_t seq, node;
	uint64_t bytes;
	int there, counts; /* counts: it may be for a backward, or is what went in */
};

struct line {
	int64_t node, line; /* the loop's line on that stack */
};

/* One time around a loop, of which a model's forward is a part. */
struct forward {
	int64_t first_seq;
	uint64_t made, bytes, pieces; /* bytes, pieces: of what it made, there still */
	uint64_t stacks, sizes;       /* sums over these, alike where the stacks are, and their sizes */
};

struct span {
	int64_t first_seq, last_seq;
};

struct graphs {
	const struct unwalked_question *question;
	struct span *backward; /* newest first, as all of these */
	size_t backwards;
	struct made *made;
	size_t count;
	struct line *line; /* by node */
	size_t lines;
	struct forward *forward; /* since the last backward; the first may not have ended */
	size_t forwards;
	size_t usual; /* most between two of those before */
	int walked;   /* a backward has freed what came from the same stacks */
};

static int take_backward(void *context, struct db_stmt *stmt)
{
	struct graphs *graphs = context;

	graphs->backward[graphs->backwards++] = (struct span){ db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

static int take_made(void *context, struct db_stmt *stmt)
{
	struct graphs *graphs = context;

	graphs->made[graphs->count++] = (struct made){ .seq = db_int(stmt, 0),
						       .bytes = (uint64_t)db_int(stmt, 1),
						       .node = db_int(stmt, 2),
						       .there = db_int(stmt, 3) != 0,
						       .counts = db_int(stmt, 4) != 0 };
	return 0;
}

static int take_line(void *context, struct db_stmt *stmt)
{
	struct graphs *graphs = context;

	graphs->line[graphs->lines++] = (struct line){ db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

/* ---- what a loop has made ---- */

/* 0: the loop is not on that stack. */
static int64_t line_of(const struct graphs *graphs, int64_t node)
{
	size_t low = 0, high = graphs->lines, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (graphs->line[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < graphs->lines && graphs->line[low].node == node ? graphs->line[low].line : 0;
}

static int take_gone(void *context, struct db_stmt *stmt)
{
	struct graphs *graphs = context;
	size_t low = 0, high = graphs->backwards, middle;
	int64_t seq = db_int(stmt, 0);

	while (low < high) {
		middle = low + (high - low) / 2;
		if (graphs->backward[middle].first_seq > seq)
			low = middle + 1;
		else
			high = middle;
	}
	graphs->walked |= low < graphs->backwards && graphs->backward[low].last_seq >= seq;
	return 0;
}

#define OF_GRAPHS "category IN ('activations', 'logits and log-probs', 'other') "
#define OF_FORWARD "phase = 'forward' AND " OF_GRAPHS
#define SINCE                                                                                                             \
	"process = ?1 AND device = ?2 AND memory = 'tensor' AND node IS NOT NULL AND alloc_seq > ?3 AND alloc_seq <= ?4 " \
	"AND (free_seq IS NULL OR free_seq > ?4) "

static int load_backwards(struct graphs *graphs, struct db *db)
{
	static const char sql[] =
		"SELECT first_seq, last_seq FROM phase_span WHERE process = ?1 AND first_seq <= ?2 AND phase = 'backward' "
		"ORDER BY first_seq DESC LIMIT ?3";
	const int64_t parameter[ANSWER_PARAMETERS] = { graphs->question->process, graphs->question->seq,
						       BACKWARDS_MAX };

	graphs->backward = calloc(BACKWARDS_MAX, sizeof(*graphs->backward));
	return graphs->backward ? answer_rows(db, sql, parameter, take_backward, graphs) : -MT_E_MEMORY;
}

struct kept {
	uint64_t bytes;
	int64_t node;
};

static int take_kept(void *context, struct db_stmt *stmt)
{
	*(struct kept *)context = (struct kept){ (uint64_t)db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

/* The memory of forwards since the last backward, and a stack that has most of it. */
static int load_kept(struct graphs *graphs, struct db *db, struct kept *kept)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT node, sum(bytes) AS bytes FROM allocation WHERE " SINCE
		"AND " OF_FORWARD
		"GROUP BY node) SELECT ifnull(sum(bytes), 0), (SELECT node FROM there ORDER BY bytes DESC, node LIMIT 1) FROM there";
	const int64_t parameter[ANSWER_PARAMETERS] = { graphs->question->process, graphs->question->device,
						       graphs->backward[0].last_seq, graphs->question->seq };

	return answer_rows(db, sql, parameter, take_kept, kept);
}

static int load_made(struct graphs *graphs, struct db *db)
{
	static const char sql[] =
		"SELECT alloc_seq, bytes, node, free_seq IS NULL OR free_seq > ?4, " OF_GRAPHS
		"FROM allocation WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND node IS NOT NULL "
		"AND phase IN ('forward', 'other') AND alloc_seq > ?3 AND alloc_seq <= ?4 ORDER BY alloc_seq DESC LIMIT ?5";
	const struct unwalked_question *it = graphs->question;
	size_t oldest = graphs->backwards < LOOKED_BACK ? graphs->backwards : LOOKED_BACK;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, graphs->backward[oldest - 1].first_seq,
						       it->seq, MADE_MAX };

	graphs->made = calloc(MADE_MAX, sizeof(*graphs->made));
	graphs->line = calloc(LINES_MAX, sizeof(*graphs->line));
	graphs->forward = calloc(FORWARDS_MAX, sizeof(*graphs->forward));
	return graphs->made && graphs->line && graphs->forward ? answer_rows(db, sql, parameter, take_made, graphs)
							       : -MT_E_MEMORY;
}

/* The lines of a function that all stacks have, which have it: of its outermost call. */
static int load_lines(struct graphs *graphs, struct db *db, int64_t frame)
{
	static const char sql[] =
		"WITH RECURSIVE own AS MATERIALIZED (SELECT DISTINCT node FROM site WHERE process = ?1 AND node IS NOT NULL "
		"AND phase IN ('forward', 'other')), way(node, at) AS (SELECT node, node FROM own UNION SELECT way.node, parent "
		"FROM way JOIN stack_node ON stack_node.id = way.at WHERE parent IS NOT NULL), "
		"same AS MATERIALIZED (SELECT frame.id AS id, frame.line AS line FROM frame JOIN frame AS loop ON loop.id = ?2 "
		"WHERE frame.function = loop.function AND frame.file = loop.file) "
		"SELECT way.node, ifnull(line, 0), min(way.at) FROM way JOIN stack_node ON stack_node.id = way.at JOIN same ON same.id = stack_node.frame "
		"GROUP BY way.node ORDER BY way.node LIMIT ?3";
	const int64_t parameter[ANSWER_PARAMETERS] = { graphs->question->process, frame, LINES_MAX };

	graphs->lines = 0;
	return answer_rows(db, sql, parameter, take_line, graphs);
}

static uint64_t mixed(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

static void add_made(struct forward *forward, const struct made *made)
{
	uint64_t stack = mixed((uint64_t)made->node);

	forward->first_seq = made->seq;
	if (!made->counts)
		return;
	forward->made += made->bytes;
	if (!made->there)
		return;
	forward->bytes += made->bytes;
	forward->pieces++;
	forward->stacks += stack;
	forward->sizes += mixed(stack ^ made->bytes);
}

/*
 * A loop has gone around where its line is further up than before: what was made each time since the last backward, and how often it went
 * around between those before.
 */
static void go_around(struct graphs *graphs)
{
	size_t behind = 0, run = 0, i;
	int64_t later = 0, line;

	graphs->forwards = graphs->usual = 0;
	for (i = 0; i < graphs->count; i++) {
		line = line_of(graphs, graphs->made[i].node);
		if (!line)
			continue;
		while (behind < graphs->backwards && graphs->made[i].seq < graphs->backward[behind].first_seq) {
			behind++;
			run = 0;
			later = 0;
		}
		run += !later || line > later;
		if (behind)
			graphs->usual = run > graphs->usual ? run : graphs->usual;
		else if (run > FORWARDS_MAX)
			break;
		else
			add_made(&graphs->forward[run - 1], &graphs->made[i]);
		graphs->forwards = behind ? graphs->forwards : run;
		later = line;
	}
}

static int is_kept(const struct forward *forward)
{
	return forward->bytes && forward->bytes >= forward->made / KEPT_SHARE;
}

/*
 * How many times before the newest, which has not ended, are alike, each of `parts`: counted from the newest. 0: not two. `sizes`: their
 * sizes have to be alike, too.
 */
static size_t rounds_of(const struct graphs *graphs, size_t parts, int sizes)
{
	const struct forward *one, *next;
	uint64_t pieces = 0;
	size_t i;

	for (i = 1; i + parts < graphs->forwards; i++) {
		one = &graphs->forward[i];
		next = one + parts;
		if (!is_kept(one) || !is_kept(next) || one->stacks != next->stacks ||
		    (sizes && one->sizes != next->sizes))
			break;
		pieces += i <= parts ? one->pieces : 0;
	}
	return i > parts && pieces >= PILE ? (i - 1) / parts + 1 : 0;
}

/* Frames of a stack outside of its outermost call of a module. */
struct callers {
	int64_t frame[LOOPS_MAX];
	size_t count;
};

static int is_module_call(const char *function, const char *file)
{
	const char *name = strrchr(function, '.');

	return !strcmp(name ? name + 1 : function, "forward") || strstr(file, "torch/nn/modules/module.py");
}

static int take_frame(void *context, struct db_stmt *stmt)
{
	struct callers *callers = context;

	if (is_module_call(db_text(stmt, 1), db_text(stmt, 2)))
		callers->count = 0;
	else if (callers->count < LOOPS_MAX && db_int(stmt, 3))
		callers->frame[callers->count++] = db_int(stmt, 0);
	return 0;
}

/* The innermost function around the model that goes around as often as twice: `parts` of each time. 0: there is none, or an error. */
static int find_loop(struct graphs *graphs, struct db *db, int64_t node, size_t *parts)
{
	static const char sql[] =
		"WITH RECURSIVE up(id, depth) AS (SELECT ?1, 0 UNION ALL SELECT parent, depth + 1 FROM up JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL AND depth < 1024) SELECT frame.id, ifnull(function, ''), ifnull(file, ''), kind = 'python' "
		"FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame ORDER BY depth";
	const int64_t parameter[ANSWER_PARAMETERS] = { node };
	struct callers callers = { .count = 0 };
	int error = answer_rows(db, sql, parameter, take_frame, &callers);
	size_t i;

	for (i = 0; i < callers.count && !error; i++) {
		error = load_lines(graphs, db, callers.frame[i]);
		memset(graphs->forward, 0, FORWARDS_MAX * sizeof(*graphs->forward));
		go_around(graphs);
		for (*parts = 1; *parts <= PARTS_MAX && !error; ++*parts)
			if (rounds_of(graphs, *parts, 0))
				return 1;
	}
	return error;
}

/* Whether what came from the same stacks before has gone in a backward. */
static int find_walked(struct graphs *graphs, struct db *db)
{
	static const char sql[] =
		"SELECT free_seq FROM allocation WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND " OF_FORWARD
		"AND free_seq < ?3 AND node IN (SELECT node FROM allocation WHERE " SINCE "AND " OF_FORWARD ")";
	const struct unwalked_question *it = graphs->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { it->process, it->device, graphs->backward[0].last_seq, it->seq };

	return answer_rows(db, sql, parameter, take_gone, graphs);
}

/* "evaluate", "run_validation", "Tester.step", not "retrieval", "latest". */
static int is_called_evaluation(const char *function)
{
	static const char *const words[] = { "eval", "valid", "test", "predict", "infer" };
	const char *at = function;
	size_t i;

	for (; *at; at++)
		for (i = 0; i < MT_ARRAY_SIZE(words); i++)
			if (!strncasecmp(at, words[i], strlen(words[i])) &&
			    (at == function || isupper((unsigned char)*at) || !isalpha((unsigned char)at[-1])))
				return 1;
	return 0;
}

static int is_on(const struct callstack *stack, const struct callstack_frame *frame)
{
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (!strcmp(stack->frame[i]->function, frame->function) && !strcmp(stack->frame[i]->file, frame->file))
			return 1;
	return 0;
}

/* A function of that name calls the model, and not the optimizer, too: a test that trains is no evaluation. */
static int has_evaluation(const struct callstack *made, const struct callstack *trains)
{
	const struct callstack_frame *frame;
	int found = 0;
	size_t i;

	for (i = 0; i < made->count; i++) {
		frame = made->frame[i];
		if (is_module_call(frame->function, frame->file))
			found = 0;
		else
			found |= !frame->native && is_called_evaluation(frame->function) && !is_on(trains, frame);
	}
	return found;
}

/* 1, 0 or an error. */
static int is_evaluation(const struct graphs *graphs, struct db *db, int64_t node)
{
	static const char sql[] =
		"SELECT min(node) FROM site WHERE process = ?1 AND phase = 'optimizer' AND node IS NOT NULL";
	const int64_t parameter[ANSWER_PARAMETERS] = { graphs->question->process };
	struct callstack made = { .count = 0 }, trains = { .count = 0 };
	uint64_t optimizer = 0;
	int error = answer_bytes(db, sql, parameter, &optimizer), found = 0;

	if (!error)
		error = callstack_load(&made, db, node, NULL);
	if (!error)
		error = callstack_load(&trains, db, (int64_t)optimizer, NULL);
	if (!error)
		found = has_evaluation(&made, &trains);
	callstack_release(&made);
	callstack_release(&trains);
	return error ? error : found;
}

/* ---- together ---- */

static int weigh(struct graphs *graphs, struct unwalked *unwalked, struct db *db, size_t parts)
{
	size_t rounds = rounds_of(graphs, parts, 0), i;
	int error, evaluates;

	for (i = 1; i <= rounds * parts; i++) {
		unwalked->bytes += graphs->forward[i].bytes;
		unwalked->count += graphs->forward[i].pieces;
	}
	if (unwalked->bytes < graphs->question->least)
		return 0;
	error = find_walked(graphs, db);
	evaluates = error ? error : is_evaluation(graphs, db, unwalked->node);
	if (evaluates < 0)
		return evaluates;
	unwalked->forwards = rounds;
	unwalked->evaluates = evaluates && !graphs->walked;
	unwalked->unusual = graphs->backwards >= BACKWARDS_LEAST && graphs->usual <= parts &&
			    rounds_of(graphs, parts, 1) >= 2;
	return 0;
}

int unwalked_find(struct unwalked *unwalked, struct db *db, const struct unwalked_question *question)
{
	struct graphs graphs = { .question = question };
	struct kept kept = { .bytes = 0 };
	size_t parts = 0;
	int result;

	*unwalked = (struct unwalked){ .forwards = 0 };
	result = load_backwards(&graphs, db);
	if (!result && graphs.backwards)
		result = load_kept(&graphs, db, &kept);
	if (!result && kept.bytes && kept.bytes >= question->least) {
		unwalked->node = kept.node;
		result = load_made(&graphs, db);
		if (!result)
			result = find_loop(&graphs, db, unwalked->node, &parts);
		if (result > 0)
			result = weigh(&graphs, unwalked, db, parts);
	}
	free(graphs.backward);
	free(graphs.made);
	free(graphs.line);
	free(graphs.forward);
	return result;
}
