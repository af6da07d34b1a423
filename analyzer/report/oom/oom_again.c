/* What a forward, a loader or a server has made before, and what came then does not need. */
#include <string.h>
#include "memtrace/base.h"
#include "oom_left.h"
#include "oom_signs.h"
#include "query/alive.h"
#include "report/answer.h"
#include "report/finding.h"
#include "report/makers.h"
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
	struct finding_spot spot;
	int error = finding_spot(&spot, db, pieces->node);

	if (error)
		return error;
	*again = (struct oom_again){ .kind = kind, .bytes = pieces->bytes, .count = pieces->count };
	mt_copy_text(again->function, sizeof(again->function), spot.function);
	mt_copy_text(again->place, sizeof(again->place), spot.place);
	error = maker_behind(db, pieces->node, again->caller, again->caller_place);
	return error ? error : 1;
}

#define THERE                                                                                         \
	"process = ?1 AND device = ?2 AND since_seq <= ?3 AND (until_seq IS NULL OR until_seq > ?3) " \
	"AND memory = 'tensor' AND node IS NOT NULL "

/*
 * Lightning kept what each batch of a validation had returned through the epoch of training that came after. From a stack of which
 * nothing has ever gone in a backward, though the process has them: many pieces, each of a forward of its own.
 */
static int find_earlier(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT node, bytes, (SELECT max(first_seq) FROM phase_span WHERE process = ?1 AND "
		"phase = 'forward' AND first_seq <= since_seq) AS span FROM in_use WHERE " THERE
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
		"WITH sizes AS MATERIALIZED (SELECT DISTINCT bytes FROM in_use WHERE " THERE
		"AND category = 'weights'), "
		"kept AS MATERIALIZED (SELECT bytes, count(*) AS pieces, min(node) AS node FROM in_use WHERE " THERE
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
		"WITH RECURSIVE weights AS MATERIALIZED (SELECT node, bytes, count(*) AS pieces FROM in_use WHERE " THERE
		"AND category = 'weights' GROUP BY node, bytes), "
		"way(node, at) AS (SELECT DISTINCT node, node FROM weights UNION SELECT way.node, parent FROM way JOIN node ON node.id = way.at "
		"WHERE parent IS NOT NULL), up(id) AS (SELECT ?4 UNION SELECT parent FROM up JOIN node USING (id) WHERE parent IS NOT NULL), "
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
		"WITH came AS MATERIALIZED (SELECT spot, in_use.node AS node, in_use.category AS category, since_time, bytes FROM in_use "
		"LEFT JOIN temp.spot AS spot USING (node) WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND phase <> 'init' "
		"AND id NOT IN (SELECT allocation FROM resident) AND " STRETCH_AT(
			"?4", "?1",
			"?3") "), "
			      "most AS (SELECT spot, min(since_time) AS first, sum(bytes) AS bytes, count(*) AS pieces, min(node) AS node FROM came "
			      "WHERE category NOT IN ('weights', 'gradients', 'optimizer state', 'kv cache', 'cuda graphs', 'nccl') "
			      "AND spot IS NOT NULL GROUP BY spot ORDER BY 3 DESC, 1 LIMIT 1), "
			      "slice AS (SELECT (since_time - first) * ?5 / (?4 + 1 - first) AS number, sum(came.bytes) AS bytes "
			      "FROM came JOIN most USING (spot) GROUP BY 1) "
			      "SELECT first, node, bytes, pieces, (SELECT count(*) FROM allocation JOIN temp.spot AS gone USING (node) "
			      "WHERE process = ?1 AND memory = 'tensor' AND gone.spot = most.spot AND free_seq < ?3), "
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
	struct finding_spot spot;
	int error = oom->evaluates && !oom->it->steps ? look(oom, db, &course) : 0;

	if (error || !is_growth(oom, &course))
		return error;
	error = finding_spot(&spot, db, course.node);
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
	mt_copy_text(growth->function, sizeof(growth->function), spot.function);
	mt_copy_text(growth->place, sizeof(growth->place), spot.place);
	error = maker_behind(db, course.node, growth->caller, growth->caller_place);
	return error ? error : 1;
}
