/*
 * grows: bytes that each step, micro-batch, request or minute adds and nothing frees.
 *
 *     steps, spans   the resident blocks were allocated in three or more rounds (scene.h)
 *     minutes        no step ends: the allocations span more time than one forward, or are more than the layers of any model
 *
 * A series is the blocks of one stack and category. All series of a process are one cause: the bytes that stay after each round.
 */
#include "detectors.h"

#include <stdlib.h>
#include "memtrace/error.h"

#define ROUNDS 3 /* least number of rounds, as in memana growth: two can be the start and one step */
#define BIRTHS 8 /* least number of allocations in a series without rounds, and of rounds in a start */
#define LONG ((int64_t)30 * 1000000000) /* ns: more than one forward takes */
#define LAYERS 400                      /* more layers than any model has */

#define MADE_ONCE                                                                                    \
	(SCENE_SET(WEIGHTS) | SCENE_SET(KV_CACHE) | SCENE_SET(GRAPHS) | SCENE_SET(OPTIMIZER_STATE) | \
	 SCENE_SET(GRADIENTS))

struct member {
	const struct scene_site *site;
	const struct scene_block *block;
	uint32_t round;
};

/* ---- series ---- */

static int order_of_stacks(const struct scene_site *a, const struct scene_site *b)
{
	int order = MT_ORDER(a->process, b->process);

	order = order ? order : MT_ORDER(a->node, b->node);
	return order ? order : MT_ORDER(a->category, b->category);
}

static int by_series(const void *one, const void *two)
{
	const struct member *a = one, *b = two;
	int order = order_of_stacks(a->site, b->site);

	return order ? order : MT_ORDER(a->block->seq, b->block->seq);
}

/* Fills `member` with all blocks, sorted by series. Returns the number of blocks. */
static size_t sort_members(struct member *member, const struct scene *scene)
{
	const struct scene_block *block;
	const struct scene_span *span;
	const struct scene_site *site;
	size_t count = 0;

	for (block = scene->block; block < scene->block + scene->blocks; block++) {
		site = &scene->site[block->site];
		span = scene_span_at(scene, site->process, block->time);
		member[count++] = (struct member){ site, block, span ? span->round : 0 };
	}
	qsort(member, count, sizeof(*member), by_series);
	return count;
}

/* Bytes that stay after each round of a series. */
struct rounds {
	uint64_t count, most, newest; /* most: largest round before the newest */
};

static struct rounds count_rounds(const struct member *from, const struct member *to)
{
	struct rounds rounds = { 0, 0, 0 };
	const struct member *it;

	for (it = from; it < to; it++) {
		if (it == from || it->round != it[-1].round) {
			rounds.most = rounds.newest > rounds.most ? rounds.newest : rounds.most;
			rounds.newest = 0;
			rounds.count++;
		}
		rounds.newest += it->block->bytes;
	}
	return rounds;
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

static int grows_by_time(const struct member *from, const struct member *to)
{
	const struct member *it = from;
	size_t births = (size_t)(to - from);

	while (it < to && it->block->bytes == from->block->bytes)
		it++;
	return births >= BIRTHS && !scene_is_of(from->site->category, MADE_ONCE) &&
	       (to[-1].block->time - from->block->time >= LONG || (births >= LAYERS && it == to));
}

/* Takes the bytes of each round; of the newest, as many as of the largest earlier one. A rate by step leaves out the first step, as memana growth. */
static void take_series(struct find *find, const struct member *from, const struct member *to)
{
	const struct rounds rounds = count_rounds(from, to);
	int64_t first = from->block->step, steps = to[-1].block->step - first;
	int by_rounds = rounds.count >= ROUNDS && from->site->category != MT_CATEGORY_OPTIMIZER_STATE &&
			(steps || !comes_in_one_start(find->scene, from->site, rounds.count));
	int by_length = !by_rounds && grows_by_concatenation(from->site);
	int by_steps = by_rounds && steps >= ROUNDS - 1;
	uint64_t bytes, counted = 0, births = by_length ? from->site->made : (uint64_t)(to - from);
	uint64_t times = by_steps ? (uint64_t)steps : by_rounds ? rounds.count : births;
	const struct member *it;

	if ((steps && find->scene->peak.is_usual) || (!by_rounds && !by_length && !grows_by_time(from, to)))
		return;
	for (it = from; it < to; it++) {
		bytes = it->block->bytes;
		if (by_rounds && it->round == to[-1].round && rounds.most < rounds.newest)
			bytes = (uint64_t)((double)bytes * (double)rounds.most / (double)rounds.newest);
		find->take[it->block->site] += bytes;
		bytes = by_steps && it->block->step == first ? 0 : bytes;
		find->expect[it->block->site] += (counted + bytes) / times - counted / times;
		counted += bytes;
	}
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
	struct member *member = calloc(find->scene->blocks + 1, sizeof(*member));
	size_t count = member ? sort_members(member, find->scene) : 0, from, to;

	if (!member)
		find->failed = -MT_E_MEMORY;
	for (from = 0; from < count; from = to) {
		for (to = from; to < count && !order_of_stacks(member[to].site, member[from].site);)
			to++;
		take_series(find, &member[from], &member[to]);
	}
	free(member);
	find_groups(find, &how);
}
