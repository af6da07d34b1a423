/*
 * grows: bytes that every step, micro-batch, request or minute adds and nothing frees.
 *
 *     steps, spans   resident blocks were born in four or more of them
 *     minutes        no step ends: many births over a longer time than one forward takes
 *     batches        an evaluation concatenates outputs: one piece that is longer each time
 *
 * A series is the blocks of one stack and category. All series of a process are one cause: the bytes that each round leaves.
 */
#include "detectors.h"
#include "why/find/find.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define PARTS 3                          /* as memana growth has it: two rounds can be a start and a step */
#define BIRTHS 8                         /* least number of pieces of a series */
#define LONG ((int64_t)30 * 1000000000)  /* ns: one forward takes less */
#define BRIEF ((int64_t)10 * 1000000000) /* ns: enough for more pieces than a model has layers */
#define LAYERS 200                       /* more than any model has */
#define QUARTERS 4                       /* parts of the time: births at its start and end alone are no growth */

struct member {
	const struct scene_site *site;
	const struct scene_block *block;
	uint32_t round;
};

struct series {
	const struct scene_site *site; /* any of its sites: process, stack and category are equal */
	const struct member *member;   /* by birth */
	size_t members;
	uint64_t made, freed, now, before; /* sums over the sites */
	int64_t first_step, last_step;
	uint64_t parts, least,
		most;    /* parts: rounds with births; least, most: bytes that a round left, without the newest */
	uint64_t newest; /* bytes of the newest round, before its frees */
};

/* ---- rounds ---- */

/*
 * The round of each span. A trainer begins a round with each step and after each backward: phases alternate within a forward if
 * layers gather their weights. Other processes begin a round with each span.
 */
static uint32_t *number_rounds(const struct scene *scene)
{
	uint32_t *round = calloc(scene->spans + 1, sizeof(*round)), k;
	const struct scene_process *process;
	const struct scene_span *span;
	size_t i;

	for (i = 0; round && i < scene->processes; i++) {
		process = &scene->process[i];
		span = &scene->span[process->first_span];
		for (k = 1; k < process->spans; k++)
			round[process->first_span + k] = round[process->first_span + k - 1] +
							 (span[k].step != span[k - 1].step || !process->backward_end ||
							  (span[k - 1].phase == MT_PHASE_BACKWARD &&
							   span[k].phase != MT_PHASE_BACKWARD));
	}
	return round;
}

/* ---- series ---- */

static int order_of_stacks(const struct scene_site *a, const struct scene_site *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->category < b->category ? -1 : a->category > b->category;
}

static int by_series(const void *one, const void *two)
{
	const struct member *a = one, *b = two;
	int order = order_of_stacks(a->site, b->site);

	if (order)
		return order;
	return a->block->seq < b->block->seq ? -1 : a->block->seq > b->block->seq;
}

/* All blocks on the device, series by series. NULL: out of memory. */
static struct member *sort_members(const struct scene *scene, size_t *count)
{
	struct member *member = calloc(scene->blocks + 1, sizeof(*member));
	uint32_t *round = number_rounds(scene);
	const struct scene_span *span;
	const struct scene_site *site;
	size_t i;

	for (*count = i = 0; member && round && i < scene->blocks; i++) {
		site = &scene->site[scene->block[i].site];
		if (!find_is_here(scene, site))
			continue;
		span = scene_span_at(scene, site->process, scene->block[i].time);
		member[(*count)++] = (struct member){ .site = site,
						      .block = &scene->block[i],
						      .round = span ? round[span - scene->span] : 0 };
	}
	if (!round)
		*count = 0;
	free(round);
	if (member && *count)
		qsort(member, *count, sizeof(*member), by_series);
	return member;
}

static void end_part(struct series *series, uint64_t sum, int is_newest)
{
	series->parts++;
	series->newest = sum;
	if (is_newest)
		return;
	series->least = sum < series->least ? sum : series->least;
	series->most = sum > series->most ? sum : series->most;
}

static void count_parts(struct series *series)
{
	const struct member *member = series->member;
	uint64_t sum = 0;
	size_t i;

	series->least = UINT64_MAX;
	series->first_step = series->last_step = member->block->step;
	for (i = 0; i < series->members; i++) {
		sum += member[i].block->bytes;
		series->last_step = member[i].block->step;
		if (i + 1 < series->members && member[i + 1].round == member[i].round)
			continue;
		end_part(series, sum, i + 1 == series->members);
		sum = 0;
	}
}

/* Blocks are in the order of sites: the first block of a site adds the site's sums. */
static void add_sites(const struct scene *scene, struct series *series)
{
	const struct scene_block *block;
	const struct scene_site *site;
	size_t i;

	for (i = 0; i < series->members; i++) {
		block = series->member[i].block;
		site = series->member[i].site;
		if (block > scene->block && block[-1].site == block->site)
			continue;
		series->made += site->made;
		series->freed += site->freed;
		series->now += site->at[SCENE_NOW];
		series->before += site->at[SCENE_BEFORE];
	}
}

/* ---- whether it grows ---- */

static int is_made_once(enum mt_category category)
{
	return category == MT_CATEGORY_WEIGHTS || category == MT_CATEGORY_KV_CACHE || category == MT_CATEGORY_GRAPHS ||
	       category == MT_CATEGORY_OPTIMIZER_STATE || category == MT_CATEGORY_GRADIENTS;
}

/* A start or a capture makes many pieces once. A backward shows several starts; a capture runs backwards itself. */
static int comes_in_one_start(const struct scene *scene, const struct series *series)
{
	if (series->first_step != series->last_step)
		return 0;
	return series->site->category == MT_CATEGORY_GRAPHS ||
	       (mt_phase_is_early(series->site->phase) && !scene->process[series->site->process].backward_end);
}

/* A queue keeps the newest few of many rounds. A growing series reaches far back. */
static int is_queue(const struct series *series)
{
	return series->freed > series->made / 2 && series->parts < series->member[series->members - 1].round / 4;
}

/* A retried training leaves bytes at several places: the detector `unneeded` has all of these. */
static int is_of_attempt(const struct scene *scene, const struct series *series, int has_attempts)
{
	enum mt_category category = series->site->category;

	return category == MT_CATEGORY_OPTIMIZER_STATE ||
	       (has_attempts && find_is_own(scene, series->site) &&
		(category == MT_CATEGORY_GRADIENTS || category == MT_CATEGORY_WEIGHTS));
}

/* A pipeline runs several forwards before a backward, equally many each time: its bytes do not rise. */
static int is_more(const struct scene *scene, const struct series *series)
{
	return scene->request.has_before != SCENE_SAME_PLACE || series->now > series->before;
}

/* Weights come once. Bytes that come with every round and stay grow. */
static int grows_by_parts(const struct scene *scene, const struct series *series, int has_attempts)
{
	return series->parts >= PARTS && series->least >= series->most / 4 && !comes_in_one_start(scene, series) &&
	       !is_queue(series) && !is_of_attempt(scene, series, has_attempts) && is_more(scene, series);
}

/* Whether each quarter of the time has at least half of an even part of the births. */
static int is_even(const struct series *series)
{
	const struct member *member = series->member;
	int64_t first = member[0].block->time, last = member[series->members - 1].block->time;
	size_t births[QUARTERS] = { 0 }, i;

	for (i = 0; i < series->members; i++)
		births[(member[i].block->time - first) * QUARTERS / (last - first + 1)]++;
	for (i = 0; i < QUARTERS; i++)
		if (births[i] < series->members / QUARTERS / 2)
			return 0;
	return 1;
}

static int grows_by_time(const struct series *series)
{
	int64_t time = series->member[series->members - 1].block->time - series->member[0].block->time;

	return series->members >= BIRTHS && series->freed <= series->made / 2 &&
	       !is_made_once(series->site->category) && time >= (series->members >= LAYERS ? BRIEF : LONG) &&
	       is_even(series);
}

/* An evaluation that concatenates its outputs with each batch: the newest piece is the longest. */
static int grows_by_concatenation(const struct series *series)
{
	return series->site->category == MT_CATEGORY_EVALUATION && series->made >= BIRTHS &&
	       series->freed > series->made / 2 && series->site->most > series->site->most_before;
}

/* ---- all ---- */

/* Takes the bytes that rounds left, and at most `left` bytes of the newest round: the rest can still go. */
static void take_members(struct find *find, const struct series *series, uint64_t left, uint64_t rounds)
{
	const struct member *member = series->member, *newest = &member[series->members - 1];
	uint64_t bytes;
	size_t i;

	for (i = 0; i < series->members; i++) {
		bytes = member[i].block->bytes;
		if (member[i].round == newest->round && left < series->newest)
			bytes = (uint64_t)((double)bytes * (double)left / (double)series->newest);
		find->take[member[i].block->site] += bytes;
		find->expect[member[i].block->site] += bytes / rounds;
	}
}

static void take_series(struct find *find, const struct series *series, int has_attempts)
{
	if (grows_by_parts(find->scene, series, has_attempts))
		take_members(find, series, series->most, series->parts);
	else if (grows_by_concatenation(series))
		take_members(find, series, UINT64_MAX, series->made);
	else if (grows_by_time(series))
		take_members(find, series, UINT64_MAX, series->members);
}

/* A graph leaves many pieces in each round. One or two pieces of a model that does not train are its outputs. */
static int is_output(const struct scene *scene, const struct candidate *candidate)
{
	return candidate->category == MT_CATEGORY_ACTIVATIONS &&
	       scene->process[candidate->process].who == MT_WHO_MODEL &&
	       candidate->fact[FACT_PIECES] <= 2 * (candidate->fact[FACT_STEPS] + 1);
}

static void add_process(struct find *find, uint32_t process)
{
	const struct find_how how = { .cause = MT_CAUSE_GROWS, .reference = REFERENCE_BEFORE, .need = MT_NEED_NEVER };
	struct candidate *candidate = find_whole(find, &how, process);

	if (!candidate)
		return;
	candidate->fact[FACT_RATE] = (int64_t)candidate->expected;
	candidate->fact[FACT_STEPS] = candidate->expected ? (int64_t)(candidate->bytes / candidate->expected) : 0;
	if (is_output(find->scene, candidate))
		candidate->category = MT_CATEGORY_EVALUATION;
}

void find_grows(struct find *find)
{
	const struct scene *scene = find->scene;
	int has_attempts = find_attempt_step(scene) >= 0;
	size_t count, from, to;
	struct member *member = sort_members(scene, &count);
	struct series series;
	uint32_t i;

	if (!member)
		find->failed = -MT_E_MEMORY;
	for (from = 0; member && from < count; from = to) {
		for (to = from; to < count && !order_of_stacks(member[to].site, member[from].site);)
			to++;
		series = (struct series){ .site = member[from].site, .member = &member[from], .members = to - from };
		count_parts(&series);
		add_sites(scene, &series);
		take_series(find, &series, has_attempts);
	}
	free(member);
	for (i = 0; i < scene->processes; i++)
		if (scene->process[i].in_use)
			add_process(find, i);
}
