#include "oom_left.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "oom_turn.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/finding.h"

#define LOADED_SHARE 4  /* two states of Adam and a copy of the weights are three times the weights */
#define LAYERS_MIN 4    /* so many pieces at least: of a model, and no two buffers that happen to be so */
#define NEAR 16         /* one part in so many more or less is the same */
#define FROZEN_SHARE 4  /* of the weights: adapters have no part of that size */
#define BUCKETS_SHARE 8 /* of what is in use */
#define GATHERED_MANY \
	8 /* pieces of one place: more than the layer that is computed, and those that are fetched before their turn */
#define GATHERED_SHARE 4 /* of what is in use */
#define UNSHARDED_SHARE 32

static uint64_t own_bytes(const struct oom *oom, enum mt_category category, int but)
{
	return oom_bytes_of(oom, oom->it->process, mt_category_name(category), but);
}

static int is_near(uint64_t one, uint64_t other)
{
	uint64_t between = one > other ? one - other : other - one;

	return between <= other / NEAR;
}

/* ---- copies and outputs ---- */

/* What was loaded in init can be the model that is used: it is where there are hardly any other weights. */
static int is_model_itself(const struct oom *oom, uint64_t bytes)
{
	return own_bytes(oom, MT_CATEGORY_STATE_DICT, MT_PHASE_INIT) < bytes / 2 &&
	       own_bytes(oom, MT_CATEGORY_WEIGHTS, -1) < bytes / LOADED_SHARE;
}

/* Those for the engine are needed. */
static int find_copies(const struct oom *oom, uint64_t least, struct oom_left *left)
{
	static const enum mt_category kinds[] = { MT_CATEGORY_EVALUATION, MT_CATEGORY_STATE_DICT };
	uint64_t bytes;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++) {
		bytes = own_bytes(oom, kinds[i], MT_PHASE_WEIGHT_UPDATE);
		if (bytes < least || (kinds[i] == MT_CATEGORY_STATE_DICT && is_model_itself(oom, bytes)))
			continue;
		*left = (struct oom_left){ .category = mt_category_name(kinds[i]), .bytes = bytes };
		return 1;
	}
	return 0;
}

/* ---- an attempt that failed before ---- */

/* The newest failure of the process before this one. */
static const struct oom_failure *failed_before(const struct oom *oom)
{
	const struct oom_failure *it = oom->it, *other, *newest = NULL;
	size_t i;

	for (i = 0; i < oom->all.count; i++) {
		other = &oom->all.failure[i];
		if (other->process == it->process && other->device == it->device && !other->is_part &&
		    other->seq < it->seq && !strcmp(other->source, "tensor") && (!newest || other->seq > newest->seq))
			newest = other;
	}
	return newest;
}

struct remains {
	uint64_t bytes, most;
	char category[32];
};

static int take_remains(void *context, struct db_stmt *stmt)
{
	struct remains *remains = context;
	uint64_t bytes = (uint64_t)db_int(stmt, 0);

	remains->bytes += bytes;
	if (bytes <= remains->most)
		return 0;
	remains->most = bytes;
	mt_copy_text(remains->category, sizeof(remains->category), db_text(stmt, 1));
	return 0;
}

/*
 * A loop that catches the error of a long micro-batch and goes on: a backward that broke off has not freed its graph, and the
 * loss, or the exception with all frames of its traceback, holds it while the next forward makes its own. Of what was made
 * since the optimizer before, where another forward has begun since.
 */
static int find_attempt(struct oom *oom, struct db *db, uint64_t least, struct oom_left *left)
{
	static const char sql[] =
		"SELECT sum(bytes), category FROM in_use_span WHERE process = ?1 AND device = ?2 AND since_seq < ?3 "
		"AND (until_seq IS NULL OR until_seq > ?4) AND memory = 'tensor' AND phase IN ('forward', 'backward', 'logprob', "
		"'ref', 'critic') AND category IN ('activations', 'recomputed activations', 'logits and log-probs', 'workspace') "
		"AND since_seq > (SELECT ifnull(max(last_seq), 0) FROM phase_span WHERE process = ?1 AND phase = 'optimizer' "
		"AND last_seq < ?3) AND EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND phase IN ('forward', 'logprob', "
		"'ref', 'critic') AND first_seq > ?3 AND first_seq <= ?4) GROUP BY category";
	/* transformers' search for a batch size kept what the attempt before had prepared: states are made once, unless so. */
	static const char states_sql[] =
		"SELECT sum(bytes), category FROM in_use_span WHERE process = ?1 AND device = ?2 AND since_seq < ?3 "
		"AND (until_seq IS NULL OR until_seq > ?4) AND memory = 'tensor' AND category = 'optimizer state' AND (node, bytes) IN "
		"(SELECT node, bytes FROM allocation WHERE process = ?1 AND memory = 'tensor' AND category = 'optimizer state' "
		"AND alloc_seq > ?3 AND alloc_seq < ?4 AND (free_seq IS NULL OR free_seq > ?4)) GROUP BY category";
	const struct oom_failure *before = failed_before(oom);
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, before ? before->seq : 0,
						       oom->it->seq };
	struct remains remains = { .bytes = 0 };
	int error = before ? answer_rows(db, sql, parameter, take_remains, &remains) : 0, category;

	if (before && !error && (!remains.bytes || remains.bytes < least)) {
		remains = (struct remains){ .bytes = 0 };
		error = answer_rows(db, states_sql, parameter, take_remains, &remains);
	}
	category = mt_category_parse(remains.category);
	if (error || !remains.bytes || remains.bytes < least || category < 0)
		return error;
	*left = (struct oom_left){ .category = mt_category_name((uint32_t)category), .bytes = remains.bytes };
	oom->attempt = before;
	return 1;
}

/* ---- the same twice ---- */

static int is_gradients(const struct oom *oom, const struct oom_part *part)
{
	return part->process == oom->it->process && !strcmp(part->category, mt_category_name(MT_CATEGORY_GRADIENTS)) &&
	       part->count >= LAYERS_MIN;
}

/*
 * FSDP2 over a mesh of two dimensions reduced gradients in four bytes, cast each to the two of its weight, and kept what it had
 * cast from until the next backward. The narrower are as large as all weights: else one place's could be of layers that
 * are just larger.
 */
static int find_twice(struct oom *oom, uint64_t least, struct oom_left *left)
{
	uint64_t weights = own_bytes(oom, MT_CATEGORY_WEIGHTS, -1);
	const struct oom_part *wide, *narrow;
	size_t i, j;

	for (i = 0; i < oom->parts; i++) {
		wide = &oom->part[i];
		for (j = 0; j < oom->parts && is_gradients(oom, wide) && wide->bytes >= least; j++) {
			narrow = &oom->part[j];
			if (!is_gradients(oom, narrow) || wide->count != narrow->count ||
			    !is_near(wide->bytes, narrow->bytes * 2) || !is_near(narrow->bytes, weights))
				continue;
			*left = (struct oom_left){ .category = mt_category_name(MT_CATEGORY_GRADIENTS),
						   .bytes = wide->bytes,
						   .place = wide };
			oom->twice = narrow;
			return 1;
		}
	}
	return 0;
}

/*
 * DistributedDataParallel makes buckets as large as all gradients when it is made, and copies each gradient into its own. A little
 * of it is the price of every such run.
 */
static int find_buckets(struct oom *oom, uint64_t least, struct oom_left *left)
{
	const char *gradients = mt_category_name(MT_CATEGORY_GRADIENTS);
	const struct oom_part *part, *buckets = NULL;
	uint64_t bytes = 0, others = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++) {
		part = &oom->part[i];
		if (part->process != oom->it->process || strcmp(part->category, gradients))
			continue;
		if (strstr(part->function, "_ddp_init_helper") || strstr(part->function, "_pre_forward")) {
			buckets = buckets ? buckets : part;
			bytes += part->bytes;
		} else {
			others += part->bytes;
		}
	}
	if (!buckets || bytes < least || bytes < oom->in_use / BUCKETS_SHARE || others < bytes - bytes / 4)
		return 0;
	*left = (struct oom_left){ .category = gradients, .bytes = bytes, .place = buckets };
	oom->buckets = 1;
	return 1;
}

/* ---- the same load before ---- */

#define NODES_MAX 32

struct node {
	int64_t node;
	uint64_t bytes;
};

struct nodes {
	struct node node[NODES_MAX];
	size_t count;
};

static int take_node(void *context, struct db_stmt *stmt)
{
	struct nodes *nodes = context;

	nodes->node[nodes->count++] = (struct node){ db_int(stmt, 0), (uint64_t)db_int(stmt, 1) };
	return 0;
}

static int same_function(const struct callstack_frame *one, const struct callstack_frame *other)
{
	return !one->native && !other->native && !strcmp(one->function, other->function) &&
	       !strcmp(one->file, other->file);
}

/* `depth` from the outermost frame; NULL: so deep it is not. */
static const struct callstack_frame *at_depth(const struct callstack *stack, size_t depth)
{
	return depth < stack->count ? stack->frame[stack->count - 1 - depth] : NULL;
}

/* Whether a function that takes a state dict over is on the stack, from `depth` inwards. */
static int takes_over(const struct callstack *stack, size_t depth)
{
	for (; depth < stack->count; depth++)
		if (!at_depth(stack, depth)->native && strstr(at_depth(stack, depth)->function, "load_state"))
			return 1;
	return 0;
}

/*
 * The stacks part below a function that loads, and only this one takes a state dict over: the frame where `other` leaves. NULL: they
 * do not.
 */
static const struct callstack_frame *parts_from(const struct callstack *stack, const struct callstack *other)
{
	const struct callstack_frame *mine, *its;
	size_t depth;
	int loads = 0;

	for (depth = 0;; depth++) {
		mine = at_depth(stack, depth);
		its = at_depth(other, depth);
		if (!mine || !its || !same_function(mine, its))
			break;
		loads |= strstr(mine->function, "load") != NULL;
		if (mine->line != its->line) {
			its = at_depth(other, ++depth);
			break;
		}
	}
	return loads && its && !its->native && takes_over(stack, depth) && !takes_over(other, depth) ? its : NULL;
}

/*
 * A layer is gathered to be computed, and let go of; who gathers a model for an engine, outside of all passes, wants all of it. DeepSpeed counted the uses of a layer wrong where checkpoints run it twice, and kept
 * each till the end of the backward.
 */
static int find_gathered(const struct oom *oom, uint64_t least, struct oom_left *left)
{
	const char *gathered = mt_category_name(MT_CATEGORY_GATHER_BUFFERS);
	const struct oom_part *part;
	size_t i;

	for (i = 0; i < oom->parts; i++) { /* most first */
		part = &oom->part[i];
		if (part->process != oom->it->process || strcmp(part->category, gathered) || !part->alike ||
		    part->count < GATHERED_MANY || !oom_is_computed(part->phase))
			continue;
		if (part->bytes < least || part->bytes < oom->in_use / GATHERED_SHARE)
			return 0;
		*left = (struct oom_left){ .category = gathered, .bytes = part->bytes, .place = part };
		return 1;
	}
	return 0;
}

/*
 * A trainer that wakes up has sent its weights, or has not begun: what it made for the receiver is of the time before. PyTorch keeps
 * what it shared until it collects, which it does when its own allocator is short, and not when a pool asks the driver.
 */
static int find_sent(const struct oom *oom, uint64_t least, struct oom_left *left)
{
	const char *sent = mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS);
	const struct oom_part *part;
	size_t i;

	if (!*oom->waking || oom->evaluates)
		return 0;
	for (i = 0; i < oom->parts; i++) { /* most first */
		part = &oom->part[i];
		if (part->process != oom->it->process || strcmp(part->category, sent) || part->count < LAYERS_MIN ||
		    part->bytes < least)
			continue;
		*left = (struct oom_left){ .category = sent, .bytes = part->bytes, .place = part };
		return 1;
	}
	return 0;
}

static int add_reload(struct oom *oom, struct db *db, const struct callstack *asks, const struct node *node)
{
	const struct callstack_frame *from = NULL;
	struct callstack stack = { .count = 0 };
	int error = callstack_load(&stack, db, node->node, NULL);

	if (!error)
		from = parts_from(asks, &stack);
	if (from && !oom->reload.bytes) { /* most first */
		callstack_function(oom->reload.function, sizeof(oom->reload.function), from);
		callstack_place(oom->reload.place, sizeof(oom->reload.place), from);
	}
	oom->reload.bytes += from ? node->bytes : 0;
	callstack_release(&stack);
	return error;
}

/*
 * Megatron lets an optimizer make its state to know what to load; what takes the loaded one over can make it once more, while the
 * state dict still has the first.
 */
static int find_reload(struct oom *oom, struct db *db, uint64_t least)
{
	static const char sql[] =
		"SELECT node, sum(bytes) FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND node IS NOT NULL "
		"AND category = 'optimizer state' AND since_seq < ?3 AND (until_seq IS NULL OR until_seq > ?3) GROUP BY node "
		"HAVING min(bytes) <= ?4 AND max(bytes) >= ?4 ORDER BY 2 DESC, 1 LIMIT 32";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };
	struct callstack asks = { .count = 0 };
	struct nodes nodes = { .count = 0 };
	size_t i;
	int error;

	if (strcmp(oom->it->category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) ||
	    strcmp(oom->it->source, "tensor") || !oom->it->node)
		return 0;
	error = callstack_load(&asks, db, oom->it->node, NULL);
	if (!error)
		error = answer_rows(db, sql, parameter, take_node, &nodes);
	for (i = 0; i < nodes.count && !error; i++)
		error = add_reload(oom, db, &asks, &nodes.node[i]);
	callstack_release(&asks);
	if (error || oom->reload.bytes < least)
		oom->reload = (struct oom_reload){ 0 };
	return error ? error : oom->reload.bytes != 0;
}

/* ---- gathered, and not sharded again ---- */

struct unsharded {
	uint64_t bytes;
	int64_t node; /* of most of it */
};

static int take_unsharded(void *context, struct db_stmt *stmt)
{
	*(struct unsharded *)context = (struct unsharded){ (uint64_t)db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

static int is_gathering(const struct callstack_frame *frame)
{
	return !frame->native && (strstr(frame->file, "torch/distributed/") || strstr(frame->file, "deepspeed/"));
}

/* Who called what is gathered for: the first outside of the code that gathers. NULL: nobody is known. */
static const struct callstack_frame *caller_of(const struct callstack *stack)
{
	const struct callstack_frame *caller = NULL;
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (is_gathering(stack->frame[i]))
			caller = NULL;
		else if (!caller && !package_is_nobodys(stack->frame[i]))
			caller = stack->frame[i];
	return caller;
}

static int is_below(const struct callstack *stack, const struct callstack_frame *frame)
{
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (same_function(stack->frame[i], frame) && stack->frame[i]->line == frame->line)
			return 1;
	return 0;
}

/* What is gathered for a call in which this request is made is in use. 1: it is not, and `unsharded` has the caller. */
static int take_caller(struct oom *oom, struct db *db, int64_t node, struct oom_unsharded *unsharded)
{
	struct callstack made = { .count = 0 }, asks = { .count = 0 };
	const struct callstack_frame *caller = NULL;
	int error = callstack_load(&made, db, node, NULL), in_use = 0;

	if (!error && oom->it->node)
		error = callstack_load(&asks, db, oom->it->node, NULL);
	if (!error)
		caller = caller_of(&made);
	if (caller) {
		in_use = is_below(&asks, caller);
		callstack_function(unsharded->function, sizeof(unsharded->function), caller);
		callstack_place(unsharded->place, sizeof(unsharded->place), caller);
	}
	callstack_release(&made);
	callstack_release(&asks);
	return error ? error : !in_use;
}

/* The part that the stack's line has of that. */
static const struct oom_part *part_at(const struct oom *oom, struct db *db, int64_t node, const char *category)
{
	const struct oom_part *part;
	struct finding_place named;
	size_t i;

	for (i = 0; !finding_place_of(&named, db, node) && i < oom->parts; i++) {
		part = &oom->part[i];
		if (part->process == oom->it->process && !strcmp(part->category, category) &&
		    !strcmp(part->function, named.function) && !strcmp(part->place, named.place))
			return part;
	}
	return NULL;
}

/*
 * fully_shard() of a frozen encoder as a whole makes it a root, and a root is not sharded again after its forward, as its backward is thought
 * to come at once: torchtitan's T5 stayed gathered from its first forward on. Of what is trained everything is sharded again when the optimizer
 * runs, which changes the shards.
 */
static int find_unsharded(struct oom *oom, struct db *db, uint64_t least, struct oom_left *left)
{
	static const char sql[] =
		"WITH since AS MATERIALIZED (SELECT CASE WHEN ?4 THEN (SELECT first_seq FROM phase_span WHERE process = ?1 AND phase IN "
		"('forward', 'logprob', 'ref') AND first_seq <= ?3 ORDER BY first_seq DESC LIMIT 1 OFFSET 1) ELSE (SELECT max(first_seq) "
		"FROM phase_span WHERE process = ?1 AND phase = 'optimizer' AND last_seq < ?3) END AS seq), "
		"kept AS MATERIALIZED (SELECT node, sum(bytes) AS bytes FROM in_use_span, since WHERE process = ?1 AND device = ?2 "
		"AND memory = 'tensor' AND category = 'fsdp gather buffers' AND phase IN ('forward', 'logprob', 'ref', 'critic') "
		"AND node IS NOT NULL AND since_seq < since.seq AND (until_seq IS NULL OR until_seq > ?3) GROUP BY node) "
		"SELECT ifnull(sum(bytes), 0), (SELECT node FROM kept ORDER BY bytes DESC, node LIMIT 1) FROM kept";
	const char *gathered = mt_category_name(MT_CATEGORY_GATHER_BUFFERS);
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       oom->evaluates };
	struct oom_unsharded unsharded = { .by_step = !oom->evaluates };
	struct unsharded kept = { 0 };
	int result;

	if (own_bytes(oom, MT_CATEGORY_GATHER_BUFFERS, -1) < least)
		return 0;
	result = answer_rows(db, sql, parameter, take_unsharded, &kept);
	if (result || kept.bytes < least || kept.bytes < oom->in_use / UNSHARDED_SHARE)
		return result;
	result = take_caller(oom, db, kept.node, &unsharded);
	if (result <= 0)
		return result;
	unsharded.bytes = kept.bytes;
	oom->unsharded = unsharded;
	*left = (struct oom_left){ .category = gathered,
				   .bytes = kept.bytes,
				   .place = part_at(oom, db, kept.node, gathered) };
	return 1;
}

/* ---- gradients of what is not trained ---- */

struct full {
	uint64_t bytes, pieces;
	int adapters; /* a forward of some is on a stack */
};

static int take_full(void *context, struct db_stmt *stmt)
{
	*(struct full *)context = (struct full){ (uint64_t)db_int(stmt, 0), (uint64_t)db_int(stmt, 1),
						 db_int(stmt, 2) != 0 };
	return 0;
}

/*
 * litgpt had each block, frozen weights and adapters, as one unit of FSDP, whose flat weight has a gradient as a whole: gradients as
 * large as weights, many of them, where the forward goes through adapters, whose own are far smaller. An engine has no gradients.
 */
static int find_frozen(struct oom *oom, struct db *db, uint64_t least, struct oom_left *left)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT category, bytes FROM in_use_span WHERE process = ?1 AND device = ?2 AND since_seq <= ?3 "
		"AND (until_seq IS NULL OR until_seq > ?3) AND memory = 'tensor' AND category IN ('weights', 'gradients')) "
		"SELECT ifnull(sum(bytes), 0), count(*), EXISTS (SELECT 1 FROM frame WHERE kind = 'python' AND function LIKE '%forward' "
		"AND (file LIKE '%lora%.py' OR file LIKE '%peft/tuners/%') AND file NOT LIKE '%vllm/%' AND file NOT LIKE '%sglang/%') "
		"FROM there WHERE category = 'gradients' AND bytes IN (SELECT bytes FROM there WHERE category = 'weights')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq };
	uint64_t gradients = own_bytes(oom, MT_CATEGORY_GRADIENTS, -1);
	struct full full = { 0 };
	int error;

	if (gradients < least || gradients < own_bytes(oom, MT_CATEGORY_WEIGHTS, -1) / FROZEN_SHARE)
		return 0;
	error = answer_rows(db, sql, parameter, take_full, &full);
	if (error || !full.adapters || full.pieces < LAYERS_MIN || full.bytes < gradients - gradients / NEAR)
		return error;
	*left = (struct oom_left){ .category = mt_category_name(MT_CATEGORY_GRADIENTS), .bytes = gradients };
	oom->frozen = 1;
	return 1;
}

int oom_find_left(struct oom *oom, struct db *db, uint64_t other, struct oom_left *left)
{
	uint64_t least = oom_missing(oom->it) > other ? oom_missing(oom->it) : other + 1;
	int found = find_attempt(oom, db, least, left);

	if (found)
		return found;
	found = find_reload(oom, db, least);
	if (found > 0)
		*left = (struct oom_left){ .category = mt_category_name(MT_CATEGORY_OPTIMIZER_STATE),
					   .bytes = oom->reload.bytes };
	if (!found)
		found = find_frozen(oom, db, least, left);
	if (!found)
		found = find_unsharded(oom, db, least, left);
	if (found)
		return found;
	return find_copies(oom, least, left) || find_twice(oom, least, left) || find_buckets(oom, least, left) ||
	       find_gathered(oom, least, left) || find_sent(oom, least, left);
}

/* ---- a model that has done its work ---- */

#define PACKAGES_MAX 8

/*
 * Models by the package whose code makes their weights, and computes with them: transformers' text encoders beside a transformer of
 * diffusers. Whoever is on no stack since the first backward has done nothing since; that nobody will want it again this cannot tell.
 */
struct package {
	char name[PACKAGE_MAX]; /* "": the user's own code */
	uint64_t bytes;
	const struct caller *largest;
};

struct packages {
	struct package package[PACKAGES_MAX];
	size_t count;
};

static int is_weights_of(const struct oom *oom, const struct caller *caller)
{
	return caller->process == oom->it->process &&
	       !strcmp(caller->category, mt_category_name(MT_CATEGORY_WEIGHTS)) &&
	       !strcmp(caller->phase, mt_phase_name(MT_PHASE_INIT));
}

static void add_caller(struct packages *packages, const struct caller *caller)
{
	char name[PACKAGE_MAX];
	size_t i;

	package_below_user(&caller->stack, name);
	for (i = 0; i < packages->count && strcmp(packages->package[i].name, name); i++)
		;
	if (i == PACKAGES_MAX)
		return;
	if (i == packages->count) {
		packages->count++;
		packages->package[i] = (struct package){ .largest = caller };
		mt_copy_text(packages->package[i].name, PACKAGE_MAX, name);
	}
	packages->package[i].bytes += caller->bytes;
}

/* Who asked works with the weights of another package: that one is trained. */
static int asks_for_another(const struct packages *packages, const struct package *idle, const struct callstack *asker)
{
	char name[PACKAGE_MAX], outer[PACKAGE_MAX];
	const struct package *package;
	int another = 0;
	size_t i, k;

	package_below_user(asker, outer);
	for (i = 0; i < asker->count; i++)
		for (k = 0; k < packages->count; k++) {
			package = &packages->package[k];
			if (package_is_nobodys(asker->frame[i]) ||
			    strcmp(package_of(asker->frame[i]->file, name), package->name) != 0)
				continue;
			if (package == idle)
				return 0;
			another |= *name || !*outer; /* the user's own code is on every stack */
		}
	return another;
}

/*
 * Computed before the first backward; an optimizer has run since, and nothing of it. Gradients as large as its weights would be of it,
 * as compiled code has no frames of a package.
 */
static int has_retired(const struct oom *oom, struct db *db, const char *package)
{
	static const char form[] =
		"WITH RECURSIVE up(node, id) AS (SELECT DISTINCT node, node FROM site WHERE node IS NOT NULL AND process = ?1 UNION "
		"SELECT up.node, parent FROM up JOIN stack_node ON stack_node.id = up.id WHERE parent IS NOT NULL), "
		"own AS MATERIALIZED (SELECT DISTINCT up.node AS node FROM up JOIN stack_node ON stack_node.id = up.id JOIN frame ON frame.id = frame "
		"WHERE file LIKE '%s/%%' OR file LIKE '%%-packages/%s/%%'), "
		"made AS MATERIALIZED (SELECT alloc_seq, phase, category, bytes FROM allocation WHERE process = ?1 AND alloc_seq < ?2 "
		"AND memory = 'tensor' AND node IN own), "
		"begun AS (SELECT min(first_seq) AS seq FROM phase_span WHERE process = ?1 AND phase = 'backward' AND first_seq < ?2) "
		"SELECT EXISTS (SELECT 1 FROM made, begun WHERE alloc_seq < seq AND phase <> 'init') "
		"AND NOT EXISTS (SELECT 1 FROM made, begun WHERE alloc_seq > seq) "
		"AND EXISTS (SELECT 1 FROM phase_span, begun WHERE process = ?1 AND phase = 'optimizer' AND first_seq > seq AND first_seq < ?2) "
		"AND NOT EXISTS (SELECT 1 FROM allocation WHERE process = ?1 AND alloc_seq < ?2 AND category = 'gradients' AND bytes >= 1 << 20 "
		"AND bytes IN (SELECT bytes FROM made WHERE category = 'weights'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq };
	char sql[sizeof(form) + 2 * PACKAGE_MAX];
	int retired = 0, error;

	snprintf(sql, sizeof(sql), form, package, package); /* letters, digits and _, which is no danger */
	error = answer_flag(db, sql, parameter, &retired);
	return error ? error : retired;
}

static void take_idle(struct oom *oom, const struct package *package)
{
	const struct caller *caller = package->largest;

	oom->idle_model.bytes = package->bytes;
	mt_copy_text(oom->idle_model.package, sizeof(oom->idle_model.package), package->name);
	mt_copy_text(oom->idle_model.function, sizeof(oom->idle_model.function),
		     *caller->by ? caller->by : caller->function);
	mt_copy_text(oom->idle_model.place, sizeof(oom->idle_model.place),
		     *caller->by ? caller->by_place : caller->place);
}

int oom_find_idle(struct oom *oom, struct db *db)
{
	struct packages packages = { .count = 0 };
	struct callstack asker = { .count = 0 };
	const struct package *package;
	struct callers callers;
	int error, retired;
	size_t i;

	if (oom->rule != OOM_LARGEST || oom->left_over || oom->waits || oom->crowded || oom->evaluates ||
	    oom_is_others(oom) || !oom->it->node || oom->it->free < 0)
		return 0;
	error = callers_load(&callers, db, oom->it->device, oom->it->id);
	for (i = 0; i < callers.count && !error; i++)
		if (is_weights_of(oom, &callers.caller[i]))
			add_caller(&packages, &callers.caller[i]);
	if (!error && packages.count > 1)
		error = callstack_load(&asker, db, oom->it->node, NULL);
	for (i = 0; i < packages.count && packages.count > 1 && !error && !oom->idle_model.bytes; i++) {
		package = &packages.package[i];
		if (!*package->name || package->bytes < oom_missing(oom->it) ||
		    !asks_for_another(&packages, package, &asker))
			continue;
		retired = has_retired(oom, db, package->name);
		error = retired < 0 ? retired : 0;
		if (retired > 0)
			take_idle(oom, package);
	}
	callstack_release(&asker);
	callers_release(&callers);
	return error;
}
