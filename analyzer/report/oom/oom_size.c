#include "oom_size.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "oom_signs.h"
#include "oom_turn.h"
#include "oom_words.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "report/answer.h"

#define SHARE 20        /* of the device: a request of less is no reason, however small it was before */
#define FAR 2           /* times as large as all before */
#define SCORES_TIMES 3  /* as large as anything else that is computed: of what has a row for each token nothing is */
#define SCORES_FRAMES 3 /* so many of who asks may be within it */
#define SAME_SHARE 128  /* of the device: what is smaller is nobody's copy of all logits */
#define SAME_LEAST 2    /* one may be as large by chance */
#define SAME_MOST 6
#define REMADE_FRAMES 3   /* so many of who asks may be within it */
#define REMADE_WEIGHTS 8  /* of a model, and no two buffers that happen to be so */
#define AS_BEFORE_PARTS 4 /* one part in so many more is as much as before */
#define ROUNDED 1024      /* sizes are the same, but for the rounding of blocks */
#define COPY_FRAMES 4     /* of Python: so many of who asks may be within the call that has both made */
#define COPY_PAIRS 2      /* one may be so by chance */
#define COPY_PAIRS_PART 2 /* of what was asked for at that place: one in so many at least */

struct sizes {
	uint64_t now, before;
};

static int take_sizes(void *context, struct db_stmt *stmt)
{
	struct sizes *sizes = context;

	sizes->now = (uint64_t)db_int(stmt, 0);
	sizes->before = (uint64_t)db_int(stmt, 1);
	return 0;
}

/*
 * The largest of a place in this step, and in all before; of one phase: the update of an actor and its log-probs go through the same
 * lines with micro-batches of their own. Where no step ends (an evaluation, a server), this sample is what came since the oldest that
 * is still there.
 */
static int sizes_of(const struct oom *oom, struct db *db, int64_t node, const char *phase, struct sizes *sizes)
{
	static const char form[] =
		"WITH same AS MATERIALIZED (SELECT alloc_seq, free_seq, step, bytes FROM allocation JOIN place USING (node) "
		"JOIN place AS asker ON asker.node = ?4 AND asker.place = place.place AND asker.function = place.function "
		"WHERE process = ?1 AND alloc_seq <= ?3 AND memory = 'tensor' AND phase = '%s'), "
		"edge AS (SELECT ifnull(CASE WHEN ?5 THEN min(alloc_seq) FILTER (WHERE free_seq IS NULL OR free_seq > ?3) "
		"ELSE min(alloc_seq) FILTER (WHERE step >= ?2) END, ?3 + 1) AS seq FROM same) "
		"SELECT max(bytes) FILTER (WHERE alloc_seq >= seq), max(bytes) FILTER (WHERE alloc_seq < seq) FROM same, edge";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->step, oom->it->seq, node,
						       oom->by_samples };
	char sql[sizeof(form) + 32];
	int number = mt_phase_parse(phase, strlen(phase));

	*sizes = (struct sizes){ 0 };
	snprintf(sql, sizeof(sql), form, mt_phase_name(number < 0 ? MT_PHASE_OTHER : (uint32_t)number));
	return answer_rows(db, sql, parameter, take_sizes, sizes);
}

struct rising {
	uint64_t last;
	uint32_t steps;
};

/* Newest first: as long as each is less than the one after it. */
static int take_step(void *context, struct db_stmt *stmt)
{
	struct rising *rising = context;
	uint64_t bytes = (uint64_t)db_int(stmt, 0);

	if (bytes >= rising->last) {
		rising->last = 0; /* the rest does not count */
		return 0;
	}
	rising->steps++;
	rising->last = bytes;
	return 0;
}

/* In how many steps in a row before this one the largest of the place was larger than in the step before. */
static int find_rising(struct oom *oom, struct db *db)
{
	static const char form[] =
		"SELECT max(bytes) FROM allocation JOIN place USING (node) JOIN place AS asker ON asker.node = ?4 "
		"AND asker.place = place.place AND asker.function = place.function WHERE process = ?1 AND alloc_seq <= ?3 "
		"AND memory = 'tensor' AND phase = '%s' AND step < ?2 GROUP BY step ORDER BY step DESC";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->step, oom->it->seq,
						       oom->place->node };
	struct rising rising = { .last = oom->piece };
	char sql[sizeof(form) + 32];
	int number = mt_phase_parse(oom->place->phase, strlen(oom->place->phase)), error;

	snprintf(sql, sizeof(sql), form, mt_phase_name(number < 0 ? MT_PHASE_OTHER : (uint32_t)number));
	error = answer_rows(db, sql, parameter, take_step, &rising);
	oom->rising = rising.steps;
	return error;
}

int oom_find_sizes(struct oom *oom, struct db *db)
{
	struct sizes sizes;
	int infers = oom->it->steps || oom->rule != OOM_LARGEST ? 0 : oom_is_inference(oom, db),
	    error = infers < 0 ? infers : 0;

	oom->by_samples = infers > 0;
	if (!error && oom->place && oom->place->node && oom->place->process == oom->it->process) {
		error = sizes_of(oom, db, oom->place->node, oom->place->phase, &sizes);
		oom->piece = sizes.now;
		oom->piece_before = sizes.before;
		if (!error && !oom->by_samples)
			error = find_rising(oom, db);
	}
	if (!error && oom->it->node && !strcmp(oom->it->source, "tensor")) {
		error = sizes_of(oom, db, oom->it->node, oom->it->phase, &sizes);
		oom->asked_before = sizes.before;
	}
	return error;
}

/* ---- a sample out of the ordinary ---- */

static int is_one_of(const char *word, const enum mt_category *kinds, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(word, mt_category_name(kinds[i])))
			return 1;
	return 0;
}

/* What comes of the tokens, pixels or boxes of a sample. */
static int is_of_samples(const char *category)
{
	static const enum mt_category kinds[] = { MT_CATEGORY_ACTIVATIONS, MT_CATEGORY_RECOMPUTED,
						  MT_CATEGORY_WORKSPACE, MT_CATEGORY_OTHER };

	return is_one_of(category, kinds, MT_ARRAY_SIZE(kinds));
}

static int is_computed(const char *phase)
{
	static const enum mt_phase phases[] = { MT_PHASE_FORWARD, MT_PHASE_LOGPROB, MT_PHASE_REF, MT_PHASE_CRITIC };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(phases); i++)
		if (!strcmp(phase, mt_phase_name(phases[i])))
			return 1;
	return 0;
}

static int is_outlier(const struct oom *oom)
{
	const struct oom_failure *it = oom->it;

	return oom->asked_before && it->requested >= FAR * oom->asked_before && it->requested >= it->total / SHARE &&
	       !strcmp(it->source, "tensor") && !oom->logits.tokens && is_of_samples(it->category) &&
	       is_computed(it->phase) && !oom_is_larger(oom) && !oom_is_others(oom) &&
	       is_of_samples(oom->rule_category);
}

/* ---- experts ---- */

/*
 * A router that sends most tokens to the experts of this rank: theirs became larger, and what else the forward keeps did not. A
 * sample that is longer makes all of it larger.
 */
static int find_uneven(struct oom *oom, struct db *db, int64_t node)
{
	static const char experts_sql[] =
		"SELECT EXISTS (WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '%/moe/%' OR file LIKE '%moe%.py' OR file LIKE '%experts%' OR function LIKE '%expert%' "
		"OR function LIKE '%moe%')";
	static const char others_sql[] =
		"SELECT max(bytes) FILTER (WHERE step >= ?2), max(bytes) FILTER (WHERE step < ?2) FROM allocation "
		"JOIN place USING (node) JOIN place AS asker ON asker.node = ?4 AND (asker.place <> place.place "
		"OR asker.function <> place.function) WHERE process = ?1 AND alloc_seq <= ?3 AND memory = 'tensor' "
		"AND phase = 'forward' AND category = 'activations'";
	const int64_t parameter[ANSWER_PARAMETERS] = { node };
	const int64_t others[ANSWER_PARAMETERS] = { oom->it->process, oom->it->step, oom->it->seq, node };
	struct sizes sizes = { 0 };
	int experts = 0, error = answer_flag(db, experts_sql, parameter, &experts);

	if (error || !experts)
		return error;
	error = answer_rows(db, others_sql, others, take_sizes, &sizes);
	oom->uneven = !error && sizes.before && sizes.now <= sizes.before + sizes.before / AS_BEFORE_PARTS;
	return error;
}

/* ---- attention ---- */

/* Where another kernel can be chosen: in the functions by which transformers calls one, and PyTorch's. */
static int is_attention(const struct callstack_frame *frame)
{
	static const char *const calls[] = { "sdpa_attention", "eager_attention", "scaled_dot_product" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(calls) && !frame->native; i++)
		if (strstr(frame->function, calls[i]))
			return 1;
	return 0;
}

/* One of the innermost `most` Python frames of the request is so. 1, 0 or -MT_E_x. */
static int asks_within(const struct oom *oom, struct db *db, int (*is_so)(const struct callstack_frame *frame),
		       size_t most)
{
	struct callstack stack = { .count = 0 };
	int error = callstack_load(&stack, db, oom->it->node, NULL), found = 0;
	size_t i, frames = 0;

	for (i = 0; i < stack.count && !error && !found && frames < most; i++) {
		found = is_so(stack.frame[i]);
		frames += !stack.frame[i]->native;
	}
	callstack_release(&stack);
	return error ? error : found;
}

/* Queries, keys, what a layer computes: all has a row for each token. What is several times as large as any of it has tokens x tokens. */
int oom_find_scores(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT max(allocation.bytes), 0 FROM allocation JOIN place USING (node) WHERE process = ?1 AND alloc_seq <= ?2 "
		"AND (free_seq IS NULL OR free_seq > ?2) AND memory = 'tensor' AND category = 'activations' "
		"AND place.function NOT LIKE '%attention%' AND place.function NOT LIKE '%mask%'";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq };
	struct sizes sizes = { 0, 0 };
	int error;

	if (!oom->it->node || oom->asked_for || oom->left_over || oom->crowded || oom->serves || oom->own_engine ||
	    strcmp(oom->it->category, mt_category_name(MT_CATEGORY_ACTIVATIONS)))
		return 0;
	error = asks_within(oom, db, is_attention, SCORES_FRAMES);
	if (error <= 0)
		return error;
	error = answer_rows(db, sql, parameter, take_sizes, &sizes);
	oom->by_asker = !error && sizes.now && oom->it->requested >= SCORES_TIMES * sizes.now;
	oom->by_frame = oom->by_asker ? oom_scores_knob : NULL;
	return error;
}

/* ---- weights made over ---- */

/* Below what adapts or quantizes modules, where a weight is made whole to compute with it. */
static int is_of_weight(const struct callstack_frame *frame)
{
	static const char *const files[] = {
		"peft/tuners/", "bitsandbytes/", "torchao/", "quant", "hqq", "gptq", "awq"
	};
	static const char *const functions[] = { "dequant", "weight", "dora" };
	size_t i;

	if (frame->native)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(files); i++)
		if (strstr(frame->file, files[i]))
			return 1;
	for (i = 0; i < MT_ARRAY_SIZE(functions); i++)
		if (strstr(frame->function, functions[i]))
			return 1;
	return 0;
}

/*
 * DoRA takes the norm of a whole weight, in float32, for each module that it adapts: so many elements as weights of 4, 8 or 16 bits have,
 * several of those at once, and no token moves them.
 */
int oom_find_remade(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT bytes, category FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND " ALIVE_SPAN_AT(
			"?5", "?1",
			"?3") "), "
			      "alike AS (SELECT count(*) AS pieces FROM there WHERE category = 'weights' AND (abs(bytes * 2 - ?4) < 1024 "
			      "OR abs(bytes * 4 - ?4) < 1024 OR abs(bytes * 8 - ?4) < 1024)) "
			      "SELECT pieces, (SELECT count(*) FROM there WHERE category NOT IN ('weights', 'gradients', 'optimizer state', 'kv cache') "
			      "AND (abs(bytes - ?4) < 1024 OR abs(bytes * 2 - ?4) < 1024)) FROM alike";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested, oom->it->time };
	struct sizes pieces = { 0, 0 };
	int error;

	if (!oom->it->node || oom->asked_for || oom->left_over || oom->crowded || oom->serves || oom->own_engine ||
	    strcmp(oom->it->source, "tensor") || oom->it->requested < oom->it->total / SAME_SHARE ||
	    !oom_is_computed(oom->it->phase))
		return 0;
	error = asks_within(oom, db, is_of_weight, REMADE_FRAMES);
	if (error <= 0)
		return error;
	error = answer_rows(db, sql, parameter, take_sizes, &pieces);
	if (error || pieces.now < REMADE_WEIGHTS || pieces.before < SAME_LEAST)
		return error;
	oom->by_asker = 1;
	oom->by_frame = oom_remade_knob;
	return 0;
}

/* ---- a copy of what goes right after ---- */

/* What the process made last, of a good part of the request. */
struct made {
	uint64_t bytes;
	int64_t node, seq;
};

static int take_made(void *context, struct db_stmt *stmt)
{
	*(struct made *)context = (struct made){ (uint64_t)db_int(stmt, 0), db_int(stmt, 1), db_int(stmt, 2) };
	return 0;
}

static int find_made(const struct oom *oom, struct db *db, struct made *made)
{
	static const char sql[] =
		"SELECT bytes, node, alloc_seq FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' "
		"AND bytes >= ?4 / 8 AND " ALIVE_SPAN_AT("?5", "?1", "?3") " ORDER BY alloc_seq DESC LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested, oom->it->time };

	return answer_rows(db, sql, parameter, take_made, made);
}

static int same_function(const struct callstack_frame *one, const struct callstack_frame *other)
{
	return !strcmp(one->function, other->function) && !strcmp(one->file, other->file);
}

/* The next frame of Python further out; what is left out ends a stack. NULL: there is none. */
static const struct callstack_frame *outwards(const struct callstack *stack, size_t *at)
{
	for (++*at; *at < stack->count && !stack->frame[*at]->elided; ++*at)
		if (!stack->frame[*at]->native)
			return stack->frame[*at];
	return NULL;
}

/* From there outwards they are the same call, as far as both are known. */
static int is_same_call(const struct callstack *one, size_t at, const struct callstack *other, size_t its)
{
	const struct callstack_frame *mine, *theirs;

	do {
		mine = outwards(one, &at);
		theirs = outwards(other, &its);
		if (mine && theirs && (!same_function(mine, theirs) || mine->line != theirs->line))
			return 0;
	} while (mine && theirs);
	return 1;
}

static int has_one_of(const char *name, const char *const *part, size_t parts)
{
	size_t i;

	for (i = 0; i < parts; i++)
		if (strstr(name, part[i]))
			return 1;
	return 0;
}

/* What comes from other ranks is no copy of what is here. */
static int gathers(const struct callstack_frame *frame)
{
	static const char *const functions[] = { "gather", "broadcast", "recv",       "scatter",
						 "reduce", "unshard",   "full_tensor" };

	return strstr(frame->file, "torch/distributed/") ||
	       has_one_of(frame->function, functions, MT_ARRAY_SIZE(functions));
}

/* What is computed of a weight, or by a layer, may be as large as that, and is no copy. */
static int computes(const struct callstack_frame *frame)
{
	static const char *const files[] = { "peft/tuners/", "quant" };
	static const char *const functions[] = { "forward", "quant", "merge", "delta" };

	return has_one_of(frame->file, files, MT_ARRAY_SIZE(files)) ||
	       has_one_of(frame->function, functions, MT_ARRAY_SIZE(functions));
}

/*
 * The innermost call that had both made: its frame on the stack of what is there. NULL: it is far out of what asks, or what asks is
 * no copy within it.
 */
static const struct callstack_frame *call_of_both(const struct callstack *asks, const struct callstack *made)
{
	const struct callstack_frame *frame;
	size_t i, j, frames = 0;

	for (i = 0; i < asks->count && frames <= COPY_FRAMES; i++) {
		frame = asks->frame[i];
		if (frame->elided || computes(frame))
			return NULL;
		for (j = 0; j < made->count && !frame->native; j++)
			if (!made->frame[j]->native && same_function(frame, made->frame[j]) &&
			    is_same_call(asks, i, made, j))
				return made->frame[j];
		if (gathers(frame))
			return NULL;
		frames += !frame->native;
	}
	return NULL;
}

/* What is sent, saved or loaded goes from one form into another, piece by piece. */
static int is_on_its_way(const struct oom *oom, const struct callstack *asks)
{
	const char *phase = oom->it->phase;
	size_t i;

	if (!strcmp(phase, mt_phase_name(MT_PHASE_WEIGHT_UPDATE)))
		return 1;
	if (!strcmp(oom->it->category, mt_category_name(MT_CATEGORY_STATE_DICT)))
		return !oom_is_computed(phase) && strcmp(phase, mt_phase_name(MT_PHASE_OPTIMIZER)) != 0;
	for (i = 0; i < asks->count && !strcmp(phase, mt_phase_name(MT_PHASE_INIT)); i++)
		if (!asks->frame[i]->native && strstr(asks->frame[i]->function, "load"))
			return 1;
	return 0;
}

struct piece {
	uint64_t bytes;       /* 0: there is none */
	int64_t since, until; /* until: INT64_MAX where it is there */
};

/* What came before at the two places, oldest first. */
struct pairs {
	struct piece source; /* the newest of the first place that has no copy yet */
	struct piece copied; /* of the newest pair, until it is known whether it went */
	uint64_t copies, good, size;
	int sizes; /* different ones, 2: two or more */
};

/* The source of a pair goes before there is another copy. */
static void settle(struct pairs *pairs, int64_t seq)
{
	uint64_t bytes = pairs->copied.bytes;

	if (bytes && pairs->copied.until < seq) {
		pairs->good++;
		pairs->sizes += pairs->sizes < 2 && (!pairs->sizes || bytes != pairs->size);
		pairs->size = bytes;
	}
	pairs->copied.bytes = 0;
}

static int take_piece(void *context, struct db_stmt *stmt)
{
	struct pairs *pairs = context;
	const struct piece piece = { (uint64_t)db_int(stmt, 1), db_int(stmt, 2),
				     db_type(stmt, 3) == DB_NULL ? INT64_MAX : db_int(stmt, 3) };

	if (!db_int(stmt, 0)) {
		pairs->source = piece;
		return 0;
	}
	settle(pairs, piece.since);
	pairs->copies++;
	if (pairs->source.bytes == piece.bytes && pairs->source.until > piece.since)
		pairs->copied = pairs->source;
	pairs->source.bytes = 0;
	return 0;
}

/* Those of a few bytes are all of a size. */
static int count_pairs(const struct oom *oom, struct db *db, const struct made *made, struct pairs *pairs)
{
	static const char sql[] =
		"WITH stack AS MATERIALIZED (SELECT place.node AS node, place.place = asker.place AND place.function = "
		"asker.function AS copies FROM place JOIN place AS asker ON asker.node = ?4 JOIN place AS source ON "
		"source.node = ?5 WHERE (place.place = asker.place AND place.function = asker.function) OR "
		"(place.place = source.place AND place.function = source.function)), "
		"origin AS MATERIALIZED (SELECT site.id AS site, copies FROM site JOIN stack USING (node) WHERE process = ?1 AND device = ?2), "
		"newest AS (SELECT copies, allocation_raw.bytes AS bytes, alloc_seq, free_seq FROM allocation_raw CROSS JOIN origin ON origin.site = allocation_raw.site "
		"WHERE allocation_raw.process = ?1 AND memory = 'tensor' AND allocation_raw.bytes >= 65536 AND alloc_seq <= ?3 ORDER BY alloc_seq DESC LIMIT 256) "
		"SELECT copies, bytes, alloc_seq, free_seq FROM newest ORDER BY alloc_seq";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, oom->it->node,
						       made->node };
	int error = answer_rows(db, sql, parameter, take_piece, pairs);

	settle(pairs, oom->it->seq);
	return error;
}

static int take_clone(void *context, struct db_stmt *stmt)
{
	struct oom_clone *clone = context;

	mt_copy_text(clone->function, sizeof(clone->function), db_text(stmt, 0));
	mt_copy_text(clone->place, sizeof(clone->place), db_text(stmt, 1));
	return 0;
}

static int name_clone(struct oom *oom, struct db *db, const struct made *made, const struct callstack_frame *call)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { made->node };
	struct oom_clone *clone = &oom->clone;
	int error = answer_rows(db, "SELECT function, place FROM place WHERE node = ?1", parameter, take_clone, clone);

	callstack_function(clone->caller, sizeof(clone->caller), call);
	callstack_place(clone->caller_place, sizeof(clone->caller_place), call);
	if (!strcmp(clone->caller_place, clone->place))
		*clone->caller = *clone->caller_place = '\0';
	clone->bytes = made->bytes;
	return error;
}

static int find_call(struct oom *oom, struct db *db, const struct made *made)
{
	struct callstack asks = { .count = 0 }, makes = { .count = 0 };
	const struct callstack_frame *call = NULL;
	struct pairs pairs = { .good = 0 };
	int error = callstack_load(&asks, db, oom->it->node, NULL);

	if (!error)
		error = callstack_load(&makes, db, made->node, NULL);
	if (!error && is_on_its_way(oom, &asks))
		call = call_of_both(&asks, &makes);
	if (!error && call)
		error = count_pairs(oom, db, made, &pairs);
	if (!error && pairs.source.since == made->seq && pairs.good >= COPY_PAIRS && pairs.sizes > 1 &&
	    pairs.good >= pairs.copies / COPY_PAIRS_PART) {
		oom->clone.pairs = pairs.good;
		error = name_clone(oom, db, made, call);
	}
	callstack_release(&asks);
	callstack_release(&makes);
	return error;
}

/*
 * verl cloned each tensor that full_tensor() had gathered before it went into a bucket, though nobody else had it: twice the memory for
 * a moment, of 6 GiB where experts are one tensor.
 */
int oom_find_clone(struct oom *oom, struct db *db)
{
	/* Copies for a state dict are left over, too, and one copy less each. */
	int left = oom->left_over && strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_STATE_DICT)) != 0;
	struct made made = { .bytes = 0 };
	int error;

	if (oom->rule != OOM_LARGEST || strcmp(oom->it->source, "tensor") || !oom->it->node ||
	    oom->it->requested < oom->it->total / SAME_SHARE || left || oom->waits || oom->own_engine || oom->crowded ||
	    oom->by_asker || oom->starved || oom->unneeded || oom->inputs || oom->pile || oom->whole)
		return 0;
	error = find_made(oom, db, &made);
	if (error || !made.node || made.bytes + ROUNDED <= oom->it->requested ||
	    made.bytes >= oom->it->requested + ROUNDED)
		return error;
	return find_call(oom, db, &made);
}

/* ---- one more of them ---- */

static int take_same(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	struct oom_same *same = &oom->same;
	uint64_t bytes = (uint64_t)db_int(stmt, 0), wider = (uint64_t)db_int(stmt, 1);

	if (!same->count) {
		mt_copy_text(same->function, sizeof(same->function), db_text(stmt, 2));
		mt_copy_text(same->place, sizeof(same->place), db_text(stmt, 3));
	} else if (!*same->next_place && strcmp(same->place, db_text(stmt, 3)) != 0) {
		mt_copy_text(same->next, sizeof(same->next), db_text(stmt, 2));
		mt_copy_text(same->next_place, sizeof(same->next_place), db_text(stmt, 3));
	}
	same->count++;
	same->bytes += bytes;
	same->wider = wider > same->wider ? wider : same->wider;
	return 0;
}

/*
 * Each copy, cast or softmax of a tensor has its elements again: SpecForge gathered logits, joined them, and shifted them, each
 * time into a new tensor. What each layer has one of is no such.
 */
int oom_find_same(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT bytes, node, since_seq, CASE WHEN abs(bytes - ?4) < 1024 THEN 1 "
		"WHEN abs(bytes * 2 - ?4) < 1024 THEN 2 WHEN abs(bytes * 4 - ?4) < 1024 THEN 4 END AS wider FROM in_use_span "
		"WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND phase <> 'optimizer' AND category NOT IN "
		"('weights', 'gradients', 'optimizer state', 'kv cache', 'cuda graphs', 'fsdp gather buffers') AND " ALIVE_SPAN_AT(
			"?5", "?1",
			"?3") ") "
			      "SELECT bytes, wider, function, place FROM there JOIN place USING (node) WHERE wider IS NOT NULL "
			      "ORDER BY wider, since_seq";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested, oom->it->time };
	const char *logits = mt_category_name(MT_CATEGORY_LOGITS);
	int error;

	if (oom->rule != OOM_LARGEST || strcmp(oom->it->source, "tensor") || oom->logits_gradient || oom->clone.bytes ||
	    oom->it->requested < oom->it->total / SAME_SHARE ||
	    (!oom->alone && strcmp(oom->it->category, logits) != 0 && strcmp(oom->rule_category, logits) != 0))
		return 0;
	error = answer_rows(db, sql, parameter, take_same, oom);
	if (error || oom->same.count < SAME_LEAST || oom->same.count > SAME_MOST)
		oom->same = (struct oom_same){ 0 };
	return error;
}

int oom_is_known_better(const struct oom *oom)
{
	return oom->left_over || oom->waits || oom->own_engine || oom->crowded || oom->asked_for || oom->alone ||
	       oom->by_asker || oom->by_frame || oom->unneeded || oom->inputs || oom->wider || oom->whole ||
	       oom->spare || oom->starved || oom->stale || oom->clone.bytes;
}

int oom_find_outlier(struct oom *oom, struct db *db)
{
	if (oom->rule != OOM_LARGEST || oom_is_known_better(oom) || *oom->library.owner)
		return 0;
	oom->outlier = is_outlier(oom);
	if (oom->outlier)
		return find_uneven(oom, db, oom->it->node);
	return oom_is_larger(oom) && oom->place ? find_uneven(oom, db, oom->place->node) : 0;
}
