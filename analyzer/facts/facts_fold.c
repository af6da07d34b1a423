#include "facts_fold.h"

#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "database/db.h"
#include "label/category.h"
#include "memtrace/error.h"
#include "rows/row_id.h"

#define STAYS UINT32_MAX
#define SUMS_MOST (1u << 26)

/* Bits of facts_fold_sum.kind. */
enum { KIND_INSIDE = 1, KIND_HOME = 2 };

/* ---- sites that are alike ---- */

/* Returns all properties of a site and of its twin that reports read, except stacks (store/load_renumber.c). */
static struct tuple like_key(const struct analysis *run, uint32_t number)
{
	const struct site *site = &run->attribution.site[number];
	const struct category_site *facts = number < run->categories.room ? &run->categories.site[number] : NULL;
	uint32_t twin = facts ? facts->twin : 0;
	uint64_t words = (uint64_t)category_of_site(&run->categories, &run->attribution, number) << 24 |
			 (uint64_t)site->key.phase << 16 | (uint64_t)(site->tensors_seen != 0) << 1 | site->key.driver;

	if (!twin)
		return (struct tuple){ { site->key.process, site->key.device, words, 0 } };
	return (struct tuple){ { site->key.process, site->key.device, words,
				 1ull << 32 | (uint64_t)facts->twin_home << 8 |
					 category_of_site(&run->categories, &run->attribution, twin) } };
}

int facts_fold_init(struct facts_fold *fold, const struct analysis *run, const struct row_maker *maker)
{
	struct tuple_table known = { 0 };
	uint32_t i;
	int error = 0;

	*fold = (struct facts_fold){ .maker = maker, .run = run };
	fold->like = calloc((size_t)run->attribution.sites + 1, sizeof(*fold->like));
	if (!fold->like)
		return -MT_E_MEMORY;
	for (i = 1; i < run->attribution.sites && !error; i++) {
		struct tuple key = like_key(run, i);

		fold->like[i] = tuple_find(&known, &key);
		if (fold->like[i] != TUPLE_NONE)
			continue;
		fold->like[i] = i;
		error = tuple_add(&known, &key, i);
	}
	tuple_release(&known);
	return error;
}

void facts_fold_release(struct facts_fold *fold)
{
	free(fold->like);
	free(fold->sum);
	free(fold->slot);
	memset(fold, 0, sizeof(*fold));
}

/* ---- sums ---- */

static size_t slot_of(const struct facts_fold_sum *sum, uint32_t room)
{
	uint64_t hash = ((uint64_t)sum->like << 32 | sum->step) * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 29 ^ ((uint64_t)sum->site << 32 | sum->until) ^ (uint64_t)sum->kind << 60) *
	       0xbf58476d1ce4e5b9ull;
	return (size_t)(hash >> 24) & (2 * (size_t)room - 1);
}

/* Whether both sums are parts of the same rows. */
static int is_like(const struct facts_fold_sum *one, const struct facts_fold_sum *two)
{
	return one->like == two->like && one->kind == two->kind && one->memory == two->memory;
}

/* Returns the slot of the sum, or the free slot where the sum belongs. */
static uint32_t *find(const struct facts_fold *fold, const struct facts_fold_sum *key)
{
	size_t at = slot_of(key, fold->room);
	const struct facts_fold_sum *sum;

	for (;; at = (at + 1) & (2 * (size_t)fold->room - 1)) {
		if (!fold->slot[at])
			return &fold->slot[at];
		sum = &fold->sum[fold->slot[at] - 1];
		if (is_like(sum, key) && sum->step == key->step && sum->until == key->until && sum->site == key->site)
			return &fold->slot[at];
	}
}

static int make_room(struct facts_fold *fold)
{
	uint32_t room = fold->room ? 2 * fold->room : 256, i;
	struct facts_fold_sum *sum = room <= SUMS_MOST ? realloc(fold->sum, room * sizeof(*sum)) : NULL;
	uint32_t *slot = sum ? calloc(2 * (size_t)room, sizeof(*slot)) : NULL;

	fold->sum = sum ? sum : fold->sum;
	if (!slot)
		return -MT_E_MEMORY;
	free(fold->slot);
	fold->slot = slot;
	fold->room = room;
	for (i = 0; i < fold->sums; i++)
		*find(fold, &fold->sum[i]) = i + 1;
	return 0;
}

static int add(struct facts_fold *fold, const struct facts_fold_sum *key, const struct load_allocation_raw *row)
{
	uint32_t *slot;

	if (fold->sums == fold->room && make_room(fold))
		return -MT_E_MEMORY;
	slot = find(fold, key);
	if (!*slot) {
		fold->sum[fold->sums] = *key;
		*slot = ++fold->sums;
	}
	fold->sum[*slot - 1].bytes += (uint64_t)row->bytes;
	fold->sum[*slot - 1].count += (uint64_t)row->allocations;
	return 0;
}

/* Drops lives that begin and end in one step: no end of a step sees them. */
int facts_fold_row(struct facts_fold *fold, const struct load_allocation_raw *row)
{
	int stays = row->free_seq == DB_CELL_NULL, error;
	struct facts_fold_sum key = { .kind = (row->tensors_inside ? KIND_INSIDE : 0u) |
					      (row->at_home ? KIND_HOME : 0u),
				      .step = (uint32_t)row->step,
				      .until = stays ? STAYS : (uint32_t)row->free_step,
				      .memory = row->memory };

	if (row->site < 1 || row->site >= fold->run->attribution.sites)
		return -MT_E_CORRUPT;
	key.like = fold->like[row->site];
	if (!stays && key.until <= key.step)
		return 0;
	error = add(fold, &key, row);
	if (error || !stays)
		return error;
	key.site = (uint32_t)row->site;
	key.step = 0;
	return add(fold, &key, row);
}

/* ---- rows ---- */

static int make_row(const struct facts_fold *fold, const struct facts_fold_sum *sum, uint32_t site, uint64_t bytes,
		    uint64_t count)
{
	const struct site_key *like = &fold->run->attribution.site[sum->like].key;
	int error;
	struct load_allocation_raw *row = fold->maker->row(fold->maker->context, LOAD_allocation_raw, &error);

	if (!row)
		return error;
	*row = (struct load_allocation_raw){
		.id = DB_CELL_NULL,
		.process = row_process_id(like->process),
		.device = row_device_id(like->device),
		.site = site,
		.memory = sum->memory,
		.bytes = (int64_t)bytes,
		.free_seq = sum->until == STAYS ? DB_CELL_NULL : 0,
		.free_time = sum->until == STAYS ? DB_CELL_NULL : 0,
		.thread = DB_CELL_NULL,
		.step = sum->step,
		.free_step = sum->until == STAYS ? DB_CELL_NULL : (int64_t)sum->until,
		.free_node = DB_CELL_NULL,
		.tensors_inside = (sum->kind & KIND_INSIDE) != 0,
		.at_home = (sum->kind & KIND_HOME) != 0,
		.allocations = (int64_t)count,
	};
	return 0;
}

/* Order: freed memory first. Memory that is never freed is by group of alike sites, sums by step before sums by site. */
static int by_kind(const void *a, const void *b)
{
	const struct facts_fold_sum *one = a, *two = b;

	if ((one->until == STAYS) != (two->until == STAYS))
		return one->until == STAYS ? 1 : -1;
	if (one->like != two->like)
		return one->like < two->like ? -1 : 1;
	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->memory != two->memory)
		return strcmp(one->memory, two->memory);
	if (one->site != two->site)
		return one->site < two->site ? -1 : 1;
	return (one->step > two->step) - (one->step < two->step);
}

/*
 * Makes rows with step and site for one group of alike sites. [step, site) are its sums by step, [site, end) its sums by site; both have equal bytes
 * in all.
 */
static int make_stays(const struct facts_fold *fold, struct facts_fold_sum *step, struct facts_fold_sum *site,
		      const struct facts_fold_sum *end)
{
	const struct facts_fold_sum *steps_end = site;
	uint64_t bytes;
	int error = 0;

	while (step < steps_end && site < end && !error) {
		bytes = step->bytes < site->bytes ? step->bytes : site->bytes;
		error = make_row(fold, step, site->site, bytes, step->count);
		step->count = 0;
		step->bytes -= bytes;
		site->bytes -= bytes;
		if (!step->bytes)
			step++;
		else
			site++;
	}
	return error;
}

int facts_fold_finish(struct facts_fold *fold)
{
	struct facts_fold_sum *sum = fold->sum, *end = sum + fold->sums, *site, *next;
	int error = 0;

	if (fold->sums)
		qsort(sum, fold->sums, sizeof(*sum), by_kind);
	for (; sum < end && sum->until != STAYS && !error; sum++)
		error = make_row(fold, sum, sum->like, sum->bytes, sum->count);
	for (; sum < end && !error; sum = next) {
		for (site = sum; site < end && !site->site; site++)
			;
		for (next = site; next < end && next->site && is_like(sum, next); next++)
			;
		error = make_stays(fold, sum, site, next);
	}
	return error;
}
