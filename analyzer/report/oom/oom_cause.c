#include "query_oom.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "label/category_sizes.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "oom_words.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/callers.h"
#include "report/finding.h"
#include "report/frag/frag.h"
#include "report/steps/retained.h"

#define LARGE_PART 4 /* growth is the cause when it holds one part in so many */

/* ---- growth ---- */

/* What grows by steps, or by micro-batches; of all its places. */
struct held {
	const struct growth_place *most, *next; /* of the place that holds most, and of the next one */
	uint64_t bytes, each;                   /* there; more with every step or micro-batch */
	uint64_t graphs;                        /* of the bytes: in CUDA graphs */
	uint64_t most_bytes, next_bytes;
	uint64_t places;
};

struct holding {
	const struct oom *oom;
	const struct retained *retained;
	struct held by_batch, by_step;
};

/* A place in all its phases and categories, of each of which it may grow. */
struct place_growth {
	const struct growth_place *largest; /* NULL: it does not grow */
	uint64_t each, replaced;
};

static struct place_growth growth_at(const struct growth_list *list, const struct oom_failure *it, int64_t at)
{
	const struct growth_place *growth;
	struct place_growth grown = { .largest = NULL };
	size_t i;

	for (i = 0; i < list->count; i++) {
		growth = &list->place[i];
		if (growth->first_node != at || growth->process != it->process || growth->device != it->device)
			continue;
		grown.largest = grown.largest ? grown.largest : growth;
		grown.each += growth->each;
		grown.replaced += growth->replaced;
	}
	return grown;
}

static void add_place(struct held *held, const struct place_growth *grown, uint64_t bytes)
{
	if (!bytes)
		return;
	held->bytes += bytes;
	held->each += grown->each;
	if (!strcmp(grown->largest->category, mt_category_name(MT_CATEGORY_GRAPHS)))
		held->graphs += bytes;
	held->places++;
	if (bytes > held->most_bytes) {
		held->next = held->most;
		held->next_bytes = held->most_bytes;
		held->most = grown->largest;
		held->most_bytes = bytes;
	} else if (bytes > held->next_bytes) {
		held->next = grown->largest;
		held->next_bytes = bytes;
	}
}

/* What a place has of this step or micro-batch is in flight: where that is not little, what it keeps of every one counts. */
static int take_place(void *context, struct db_stmt *stmt)
{
	struct holding *holding = context;
	struct held *held = &holding->by_batch;
	struct place_growth grown = growth_at(&holding->retained->batches, holding->oom->it, db_int(stmt, 0));
	uint64_t bytes = (uint64_t)db_int(stmt, 1), newest = (uint64_t)db_int(stmt, 2);

	if (!grown.largest) {
		grown = growth_at(&holding->retained->steps, holding->oom->it, db_int(stmt, 0));
		newest = (uint64_t)db_int(stmt, 3);
		held = &holding->by_step;
	}
	if (!grown.largest)
		return 0;
	if (newest > (bytes - newest) / LARGE_PART && newest > grown.each)
		bytes -= newest - grown.each;
	add_place(held, &grown, bytes > grown.replaced ? bytes - grown.replaced : 0);
	return 0;
}

static uint64_t own_in_use(const struct oom *oom)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == oom->it->process)
			bytes += oom->part[i].bytes;
	return bytes;
}

/* Of what grows by steps and what grows by micro-batches that which holds more: one sentence is about one of them. */
static int take_growth(struct oom *oom, struct db *db, const struct holding *holding)
{
	int by_step = holding->by_step.bytes > holding->by_batch.bytes;
	const struct held *held = by_step ? &holding->by_step : &holding->by_batch;
	struct oom_growth *growth = &oom->growth;
	struct finding_place place, next = { .line = 0 };
	uint64_t in_use = own_in_use(oom);
	int error;

	if (!held->places || !in_use || held->bytes < in_use / LARGE_PART)
		return 0;
	error = finding_place_of(&place, db, held->most->node);
	if (!error && held->next)
		error = finding_place_of(&next, db, held->next->node);
	if (error)
		return error;
	growth->pid = oom->it->pid;
	growth->rank = oom->it->rank;
	growth->bytes = held->bytes;
	growth->in_use = in_use;
	growth->each = held->each;
	growth->by_step = by_step;
	growth->by_batch = !by_step && oom->evaluates;
	growth->places = held->places;
	growth->graphs = held->graphs > held->bytes / 2;
	growth->node = held->most->node;
	mt_copy_text(growth->function, sizeof(growth->function), place.function);
	mt_copy_text(growth->place, sizeof(growth->place), place.place);
	mt_copy_text(growth->next, sizeof(growth->next), next.function);
	mt_copy_text(growth->next_place, sizeof(growth->next_place), next.place);
	error = caller_behind(db, held->most->node, growth->caller, growth->caller_place);
	return error ? error : 1;
}

int oom_find_growth(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT ifnull(first_node, 0), sum(bytes), ifnull(sum(bytes) FILTER (WHERE alloc_seq > (SELECT last_seq FROM temp.batch_step "
		"WHERE process = ?1 AND step = ?5)), 0), ifnull(sum(bytes) FILTER (WHERE alloc_seq > (SELECT max(end_seq) FROM step "
		"WHERE process = ?1 AND end_seq < ?3)), 0) FROM in_use_span LEFT JOIN temp.same_place AS same USING (node) "
		"WHERE process = ?1 AND device = ?2 AND " ALIVE_SPAN_AT("?4", "?1", "?3") " GROUP BY 1 ORDER BY 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, oom->it->time,
						       oom->it->step };
	const struct retained_question question = { .step = oom->it->step };
	struct retained retained;
	struct holding holding = { .oom = oom, .retained = &retained };
	int result = retained_load(&retained, db, &question);

	if (!result && (retained.steps.count || retained.batches.count))
		result = answer_rows(db, sql, parameter, take_place, &holding);
	if (!result)
		result = take_growth(oom, db, &holding);
	retained_release(&retained);
	return result;
}

/* ---- how memory is taken ---- */

int oom_find_holes(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	const struct alive_moment when = { .time = it->time, .process = it->process, .seq = it->seq };
	struct frag_map map;
	size_t i;
	int error = 0;

	for (i = 0; i < oom->holders && !error; i++) {
		error = frag_load(&map, db, it->device, oom->holder[i].process, &when);
		oom->holder[i].idle = map.map.free_pieces;
		if (!error && oom->holder[i].process == it->process) {
			oom->hole = map.map.largest_hole;
			oom->idle_segments = map.map.free_pieces;
			error = frag_modes(db, &map, it->device, it->process, &oom->expandable, &oom->sleeps);
			if (!error)
				error = frag_pool_beside(db, it->process, &oom->pool_beside);
		}
		frag_release(&map);
	}
	return error;
}

/* Of the process that asked, where it matters: small tensors of any program pin a segment or two. */
int oom_find_pins(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	const struct alive_moment when = { .time = it->time, .process = it->process, .seq = it->seq };
	struct frag_pins pins = { .count = 0 };
	struct oom_pins *out = &oom->pins;
	const struct frag_pin *pin;
	struct finding_place place = { .line = 0 };
	struct frag_map map;
	int error = frag_load(&map, db, it->device, it->process, &when);

	if (!error)
		error = frag_pins(&pins, db, &map);
	if (!error && pins.count && pins.idle >= oom->own_slack / LARGE_PART) {
		pin = &pins.pin[0];
		*out = (struct oom_pins){ .segments = pins.segments,
					  .idle = pins.idle,
					  .bytes = pins.bytes,
					  .first_step = pin->first_step,
					  .last_step = pin->last_step };
		mt_copy_text(out->phase, sizeof(out->phase), pin->phase);
		error = finding_place_of(&place, db, pin->node);
		mt_copy_text(out->function, sizeof(out->function), place.function);
		mt_copy_text(out->place, sizeof(out->place), place.place);
		if (!error)
			error = caller_outside(db, pin->node, out->caller, out->caller_place);
	}
	free(pins.pin);
	frag_release(&map);
	return error;
}

/* ---- who had it made ---- */

static int is_same_place(const struct oom_part *one, const struct oom_part *two)
{
	return one->process == two->process && !strcmp(one->function, two->function) && !strcmp(one->place, two->place);
}

static void take_caller(struct oom *oom, struct oom_part *part, const struct callers *callers)
{
	const struct caller *caller = callers_at(callers, part->process, part->function, part->place);
	size_t i;

	if (caller)
		caller_names(caller, part->by, part->by_place);
	for (i = 0; i < oom->parts; i++)
		if (is_same_place(part, &oom->part[i])) {
			part->whole += oom->part[i].bytes;
			part->whole_count += oom->part[i].count;
		}
}

static int take_copy(struct oom *oom, const struct callers *callers)
{
	struct caller_copy copy;

	if (!callers_second_weights(callers, oom->place ? oom->place->process : oom->it->process, &copy))
		return 0;
	oom->copy = (struct oom_copy){ .bytes = copy.bytes, .all = copy.all, .alike = copy.alike };
	caller_copy_names(&copy, oom->copy.function, oom->copy.place, oom->copy.first);
	return copy.alike;
}

/* ---- a copy of what is trained ---- */

#define COPY_PIECES 8 /* so many at least: of a model, and no two that happen to be alike */
#define COPY_REST 8   /* one part in so many may be something else */
#define KEEPERS "16"  /* stacks that are looked at */

struct twin {
	uint64_t bytes;
	int64_t at; /* the outermost node below which all of it was made, and nothing else of these sizes */
};

static int take_twin(void *context, struct db_stmt *stmt)
{
	*(struct twin *)context = (struct twin){ (uint64_t)db_int(stmt, 0), db_int(stmt, 1) };
	return 0;
}

#define WEIGHTS_THERE                                                                                                       \
	"process = ?1 AND device = ?2 AND since_seq <= ?3 AND (until_seq IS NULL OR until_seq > ?3) AND memory = 'tensor' " \
	"AND category = 'weights' AND bytes >= 1 << 20 "

/*
 * LitEma has the weights of the model once more, as buffers, which go to the GPU by another line of the same function: below one node of
 * the stacks as many weights of each size as gradients come with a step, or as Adam has pairs of states, and as many again elsewhere. Of two
 * such the newer.
 */
static int find_twin(const struct oom *oom, struct db *db, struct twin *twin)
{
	static const char sql[] =
		"WITH RECURSIVE there AS MATERIALIZED (SELECT node, bytes, count(*) AS pieces, min(since_seq) AS since FROM in_use_span WHERE " WEIGHTS_THERE
		"AND node IS NOT NULL GROUP BY node, bytes), "
		"sizes AS MATERIALIZED (SELECT bytes, sum(pieces) AS pieces FROM there GROUP BY bytes), "
		"made AS MATERIALIZED (SELECT bytes, category, step, count(*) AS pieces, count(*) FILTER (WHERE free_seq IS NULL OR free_seq > ?3) "
		"AS kept FROM allocation WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND alloc_seq <= ?3 "
		"AND category IN ('gradients', 'optimizer state') AND bytes IN (SELECT bytes FROM sizes) GROUP BY bytes, category, step), "
		"trained AS MATERIALIZED (SELECT bytes, ifnull(max(pieces) FILTER (WHERE category = 'gradients'), 0) AS gradients, "
		"ifnull(sum(kept) FILTER (WHERE category = 'optimizer state'), 0) AS states FROM made GROUP BY bytes), "
		"way(node, at) AS (SELECT DISTINCT node, node FROM there UNION SELECT way.node, parent FROM way JOIN stack_node ON stack_node.id = way.at "
		"WHERE parent IS NOT NULL), "
		"below AS MATERIALIZED (SELECT at, bytes, sum(pieces) AS pieces, min(since) AS since FROM way JOIN there USING (node) GROUP BY at, bytes) "
		"SELECT sum(below.bytes * below.pieces) AS whole, at FROM below JOIN sizes USING (bytes) LEFT JOIN trained USING (bytes) GROUP BY at "
		"HAVING sum(below.pieces) >= ?4 AND sum(below.bytes * below.pieces * (sizes.pieces >= 2 * below.pieces AND "
		"CASE WHEN gradients THEN gradients = below.pieces ELSE ifnull(states, 0) IN (below.pieces, 2 * below.pieces * (SELECT EXISTS "
		"(SELECT 1 FROM frame WHERE file LIKE '%adam%' OR function LIKE '%adam%'))) END)) "
		">= sum(below.bytes * below.pieces) * (?5 - 1) / ?5 ORDER BY whole DESC, min(below.since) DESC, at LIMIT 1";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, COPY_PIECES,
						       COPY_REST };

	return answer_rows(db, sql, parameter, take_twin, twin);
}

/* "ema.py", "update_ema", "AveragedModel", not "schema.py". */
static int is_called_average(const char *name)
{
	static const char *const words[] = { "ema", "averag", "swa", "teacher", "polyak", "momentum_update" };
	const char *at;
	size_t i, size;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		for (size = strlen(words[i]), at = name; *at; at++)
			if (!strncasecmp(at, words[i], size) &&
			    (at == name || !isalpha((unsigned char)at[-1]) || isupper((unsigned char)*at)) &&
			    (size > 3 || !islower((unsigned char)at[size])))
				return 1;
	return 0;
}

static int take_keeper(void *context, struct db_stmt *stmt)
{
	struct oom_copy *copy = context;
	const char *function = db_text(stmt, 0), *place = db_text(stmt, 1);

	if (!*copy->keeper_place && (is_called_average(function) || is_called_average(place))) {
		mt_copy_text(copy->keeper, sizeof(copy->keeper), function);
		mt_copy_text(copy->keeper_place, sizeof(copy->keeper_place), place);
	}
	return 0;
}

/* Who makes tensors of nearly all of these sizes beside the training itself, and is called so. */
static int find_keeper(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH sizes AS MATERIALIZED (SELECT DISTINCT bytes FROM in_use_span WHERE " WEIGHTS_THERE
		"AND bytes IN (SELECT bytes FROM allocation "
		"WHERE process = ?1 AND memory = 'tensor' AND category IN ('gradients', 'optimizer state'))) "
		"SELECT function, place FROM (SELECT node, count(*) AS pieces FROM allocation WHERE process = ?1 AND device = ?2 "
		"AND memory = 'tensor' AND alloc_seq <= ?3 AND bytes IN (SELECT bytes FROM sizes) AND phase NOT IN ('init', 'backward', 'optimizer') "
		"AND category NOT IN ('weights', 'gradients', 'optimizer state') GROUP BY node "
		"HAVING count(DISTINCT bytes) >= (SELECT count(*) FROM sizes) * (?5 - 1) / ?5 AND count(*) >= ?4) JOIN place USING (node) "
		"ORDER BY pieces DESC, node LIMIT " KEEPERS;
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, COPY_PIECES,
						       COPY_REST };

	return answer_rows(db, sql, parameter, take_keeper, &oom->copy);
}

static int find_copy_of_trained(struct oom *oom, struct db *db)
{
	uint64_t all = oom_bytes_of(oom, oom->it->process, mt_category_name(MT_CATEGORY_WEIGHTS), -1);
	struct callstack stack = { .count = 0 };
	struct oom_copy *copy = &oom->copy;
	struct twin twin = { 0 };
	int error;

	if ((oom->rule != OOM_LARGEST && oom->rule != OOM_FRAGMENTATION) || oom_is_others(oom) || oom->evaluates ||
	    all < oom_missing(oom->it))
		return 0;
	error = find_twin(oom, db, &twin);
	if (error || !twin.bytes)
		return error;
	error = callstack_load(&stack, db, twin.at, NULL);
	if (!error && stack.count && !stack.frame[0]->native) {
		*copy = (struct oom_copy){ .bytes = twin.bytes, .all = all, .alike = 1 };
		callstack_function(copy->function, sizeof(copy->function), stack.frame[0]);
		callstack_place(copy->place, sizeof(copy->place), stack.frame[0]);
		error = find_keeper(oom, db);
	}
	callstack_release(&stack);
	return error;
}

/* Two that are set up one after the other: the one that is there already need not be. */
static int find_spare(struct oom *oom, struct db *db, const struct callers *callers)
{
	const struct oom_part *part = oom->place;
	const struct caller *caller = part ? callers_at(callers, part->process, part->function, part->place) : NULL;
	const char *init = mt_phase_name(MT_PHASE_INIT);
	struct callstack stack;
	int error;

	/* What is sent to other ranks from there is needed. */
	if (oom->whole && !strcmp(oom->it->category, mt_category_name(MT_CATEGORY_STATE_DICT)))
		return 0;
	if (!caller || !caller->branch || oom->rule != OOM_LARGEST || oom->wider || strcmp(oom->it->phase, init) ||
	    strcmp(part->phase, init) || !oom->it->node)
		return 0;
	error = callstack_load(&stack, db, oom->it->node, NULL);
	oom->spare = !error && part->process == oom->it->process && !caller_is_on(caller, &stack) &&
		     oom->it->free >= 0 && part->whole + (uint64_t)oom->it->free >= oom->it->requested;
	callstack_release(&stack);
	return error;
}

int oom_find_callers(struct oom *oom, struct db *db)
{
	struct callers callers;
	size_t i;
	int error = callers_load(&callers, db, oom->it->device, oom->it->id);

	for (i = 0; i < oom->parts && !error; i++)
		take_caller(oom, &oom->part[i], &callers);
	if (!error && !take_copy(oom, &callers))
		error = find_copy_of_trained(oom, db);
	if (!error)
		error = find_spare(oom, db, &callers);
	if (!error && oom->it->node)
		error = caller_behind(db, oom->it->node, oom->caller, oom->caller_place);
	callers_release(&callers);
	return error;
}

/* ---- tokens times words ---- */

/* As `memana top` numbers them: sizes in the order in which they came, early ones before something was computed. */
static int take_size(void *context, struct db_stmt *stmt)
{
	struct category_sizes *sizes = context;
	uint8_t number;

	sizes->closed = !db_int(stmt, 1);
	number = sizes_number(sizes, (uint64_t)db_int(stmt, 0));
	if (number && !sizes->closed)
		sizes->weights[number] = (uint64_t)db_int(stmt, 2);
	return 0;
}

struct earlier {
	const struct category_sizes *sizes;
	struct oom_logits *logits;
};

/* Largest first: the first that are logits count. */
static int take_earlier(void *context, struct db_stmt *stmt)
{
	struct earlier *earlier = context;
	uint64_t figure[3];

	if (!earlier->logits->earlier && sizes_vocabulary(earlier->sizes, (uint64_t)db_int(stmt, 0), figure) &&
	    figure[1] == earlier->logits->words) {
		earlier->logits->earlier = figure[0];
		earlier->logits->same_step = !db_int(stmt, 1);
	}
	return 0;
}

int oom_find_logits(struct oom *oom, struct db *db)
{
	static const char sizes_sql[] =
		"WITH computed AS (SELECT ifnull(min(alloc_seq), ?2 + 1) AS seq FROM allocation WHERE process = ?1 "
		"AND memory = 'tensor' AND phase <> 'init' AND (phase <> 'other' OR node IS NOT NULL)) "
		"SELECT bytes, min(alloc_seq) < computed.seq, count(*) FILTER (WHERE alloc_seq < computed.seq "
		"AND (free_seq IS NULL OR free_seq >= computed.seq)) FROM allocation, computed "
		"WHERE process = ?1 AND memory = 'tensor' AND alloc_seq <= ?2 GROUP BY bytes ORDER BY min(alloc_seq)";
	/*
	 * Of steps before, and of the same place what is gone: its earlier micro-batches, in whichever step. Not the embedding, which
	 * reads as logits of as many tokens as it is wide.
	 */
	static const char earlier_sql[] =
		"SELECT bytes, max(step < ?2) FROM allocation WHERE process = ?1 AND memory = 'tensor' "
		"AND (step < ?2 OR (node = ?5 AND free_seq < ?3)) AND alloc_seq < ?3 AND bytes % ?4 = 0 AND phase <> 'init' "
		"AND category NOT IN ('weights', 'gradients', 'optimizer state') AND bytes NOT IN (SELECT bytes FROM allocation "
		"WHERE process = ?1 AND memory = 'tensor' AND category = 'weights' AND alloc_seq < ?3) "
		"GROUP BY bytes ORDER BY bytes DESC";
	int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq };
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	struct earlier earlier = { .sizes = sizes, .logits = &oom->logits };
	uint64_t figure[3];
	int error;

	if (!sizes)
		return -MT_E_MEMORY;
	error = answer_rows(db, sizes_sql, parameter, take_size, sizes);
	if (!error && sizes_vocabulary(sizes, oom->it->requested, figure)) {
		oom->logits = (struct oom_logits){ .tokens = figure[0], .words = figure[1], .element = figure[2] };
		parameter[1] = oom->it->step;
		parameter[2] = oom->it->seq;
		parameter[3] = (int64_t)figure[1];
		parameter[4] = oom->it->node;
		error = answer_rows(db, earlier_sql, parameter, take_earlier, &earlier);
	}
	sizes_release(sizes);
	free(sizes);
	return error;
}

/* The gradient of logits is as large as they are, in a backward that has no line of its own to tell. */
int oom_find_logits_gradient(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM in_use_span WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND bytes = ?4 "
		"AND category = 'logits and log-probs' AND since_seq < ?3 AND (until_seq IS NULL OR until_seq > ?3))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };

	if (strcmp(oom->it->phase, mt_phase_name(MT_PHASE_BACKWARD)) || strcmp(oom->it->source, "tensor"))
		return 0;
	return answer_flag(db, sql, parameter, &oom->logits_gradient);
}

/* ---- sums ---- */

uint64_t oom_asleep(const struct oom *oom, int64_t process)
{
	size_t i;

	for (i = 0; i < oom->holders; i++)
		if (oom->holder[i].process == process)
			return oom->holder[i].asleep;
	return 0;
}

uint64_t oom_bytes_of(const struct oom *oom, int64_t process, const char *category, int but)
{
	const char *phase = but < 0 ? "" : mt_phase_name((uint32_t)but);
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == process && !strcmp(oom->part[i].category, category) &&
		    strcmp(oom->part[i].phase, phase))
			bytes += oom->part[i].bytes;
	return bytes;
}

static const char *word_of(const struct oom_part *part, enum oom_by by)
{
	return by == OOM_BY_CATEGORY ? part->category : by == OOM_BY_PHASE ? part->phase : part->owner;
}

static int by_bytes(const void *a, const void *b)
{
	const struct oom_sum *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return strcmp(one->word, two->word);
}

size_t oom_sums(const struct oom *oom, enum oom_by by, struct oom_sum sum[OOM_SUMS_MAX])
{
	size_t count = 0, i, at;

	for (i = 0; i < oom->parts; i++) {
		for (at = 0; at < count && strcmp(sum[at].word, word_of(&oom->part[i], by)); at++)
			;
		if (at == OOM_SUMS_MAX)
			continue;
		if (at == count)
			sum[count++] = (struct oom_sum){ .word = word_of(&oom->part[i], by) };
		sum[at].bytes += oom->part[i].bytes;
		sum[at].count += oom->part[i].count;
	}
	qsort(sum, count, sizeof(*sum), by_bytes);
	return count;
}
