#include "advise_run.h"

#include <stdio.h>
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
#define TRAINERS (ROLE(TRAINER) | ROLE(REFERENCE) | ROLE(CRITIC) | ROLE(REWARD))

/* ---- the device ------------------------------------------------------------------------------------------------------ */

static int take_device(void *context, const struct query_device *row)
{
	struct advise_run *run = context;

	if (!row->peak.bytes || row->id != run->scene->request.device)
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

/* Finds the most bytes in use with which the request fits: bytes in use before it, and free bytes. */
static void find_limit(struct advise_run *run)
{
	const struct oom_failure *it = run->it;
	uint64_t before = run->replay.request.alone - run->replay.request.bytes, outside = run->scene->request.outside;

	if (it->free >= 0)
		run->limit = before + ((uint64_t)it->free < it->requested ? (uint64_t)it->free : 0);
	else if (run->total)
		run->limit = run->total - (outside < run->total ? outside : 0);
}

/* Finds the failed request. An allocator that gave back segments and then got the memory has not failed. */
static int find_failure(struct advise_run *run)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM allocation WHERE process = ?1 AND device = ?2 AND alloc_seq > ?3 "
		"AND bytes >= ?4 AND memory NOT IN ('tensor', 'pinned', 'host', 'imported'))";
	const struct oom_failure *it = run->scene->request.failure;
	int64_t parameter[ANSWER_PARAMETERS] = { 0 };
	uint64_t survived = 0;
	int error = 0;

	if (!it)
		return 0;
	parameter[0] = it->process;
	parameter[1] = it->device;
	parameter[2] = it->seq;
	parameter[3] = (int64_t)it->requested;
	if (!strcmp(it->source, "driver"))
		error = answer_bytes(run->db, sql, parameter, &survived);
	run->failed = !error && !survived;
	run->it = run->failed ? it : NULL;
	return error;
}

/* The category that the request wakes: it sleeps in a multiple of the request's size. MT_CATEGORY_COUNT: none. */
static uint8_t waking(const struct advise_run *run)
{
	const struct scene *scene = run->scene;
	uint64_t asleep[MT_CATEGORY_COUNT] = { 0 };
	uint8_t most = 0, i;
	size_t k;

	for (k = 0; k < scene->sites; k++)
		if (scene->site[k].process == scene->request.process)
			asleep[scene->site[k].category] += scene->site[k].asleep;
	for (i = 1; i < MT_CATEGORY_COUNT; i++)
		most = asleep[i] > asleep[most] ? i : most;
	return asleep[most] >= run->it->requested && run->it->requested && !(asleep[most] % run->it->requested)
		       ? most
		       : MT_CATEGORY_COUNT;
}

/* The category of a request whose stack has no allocation. */
static uint8_t request_category(const struct advise_run *run)
{
	if (!run->failed)
		return MT_CATEGORY_OTHER;
	if (run->asked.tokens)
		return MT_CATEGORY_LOGITS;
	if (waking(run) < MT_CATEGORY_COUNT)
		return waking(run);
	/* A parameter's gradient has the size of a weight. */
	if (run->scene->request.category == MT_CATEGORY_GRADIENTS && !advise_is_weight(&run->model, run->it->requested))
		return MT_CATEGORY_WORKSPACE;
	return (uint8_t)run->scene->request.category;
}

static uint64_t tags_of_request(const struct advise_run *run)
{
	uint32_t node = run->scene->request.node;

	return node == SCENE_NONE ? 0 : run->scene->node[node].tags;
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

/* Reads "151936x896": the weight with most rows has a row for each word. */
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

/* Loads the model of one training process: the others have the same model, or another shard. */
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

/* ---- roles ---------------------------------------------------------------------------------------------------- */

/*
 * Marks the engine's sites by the tags of their stacks, inside of a trainer, too: loaded weights, captured graphs, and passing bytes
 * of the generation. A model's own cache is not the engine's.
 */
static void find_engine_sites(struct advise_run *run)
{
	const uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_RECOMPUTED |
				 1u << MT_CATEGORY_LOGITS | 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER;
	const uint32_t loaded = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_GRAPHS;
	const struct scene *scene = run->scene;
	struct replay_site *site;
	char owner[sizeof(site->owner) + 1];
	uint32_t i, at;

	for (i = 0; i < run->replay.sites; i++) {
		site = &run->replay.site[i];
		at = scene_site_of(scene, site->id);
		if (at == SCENE_NONE)
			continue;
		snprintf(owner, sizeof(owner), "%.*s/", (int)strcspn(site->owner, " "), site->owner); /* as a folder */
		site->engine = (mt_why_tags(scene->why, "", owner, "") & MT_TAG_BIT(ENGINE)) ||
			       (scene->site[at].engine &&
				(loaded & 1u << site->category ||
				 (site->phase == MT_PHASE_ROLLOUT && passing & 1u << site->category)));
		site->own_cache = site->category == MT_CATEGORY_KV_CACHE && !scene->site[at].engine &&
				  scene->site[at].tags & MT_TAG_BIT(GENERATE);
	}
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

/* Whether an engine runs inside of a trainer: the process has weights of both. */
static int hosts_an_engine(const struct replay *replay, int64_t process)
{
	uint32_t i, own = 0, engines = 0;

	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process && replay->site[i].category == MT_CATEGORY_WEIGHTS &&
		    !replay->site[i].ignored) {
			own += !replay->site[i].engine;
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
	find_engine_sites(run);
	for (i = 0; i < replay->processes; i++) {
		run->role[i].process = replay->process[i].id;
		run->gpus += run->role[i].roles != 0;
		for (site = 0; site < replay->sites && !run->role[i].roles; site++)
			if (replay->site[site].process == run->role[i].process &&
			    advise_is_engines(&replay->site[site]))
				run->role[i].roles = hosts_an_engine(replay, run->role[i].process) ? TRAINERS
												   : ROLE(ENGINE);
		if (!run->role[i]
			     .roles) /* the process computes log-probs or values, or failed before its first backward */
			run->role[i].roles = TRAINERS;
	}
	return error;
}

/* ---- the micro-batches ----------------------------------------------------------------------------------------------- */

static void find_tokens(struct advise_run *run)
{
	const struct replay_site *site, *largest = NULL;
	uint64_t rows;
	uint32_t i;

	run->tokens = run->failed ? run->asked.tokens : 0;
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

#define WORLD_MANY 1024 /* stands for an unknown number of GPUs */

static int take_world(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;
	int64_t devices = db_int(row, 0), ranks = db_int(row, 1);

	run->world = (uint64_t)(devices > ranks ? devices : ranks);
	return 0;
}

/* Whether the run has other GPUs: communicators, gathered shards or collectives. */
static int has_others(const struct scene *scene)
{
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].category == MT_CATEGORY_NCCL ||
		    scene->site[i].category == MT_CATEGORY_GATHER_BUFFERS)
			return 1;
	for (i = 0; i < scene->frames; i++)
		if (scene->frame[i].tags & MT_TAG_BIT(COLLECTIVE))
			return 1;
	return 0;
}

static int load_world(struct advise_run *run)
{
	static const char sql[] =
		"SELECT (SELECT count(*) FROM device WHERE kind = 'cuda'), (SELECT ifnull(max(rank), 0) + 1 FROM process)";
	int error = answer_rows(run->db, sql, NULL, take_world, run);

	if (!error && has_others(run->scene))
		run->world = WORLD_MANY;
	return error;
}

int advise_run_load(struct advise_run *run, const struct scene *scene)
{
	struct db *db = scene->db;
	int error;

	*run = (struct advise_run){ .db = db, .scene = scene };
	error = find_failure(run);
	if (!error)
		error = query_devices(db, take_device, run);
	if (!error && !run->device)
		error = -MT_E_MAGIC;
	if (!error)
		error = load_used(run);
	if (!error)
		error = load_model(run);
	if (!error && run->failed)
		error = advise_find_asked(run);
	if (!error)
		error = answer_rows(db,
				    "SELECT ifnull(max(steps), 0), ifnull(max(recorded_by = 'pytorch'), 0), "
				    "ifnull(max(has_history), 0), (SELECT count(*) FROM site WHERE node IS NOT NULL) > 0 "
				    "FROM process",
				    NULL, take_run, run);
	if (!error)
		error = replay_init(&run->replay, db, run->device, run->it, request_category(run));
	if (!error)
		error = load_roles(run);
	if (!error && run->failed)
		error = later_find(&run->replay, run->it, run->model.layers, tags_of_request(run));
	if (!error)
		error = replay_survey(&run->replay);
	if (error)
		return error;
	if (run->failed) {
		mt_copy_text(run->phase, sizeof(run->phase), run->it->phase);
		run->step = run->it->step;
		find_limit(run);
	}
	find_tokens(run);
	error = load_world(run);
	if (!error)
		error = advise_find_brought(run);
	if (!error)
		advise_find_engine(run);
	return error;
}

void advise_run_release(struct advise_run *run)
{
	replay_release(&run->replay);
	free(run->role);
	*run = (struct advise_run){ 0 };
}
