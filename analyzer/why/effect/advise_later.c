#include "advise_replay.h"

#include <string.h>
#include "memtrace/base.h"
#include "memtrace/why.h"
#include "report/answer.h"
#include "report/past/rounds.h"

#define STEPS_LOOKED_AT 2 /* number of the newest ended steps */
#define SERIES_LEAST 3    /* least number of equal pieces before the request */
#define LAYERS_LEAST 4
#define OFTEN 2 /* factor: a place with half as many requests belongs to another kind of step */

struct search {
	struct replay *replay;
	const struct oom_failure *failed;
	uint64_t tags;   /* tags of the request's stack */
	uint64_t before; /* number of the place's requests in the step, before the failed one */
	uint64_t taken;  /* bytes of these requests and of the failed one */
	uint64_t own;    /* bytes of the step in use, with the failed request */
	int64_t step[STEPS_LOOKED_AT];
	uint32_t steps;
	/* The same place in an earlier step. */
	int64_t seq;
	uint64_t bytes; /* bytes taken by the place up to `seq`; 0: the step has no such call */
	uint64_t count; /* number of requests behind `bytes` */
	int fewer;      /* 1: fewer requests than in the failed step are enough */
	/* Changes after this call. */
	uint32_t phases; /* bits of the phases in which the work goes on */
	int came_back, over;
	int64_t sum, most, at; /* bytes; at: seq of the most */
	uint8_t phase, phase_at;
	double whole; /* bytes of that step in use then, at the sizes of the failed step */
};

static uint8_t phase_of(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
}

static int ask(struct search *search, const char *sql, int64_t third, int64_t fourth, int64_t fifth,
	       int (*take)(void *context, struct db_stmt *row))
{
	const int64_t parameter[ANSWER_PARAMETERS] = { search->failed->process, search->failed->device, third, fourth,
						       fifth };

	return answer_rows(search->replay->db, sql, parameter, take, search);
}

#define OWN "process = ?1 AND device = ?2 AND memory = 'tensor'"

/* ---- as in an earlier step -------------------------------------------------------------------------------------------- */

static int take_before(void *context, struct db_stmt *row)
{
	struct search *search = context;

	search->before = (uint64_t)db_int(row, 0);
	search->taken = (uint64_t)db_int(row, 1) + search->failed->requested;
	search->own = (uint64_t)db_int(row, 2) + search->failed->requested;
	return 0;
}

static int take_step(void *context, struct db_stmt *row)
{
	struct search *search = context;

	search->step[search->steps++] = db_int(row, 0);
	return 0;
}

static int take_place(void *context, struct db_stmt *row)
{
	struct search *search = context;

	search->seq = db_int(row, 0);
	search->bytes = (uint64_t)db_int(row, 1);
	search->count = (uint64_t)db_int(row, 2);
	return 0;
}

/* Finds the matching call of the place in the step. With `fewer`, the place's last call is enough. */
static int find_place(struct search *search, int64_t step)
{
	static const char sql[] =
		"SELECT alloc_seq, taken, n FROM (SELECT alloc_seq, sum(bytes) OVER (ORDER BY alloc_seq) AS taken, row_number() OVER "
		"(ORDER BY alloc_seq) AS n FROM allocation WHERE " OWN
		" AND node = ?3 AND step = ?4) WHERE n <= ?5 ORDER BY n DESC LIMIT 1";
	int error;

	search->bytes = search->count = 0;
	error = ask(search, sql, search->failed->node, step, (int64_t)search->before + 1, take_place);
	if (search->fewer ? search->count * OFTEN <= search->before /* another kind of step */
			  : search->count <= search->before)
		search->bytes = 0;
	return error;
}

/* A phase ends with the next phase. A forward and its backward end with the next forward. */
static int is_over(struct search *search, uint8_t phase)
{
	uint32_t trains = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OTHER;

	if (trains & search->phases && search->phases != 1u << MT_PHASE_OTHER) {
		if (phase == MT_PHASE_BACKWARD)
			search->came_back = 1;
		return !(trains & 1u << phase) || (search->came_back && phase == MT_PHASE_FORWARD);
	}
	return !(search->phases & 1u << phase);
}

static int take_change(void *context, struct db_stmt *row)
{
	struct search *search = context;
	int64_t bytes = db_int(row, 1);

	if (search->over)
		return 0;
	if (bytes > 0) {
		search->phase = phase_of(db_text(row, 2));
		search->over = is_over(search, search->phase);
	}
	if (search->over)
		return 0;
	search->sum += bytes;
	if (search->sum > search->most) {
		search->most = search->sum;
		search->at = db_int(row, 0);
		search->phase_at = search->phase;
	}
	return 0;
}

static int find_most(struct search *search, int64_t step)
{
	static const char sql[] =
		"SELECT alloc_seq, bytes, phase FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq > ?3 UNION ALL SELECT free_seq, -bytes, phase FROM allocation "
		"WHERE " OWN " AND free_step = ?4 AND free_seq > ?3 ORDER BY 1";

	search->phases = 1u << search->replay->request.phase;
	search->came_back = search->replay->request.phase == MT_PHASE_BACKWARD;
	search->over = 0;
	search->sum = search->most = 0;
	return ask(search, sql, search->seq, step, 0, take_change);
}

/* Whether a micro-batch makes the bytes. The model's own cache counts, an engine's cache does not. */
static int passes(const struct replay_site *site)
{
	const uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_RECOMPUTED |
				 1u << MT_CATEGORY_LOGITS | 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER;

	return (passing & 1u << site->category) != 0 || (site->category == MT_CATEGORY_KV_CACHE && site->own_cache);
}

/* Bytes of a micro-batch scale with the request. Other bytes do not. */
static double scale_of(const struct search *search, const struct replay_site *site)
{
	return passes(site) && passes(&search->replay->site[search->replay->request.site])
		       ? (double)search->taken / (double)(search->before + 1) * (double)search->count /
				 (double)search->bytes
		       : 1;
}

static int take_whole(void *context, struct db_stmt *row)
{
	struct search *search = context;
	struct replay *replay = search->replay;
	int64_t id = db_int(row, 0);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at != UINT32_MAX && !replay->site[at].ignored)
		search->whole += (double)db_int(row, 1) * scale_of(search, &replay->site[at]);
	return 0;
}

static int take_later(void *context, struct db_stmt *row)
{
	struct search *search = context;
	struct replay *replay = search->replay;
	int64_t id = db_int(row, 0), bytes = db_int(row, 1);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at == UINT32_MAX || replay->site[at].ignored || !bytes)
		return 0;
	return replay_add_later(replay, at, (double)bytes * scale_of(search, &replay->site[at]));
}

/* Takes the changes of the earlier step, up to its most. */
static int take_over(struct search *search, int64_t step)
{
	static const char sql[] =
		"SELECT site, sum(bytes) FROM (SELECT site, bytes FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq > ?3 AND alloc_seq <= ?5 UNION ALL SELECT site, -bytes FROM "
		"allocation WHERE " OWN
		" AND free_step = ?4 AND free_seq > ?3 AND free_seq <= ?5) WHERE site IS NOT NULL GROUP BY 1";

	static const char whole[] =
		"SELECT site, sum(bytes) FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq <= ?5 AND (free_seq IS NULL OR free_seq > ?5) AND ?3 AND "
		"phase != 'init' AND site IS NOT NULL GROUP BY 1";
	struct replay *replay = search->replay;
	double more = 0, room;
	uint32_t i;
	int error = ask(search, sql, search->seq, step, search->at, take_later);

	/*
	 * The sum is at most the step's bytes at these sizes: the failed step can have another order of requests. Bytes from before
	 * the first step count as the first step's.
	 */
	search->whole = 0;
	if (!error)
		error = ask(search, whole, 1, step, search->at, take_whole);
	for (i = 0; i < replay->later.changes; i++)
		more += replay->later.change[i].bytes;
	room = search->whole - (double)search->own;
	for (i = 0; i < replay->later.changes && more > room; i++)
		replay->later.change[i].bytes *= room > 0 ? room / more : 0;
	replay->later.from = more > 0 && room > 0 ? REPLAY_LATER_STEPS
			     : search->fewer      ? REPLAY_LATER_UNKNOWN
						  : REPLAY_LATER_NOTHING;
	replay->later.phase = search->phase_at;
	replay->later.changes = replay->later.from == REPLAY_LATER_STEPS ? replay->later.changes : 0;
	return error;
}

static int by_steps(struct search *search)
{
	static const char count[] =
		"SELECT count(*) FILTER (WHERE node = ?3), ifnull(sum(bytes) FILTER (WHERE node = ?3), 0), "
		"ifnull(sum(bytes) FILTER (WHERE free_seq IS NULL OR free_seq > ?5), 0) FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq < ?5";
	static const char steps[] =
		"SELECT step FROM step WHERE process = ?1 AND end_seq <= ?5 ORDER BY step DESC LIMIT ?3";
	uint32_t i;
	int64_t best = 0, best_seq = 0, best_at = 0, best_most = 0;
	uint64_t best_bytes = 0, best_count = 0;
	uint8_t best_phase = 0;
	int error = ask(search, count, search->failed->node, search->failed->step, search->failed->seq, take_before);

	if (!error)
		error = ask(search, steps, STEPS_LOOKED_AT, 0, search->failed->seq, take_step);
	for (i = 0; i < search->steps && !error; i++) {
		error = find_place(search, search->step[i]);
		if (error || !search->bytes)
			continue;
		if (search->replay->later.from == REPLAY_LATER_UNKNOWN && !search->fewer)
			search->replay->later.from = REPLAY_LATER_NOTHING;
		error = find_most(search, search->step[i]);
		if (!error && search->most > best_most) {
			best = search->step[i];
			best_seq = search->seq;
			best_at = search->at;
			best_most = search->most;
			best_bytes = search->bytes;
			best_count = search->count;
			best_phase = search->phase_at;
		}
	}
	if (error || !best_most)
		return error;
	search->seq = best_seq;
	search->at = best_at;
	search->bytes = best_bytes;
	search->count = best_count;
	search->phase_at = best_phase;
	return take_over(search, best);
}

/* ---- one of a series -------------------------------------------------------------------------------------------------- */

struct series {
	struct search *search;
	uint64_t layers;
	uint64_t alike; /* resident pieces of the place, as large as the request */
	uint64_t count, bytes,
		gone;  /* pieces of the place: resident, with their bytes; gone: freed pieces of this step */
	int64_t first; /* seq of the first resident piece */
	uint64_t most; /* largest number of the place's pieces at once, before `first` */
	uint64_t of;   /* expected number of pieces */
	uint8_t category;
};

#define KIND(category) (1u << MT_CATEGORY_##category)
#define COPIES (KIND(GATHER_BUFFERS) | KIND(STATE_DICT) | KIND(WEIGHT_BUFFERS))

static int take_size(void *context, struct db_stmt *row)
{
	struct series *series = context;
	uint64_t one = series->layers, other = (uint64_t)db_int(row, 0), rest;

	while (other) {
		rest = one % other;
		one = other;
		other = rest;
	}
	series->layers = one;
	return 0;
}

static int ask_of(struct series *series, const char *sql, int64_t least, int (*take)(void *, struct db_stmt *))
{
	const struct oom_failure *failed = series->search->failed;
	const int64_t parameter[ANSWER_PARAMETERS] = { failed->process, failed->device, failed->seq,
						       (int64_t)failed->requested, least };

	return answer_rows(series->search->replay->db, sql, parameter, take, series);
}

/* A load follows the files, which have the shards of the ranks that wrote them, not the layers. */
static int is_of_files(struct series *series)
{
	int loads = (series->search->tags & MT_TAG_BIT(CHECKPOINT_LOAD)) != 0;

	series->layers = loads ? 0 : series->layers;
	return loads;
}

/*
 * The number of weights of one size is a multiple of the number of layers: take the common divisor. Only weights of one call count,
 * as another call makes another model (reference, critic). A series of weights itself is not complete, and does not count. With
 * sharded weights, the activations that wait for the backward tell.
 */
static int find_layers(struct series *series)
{
	static const char others[] =
		"SELECT count(*) AS n FROM allocation WHERE " OWN
		" AND category = 'weights' AND alloc_seq < ?3 AND (free_seq IS NULL OR free_seq > ?3) AND abs(bytes - ?4) > 512 "
		"GROUP BY bytes, node HAVING n >= ?5 ORDER BY n * bytes DESC LIMIT 3";
	static const char all[] =
		"SELECT count(*) AS n FROM allocation WHERE " OWN
		" AND category = 'weights' AND alloc_seq < ?3 AND (free_seq IS NULL OR free_seq > ?3) AND ?4 "
		"GROUP BY bytes, node HAVING n >= ?5 ORDER BY n * bytes DESC LIMIT 3";
	static const char waiting[] =
		"SELECT max(n) FROM (SELECT node, bytes, sum(sign) OVER (PARTITION BY node, bytes ORDER BY seq) AS n FROM ("
		"SELECT node, bytes, alloc_seq AS seq, 1 AS sign FROM allocation WHERE " OWN
		" AND category = 'activations' AND "
		"phase = 'forward' AND alloc_seq < ?3 AND step = (SELECT max(step) FROM allocation WHERE " OWN
		" AND category = 'activations' AND phase = 'forward' AND alloc_seq < ?3) UNION ALL "
		"SELECT node, bytes, free_seq, -1 FROM allocation WHERE " OWN " AND category = 'activations' AND "
		"phase = 'forward' AND free_seq < ?3 AND ?4 AND step = (SELECT max(step) FROM allocation WHERE " OWN
		" AND category = 'activations' AND phase = 'forward' AND alloc_seq < ?3))) "
		"GROUP BY node, bytes HAVING max(n) >= ?5 ORDER BY max(n) * bytes DESC LIMIT 3";
	int error;

	if (series->layers >= LAYERS_LEAST || is_of_files(series))
		return 0;
	error = ask_of(series, series->category == MT_CATEGORY_WEIGHTS ? others : all, LAYERS_LEAST, take_size);
	if (!error && series->layers < LAYERS_LEAST && COPIES & 1u << series->category) {
		series->layers = 0;
		error = ask_of(series, waiting, LAYERS_LEAST, take_size);
	}
	return error;
}

static int take_alike(void *context, struct db_stmt *row)
{
	struct series *series = context;

	series->alike = (uint64_t)db_int(row, 0);
	series->count = (uint64_t)db_int(row, 1);
	series->bytes = (uint64_t)db_int(row, 2);
	series->gone = (uint64_t)db_int(row, 3);
	series->first = db_int(row, 4);
	return 0;
}

/* Places of the same phase and step with about as many pieces (plus or minus one) go on like the request's place. */
static int take_beside(void *context, struct db_stmt *row)
{
	struct series *series = context;
	struct replay *replay = series->search->replay;
	int64_t id = db_int(row, 0);
	uint64_t count = (uint64_t)db_int(row, 1), each = count ? (uint64_t)db_int(row, 2) / count : 0;
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at == UINT32_MAX || at == replay->request.site || count >= series->of)
		return 0;
	return replay_add_later(replay, at, (double)each * (double)(series->of - count));
}

/* Whether each layer has one piece. Logits come in other numbers. */
static int is_by_layers(const struct series *series)
{
	const uint32_t kinds = KIND(KV_CACHE) | KIND(WEIGHTS) | KIND(ACTIVATIONS) | KIND(GRADIENTS) |
			       KIND(OPTIMIZER_STATE);

	/* A place that also frees pieces makes no copy of the whole model. */
	return (kinds & 1u << series->category) != 0 || (COPIES & 1u << series->category && !series->gone);
}

static int take_count(void *context, struct db_stmt *row)
{
	*(uint64_t *)context = (uint64_t)db_int(row, 0);
	return 0;
}

/*
 * An earlier micro-batch made pieces at the same place and freed them: expect as many pieces at once. With several sizes, the sizes
 * of the rest are unknown.
 */
static int by_earlier(struct series *series)
{
	static const char most[] =
		"SELECT ifnull(max(n), 0) FROM (SELECT sum(sign) OVER (ORDER BY seq) AS n FROM (SELECT alloc_seq AS seq, 1 AS sign "
		"FROM allocation WHERE " OWN
		" AND node = ?4 AND alloc_seq < ?3 UNION ALL SELECT free_seq, -1 FROM allocation WHERE " OWN
		" AND node = ?4 AND free_seq < ?3))";
	const struct oom_failure *failed = series->search->failed;
	const int64_t parameter[ANSWER_PARAMETERS] = { failed->process, failed->device, series->first, failed->node };

	return series->first && series->alike == series->count
		       ? answer_rows(series->search->replay->db, most, parameter, take_count, &series->most)
		       : 0;
}

/*
 * Adam has two states for each trained weight, each as large as the gradient or the weight. States come in the phase of the request.
 * Master weights come at the start, and do not count.
 */
static int by_states(struct series *series)
{
	static const char states[] = "SELECT count(*) FROM allocation WHERE " OWN
				     " AND category = 'optimizer state' AND alloc_seq < ?3 AND (free_seq IS NULL OR "
				     "free_seq > ?3) AND abs(bytes - ?4) <= 512 AND "
				     "phase = (SELECT phase FROM oom WHERE process = ?1 AND seq = ?3)";
	static const char weights[] =
		"SELECT n FROM (SELECT category, abs(bytes - ?4) <= 512 AS same, count(*) AS n FROM allocation WHERE " OWN
		" AND category IN ('gradients', 'weights') AND alloc_seq < ?3 AND (free_seq IS NULL OR free_seq > ?3) AND "
		"(abs(bytes - ?4) <= 512 OR abs(2 * bytes - ?4) <= 512) GROUP BY site, 2) "
		"ORDER BY category, same DESC, n DESC LIMIT 1";
	const struct oom_failure *failed = series->search->failed;
	const int64_t parameter[ANSWER_PARAMETERS] = { failed->process, failed->device, failed->seq,
						       (int64_t)failed->requested };
	int is_adam = (series->search->tags & MT_TAG_BIT(ADAM)) != 0;
	uint64_t each = 0;
	int error = answer_rows(series->search->replay->db, states, parameter, take_count, &series->alike);

	if (!error)
		error = answer_rows(series->search->replay->db, weights, parameter, take_count, &each);
	each = each < SERIES_LEAST && !is_adam ? 0 : each;
	/* Fewer states than weights can be complete: some optimizers keep one state for each weight. */
	series->of = is_adam || series->alike >= each ? 2 * each : each;
	series->search->replay->later.least = !is_adam && series->of == each;
	return error;
}

/* Adds the rest of the series, and of the places that go on beside the request's place. */
static int add_rest(struct series *series)
{
	static const char beside[] =
		"SELECT site, count(*) AS n, sum(bytes) FROM allocation WHERE " OWN
		" AND alloc_seq < ?3 AND (free_seq IS NULL OR free_seq > ?3) AND step = ?4 AND site IS NOT NULL AND "
		"phase = (SELECT phase FROM oom WHERE process = ?1 AND seq = ?3) GROUP BY site HAVING abs(n - ?5) <= 1";
	const struct oom_failure *failed = series->search->failed;
	struct replay *replay = series->search->replay;
	const int64_t others[ANSWER_PARAMETERS] = { failed->process, failed->device, failed->seq, failed->step,
						    (int64_t)series->alike };
	uint64_t rest = series->of - series->alike - 1;
	double bytes = (double)failed->requested * (double)rest;
	int error;

	replay->later.from = REPLAY_LATER_LAYERS;
	replay->later.phase = replay->request.phase;
	replay->later.of = (uint32_t)series->of;
	replay->later.count = (uint32_t)rest;
	if (COPIES & 1u << series->category) /* all sizes, at the progress of this size */
		bytes = (double)(series->bytes + failed->requested) * (double)rest / (double)(series->alike + 1);
	error = replay_add_later(replay, replay->request.site, bytes);
	return error || series->category == MT_CATEGORY_OPTIMIZER_STATE || COPIES & 1u << series->category
		       ? error
		       : answer_rows(replay->db, beside, others, take_beside, series);
}

static int by_layers(struct search *search, uint64_t layers)
{
	static const char alike[] =
		"SELECT count(*) FILTER (WHERE stays AND abs(bytes - ?4) <= 512), count(*) FILTER (WHERE stays), "
		"ifnull(sum(bytes) FILTER (WHERE stays), 0), count(*) FILTER (WHERE NOT stays AND now), ifnull(min(alloc_seq) FILTER "
		"(WHERE stays), 0) FROM (SELECT alloc_seq, bytes, free_seq IS NULL OR free_seq > ?3 AS stays, step IS (SELECT step FROM oom WHERE process = ?1 AND seq = ?3) AS now FROM allocation "
		"WHERE " OWN " AND node = ?5 AND alloc_seq < ?3)";
	struct replay *replay = search->replay;
	struct series series = { .search = search,
				 .layers = layers,
				 .category = replay->site[replay->request.site].category };
	int error = ask_of(&series, alike, search->failed->node, take_alike);

	if (error || !is_by_layers(&series))
		return error;
	if (series.category == MT_CATEGORY_OPTIMIZER_STATE) {
		error = by_states(&series);
	} else if (series.alike >= SERIES_LEAST) {
		error = by_earlier(&series);
		if (!error && series.most > series.alike) {
			series.layers = series.most;
		} else if (!error) {
			error = find_layers(&series);
		}
		series.of = series.layers >= LAYERS_LEAST ? series.layers : 0;
	}
	if (error)
		return error;
	/* A layer can have several copies of one size. */
	if (series.of && COPIES & 1u << series.category && series.alike + 1 >= series.of)
		series.of *= (series.alike + 1 + series.of) / series.of;
	if (series.alike + 1 < series.of && series.of <= UINT32_MAX) {
		replay->later.least |= COPIES & 1u << series.category && series.of > series.layers;
		return add_rest(&series);
	}
	if ((series.count >= SERIES_LEAST && COPIES & 1u << series.category) ||
	    (series.alike >= SERIES_LEAST && !series.of && series.category == MT_CATEGORY_WEIGHTS &&
	     replay->request.phase == MT_PHASE_INIT) ||
	    (series.alike >= SERIES_LEAST && !series.of && series.category == MT_CATEGORY_OPTIMIZER_STATE)) {
		replay->later.from = REPLAY_LATER_SERIES;
		replay->later.of = (uint32_t)(series.count < UINT32_MAX ? series.count : UINT32_MAX);
	}
	return 0;
}

/* ---- one of a series that came before ----------------------------------------------------------------------------------- */

/* Weights and states that come back from the host, for any call. 1: an earlier round was found, with or without a rest. */
static int by_rounds(struct replay *replay, const struct oom_failure *failed)
{
	const struct rounds_question question = { failed->process, failed->device, failed->node, failed->seq,
						  failed->requested };
	const uint32_t moved = KIND(WEIGHTS) | KIND(OPTIMIZER_STATE);
	struct rounds rounds;
	uint64_t of;
	int error;

	if (!(moved & 1u << replay->site[replay->request.site].category) || strcmp(failed->source, "tensor"))
		return 0;
	error = rounds_find(&rounds, replay->db, &question);
	of = rounds.pieces + 1 + rounds.least_pieces;
	if (error || !rounds.found || !rounds.least_pieces || of > UINT32_MAX)
		return error ? error : rounds.found != 0;
	replay->later.from = REPLAY_LATER_ROUND;
	replay->later.phase = replay->request.phase;
	replay->later.count = (uint32_t)rounds.least_pieces;
	replay->later.of = (uint32_t)of;
	replay->later.least = rounds.most > rounds.least;
	error = replay_add_later(replay, replay->request.site, (double)rounds.least);
	return error ? error : 1;
}

int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers, uint64_t tags)
{
	struct search search = { .replay = replay, .failed = failed, .tags = tags };
	double bytes = 0;
	uint32_t i;
	int error = failed->node ? by_steps(&search) : 0, known = 0;

	if (!error && failed->node && replay->later.from == REPLAY_LATER_UNKNOWN)
		known = by_rounds(replay, failed);
	error = known < 0 ? known : error;
	if (!error && failed->node && replay->later.from == REPLAY_LATER_UNKNOWN && !known)
		error = by_layers(&search, layers);
	if (!error && failed->node && replay->later.from == REPLAY_LATER_UNKNOWN) {
		search.steps = 0;
		search.fewer = 1;
		error = by_steps(&search);
	}
	for (i = 0; i < replay->later.changes; i++)
		bytes += replay->later.change[i].bytes;
	replay->later.bytes = bytes > 0 && bytes < (double)INT64_MAX ? (uint64_t)bytes : 0;
	return error;
}
