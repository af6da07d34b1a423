/* What a forward, a loader, a trainer or a server has made before, and what came then does not need. */
#include <string.h>
#include "memtrace/base.h"
#include "oom_left.h"
#include "oom_signs.h"
#include "query/alive.h"
#include "report/answer.h"
#include "report/callers.h"
#include "report/finding.h"
#include "report/steps/unwalked.h"

#define SHARE 8         /* of what is in use: less than one part in so many is not why */
#define REST 8          /* one part in so many may be something else */
#define SIZES 3         /* of weights: two happen to be alike */
#define EARLIER_SHARE 4 /* of a forward that has kept less than one part in so many, the rest is why */

struct pieces {
	uint64_t bytes, count;
	int64_t node; /* a stack of them */
};

static int take_pieces(void *context, struct db_stmt *stmt)
{
	struct pieces *pieces = context;

	*pieces = (struct pieces){ .bytes = (uint64_t)db_int(stmt, 0),
				   .count = (uint64_t)db_int(stmt, 1),
				   .node = db_int(stmt, 2) };
	return 0;
}

static int is_enough(const struct oom *oom, const struct pieces *pieces)
{
	return pieces->count >= OOM_PILE && pieces->bytes >= oom_missing(oom->it) &&
	       pieces->bytes >= oom->in_use / SHARE;
}

static int take(struct oom *oom, struct db *db, enum oom_again_kind kind, const struct pieces *pieces)
{
	struct oom_again *again = &oom->again;
	struct finding_place named;
	int error = finding_place_of(&named, db, pieces->node);

	if (error)
		return error;
	*again = (struct oom_again){ .kind = kind, .bytes = pieces->bytes, .count = pieces->count };
	mt_copy_text(again->function, sizeof(again->function), named.function);
	mt_copy_text(again->place, sizeof(again->place), named.place);
	error = caller_behind(db, pieces->node, again->caller, again->caller_place);
	return error ? error : 1;
}

#define TENSORS                                                                                       \
	"process = ?1 AND device = ?2 AND since_seq <= ?3 AND (until_seq IS NULL OR until_seq > ?3) " \
	"AND memory = 'tensor' "
#define THERE TENSORS "AND node IS NOT NULL "

/*
 * Lightning kept what each batch of a validation had returned through the epoch of training that came after. From a stack of which
 * nothing has ever gone in a backward, though the process has them: many pieces, each of a forward of its own.
 */
static int find_earlier(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT node, bytes, (SELECT max(first_seq) FROM phase_span WHERE process = ?1 AND "
		"phase = 'forward' AND first_seq <= since_seq) AS span FROM in_use_span WHERE " THERE
		"AND phase = 'forward' AND category IN ('activations', 'other')), "
		"pile AS MATERIALIZED (SELECT node, sum(bytes) AS bytes, count(*) AS pieces FROM there GROUP BY node "
		"HAVING count(DISTINCT span) >= ?4 AND count(DISTINCT span) >= count(*) / 2) "
		"SELECT sum(bytes), sum(pieces), (SELECT node FROM pile ORDER BY bytes DESC, node LIMIT 1) FROM pile WHERE NOT EXISTS "
		"(SELECT 1 FROM allocation JOIN phase_span AS span ON span.process = ?1 AND span.phase = 'backward' "
		"AND free_seq BETWEEN first_seq AND last_seq WHERE allocation.process = ?1 AND allocation.node = pile.node) "
		"AND EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND phase = 'backward' AND first_seq < ?3)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, OOM_PILE };
	struct pieces pieces = { 0 };
	int error = oom->evaluates ? 0 : answer_rows(db, sql, parameter, take_pieces, &pieces);

	if (error || !is_enough(oom, &pieces) || pieces.bytes < oom->in_use / EARLIER_SHARE)
		return error;
	return take(oom, db, OOM_AGAIN_EARLIER, &pieces);
}

/*
 * Autocast keeps a copy of a weight in 16 bits until it is left, and under torch.no_grad() older versions of PyTorch found none
 * of them again: nothing is trained, and nearly all that the forward keeps has half the size of weights, of several of them.
 */
static int find_narrow(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH sizes AS MATERIALIZED (SELECT DISTINCT bytes FROM in_use_span WHERE " THERE
		"AND category = 'weights'), "
		"kept AS MATERIALIZED (SELECT bytes, count(*) AS pieces, min(node) AS node FROM in_use_span WHERE " THERE
		"AND phase IN ('forward', 'rollout', 'logprob', 'ref') AND category <> 'kv cache' GROUP BY bytes), "
		"half AS MATERIALIZED (SELECT * FROM kept WHERE EXISTS (SELECT 1 FROM sizes WHERE abs(sizes.bytes - kept.bytes * 2) < 1024)) "
		"SELECT sum(bytes * pieces), sum(pieces), (SELECT node FROM half ORDER BY bytes * pieces DESC LIMIT 1) FROM half "
		"HAVING count(*) >= ?4 AND sum(bytes * pieces) >= (SELECT sum(bytes * pieces) * (?5 - 1) / ?5 FROM kept)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, SIZES, REST };
	struct pieces pieces = { 0 };
	int error = oom->evaluates && !oom->serves ? answer_rows(db, sql, parameter, take_pieces, &pieces) : 0;

	return error || !is_enough(oom, &pieces) ? error : take(oom, db, OOM_AGAIN_NARROW, &pieces);
}

/*
 * diffusers' validation loaded all of its pipeline beside the models that it was trained with: what one call has made of weights so
 * far, in the middle of a run, has nearly all its like in what is there of others. Of the calls on the stack of the request the outermost.
 */
static int find_models(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE weights AS MATERIALIZED (SELECT node, bytes, count(*) AS pieces FROM in_use_span WHERE " THERE
		"AND category = 'weights' GROUP BY node, bytes), "
		"way(node, at) AS (SELECT DISTINCT node, node FROM weights UNION SELECT way.node, parent FROM way JOIN stack_node ON stack_node.id = way.at "
		"WHERE parent IS NOT NULL), up(id) AS (SELECT ?4 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL), "
		"part AS MATERIALIZED (SELECT up.id AS call, bytes, sum(pieces) FILTER (WHERE (node, up.id) IN (SELECT node, at FROM way)) AS own, "
		"sum(pieces) AS pieces FROM up JOIN weights GROUP BY up.id, bytes) "
		"SELECT sum(own * bytes), sum(own), ?4 FROM part WHERE own > 0 GROUP BY call HAVING sum(min(own, pieces - own) * bytes) >= "
		"sum(own * bytes) * (?5 - 1) / ?5 AND count(*) > 1 AND EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 "
		"AND phase IN ('forward', 'backward', 'optimizer') AND first_seq < ?3) ORDER BY 1 DESC LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, oom->it->node,
						       REST };
	const char *weights = mt_category_name(MT_CATEGORY_WEIGHTS);
	struct pieces pieces = { 0 };
	int error = oom->it->node && !strcmp(oom->it->source, "tensor") && !strcmp(oom->it->category, weights)
			    ? answer_rows(db, sql, parameter, take_pieces, &pieces)
			    : 0;

	return error || !is_enough(oom, &pieces) ? error : take(oom, db, OOM_AGAIN_MODELS, &pieces);
}

/*
 * tacred's evaluation added up the loss of each batch as it was, and with it the graph: of forwards that no backward followed, or none so far
 * where one always came sooner.
 */
static int find_graphs(struct oom *oom, struct db *db)
{
	struct unwalked unwalked = { .forwards = 0 };
	uint64_t share = oom->in_use / SHARE, missing = oom_missing(oom->it);
	struct pieces pieces;
	int error = oom->evaluates
			    ? 0
			    : unwalked_find(&unwalked, db,
					    &(struct unwalked_question){ .process = oom->it->process,
									 .device = oom->it->device,
									 .seq = oom->it->seq,
									 .least = share > missing ? share : missing });

	if (error || !unwalked.forwards || (!unwalked.evaluates && !unwalked.unusual))
		return error;
	pieces = (struct pieces){ .bytes = unwalked.bytes, .count = unwalked.count, .node = unwalked.node };
	error = take(oom, db, OOM_AGAIN_GRAPHS, &pieces);
	oom->again.forwards = unwalked.forwards;
	oom->again.evaluates = unwalked.evaluates;
	return error;
}

int oom_find_again(struct oom *oom, struct db *db)
{
	int found = find_earlier(oom, db);

	if (!found)
		found = find_graphs(oom, db);
	if (!found)
		found = find_narrow(oom, db);
	if (!found)
		found = find_models(oom, db);
	if (found <= 0)
		return found;
	oom->rule = OOM_LARGEST;
	oom->rule_bytes = oom->again.bytes;
	oom->left_over = 1;
	mt_copy_text(oom->rule_category, sizeof(oom->rule_category),
		     mt_category_name(oom->again.kind == OOM_AGAIN_EARLIER || oom->again.kind == OOM_AGAIN_GRAPHS
					      ? MT_CATEGORY_ACTIVATIONS
					      : MT_CATEGORY_WEIGHTS));
	return 1;
}

/* ---- trained before ---- */

/*
 * Trials of a search, folds, a cell of a notebook that ran twice: models that were trained before the newest one and are there still.
 *
 *     weights   backward, optimizer     weights   backward, optimizer     weights   forward
 *     model 1   its gradients, states   model 2   its gradients, states   model 3   fails
 *     |-- its turn ----------------|    |-- its turn ----------------|    |-- its turn ..
 *
 * Weights that one stack has made in sets of the same sizes, with training in between, begin a turn each. A reference, a copy for an
 * evaluation and what an engine loads anew come so, too, but no gradients and no states are theirs.
 */
#define TURNS_MAX 65  /* the newest ones; what came before is not counted */
#define WEIGHTS_MIN 3 /* pieces of a model: two happen to be alike */
#define HELD_SHARE 2  /* of its weights, in gradients and states: one part in so many at least, or nobody trained it */
#define WEIGHTS_SHARE 2 /* of all weights: an adapter beside its base has less */

enum kind { GRADIENTS, STATES, KINDS };

/* What came in a turn and is there still. */
struct turn {
	uint64_t weights, alike; /* bytes; alike: of weights in sizes that the newest has, too, and as many */
	struct held {
		uint64_t sized;     /* in the size of a weight, or twice that */
		uint64_t as_newest; /* in sizes in which the newest has as many */
		uint64_t as_last;   /* in sizes in which the last before the newest has as many */
	} held[KINDS];
};

struct turns {
	struct turn turn[TURNS_MAX]; /* newest first */
	size_t count;
	uint64_t own, pieces;           /* weights of the newest, whose like is there */
	uint64_t others, others_pieces; /* weights of these sizes by other stacks */
	uint64_t all;                   /* weights */
	uint64_t gradients;             /* pieces in these sizes since the newest began */
	int computed, trained;          /* the newest: a backward has begun since, a step of an optimizer has ended */
	int64_t node;                   /* of most of its weights */
};

static int take_turn(void *context, struct db_stmt *stmt)
{
	struct turns *turns = context;
	struct turn *turn = &turns->turn[turns->count];
	int kind, column = 2;

	if (turns->count == TURNS_MAX)
		return 0;
	turns->count++;
	turn->weights = (uint64_t)db_int(stmt, 0);
	turn->alike = (uint64_t)db_int(stmt, 1);
	for (kind = 0; kind < KINDS; kind++) {
		turn->held[kind].sized = (uint64_t)db_int(stmt, column++);
		turn->held[kind].as_newest = (uint64_t)db_int(stmt, column++);
		turn->held[kind].as_last = (uint64_t)db_int(stmt, column++);
	}
	turns->own = (uint64_t)db_int(stmt, column++);
	turns->pieces = (uint64_t)db_int(stmt, column++);
	turns->others = (uint64_t)db_int(stmt, column++);
	turns->others_pieces = (uint64_t)db_int(stmt, column++);
	turns->all = (uint64_t)db_int(stmt, column++);
	turns->gradients = (uint64_t)db_int(stmt, column++);
	turns->computed = db_int(stmt, column++) != 0;
	turns->trained = db_int(stmt, column++) != 0;
	turns->node = db_int(stmt, column);
	return 0;
}

/* Weights before and after a training: few runs have them, and to compile the question below costs more than all others of a report. */
static int find_two_epochs(const struct oom *oom, struct db *db, int *found)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM (SELECT min(since_seq) AS first, max(since_seq) AS last FROM in_use_span WHERE " THERE
		"AND category = 'weights' AND phase IN ('init', 'other')) JOIN phase_span AS span ON span.process = ?1 "
		"AND span.phase IN ('backward', 'optimizer') AND first_seq BETWEEN first AND last AND first_seq < ?3)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq };

	return answer_flag(db, sql, parameter, found);
}

/*
 * A set of weights is what came between two spans of training. Stacks are the same where all calls below a module, or a notebook's cell,
 * are: another cell, or another line of a script, makes the next model. Of pieces only sums by stack and size are joined.
 */
static int load_turns(const struct oom *oom, struct db *db, struct turns *turns)
{
	static const char sql[] =
		"WITH RECURSIVE there AS MATERIALIZED (SELECT node, bytes, since_seq AS seq, category, phase FROM in_use_span WHERE " TENSORS
		"AND category IN ('weights', 'gradients', 'optimizer state')), "
		"span AS MATERIALIZED (SELECT phase, first_seq, last_seq FROM phase_span WHERE process = ?1 AND first_seq < ?3), "
		"marked AS (SELECT node, bytes, seq FROM there WHERE category = 'weights' AND phase IN ('init', 'other') "
		"AND node IS NOT NULL UNION ALL SELECT NULL, 0, first_seq FROM span WHERE phase IN ('backward', 'optimizer')), "
		"placed AS MATERIALIZED (SELECT node, bytes, seq, ifnull(max(CASE WHEN node IS NULL THEN seq END) OVER (ORDER BY seq "
		"ROWS UNBOUNDED PRECEDING), 0) AS epoch FROM marked), "
		"way(node, at, depth) AS (SELECT DISTINCT node, node, 0 FROM placed WHERE node IS NOT NULL "
		"AND (SELECT count(DISTINCT epoch) FROM placed WHERE node IS NOT NULL) > 1 "
		"UNION ALL SELECT way.node, caller.id, depth + 1 FROM way JOIN stack_node AS callee ON callee.id = at JOIN stack_node AS caller "
		"ON caller.id = callee.parent JOIN frame ON frame.id = caller.frame WHERE depth < 256 AND function IS NOT '<module>'), "
		"stack AS MATERIALIZED (SELECT node, group_concat(frame) AS calls FROM (SELECT way.node AS node, frame FROM way JOIN stack_node "
		"ON stack_node.id = at ORDER BY way.node, depth) GROUP BY node), "
		"made AS MATERIALIZED (SELECT epoch, calls, bytes, count(*) AS pieces, min(seq) AS first, min(node) AS node FROM placed "
		"JOIN stack USING (node) GROUP BY epoch, calls, bytes), "
		"repeated AS MATERIALIZED (SELECT calls, bytes, max(epoch) AS epoch FROM made GROUP BY calls, bytes HAVING count(*) > 1), "
		"own AS MATERIALIZED (SELECT calls, bytes, pieces, node FROM made JOIN repeated USING (calls, bytes, epoch) "
		"WHERE epoch = (SELECT max(epoch) FROM repeated)), "
		"size AS MATERIALIZED (SELECT bytes FROM own UNION SELECT bytes * 2 FROM own), "
		"part AS MATERIALIZED (SELECT made.epoch AS epoch, min(first) AS begins, sum(made.bytes * made.pieces) AS bytes, "
		"sum(made.bytes * min(made.pieces, ifnull(own.pieces, 0))) AS alike FROM made LEFT JOIN own USING (calls, bytes) "
		"WHERE calls IN (SELECT calls FROM own) AND epoch <= (SELECT max(epoch) FROM repeated) GROUP BY made.epoch), "
		"turn AS MATERIALIZED (SELECT epoch, bytes, alike, begins, lead(begins, 1, ?3 + 1) OVER (ORDER BY begins) AS ends "
		"FROM part WHERE alike * 2 >= bytes AND alike * ?4 >= (SELECT sum(bytes * pieces) FROM own) * (?4 - 1) "
		"ORDER BY begins DESC LIMIT ?5), "
		"newest AS MATERIALIZED (SELECT epoch, begins FROM turn ORDER BY begins DESC LIMIT 1), "
		"last AS MATERIALIZED (SELECT epoch FROM turn ORDER BY begins DESC LIMIT 1 OFFSET 1), "
		"held AS MATERIALIZED (SELECT epoch, category, there.bytes AS bytes, count(*) AS pieces FROM turn JOIN there "
		"ON seq >= begins AND seq < ends WHERE category <> 'weights' GROUP BY epoch, category, there.bytes), "
		"kept AS MATERIALIZED (SELECT held.epoch AS epoch, held.category AS category, "
		"sum(held.bytes * held.pieces) FILTER (WHERE held.bytes IN (SELECT bytes FROM size)) AS sized, "
		"sum(held.bytes * min(held.pieces, ifnull(one.pieces, 0))) AS as_newest, "
		"sum(held.bytes * min(held.pieces, ifnull(two.pieces, 0))) AS as_last FROM held "
		"LEFT JOIN held AS one ON one.epoch = (SELECT epoch FROM newest) AND one.category = held.category AND one.bytes = held.bytes "
		"LEFT JOIN held AS two ON two.epoch = (SELECT epoch FROM last) AND two.category = held.category AND two.bytes = held.bytes "
		"GROUP BY held.epoch, held.category), "
		"other AS MATERIALIZED (SELECT sum(bytes) AS bytes, count(*) AS pieces FROM there WHERE category = 'weights' AND bytes IN "
		"(SELECT bytes FROM own) AND ifnull(node, 0) NOT IN (SELECT node FROM stack WHERE calls IN (SELECT calls FROM own))) "
		"SELECT turn.bytes, turn.alike, g.sized, g.as_newest, g.as_last, s.sized, s.as_newest, s.as_last, "
		"(SELECT sum(bytes * pieces) FROM own), (SELECT sum(pieces) FROM own), (SELECT bytes FROM other), "
		"(SELECT pieces FROM other), (SELECT sum(bytes) FROM there WHERE category = 'weights'), "
		"(SELECT sum(pieces) FROM held WHERE epoch = (SELECT epoch FROM newest) AND category = 'gradients' "
		"AND bytes IN (SELECT bytes FROM size)), "
		"(SELECT EXISTS (SELECT 1 FROM span, newest WHERE phase IN ('backward', 'optimizer') AND first_seq > begins)), "
		"(SELECT EXISTS (SELECT 1 FROM span, newest WHERE phase = 'optimizer' AND first_seq > begins "
		"AND last_seq < (SELECT max(first_seq) FROM span))), "
		"(SELECT node FROM own GROUP BY calls ORDER BY sum(bytes * pieces) DESC, node LIMIT 1) FROM turn "
		"LEFT JOIN kept AS g ON g.epoch = turn.epoch AND g.category = 'gradients' "
		"LEFT JOIN kept AS s ON s.epoch = turn.epoch AND s.category = 'optimizer state' ORDER BY begins DESC";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, REST,
						       TURNS_MAX };
	int found = 0, error = find_two_epochs(oom, db, &found);

	return error || !found ? error : answer_rows(db, sql, parameter, take_turn, turns);
}

/*
 * What came in a turn could be of another model that is trained all the time. That one has nothing like it in the turns after: where the
 * newest one was trained, or two were before it, what these have tells. Else no other weights may have these sizes.
 */
static uint64_t held_of(const struct turns *turns, const struct turn *turn, enum kind kind)
{
	const struct held *held = &turn->held[kind], *newest = turns->turn[0].held;

	if (turns->trained && newest[kind].as_newest)
		return held->as_newest;
	if (turns->trained && !newest[STATES].as_newest) /* a copy: what was trained since is another one */
		return 0;
	if (turns->count > 2)
		return held->as_last;
	return turns->others > turns->own / REST ? 0 : held->sized;
}

/* As many weights as the newest has, or is going to have, and it was trained. */
static int is_earlier(const struct turns *turns, const struct turn *turn)
{
	uint64_t held = held_of(turns, turn, GRADIENTS) + held_of(turns, turn, STATES);

	return (!turns->computed || turn->alike >= turn->weights - turn->weights / REST) &&
	       held >= turn->weights / HELD_SHARE;
}

/* Backward makes gradients of all that is trained: of more than the newest, where models take turns, or one has grown. */
static int is_newest_alone(const struct turns *turns)
{
	uint64_t pieces = turns->pieces + turns->others_pieces;

	return turns->gradients <= pieces + pieces / 2;
}

static struct oom_again sum_of(const struct turns *turns)
{
	struct oom_again again = { .count = 0 };
	const struct turn *turn;
	size_t i;

	for (i = 1; i < turns->count; i++) {
		turn = &turns->turn[i];
		if (!is_earlier(turns, turn))
			continue;
		again.count++;
		again.weights += turn->weights;
		again.gradients += held_of(turns, turn, GRADIENTS);
		again.states += held_of(turns, turn, STATES);
	}
	again.bytes = again.weights + again.gradients + again.states;
	return again;
}

int oom_find_trained(struct oom *oom, struct db *db, uint64_t other)
{
	struct turns turns = { .count = 0 };
	struct oom_again again;
	struct pieces pieces;
	int error = oom->evaluates ? 0 : load_turns(oom, db, &turns);

	if (error || turns.count < 2 || turns.pieces < WEIGHTS_MIN || !is_newest_alone(&turns))
		return error;
	again = sum_of(&turns);
	if (!again.count || again.bytes <= other || again.bytes < oom_missing(oom->it) ||
	    again.bytes < oom->in_use / SHARE || again.weights + turns.own < turns.all / WEIGHTS_SHARE)
		return 0;
	pieces = (struct pieces){ .bytes = again.bytes, .count = again.count, .node = turns.node };
	error = take(oom, db, OOM_AGAIN_TRAINED, &pieces);
	oom->again.weights = again.weights;
	oom->again.gradients = again.gradients;
	oom->again.states = again.states;
	return error;
}

/* ---- in the course of time ---- */

#define SECOND 1000000000LL
#define PERIOD_LEAST (30 * SECOND) /* within less one request may bring all of it */
#define PIECES_LEAST 32
#define SLICES 4     /* of that time: pieces of each have stayed */
#define SLICE_PART 8 /* of all bytes: at least one part in so many, half of an even share */
#define CAME_PART 2  /* of what came since the work began and is there: at least one part in so many */

struct course {
	int64_t from, node; /* time of the first piece */
	uint64_t bytes, pieces, gone, least, came;
	int64_t began; /* time of the first allocation after the setting up */
	int found;
};

static int take_course(void *context, struct db_stmt *stmt)
{
	*(struct course *)context = (struct course){ .from = db_int(stmt, 0),
						     .node = db_int(stmt, 1),
						     .bytes = (uint64_t)db_int(stmt, 2),
						     .pieces = (uint64_t)db_int(stmt, 3),
						     .gone = (uint64_t)db_int(stmt, 4),
						     .least = (uint64_t)db_int(stmt, 5),
						     .came = (uint64_t)db_int(stmt, 6),
						     .began = db_int(stmt, 7),
						     .found = 1 };
	return 0;
}

/*
 * SGLang took the pictures of each request to the GPU, and the request kept them when it was done. The place that has most of what came
 * since the setting up, and what it has of each quarter of the time since its first piece: of a cache that is full, or of what one
 * request works with, the first quarter has gone.
 */
static int look(const struct oom *oom, struct db *db, struct course *course)
{
	static const char sql[] =
		"WITH came AS MATERIALIZED (SELECT first_node, in_use_span.node AS node, in_use_span.category AS category, since_time, bytes FROM in_use_span "
		"LEFT JOIN temp.same_place AS same USING (node) WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND phase <> 'init' "
		"AND id NOT IN (SELECT allocation FROM resident_span) AND " ALIVE_SPAN_AT(
			"?4", "?1",
			"?3") "), "
			      "most AS (SELECT first_node, min(since_time) AS first, sum(bytes) AS bytes, count(*) AS pieces, min(node) AS node FROM came "
			      "WHERE category NOT IN ('weights', 'gradients', 'optimizer state', 'kv cache', 'cuda graphs', 'nccl') "
			      "AND first_node IS NOT NULL GROUP BY first_node ORDER BY 3 DESC, 1 LIMIT 1), "
			      "slice AS (SELECT (since_time - first) * ?5 / (?4 + 1 - first) AS number, sum(came.bytes) AS bytes "
			      "FROM came JOIN most USING (first_node) GROUP BY 1) "
			      "SELECT first, node, bytes, pieces, (SELECT count(*) FROM allocation JOIN temp.same_place AS gone USING (node) "
			      "WHERE process = ?1 AND memory = 'tensor' AND gone.first_node = most.first_node AND free_seq < ?3), "
			      "(SELECT CASE WHEN count(*) = ?5 THEN min(slice.bytes) ELSE 0 END FROM slice), "
			      "(SELECT sum(bytes) FROM came), (SELECT min(alloc_time) FROM allocation WHERE process = ?1 AND memory = 'tensor' "
			      "AND phase <> 'init') FROM most";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, oom->it->time,
						       SLICES };

	return answer_rows(db, sql, parameter, take_course, course);
}

static int is_growth(const struct oom *oom, const struct course *course)
{
	int64_t period = oom->it->time - course->from;

	return course->found && period >= PERIOD_LEAST && period >= (oom->it->time - course->began) / 2 &&
	       course->pieces >= PIECES_LEAST && course->bytes >= oom_missing(oom->it) &&
	       course->bytes >= course->came / CAME_PART && course->least >= course->bytes / SLICE_PART;
}

static uint64_t own_in_use(const struct oom *oom)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		bytes += oom->part[i].process == oom->it->process ? oom->part[i].bytes : 0;
	return bytes;
}

int oom_find_course(struct oom *oom, struct db *db)
{
	struct oom_growth *growth = &oom->growth;
	struct course course = { .found = 0 };
	struct finding_place named;
	int error = oom->evaluates && !oom->it->steps ? look(oom, db, &course) : 0;

	if (error || !is_growth(oom, &course))
		return error;
	error = finding_place_of(&named, db, course.node);
	if (error)
		return error;
	*growth = (struct oom_growth){ .pid = oom->it->pid,
				       .rank = oom->it->rank,
				       .bytes = course.bytes,
				       .in_use = own_in_use(oom),
				       .each = course.bytes / (uint64_t)((oom->it->time - course.from) / SECOND) * 60,
				       .places = 1,
				       .by_time = 1,
				       .all_there = !course.gone };
	mt_copy_text(growth->function, sizeof(growth->function), named.function);
	mt_copy_text(growth->place, sizeof(growth->place), named.place);
	error = caller_behind(db, course.node, growth->caller, growth->caller_place);
	return error ? error : 1;
}
