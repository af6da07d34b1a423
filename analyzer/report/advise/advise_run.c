#include "advise_run.h"

#include <stdlib.h>
#include <string.h>
#include "label/census.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/knobs.h"
#include "query/query.h"
#include "report/answer.h"

#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define PHASE(name) (1u << MT_PHASE_##name)
#define LIKE_LOGITS 2 /* as many rows, or half, or twice as many */
#define TRAINERS (ROLE(TRAINER) | ROLE(REFERENCE) | ROLE(CRITIC) | ROLE(REWARD))

/* ---- the device ------------------------------------------------------------------------------------------------------ */

/* The one where the request failed, else the one that came nearest to its limit. */
static int take_device(void *context, const struct query_device *row)
{
	struct advise_run *run = context;
	int nearer = row->total && run->total
			     ? (double)row->peak.bytes / (double)row->total > (double)run->peak / (double)run->total
			     : row->peak.bytes > run->peak;

	if (!row->peak.bytes || (run->failed ? row->id != run->oom.it->device : run->device && !nearer))
		return 0;
	run->device = row->id;
	run->number = row->number;
	run->total = row->total;
	run->peak = row->peak.bytes;
	run->slack = row->peak.slack;
	run->step = row->peak.step;
	mt_copy_text(run->kind, sizeof(run->kind), row->kind);
	mt_copy_text(run->name, sizeof(run->name), row->name);
	mt_copy_text(run->phase, sizeof(run->phase), row->peak.phase);
	return 0;
}

static int take_used(void *context, struct db_stmt *stmt)
{
	((struct advise_run *)context)->used = (uint64_t)db_int(stmt, 0);
	return 0;
}

static int load_used(struct advise_run *run)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { run->device };

	return answer_rows(run->db, "SELECT ifnull(max(used_bytes), 0) FROM gpu_sample WHERE device = ?1", parameter,
			   take_used, run);
}

/* What may be in use when the request is there: what was, what was free, and what the allocator could have given back. */
static void find_limit(struct advise_run *run)
{
	const struct oom_failure *it = run->oom.it;
	uint64_t before = run->replay.request.alone - run->replay.request.bytes;

	if (it->free >= 0)
		run->limit = before + ((uint64_t)it->free < it->requested ? (uint64_t)it->free : 0);
	else if (run->total)
		run->limit = run->total - (run->oom.unrecorded < run->total ? run->oom.unrecorded : 0);
}

static int load_oom(struct advise_run *run)
{
	int error = oom_load(&run->oom, run->db, 0);

	run->failed = !error && run->oom.it && !run->oom.survived;
	return error;
}

/* What a request is whose stack has allocated nothing: the phase's most usual, as everywhere. */
static uint8_t request_category(const struct advise_run *run)
{
	static const uint8_t usual[MT_PHASE_COUNT] = {
		[MT_PHASE_INIT] = MT_CATEGORY_WEIGHTS,
		[MT_PHASE_LOGPROB] = MT_CATEGORY_ACTIVATIONS,
		[MT_PHASE_REF] = MT_CATEGORY_ACTIVATIONS,
		[MT_PHASE_CRITIC] = MT_CATEGORY_ACTIVATIONS,
		[MT_PHASE_FORWARD] = MT_CATEGORY_ACTIVATIONS,
		[MT_PHASE_BACKWARD] = MT_CATEGORY_WORKSPACE,
		[MT_PHASE_OPTIMIZER] = MT_CATEGORY_OPTIMIZER_STATE,
		[MT_PHASE_WEIGHT_UPDATE] = MT_CATEGORY_WEIGHT_BUFFERS,
	};
	int phase;

	if (!run->failed)
		return MT_CATEGORY_OTHER;
	if (run->oom.logits.tokens)
		return MT_CATEGORY_LOGITS;
	if (strstr(run->oom.asked_by, "nccl"))
		return MT_CATEGORY_NCCL;
	if (*oom_wakes(&run->oom) || run->oom.asked_for)
		return (uint8_t)mt_category_parse(*oom_wakes(&run->oom) ? oom_wakes(&run->oom)
									: run->oom.rule_category);
	phase = mt_phase_parse(run->oom.it->phase, strlen(run->oom.it->phase));
	return phase < 0 || !strcmp(run->oom.it->source, "driver") ? MT_CATEGORY_OTHER : usual[phase];
}

/* ---- the model ------------------------------------------------------------------------------------------------------- */

static uint64_t element_of(const char *dtype)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} types[] = { { "64", 8 }, { "32", 4 }, { "16", 2 }, { "8", 1 } };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(types); i++)
		if (strstr(dtype, types[i].word))
			return types[i].bytes;
	return 0;
}

static void note_size(struct advise_model *model, uint64_t elements)
{
	uint32_t i = model->sizes;

	if (model->sizes == RUN_SIZES_MAX)
		return;
	while (i && model->size[i - 1] >= elements)
		i--;
	if (i < model->sizes && model->size[i] == elements)
		return;
	memmove(&model->size[i + 1], &model->size[i], (model->sizes - i) * sizeof(*model->size));
	model->size[i] = elements;
	model->sizes++;
}

/* "151936x896": the rows are words where it is the one weight with by far the most of them. */
static void note_shape(struct advise_model *model, const char *shape)
{
	uint64_t dims[CENSUS_DIMS_MAX];

	if (census_dims(dims, shape) != 2 || !dims[1] || dims[0] <= model->words)
		return;
	model->words = dims[0];
	model->width = dims[1];
}

static int take_weight(void *context, struct db_stmt *row)
{
	struct advise_model *model = context;
	uint64_t element = element_of(db_text(row, 0)), bytes = (uint64_t)db_int(row, 1), elements;

	if (!element || !bytes)
		return 0;
	elements = bytes / element;
	note_size(model, elements);
	model->elements += elements;
	model->trained += db_int(row, 3) ? elements : 0;
	model->largest = bytes > model->largest ? bytes : model->largest;
	note_shape(model, db_text(row, 2));
	return 0;
}

static int take_sum(void *context, struct db_stmt *row)
{
	static const char *const words[4] = { "weights", "gradients", "optimizer state", "master weights" };
	struct advise_model *model = context;
	uint64_t *sum[4] = { &model->weights, &model->gradients, &model->state, &model->master };
	uint64_t bytes = (uint64_t)db_int(row, 2), element = element_of(db_text(row, 1));
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (!strcmp(db_text(row, 0), words[i])) {
			*sum[i] += bytes;
			model->wide[i] += element >= 4 ? bytes : 0;
			if (!i && bytes > model->weights / 2)
				model->element = element;
		}
	return 0;
}

static int take_untrained(void *context, struct db_stmt *row)
{
	((struct advise_model *)context)->untrained = (uint64_t)db_int(row, 0);
	return 0;
}

static int take_layers(void *context, struct db_stmt *row)
{
	((struct advise_model *)context)->layers = (uint64_t)db_int(row, 0);
	return 0;
}

/* Of one process that trains: the others have the same, or another shard of it. */
static int load_model(struct advise_run *run)
{
	static const char weights[] =
		"SELECT ifnull(dtype, ''), bytes, ifnull(shape, ''), optimizer IS NOT NULL FROM "
		"parameter WHERE newest AND what = 'weights' AND NOT tied AND process = "
		"(SELECT process FROM parameter WHERE newest GROUP BY process ORDER BY sum(bytes) DESC "
		"LIMIT 1)";
	static const char sums[] =
		"SELECT what, ifnull(dtype, ''), sum(bytes) FROM parameter WHERE newest AND NOT tied AND "
		"process = (SELECT process FROM parameter WHERE newest GROUP BY process ORDER BY "
		"sum(bytes) DESC LIMIT 1) GROUP BY 1, 2 ORDER BY 3";
	static const char layers[] = "SELECT count(DISTINCT name) FROM parameter WHERE newest AND what = 'weights' AND "
				     "pattern LIKE '%.*.%' GROUP BY process, model, pattern ORDER BY 1 LIMIT 1";
	static const char untrained[] =
		"SELECT ifnull(sum(bytes), 0) FROM parameter AS it WHERE newest AND what = 'weights' AND NOT tied AND model NOT IN "
		"(SELECT model FROM parameter WHERE newest AND process = it.process AND optimizer IS NOT NULL AND model IS NOT NULL) "
		"AND process IN (SELECT process FROM parameter WHERE newest AND optimizer IS NOT NULL)";
	int error = answer_rows(run->db, weights, NULL, take_weight, &run->model);

	if (!error)
		error = answer_rows(run->db, sums, NULL, take_sum, &run->model);
	if (!error)
		error = answer_rows(run->db, untrained, NULL, take_untrained, &run->model);
	return error ? error : answer_rows(run->db, layers, NULL, take_layers, &run->model);
}

int advise_is_weight(const struct advise_model *model, uint64_t bytes)
{
	uint64_t element, elements;
	uint32_t low, high, middle;

	for (element = 2; element <= 4; element += 2) {
		if (bytes % element)
			continue;
		elements = bytes / element;
		for (low = 0, high = model->sizes; low < high;) {
			middle = (low + high) / 2;
			if (model->size[middle] < elements)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < model->sizes && model->size[low] == elements)
			return 1;
	}
	return 0;
}

/* ---- who does what --------------------------------------------------------------------------------------------------- */

static int is_of_engines_code(const struct replay_site *site)
{
	return site->engine || strstr(site->owner, "vllm") || strstr(site->owner, "sglang");
}

struct marking {
	struct advise_run *run;
	int own; /* own_cache is to be set, else engine */
};

static int take_marked(void *context, struct db_stmt *row)
{
	struct marking *marking = context;
	struct replay *replay = &marking->run->replay;
	int64_t id = db_int(row, 0);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at != UINT32_MAX && marking->own)
		replay->site[at].own_cache = 1;
	else if (at != UINT32_MAX)
		replay->site[at].engine = 1;
	return 0;
}

/*
 * By the files on their stacks: weights that an engine has loaded, graphs that it has captured, and what passes through it while it generates, are the engine's, also
 * inside of the process that trains; and what the model itself keeps while it generates has no engine's settings.
 */
static int find_engine_sites(struct advise_run *run)
{
	static const char engines[] =
		"WITH RECURSIVE own(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE 'vllm/%' OR file LIKE '%/vllm/%' OR file LIKE 'sglang/%' OR file LIKE '%/sglang/%' "
		"UNION SELECT stack_node.id FROM own JOIN stack_node ON stack_node.parent = own.id) "
		"SELECT site.id FROM own JOIN site ON site.node = own.id WHERE category IN ('weights', 'cuda graphs') OR (phase = 'rollout' AND "
		"category IN ('activations', 'recomputed activations', 'logits and log-probs', 'workspace', 'other'))";
	static const char caches[] =
		"WITH RECURSIVE own(id) AS (SELECT stack_node.id FROM stack_node JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '%transformers/cache_utils.py' "
		"UNION SELECT stack_node.id FROM own JOIN stack_node ON stack_node.parent = own.id) "
		"SELECT site.id FROM own JOIN site ON site.node = own.id WHERE category = 'kv cache'";
	struct marking engine = { run, 0 }, cache = { run, 1 };
	int error = answer_rows(run->db, engines, NULL, take_marked, &engine);

	return error ? error : answer_rows(run->db, caches, NULL, take_marked, &cache);
}

/* An engine captures its graphs when it starts; a trainer does when it has trained for some steps. */
int advise_is_engines(const struct replay_site *site)
{
	return (site->category == MT_CATEGORY_KV_CACHE && !site->own_cache) ||
	       (site->category == MT_CATEGORY_GRAPHS && mt_phase_is_early(site->phase)) || is_of_engines_code(site);
}

static int take_phase(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;
	int phase = mt_phase_parse(db_text(row, 1), strlen(db_text(row, 1)));
	size_t i;

	run->phases |= phase < 0 ? 0 : 1u << phase;
	for (i = 0; i < run->replay.processes && phase >= 0; i++)
		if (run->replay.process[i].id == db_int(row, 0) && (1u << phase & (PHASE(BACKWARD) | PHASE(OPTIMIZER))))
			run->role[i].roles = TRAINERS;
	return 0;
}

/* Weights of its own beside those that an engine has loaded: the engine runs inside of a trainer. */
static int hosts_an_engine(const struct replay *replay, int64_t process)
{
	uint32_t i, own = 0, engines = 0;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process && replay->site[i].category == MT_CATEGORY_WEIGHTS &&
		    !replay->site[i].ignored) {
			own += !is_of_engines_code(&replay->site[i]);
			engines += replay->site[i].engine;
		}
	return own && engines;
}

static int load_roles(struct advise_run *run)
{
	struct replay *replay = &run->replay;
	uint32_t site;
	size_t i;
	int error;

	run->role = calloc(replay->processes + 1, sizeof(*run->role));
	if (!run->role)
		return -MT_E_MEMORY;
	error = answer_rows(run->db, "SELECT DISTINCT process, phase FROM phase_span", NULL, take_phase, run);
	if (!error)
		error = find_engine_sites(run);
	for (i = 0; i < replay->processes; i++) {
		run->role[i].process = replay->process[i].id;
		run->gpus += run->role[i].roles != 0;
		for (site = 0; site < replay->sites && !run->role[i].roles; site++)
			if (replay->site[site].process == run->role[i].process &&
			    advise_is_engines(&replay->site[site]))
				run->role[i].roles = hosts_an_engine(replay, run->role[i].process) ? TRAINERS
												   : ROLE(ENGINE);
		if (!run->role[i].roles) /* it computes log-probs or values, or has not come to its first backward */
			run->role[i].roles = TRAINERS;
	}
	return error;
}

int advise_has_model(const struct advise_run *run, enum mt_knob_process process)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].roles & 1u << process)
			return 1;
	return 0;
}

double advise_untrained(const struct advise_run *run)
{
	const struct oom_copy *copy = &run->oom.copy;

	if (run->model.weights)
		return (double)run->model.untrained / (double)run->model.weights;
	if (!run->failed || !copy->alike || !copy->all ||
	    (!(run->phases & 1u << MT_PHASE_REF) && !advise_has_model(run, MT_KNOB_PROCESS_REFERENCE)))
		return 0;
	return (double)copy->bytes / (double)copy->all;
}

uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site)
{
	uint32_t roles = TRAINERS;
	size_t i;

	for (i = 0; i < run->replay.processes; i++)
		if (run->role[i].process == site->process)
			roles = run->role[i].roles;
	roles = site->roles ? site->roles : roles & ~run->elsewhere;
	if (!advise_is_engines(site))
		return roles;
	/* A trainer that generates without an engine has a cache of its own. */
	return ROLE(ENGINE) | (site->category == MT_CATEGORY_KV_CACHE && !is_of_engines_code(site) ? roles : 0);
}

/* ---- the micro-batches ----------------------------------------------------------------------------------------------- */

/* Of logits whose site does not say it: the census knows the vocabulary, or the request that failed. */
static uint64_t words_of(const struct advise_run *run, const struct replay_site *site)
{
	if (site->words)
		return site->words;
	return run->model.words ? run->model.words : run->oom.logits.words;
}

uint64_t advise_element(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t words = words_of(run, site);

	if (site->element || !words)
		return site->element;
	return site->largest % (words * 4) ? site->largest % (words * 2) ? 0 : 2 : 4;
}

uint64_t advise_rows(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t row = words_of(run, site) * advise_element(run, site);

	return site->category == MT_CATEGORY_LOGITS && row && !(site->largest % row) ? site->largest / row : 0;
}

int advise_is_logits(const struct advise_run *run, const struct replay_site *site)
{
	uint64_t row = words_of(run, site) * advise_element(run, site), rows;
	uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER;

	if (site->category == MT_CATEGORY_LOGITS)
		return 1;
	if (!(passing & 1u << site->category) || !run->tokens || !row || site->largest % row)
		return 0;
	rows = site->largest / row;
	return rows >= run->tokens / LIKE_LOGITS && rows <= run->tokens * LIKE_LOGITS;
}

static void find_tokens(struct advise_run *run)
{
	const struct replay_site *site, *largest = NULL;
	uint64_t rows;
	uint32_t i;

	run->tokens = run->failed ? run->oom.logits.tokens : 0;
	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		rows = advise_rows(run, site);
		if (rows > run->tokens || (rows && rows == run->tokens && !largest)) {
			run->tokens = rows;
			largest = site;
		}
	}
	run->tokens_least = largest && largest->smallest < largest->largest
				    ? (uint64_t)((double)run->tokens * (double)largest->smallest /
						 (double)largest->largest)
				    : run->tokens;
}

double advise_later_of(const struct advise_run *run, uint32_t site)
{
	double bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.later.changes; i++)
		bytes += run->replay.later.change[i].site == site ? run->replay.later.change[i].bytes : 0;
	return bytes;
}

uint64_t advise_held(const struct advise_run *run, uint32_t roles, uint32_t categories, uint8_t phase)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (categories & 1u << run->replay.site[i].category &&
		    roles & advise_roles_of(run, &run->replay.site[i]))
			bytes += run->replay.site[i].held[phase];
	return bytes;
}

const char *advise_largest_category(const struct advise_run *run)
{
	uint64_t held, most = 0;
	const char *word = "";
	uint32_t i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		held = advise_held_then(run, 1u << i);
		if (held > most) {
			most = held;
			word = mt_category_name(i);
		}
	}
	return word;
}

uint64_t advise_held_then(const struct advise_run *run, uint32_t categories)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (categories & 1u << run->replay.site[i].category)
			bytes += run->replay.site[i].then;
	return bytes;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------- */

static int take_run(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;

	run->steps = db_int(row, 0);
	run->snapshot = (int)db_int(row, 1);
	run->history = (int)db_int(row, 2);
	run->stacks = (int)db_int(row, 3);
	return 0;
}

#define WORLD_MANY 1024 /* GPUs of which only that they are there is known */

static int take_world(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;
	int64_t devices = db_int(row, 0), ranks = db_int(row, 1);

	run->world = (uint64_t)(devices > ranks ? devices : ranks);
	if (db_int(row, 2))
		run->world = WORLD_MANY;
	return 0;
}

/* What other GPUs take part in is on the stacks of this one: communicators, shards that are gathered. */
static int load_world(struct advise_run *run)
{
	static const char sql[] =
		"SELECT (SELECT count(*) FROM device WHERE kind = 'cuda'), (SELECT ifnull(max(rank), 0) + 1 FROM process), "
		"EXISTS (SELECT 1 FROM site WHERE category IN ('nccl', 'gather buffers')) OR "
		"EXISTS (SELECT 1 FROM frame WHERE file LIKE '%torch/distributed/distributed_c10d.py' OR "
		"file LIKE '%torch/distributed/_functional_collectives.py')";

	return answer_rows(run->db, sql, NULL, take_world, run);
}

int advise_run_load(struct advise_run *run, struct db *db)
{
	int error;

	*run = (struct advise_run){ .db = db };
	error = load_oom(run);
	if (!error)
		error = query_devices(db, take_device, run);
	if (!error && !run->device)
		error = -MT_E_MAGIC;
	if (!error)
		error = load_used(run);
	if (!error)
		error = load_model(run);
	if (!error)
		error = answer_rows(db,
				    "SELECT ifnull(max(steps), 0), ifnull(max(recorded_by = 'pytorch'), 0), "
				    "ifnull(max(has_history), 0), (SELECT count(*) FROM site WHERE node IS NOT NULL) > 0 "
				    "FROM process",
				    NULL, take_run, run);
	if (!error)
		error = replay_init(&run->replay, db, run->device, run->failed ? run->oom.it : NULL,
				    request_category(run));
	if (!error)
		error = load_roles(run);
	if (!error && run->failed)
		error = later_find(&run->replay, run->oom.it, run->model.layers);
	if (!error)
		error = replay_survey(&run->replay);
	if (error)
		return error;
	if (run->failed) {
		mt_copy_text(run->phase, sizeof(run->phase), run->oom.it->phase);
		run->step = run->oom.it->step;
		find_limit(run);
	}
	find_tokens(run);
	error = load_world(run);
	return error;
}

void advise_run_release(struct advise_run *run)
{
	oom_release(&run->oom);
	replay_release(&run->replay);
	free(run->role);
	*run = (struct advise_run){ 0 };
}
