/* Finds the bytes that a step takes after the failed request. */
#include <string.h>
#include "advise_run.h"
#include "memtrace/base.h"
#include "report/answer.h"

#define SERIES_LEAST 3 /* least number of equal pieces in a series before the request */
#define LAYERS_LEAST 4
#define ROUGHLY 512 /* bytes: allocators round a size by less */

#define OWN "process = ?1 AND device = ?2 AND memory = 'tensor'"
#define KIND(category) (1u << MT_CATEGORY_##category)

/* A call of the request's place: the failed one, or the matching one of an earlier step. */
struct call {
	int64_t step, seq;
	uint64_t count, bytes; /* number and bytes of the place's requests in the step, up to this call */
	uint64_t own;          /* bytes of the step in use: now in the failed step, at its largest in an earlier step */
	/* after the call: */
	int64_t most, at; /* largest rise in bytes after the call; seq of this largest rise */
	uint8_t phase;    /* phase of this largest rise */
};

struct search {
	struct replay *replay;
	const struct oom_failure *failed;
	struct call now, best; /* best: the earlier call with the largest rise after it; `most` 0: no such call */
	struct call call;      /* the call that is being read */
	int reached;           /* 1: an earlier step reached the place */
	/* changes after this call: */
	uint32_t phases; /* phases of the work that goes on, as bits */
	int came_back, over;
	int64_t sum;
};

static int ask(struct search *search, const char *sql, int64_t third, int64_t fourth, int64_t fifth,
	       int (*take)(void *context, struct db_stmt *row))
{
	const int64_t parameter[DB_PARAMETERS] = { search->failed->process, search->failed->device, third, fourth,
						   fifth };

	return db_rows(search->replay->scene->db, sql, parameter, take, search);
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

/* Whether the phase ends the work. Forward and backward end with the next forward, any other phase with the next phase. */
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
	if (call->count < search->now.count)
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

/* Whether a micro-batch makes and frees the bytes. A model's own cache passes with it; an engine's cache stays. */
static int passes(const struct replay_site *site)
{
	return RUN_PASSING & 1u << site->category || (site->category == MT_CATEGORY_KV_CACHE && site->own_cache);
}

/* Factor from the earlier step to the failed one: bytes of a micro-batch scale with the request, other bytes do not. */
static double scale_of(const struct search *search, const struct replay_site *site)
{
	const struct call *now = &search->now, *best = &search->best;

	return passes(site) && passes(&search->replay->site[search->replay->request.site])
		       ? (double)now->bytes / (double)now->count * (double)best->count / (double)best->bytes
		       : 1;
}

/* Takes a row: 0: a site's change after the call; 1: a site's bytes of the step at the largest rise. */
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
 * Takes the changes of the earlier step up to its largest rise. The step then had `own` bytes at these sizes: this bounds the sum, because the failed
 * step can have another order of requests.
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
	replay->later.from = replay->later.sum > 0 ? REPLAY_LATER_STEPS : REPLAY_LATER_NOTHING;
	return error;
}

static int by_steps(struct search *search)
{
	static const char now[] =
		"SELECT count(*) FILTER (WHERE node = ?3), ifnull(sum(bytes) FILTER (WHERE node = ?3), 0), "
		"ifnull(sum(bytes) FILTER (WHERE free_seq IS NULL OR free_seq > ?5), 0) FROM allocation WHERE " OWN
		" AND step = ?4 AND alloc_seq < ?5";
	/* The two newest steps: each with the call that matches the failed one, or with its last call of the place. */
	static const char calls[] =
		"SELECT step, max(alloc_seq), max(n), max(taken) FROM (SELECT step, alloc_seq, "
		"sum(bytes) OVER (PARTITION BY step ORDER BY alloc_seq) AS taken, "
		"row_number() OVER (PARTITION BY step ORDER BY alloc_seq) AS n FROM allocation WHERE " OWN
		" AND node = ?3 AND step IN (SELECT step FROM step WHERE process = ?1 AND end_seq <= ?5 ORDER BY step DESC "
		"LIMIT 2)) WHERE n <= ?4 GROUP BY step ORDER BY step DESC";
	const struct oom_failure *failed = search->failed;
	int error = ask(search, now, failed->node, failed->step, failed->seq, take_now);

	if (!error)
		error = ask(search, calls, failed->node, (int64_t)search->now.count, failed->seq, take_call);
	if (!error && search->reached)
		search->replay->later.from = REPLAY_LATER_NOTHING;
	return error || !search->best.most ? error : take_over(search);
}

/* ---- one of a series -------------------------------------------------------------------------------------------------- */

/* Returns the number of resident pieces that are as large as the request, at places like the request's. */
static uint64_t pieces_of(const struct replay *replay)
{
	const struct scene *scene = replay->scene;
	const struct scene_block *block;
	struct packed_walk walk;
	uint64_t pieces = 0;
	uint32_t at;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk)) {
		at = replay_index(replay, scene->site[block->site].id);
		if (at == SCENE_NONE || replay->site[at].alike != replay->site[replay->request.site].alike)
			continue;
		pieces += block->bytes <= replay->request.bytes + ROUGHLY &&
			  replay->request.bytes <= block->bytes + ROUGHLY;
	}
	return pieces;
}

/*
 * A series has one piece for each layer. SERIES means an unknown length: states of an optimizer (as many as weights), a load, and any series without
 * the census's layers. A series of activations is freed before it ends.
 */
static int by_layers(struct replay *replay, uint64_t layers, uint64_t tags)
{
	const uint32_t kinds = KIND(KV_CACHE) | KIND(WEIGHTS) | KIND(ACTIVATIONS) | KIND(GRADIENTS) |
			       KIND(GATHER_BUFFERS) | KIND(STATE_DICT) | KIND(WEIGHT_BUFFERS);
	uint8_t category = replay->site[replay->request.site].category;
	uint64_t pieces = pieces_of(replay);

	if (pieces < SERIES_LEAST)
		return 0;
	if (!(kinds & 1u << category) || layers < LAYERS_LEAST || tags & MT_TAG_BIT(CHECKPOINT_LOAD)) {
		if ((kinds | KIND(OPTIMIZER_STATE)) & ~KIND(ACTIVATIONS) & 1u << category)
			replay->later.from = REPLAY_LATER_SERIES;
		return 0;
	}
	if (pieces + 1 >= layers)
		return 0;
	replay->later.from = REPLAY_LATER_LAYERS;
	replay->later.phase = replay->request.phase;
	replay->later.count = (uint32_t)(layers - pieces - 1);
	return replay_add_later(replay, replay->request.site, (double)replay->request.bytes * replay->later.count);
}

/* Whether the stack has earlier allocations of the same kind. Logits in a backward do not repeat gradients of earlier calls. */
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
	int error = 0;

	if (!failed->node)
		return 0;
	if (has_earlier(replay))
		error = by_steps(&search);
	if (!error && replay->later.from == REPLAY_LATER_UNKNOWN)
		error = by_layers(replay, layers, tags);
	return error;
}
