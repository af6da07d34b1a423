#include "advise_run.h"

#include <stdlib.h>
#include <string.h>
#include "label/category_sizes.h"
#include "label/census.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define LIKE_LOGITS 2 /* factor: half to twice the rows of the largest logits is about the size of logits */

/* ---- the device ------------------------------------------------------------------------------------------------------ */

static int take_peak(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;

	run->peak = (uint64_t)db_int(row, 0);
	run->slack = (uint64_t)db_int(row, 1);
	mt_copy_text(run->phase, sizeof(run->phase), db_text(row, 2));
	run->total = (uint64_t)db_int(row, 3);
	return 0;
}

static int load_peak(struct advise_run *run)
{
	const int64_t device[DB_PARAMETERS] = { run->scene->request.device };
	int error =
		db_rows(run->db,
			"SELECT bytes, slack_bytes, phase, ifnull(total_bytes, 0) FROM peak JOIN device ON device.id = device "
			"WHERE device = ?1",
			device, take_peak, run);

	return !error && !run->peak ? -MT_E_MAGIC : error;
}

/* ---- the request --------------------------------------------------------------------------------------------------------- */

/* Numbers the sizes as `memana top` does: in the order of their first allocation, first those from before the first computation. */
static int take_size(void *context, struct db_stmt *row)
{
	struct category_sizes *sizes = context;
	uint8_t number;

	sizes->closed = !db_int(row, 1);
	number = sizes_number(sizes, (uint64_t)db_int(row, 0));
	if (number && !sizes->closed)
		sizes->weights[number] = (uint64_t)db_int(row, 2);
	return 0;
}

static int take_asked(void *context, struct db_stmt *row)
{
	struct advise_run *run = context;

	run->asked.tokens = (uint64_t)db_int(row, 0);
	run->asked.words = (uint64_t)db_int(row, 1);
	return 0;
}

/* Finds tokens and vocabulary of the failed request, if their product is its size. Returns 0 or -MT_E_x. */
static int find_asked(struct advise_run *run)
{
	static const char sql[] =
		"WITH computed AS (SELECT ifnull(min(alloc_seq), ?2 + 1) AS seq FROM allocation WHERE process = ?1 "
		"AND memory = 'tensor' AND phase <> 'init' AND (phase <> 'other' OR node IS NOT NULL)) "
		"SELECT bytes, min(alloc_seq) < computed.seq, count(*) FILTER (WHERE alloc_seq < computed.seq "
		"AND (free_seq IS NULL OR free_seq >= computed.seq)) FROM allocation, computed "
		"WHERE process = ?1 AND memory = 'tensor' AND alloc_seq <= ?2 GROUP BY bytes ORDER BY min(alloc_seq)";
	static const char kept[] = "SELECT tokens, words FROM temp.kept_moment";
	const int64_t parameter[DB_PARAMETERS] = { run->it->process, run->it->seq };
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];
	int error;

	if (!sizes)
		return -MT_E_MEMORY;
	error = run->scene->kept ? db_rows(run->db, kept, NULL, take_asked, run)
				 : db_rows(run->db, sql, parameter, take_size, sizes);
	if (!error && !run->scene->kept && sizes_vocabulary(sizes, run->it->requested, figure))
		run->asked.tokens = figure[0], run->asked.words = figure[1];
	sizes_release(sizes);
	free(sizes);
	return error;
}

/* Returns the category of a request whose stack has no allocation. A request that wakes bytes divides the sleeping bytes of a category. */
static uint8_t request_category(const struct advise_run *run)
{
	const struct scene *scene = run->scene;
	uint64_t asleep[MT_CATEGORY_COUNT] = { 0 }, requested = run->it ? run->it->requested : 0;
	uint8_t most = 0, i;
	size_t k;

	if (!run->it || run->asked.tokens)
		return run->it ? MT_CATEGORY_LOGITS : MT_CATEGORY_OTHER;
	for (k = 0; k < scene->sites; k++)
		if (scene->site[k].process == scene->request.process)
			asleep[scene->site[k].category] += scene->site[k].asleep;
	for (i = 1; i < MT_CATEGORY_COUNT; i++)
		most = asleep[i] > asleep[most] ? i : most;
	if (requested && asleep[most] >= requested && !(asleep[most] % requested))
		return most;
	return (uint8_t)scene->request.category;
}

/* ---- the model ------------------------------------------------------------------------------------------------------- */

static uint64_t element_of(const char *dtype)
{
	return strstr(dtype, "64") ? 8 : strstr(dtype, "32") ? 4 : strstr(dtype, "16") ? 2 : strstr(dtype, "8") != NULL;
}

/* In a shape such as "151936x896", the weight with most rows has one row for each word. */
static void take_weight(struct advise_model *model, uint64_t bytes, uint64_t element, const char *shape)
{
	uint64_t dims[CENSUS_DIMS_MAX], elements = element ? bytes / element : 0;

	model->largest = bytes > model->largest ? bytes : model->largest;
	model->elements += elements;
	if (census_dims(dims, shape) == 2 && dims[1] && dims[0] > model->words) {
		model->words = dims[0];
		model->width = dims[1];
	}
}

/* Takes a parameter, gradient or state. Rows of the type with most bytes come last, and leave their bytes of an element. */
static int take_parameter(void *context, struct db_stmt *row)
{
	enum mt_category category = mt_category_parse(db_text(row, 0));
	struct advise_model *model = context;
	uint64_t bytes = (uint64_t)db_int(row, 2), element = element_of(db_text(row, 1));

	model->bytes[category] += bytes;
	model->wide[category] += element >= 4 ? bytes : 0;
	if (category != MT_CATEGORY_WEIGHTS)
		return 0;
	take_weight(model, bytes, element, db_text(row, 3));
	model->element = element;
	return 0;
}

/* Loads the model of the process with most parameters. Other processes have the same model, or another shard. */
static int load_model(struct advise_run *run)
{
	static const char parameters[] =
		"SELECT what, ifnull(dtype, ''), bytes, ifnull(shape, '') FROM parameter "
		"WHERE newest AND NOT tied AND process = (SELECT process FROM parameter WHERE newest GROUP BY process "
		"ORDER BY sum(bytes) DESC LIMIT 1) ORDER BY sum(bytes) OVER (PARTITION BY what, dtype), dtype";
	static const char layers[] = "SELECT count(DISTINCT name) FROM parameter WHERE newest AND what = 'weights' AND "
				     "pattern LIKE '%.*.%' GROUP BY process, model, pattern ORDER BY 1 LIMIT 1";
	static const char untrained[] =
		"SELECT ifnull(sum(bytes), 0) FROM parameter AS it WHERE newest AND what = 'weights' AND NOT tied AND model NOT IN "
		"(SELECT model FROM parameter WHERE newest AND process = it.process AND optimizer IS NOT NULL AND model IS NOT NULL) "
		"AND process IN (SELECT process FROM parameter WHERE newest AND optimizer IS NOT NULL)";
	int error = db_rows(run->db, parameters, NULL, take_parameter, &run->model);

	if (!error)
		error = answer_bytes(run->db, untrained, NULL, &run->model.untrained);
	return error ? error : answer_bytes(run->db, layers, NULL, &run->model.layers);
}

/* ---- sites ----------------------------------------------------------------------------------------------------------- */

uint64_t advise_site_held(const struct replay_site *site)
{
	uint64_t most = 0;
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		most = site->held[phase] > most ? site->held[phase] : most;
	return most;
}

/* ---- logits ---------------------------------------------------------------------------------------------------------- */

/* Fills vocabulary and bytes of an element where a site does not show them: by the census, else by the failed request. */
static void find_words(struct advise_run *run)
{
	struct replay_site *site, *end = run->replay.site + run->replay.sites;

	for (site = run->replay.site; site < end; site++) {
		if (!site->words)
			site->words = run->model.words ? run->model.words : run->asked.words;
		if (site->words && !site->element)
			site->element = site->largest % (site->words * 4) ? site->largest % (site->words * 2) ? 0 : 2
									  : 4;
	}
}

/* Returns the rows of the vocabulary in the site's largest allocation; 0: its size is no multiple of a row. */
static uint64_t rows_in(const struct replay_site *site)
{
	uint64_t row = site->words * site->element;

	return row && !(site->largest % row) ? site->largest / row : 0;
}

uint64_t advise_rows(const struct replay_site *site)
{
	return site->category == MT_CATEGORY_LOGITS ? rows_in(site) : 0;
}

int advise_is_logits(const struct advise_run *run, const struct replay_site *site)
{
	uint32_t passing = 1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER;
	uint64_t rows = passing & 1u << site->category ? rows_in(site) : 0;

	return site->category == MT_CATEGORY_LOGITS ||
	       (rows && run->tokens && rows >= run->tokens / LIKE_LOGITS && rows <= run->tokens * LIKE_LOGITS);
}

uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases)
{
	uint64_t most = 0, rows;
	uint32_t i;

	if (run->it && phases & 1u << run->replay.request.phase)
		most = run->asked.tokens;
	for (i = 0; i < run->replay.sites; i++) {
		rows = phases & 1u << run->replay.site[i].phase ? advise_rows(&run->replay.site[i]) : 0;
		most = rows > most ? rows : most;
	}
	return most;
}

/* ---- the whole run -------------------------------------------------------------------------------------------------------- */

static int load_roles(struct advise_run *run)
{
	const struct scene *scene = run->scene;
	const struct scene_span *span;
	const struct scene_process *process;
	uint32_t i, k;

	run->role = calloc(scene->processes + 1, sizeof(*run->role));
	if (!run->role)
		return -MT_E_MEMORY;
	for (i = 0; i < scene->processes; i++) {
		process = &scene->process[i];
		run->steps = process->steps > run->steps ? process->steps : run->steps;
		for (k = 0; k < process->spans; k++) {
			span = &scene->span[process->first_span + k];
			run->phases |= 1u << span->phase;
			if (span->phase == MT_PHASE_BACKWARD || span->phase == MT_PHASE_OPTIMIZER)
				run->role[i] = RUN_TRAINERS;
		}
	}
	advise_find_engine_sites(run);
	return 0;
}

/* Whether the run has one GPU: one process was recorded, and neither communicators nor gathered shards show other GPUs. */
static int is_alone(const struct scene *scene)
{
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (scene->site[i].category == MT_CATEGORY_NCCL ||
		    scene->site[i].category == MT_CATEGORY_GATHER_BUFFERS)
			return 0;
	return scene->processes == 1 && scene->process[0].rank <= 0;
}

#define LAYERS_LEAST 4  /* fewer repeated stacks are not layers */
#define LAYERS_MOST 512 /* more pieces of one place are not layers */

/*
 * Returns the number of repeated stacks of a training; 0: unknown. Places with N pieces, a multiple of N, or one piece more (it passes) must have two
 * thirds of the activations. Without a backward, the pieces of a place can belong to one layer.
 */
static uint32_t repeated_stacks(const struct advise_run *run)
{
	uint64_t bytes[LAYERS_MOST] = { 0 }, all = 0, sum; /* bytes: by number of pieces of a place */
	const struct replay_site *site, *end = run->replay.site + run->replay.sites;
	uint32_t i, k;

	for (site = run->replay.site; site < end; site++)
		if (site->category == MT_CATEGORY_ACTIVATIONS && site->many >= LAYERS_LEAST &&
		    site->many < LAYERS_MOST) {
			bytes[site->many] += advise_site_held(site);
			all += advise_site_held(site);
		}
	for (i = LAYERS_MOST - 1; i >= LAYERS_LEAST && run->phases & 1u << MT_PHASE_BACKWARD; i--) {
		for (sum = 0, k = i; bytes[i] && k < LAYERS_MOST; k++)
			sum += k % i <= 1 ? bytes[k] : 0;
		if (sum && sum >= all / 3 * 2)
			return i;
	}
	return 0;
}

/*
 * Fills limit, tokens and layers. The limit is the bytes in use before the request and the free bytes. The census also counts numbered modules inside
 * of layers: repeated stacks correct its number.
 */
static void find_figures(struct advise_run *run)
{
	const struct oom_failure *it = run->it;
	uint64_t before = run->replay.request.alone - run->replay.request.bytes, outside = run->scene->request.outside;
	uint64_t census = run->model.layers > 1 ? run->model.layers : 0;
	uint32_t stacks = repeated_stacks(run);

	if (it)
		mt_copy_text(run->phase, sizeof(run->phase), it->phase);
	if (it && it->free >= 0)
		run->limit = before + ((uint64_t)it->free < it->requested ? (uint64_t)it->free : 0);
	else if (it && run->total)
		run->limit = run->total - (outside < run->total ? outside : 0);
	find_words(run);
	run->tokens = advise_tokens_in(run, UINT32_MAX);
	run->layers = (double)(stacks && !(census % stacks) ? stacks : census);
}

int advise_run_load(struct advise_run *run, const struct scene *scene)
{
	uint64_t tags = scene->request.node == SCENE_NONE ? 0 : scene->node[scene->request.node].tags;
	int error;

	*run = (struct advise_run){ .db = scene->db, .scene = scene, .it = scene->request.failure };
	error = load_peak(run);
	if (!error)
		error = load_model(run);
	if (!error && run->it)
		error = find_asked(run);
	if (!error)
		error = replay_init(&run->replay, scene, scene->request.device, run->it, request_category(run));
	if (!error)
		error = load_roles(run);
	if (!error && run->it)
		error = later_find(&run->replay, run->it, run->model.layers, tags);
	if (!error)
		error = replay_survey(&run->replay);
	if (error)
		return error;
	run->alone = is_alone(scene);
	find_figures(run);
	advise_find_engine(run);
	return 0;
}

void advise_run_release(struct advise_run *run)
{
	replay_release(&run->replay);
	free(run->role);
	*run = (struct advise_run){ 0 };
}
