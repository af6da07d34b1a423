/* The bytes that a step takes after the failed request. */
#include <string.h>
#include "advise_run.h"
#include "memtrace/base.h"
#include "report/answer.h"

#define SERIES_LEAST 3 /* least number of equal pieces before the request */
#define LAYERS_LEAST 4
#define OFTEN 2     /* factor: a place with half as many requests belongs to another kind of step */
#define ROUGHLY 512 /* bytes of a piece, by which allocators round */

#define OWN "process = ?1 AND device = ?2 AND memory = 'tensor'"
#define KIND(category) (1u << MT_CATEGORY_##category)

/* A call of the request's place: in the failed step, or the matching one of an earlier step. */
struct call {
	int64_t step, seq;
	uint64_t count, bytes; /* the place's requests of the step up to this one, and their bytes */
	uint64_t own;          /* bytes of the step in use then */
	/* after the call */
	int64_t most, at; /* most bytes more; at: seq of the most */
	uint8_t phase;    /* phase of `most` */
};

struct search {
	struct replay *replay;
	const struct oom_failure *failed;
	struct call now, best; /* best: the earlier call with most bytes after it; `most` 0: none */
	struct call call;      /* the one that is read */
	int reached;           /* 1: an earlier step reached the place */
	int fewer;             /* 1: fewer requests than in the failed step are enough */
	/* the changes after the call */
	uint32_t phases; /* bits of the phases in which the work goes on */
	int came_back, over;
	int64_t sum;
};

static int ask(struct search *search, const char *sql, int64_t third, int64_t fourth, int64_t fifth,
	       int (*take)(void *context, struct db_stmt *row))
{
	const int64_t parameter[ANSWER_PARAMETERS] = { search->failed->process, search->failed->device, third, fourth,
						       fifth };

	return answer_rows(search->replay->scene->db, sql, parameter, take, search);
}

/* ---- as in an earlier step -------------------------------------------------------------------------------------------- */

static int take_now(void *context, struct db_stmt *row)
{
	struct search *search = context;
	uint64_t requested = search->failed->requested;

	search->now = (struct call){ .count = (uint64_t)db_int(row, 0) + 1,
				     .bytes = (uint64_t)db_int(row, 1) + requested,
				     .own = (uint64_t)db_int(row, 2) + requested };
	return 0;
}

/* A phase ends with the next phase. A forward and its backward end with the next forward. */
static int is_over(struct search *search, uint8_t phase)
{
	uint32_t trains = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OTHER;

	if (!(trains & search->phases) || search->phases == 1u << MT_PHASE_OTHER)
		return !(search->phases & 1u << phase);
	search->came_back |= phase == MT_PHASE_BACKWARD;
	return !(trains & 1u << phase) || (search->came_back && phase == MT_PHASE_FORWARD);
}

static int take_change(void *context, struct db_stmt *row)
{
	struct search *search = context;
	int64_t bytes = db_int(row, 1);
	int phase = mt_phase_parse(db_text(row, 2), strlen(db_text(row, 2)));

	if (bytes > 0 && !search->over)
		search->over = is_over(search, phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase);
	search->sum += search->over ? 0 : bytes;
	if (search->sum > search->call.most) {
		search->call.most = search->sum;
		search->call.at = db_int(row, 0);
		search->call.phase = phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
	}
	return 0;
}

static int take_call(void *context, struct db_stmt *row)
{
	static const char sql[] =
		"SELECT alloc_seq, bytes, phase FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq > ?3 UNION ALL SELECT free_seq, -bytes, phase FROM allocation "
		"WHERE " OWN " AND free_step = ?4 AND free_seq > ?3 ORDER BY 1";
	struct search *search = context;
	struct call *call = &search->call;
	int error;

	*call = (struct call){ .step = db_int(row, 0),
			       .seq = db_int(row, 1),
			       .count = (uint64_t)db_int(row, 2),
			       .bytes = (uint64_t)db_int(row, 3) };
	if (search->fewer ? call->count * OFTEN < search->now.count : call->count < search->now.count)
		return 0;
	search->phases = 1u << search->replay->request.phase;
	search->came_back = search->replay->request.phase == MT_PHASE_BACKWARD;
	search->over = 0;
	search->sum = 0;
	search->reached = 1;
	error = ask(search, sql, call->seq, call->step, 0, take_change);
	if (!error && call->most > search->best.most)
		search->best = *call;
	return error;
}

/* Whether a micro-batch makes the bytes. The model's own cache counts, an engine's cache does not. */
static int passes(const struct replay_site *site)
{
	return RUN_PASSING & 1u << site->category || (site->category == MT_CATEGORY_KV_CACHE && site->own_cache);
}

/* Bytes of a micro-batch scale with the request. Other bytes do not. */
static double scale_of(const struct search *search, const struct replay_site *site)
{
	const struct call *now = &search->now, *best = &search->best;

	return passes(site) && passes(&search->replay->site[search->replay->request.site])
		       ? (double)now->bytes / (double)now->count * (double)best->count / (double)best->bytes
		       : 1;
}

/* A site's change after the call (0), or its bytes of the step at the most (1). */
static int take_site(void *context, struct db_stmt *row)
{
	struct search *search = context;
	uint32_t at = replay_index(search->replay, db_int(row, 1));
	double bytes;

	if (at == SCENE_NONE || search->replay->site[at].ignored)
		return 0;
	bytes = (double)db_int(row, 2) * scale_of(search, &search->replay->site[at]);
	if (!db_int(row, 0))
		return replay_add_later(search->replay, at, bytes);
	search->best.own += (uint64_t)bytes;
	return 0;
}

/*
 * Takes the changes of the earlier step, up to its most. Their sum is at most that step's bytes at these sizes: the failed step can
 * have another order of requests.
 */
static int take_over(struct search *search)
{
	static const char sql[] =
		"SELECT 0, site, sum(bytes) FROM (SELECT site, bytes FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq > ?3 AND alloc_seq <= ?5 UNION ALL SELECT site, -bytes FROM "
		"allocation WHERE " OWN
		" AND free_step = ?4 AND free_seq > ?3 AND free_seq <= ?5) WHERE site IS NOT NULL "
		"GROUP BY 2 UNION ALL SELECT 1, site, sum(bytes) FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq <= ?5 AND (free_seq IS NULL OR free_seq > ?5) AND phase != 'init' AND "
		"site IS NOT NULL GROUP BY 2";
	struct replay *replay = search->replay;
	const struct call *best = &search->best;
	int error = ask(search, sql, best->seq, best->step, best->at, take_site);
	double room = best->own > search->now.own ? (double)(best->own - search->now.own) : 0;

	if (replay->later.sum > room)
		replay_cap_later(replay, room);
	replay->later.phase = best->phase;
	replay->later.from = replay->later.sum > 0 ? REPLAY_LATER_STEPS
			     : search->fewer       ? REPLAY_LATER_UNKNOWN
						   : REPLAY_LATER_NOTHING;
	return error;
}

static int by_steps(struct search *search, int fewer)
{
	static const char now[] =
		"SELECT count(*) FILTER (WHERE node = ?3), ifnull(sum(bytes) FILTER (WHERE node = ?3), 0), "
		"ifnull(sum(bytes) FILTER (WHERE free_seq IS NULL OR free_seq > ?5), 0) FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq < ?5";
	/* The two newest steps, each with the call of the place that matches the failed one, else its last one. */
	static const char calls[] =
		"SELECT step, max(alloc_seq), max(n), max(taken) FROM (SELECT step, alloc_seq, "
		"sum(bytes) OVER (PARTITION BY step ORDER BY alloc_seq) AS taken, "
		"row_number() OVER (PARTITION BY step ORDER BY alloc_seq) AS n FROM allocation WHERE " OWN
		" AND node = ?3 AND step IN (SELECT step FROM step WHERE process = ?1 AND end_seq <= ?5 ORDER BY step DESC "
		"LIMIT 2)) WHERE n <= ?4 GROUP BY step ORDER BY step DESC";
	const struct oom_failure *failed = search->failed;
	int error = ask(search, now, failed->node, failed->step, failed->seq, take_now);

	search->fewer = fewer;
	if (!error)
		error = ask(search, calls, failed->node, (int64_t)search->now.count, failed->seq, take_call);
	if (!error && search->reached && !fewer)
		search->replay->later.from = REPLAY_LATER_NOTHING;
	return error || !search->best.most ? error : take_over(search);
}

/* ---- one of a series -------------------------------------------------------------------------------------------------- */

#define COPIES (KIND(GATHER_BUFFERS) | KIND(STATE_DICT) | KIND(WEIGHT_BUFFERS))

/* Resident pieces of places like the request's. */
struct series {
	uint64_t alike;        /* as large as the request */
	uint64_t count, bytes; /* pieces of all sizes */
	uint64_t of;           /* expected number of pieces as large as the request; 0: unknown */
};

static int is_near(uint64_t one, uint64_t other)
{
	return one <= other + ROUGHLY && other <= one + ROUGHLY;
}

static struct series pieces_of(const struct replay *replay)
{
	const struct scene *scene = replay->scene;
	const struct scene_block *block;
	struct series series = { 0 };
	uint32_t at;

	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		at = replay_index(replay, scene->site[block->site].id);
		if (at == SCENE_NONE || replay->site[at].alike != replay->site[replay->request.site].alike ||
		    !block->count)
			continue;
		series.count += block->count;
		series.bytes += block->bytes;
		series.alike += is_near(block->bytes / block->count, replay->request.bytes) ? block->count : 0;
	}
	return series;
}

static int take_size(void *context, struct db_stmt *row)
{
	uint64_t *layers = context, other = (uint64_t)db_int(row, 0), rest;

	while (other) {
		rest = *layers % other;
		*layers = other;
		other = rest;
	}
	return 0;
}

/*
 * The number of weights of one size is a multiple of the number of layers: take the common divisor. Only weights of one call count,
 * as another call makes another model (reference, critic). A series of weights itself is not complete, and does not count.
 */
static int find_layers(const struct replay *replay, const struct oom_failure *failed, uint64_t *layers)
{
	static const char sql[] =
		"SELECT count(*) AS n FROM allocation WHERE " OWN
		" AND category = 'weights' AND alloc_seq < ?3 AND (free_seq IS NULL OR free_seq > ?3) AND abs(bytes - ?4) > 512 "
		"GROUP BY bytes, node HAVING n >= ?5 ORDER BY n * bytes DESC LIMIT 3";
	int is_weight = replay->site[replay->request.site].category == MT_CATEGORY_WEIGHTS;
	const int64_t parameter[ANSWER_PARAMETERS] = { failed->process, failed->device, failed->seq,
						       is_weight ? (int64_t)failed->requested : -1 - ROUGHLY,
						       LAYERS_LEAST };

	return *layers >= LAYERS_LEAST ? 0 : answer_rows(replay->scene->db, sql, parameter, take_size, layers);
}

/* Gradients, or weights, that are as large as the request or half as large, of one place. */
static uint64_t count_weights(const struct replay *replay, enum mt_category category, uint64_t part)
{
	const struct scene *scene = replay->scene;
	const struct scene_block *block;
	uint64_t count = 0, most = 0;
	uint32_t site = SCENE_NONE;

	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		if (scene->site[block->site].category != category || !block->count ||
		    scene->site[block->site].process != scene->request.process ||
		    !is_near(block->bytes / block->count * part, replay->request.bytes))
			continue;
		count = block->site == site ? count + block->count : block->count;
		site = block->site;
		most = count > most ? count : most;
	}
	return most;
}

/* Adam has two states for each trained weight, each as large as the gradient or the weight. Some optimizers keep one. */
static uint64_t count_states(const struct replay *replay, uint64_t there, int is_adam)
{
	static const enum mt_category category[] = { MT_CATEGORY_GRADIENTS, MT_CATEGORY_WEIGHTS };
	uint64_t each = 0;
	size_t i;

	for (i = 0; i < 2 * MT_ARRAY_SIZE(category) && !each; i++)
		each = count_weights(replay, category[i / 2], 1 + i % 2);
	if (each < SERIES_LEAST && !is_adam)
		return 0;
	return is_adam || there >= each ? 2 * each : each;
}

/* Each layer has one piece, unless the place also frees pieces. Logits come in other numbers. */
static int by_layers(struct replay *replay, const struct oom_failure *failed, uint64_t layers, uint64_t tags)
{
	const uint32_t kinds = KIND(KV_CACHE) | KIND(WEIGHTS) | KIND(ACTIVATIONS) | KIND(GRADIENTS) |
			       KIND(OPTIMIZER_STATE) | COPIES;
	uint8_t category = replay->site[replay->request.site].category;
	struct series series = pieces_of(replay);
	double each = (double)failed->requested;
	int error = 0;

	if (!(kinds & 1u << category))
		return 0;
	if (category == MT_CATEGORY_OPTIMIZER_STATE) {
		series.of = count_states(replay, series.alike, (tags & MT_TAG_BIT(ADAM)) != 0);
	} else if (series.alike >= SERIES_LEAST && !(tags & MT_TAG_BIT(CHECKPOINT_LOAD))) {
		error = find_layers(replay, failed, &layers);
		series.of = layers >= LAYERS_LEAST ? layers : 0;
	}
	if (error)
		return error;
	/* A layer can have several copies of one size. */
	if (series.of && COPIES & 1u << category && series.alike + 1 >= series.of)
		series.of *= (series.alike + 1 + series.of) / series.of;
	if (series.alike + 1 >= series.of) {
		if (series.alike >= SERIES_LEAST && !series.of && category != MT_CATEGORY_ACTIVATIONS)
			replay->later.from = REPLAY_LATER_SERIES;
		return 0;
	}
	if (COPIES & 1u << category) /* all sizes, at the progress of this size */
		each = ((double)series.bytes + each) / (double)(series.alike + 1);
	replay->later.from = REPLAY_LATER_LAYERS;
	replay->later.phase = replay->request.phase;
	replay->later.count = (uint32_t)(series.of - series.alike - 1);
	return replay_add_later(replay, replay->request.site, each * replay->later.count);
}

/* Whether earlier allocations of the request's stack are of its kind. Logits in a backward are no gradients of earlier calls. */
static int has_earlier(const struct replay *replay)
{
	const struct replay_site *its = &replay->site[replay->request.site], *end = replay->site + replay->sites, *site;

	for (site = replay->site; site < end; site++)
		if (site->id && site->node == its->node && passes(site) == passes(its))
			return 1;
	return 0;
}

int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers, uint64_t tags)
{
	struct search search = { .replay = replay, .failed = failed };
	int has = has_earlier(replay), error = 0;

	if (!failed->node)
		return 0;
	if (has)
		error = by_steps(&search, 0);
	if (!error && replay->later.from == REPLAY_LATER_UNKNOWN)
		error = by_layers(replay, failed, layers, tags);
	if (!error && has && replay->later.from == REPLAY_LATER_UNKNOWN)
		error = by_steps(&search, 1);
	return error;
}
