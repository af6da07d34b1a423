/*
 * grows: bytes that each step, micro-batch, request or minute adds and nothing frees.
 *
 *     steps, spans   the resident blocks were allocated in three or more rounds (scene.h)
 *     minutes        no step ends: the allocations span more time than one forward, or are more than the layers of any model
 *     lists          a pass without a backward keeps many pieces of few places
 *
 * A series is the blocks of one stack and category. All series of a process are one cause: the bytes that stay after each round.
 */
#include "detectors.h"

#include <stdlib.h>
#include "base/tuple.h"
#include "memtrace/error.h"

#define ROUNDS 3 /* least number of rounds, as in memana growth: two can be the start and one step */
#define BIRTHS 8 /* least number of allocations in a series without rounds, and of rounds in a start */
#define LONG ((int64_t)30 * 1000000000) /* ns: more than one forward takes */
#define LAYERS 400                      /* more layers than any model has */
#define LISTED 32                       /* pieces of a list, at least: fewer can be the layers of one forward */
#define LIST_FREES 2                    /* pieces that forwards free for each one in lists, at least */
#define PLACES 3                        /* places of lists, at most */

#define MADE_ONCE                                                                                    \
	(SCENE_SET(WEIGHTS) | SCENE_SET(KV_CACHE) | SCENE_SET(GRAPHS) | SCENE_SET(OPTIMIZER_STATE) | \
	 SCENE_SET(GRADIENTS))

/* The blocks of one stack and category, in order of birth. */
struct series {
	struct scene_block first, last;        /* zeroed: no block yet */
	uint64_t blocks, rounds, most, newest; /* bytes of the newest round, and the most of one before it */
	uint32_t round;                        /* the newest */
	int varies, by_rounds, by_steps;       /* varies: blocks have several sizes */
	uint64_t times, counted;               /* times: the divisor of `counted`; 0: it does not grow */
};

/* ---- series ---- */

/* Fills `number`: of each site, the first site of its series. Returns 0 or -MT_E_MEMORY. */
static int number_series(uint32_t *number, const struct scene *scene)
{
	struct tuple_table known = { 0 };
	const struct scene_site *site = scene->site;
	struct tuple key;
	uint32_t i;
	int error = 0;

	for (i = 0; i < scene->sites && !error; i++, site++) {
		key = (struct tuple){ { site->process, site->node, site->category } };
		number[i] = tuple_find(&known, &key);
		if (number[i] == TUPLE_NONE)
			error = tuple_add(&known, &key, number[i] = i);
	}
	tuple_release(&known);
	return error;
}

static uint32_t round_of(const struct scene *scene, const struct scene_block *block)
{
	const struct scene_span *span = scene_span_at(scene, scene->site[block->site].process, block->time);

	return span ? span->round : 0;
}

static void add_block(struct series *series, const struct scene *scene, const struct scene_block *block)
{
	uint32_t round = round_of(scene, block);

	if (!series->blocks++)
		series->first = *block;
	if (!series->rounds || round != series->round) {
		series->most = series->newest > series->most ? series->newest : series->most;
		series->newest = 0;
		series->rounds++;
	}
	series->round = round;
	series->newest += block->bytes;
	series->varies |= block->bytes != series->first.bytes;
	series->last = *block;
}

/* ---- whether it grows ---- */

/* A start or a capture makes many pieces once. A backward, or many rounds, show more than a start; a capture runs backwards itself. */
static int comes_in_one_start(const struct scene *scene, const struct scene_site *site, uint64_t rounds)
{
	return site->category == MT_CATEGORY_GRAPHS ||
	       (mt_phase_is_early(site->phase) && !scene->process[site->process].backward_end &&
		(rounds < BIRTHS || scene_is_of(site->category, MADE_ONCE)));
}

/* An evaluation that concatenates its outputs after each batch: the newest piece is the largest. */
static int grows_by_concatenation(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_EVALUATION && site->made >= 2 * ROUNDS && site->freed > site->made / 2 &&
	       site->most > site->most_before;
}

static int grows_by_time(const struct series *series, const struct scene_site *site)
{
	return series->blocks >= BIRTHS && !scene_is_of(site->category, MADE_ONCE) &&
	       (series->last.time - series->first.time >= LONG || (series->blocks >= LAYERS && !series->varies));
}

static void judge(const struct scene *scene, struct series *series)
{
	const struct scene_site *site = series->blocks ? &scene->site[series->first.site] : NULL;
	int64_t steps = site ? (int64_t)series->last.step - series->first.step : 0;
	int by_length;

	if (!site || (steps && scene->peak.is_usual))
		return;
	series->by_rounds = series->rounds >= ROUNDS && site->category != MT_CATEGORY_OPTIMIZER_STATE &&
			    (steps || !comes_in_one_start(scene, site, series->rounds));
	series->by_steps = series->by_rounds && steps >= ROUNDS - 1;
	by_length = !series->by_rounds && grows_by_concatenation(site);
	if (series->by_rounds)
		series->times = series->by_steps ? (uint64_t)steps : series->rounds;
	else if (by_length || grows_by_time(series, site))
		series->times = by_length ? site->made : series->blocks;
}

/* Takes the bytes of each round; of the newest, as many as of the largest earlier one. A rate by step leaves out the first step, as memana growth. */
static void take_block(struct find *find, struct series *series, const struct scene_block *block)
{
	uint64_t bytes = block->bytes;

	if (series->by_rounds && series->most < series->newest && round_of(find->scene, block) == series->round)
		bytes = (uint64_t)((double)bytes * (double)series->most / (double)series->newest);
	find->take[block->site] += bytes;
	bytes = series->by_steps && block->step == series->first.step ? 0 : bytes;
	find->expect[block->site] += (series->counted + bytes) / series->times - series->counted / series->times;
	series->counted += bytes;
}

/* ---- lists ---- */

static int is_of_pass(const struct scene *scene, const struct scene_site *site)
{
	return find_is_own(scene, site) && !mt_phase_is_early(site->phase) && !site->engine &&
	       scene_is_of(site->category, SCENE_OF_FORWARD | SCENE_SET(OTHER)) &&
	       !((site->tags ^ scene_tags(scene, scene->request.node)) & MT_TAG_BIT(EVALUATION));
}

/* Whether the series can be a list that the pass of the request fills. Small pieces that a place frees are of other operations. */
static int may_be_list(const struct scene *scene, const struct series *series)
{
	const struct scene_site *site = series->blocks ? &scene->site[series->first.site] : NULL;
	const struct scene_process *process = site ? &scene->process[site->process] : NULL;

	return series->blocks >= LISTED && (process->steps >= ROUNDS - 1 || process->who == MT_WHO_MODEL) &&
	       (series->blocks > 2 * site->freed || (!process->steps && site->most_before < site->least / 2)) &&
	       site->phase != MT_PHASE_BACKWARD && site->phase != MT_PHASE_OPTIMIZER && is_of_pass(scene, site);
}

/* Lists are at few places, and their forwards free many pieces for each one in a list. Autograd keeps pieces of many places. */
static void judge_lists(const struct scene *scene, struct series *series)
{
	uint32_t told, last = 0;
	uint64_t kept = 0, freed = 0, places = 0;
	size_t i;

	for (i = 0; i < scene->sites; i++) {
		freed += is_of_pass(scene, &scene->site[i]) ? scene->site[i].freed : 0;
		if (!may_be_list(scene, &series[i]))
			continue;
		kept += series[i].blocks;
		told = scene_telling(scene, scene->site[i].node);
		told = told == SCENE_NONE ? told : scene->node[told].frame;
		places += !places || told != last; /* the layers of one model follow each other */
		last = told;
	}
	for (i = 0; i < scene->sites && places <= PLACES && freed > kept * LIST_FREES; i++)
		if (!series[i].times && may_be_list(scene, &series[i]))
			series[i].times = series[i].blocks;
}

static void take_all(struct find *find, struct series *series, const uint32_t *number)
{
	const struct scene *scene = find->scene;
	const struct scene_block *block;
	struct packed_walk walk;
	size_t i;

	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk))
		add_block(&series[number[block->site]], scene, block);
	for (i = 0; i < scene->sites; i++)
		judge(scene, &series[i]);
	judge_lists(scene, series);
	for (block = packed_first(&walk, &scene->blocks); block; block = packed_next(&walk))
		if (series[number[block->site]].times)
			take_block(find, &series[number[block->site]], block);
}

/* A run with steps is told by step. A round of other runs has no name. */
static void say_rate(struct find *find, struct candidate *candidate)
{
	int64_t steps, most = 0;
	const struct scene_site *site;
	size_t i;

	for (i = 0; i < candidate->parts; i++) {
		site = &find->scene->site[candidate->part[i].site];
		steps = site->last_step - site->first_step;
		most = steps > most ? steps : most;
	}
	candidate->fact[FACT_STEPS] = most >= ROUNDS - 1 ? most + 1 : 0;
	candidate->fact[FACT_RATE] = (int64_t)candidate->expected;
}

void find_grows(struct find *find)
{
	const struct find_how how = {
		.reference = REFERENCE_BEFORE, .need = MT_NEED_NEVER, .whole = 1, .done = say_rate
	};
	struct series *series = calloc(find->scene->sites + 1, sizeof(*series));
	uint32_t *number = calloc(find->scene->sites + 1, sizeof(*number));

	if (series && number && !number_series(number, find->scene))
		take_all(find, series, number);
	else
		find->failed = -MT_E_MEMORY;
	free(series);
	free(number);
	find_groups(find, &how);
}
