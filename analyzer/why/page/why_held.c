#include "why_held.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

/* ---- parts ---- */

static int order_of(uint64_t one, uint64_t two)
{
	return one < two ? -1 : one > two;
}

/* Equal parts (0) become one part. */
static int by_key(const void *one, const void *two)
{
	const struct held_part *a = one, *b = two;
	int order = order_of(a->process, b->process);

	if (!order)
		order = strcmp(mt_category_name((uint32_t)a->category), mt_category_name((uint32_t)b->category));
	if (!order)
		order = strcmp(mt_phase_name((uint32_t)a->phase), mt_phase_name((uint32_t)b->phase));
	if (!order)
		order = strcmp(a->place, b->place);
	if (!order)
		order = strcmp(a->function, b->function);
	return order ? order : strcmp(a->owner, b->owner);
}

static int by_bytes(const void *one, const void *two)
{
	const struct held_part *a = one, *b = two;

	return a->bytes == b->bytes ? by_key(one, two) : order_of(b->bytes, a->bytes);
}

/* Joins the parts of one place. */
static void join(struct held *held)
{
	struct held_part *part = held->part;
	size_t kept = 0, i;

	if (!held->parts)
		return;
	qsort(part, held->parts, sizeof(*part), by_key);
	for (i = 1; i < held->parts; i++) {
		if (by_key(&part[kept], &part[i])) {
			part[++kept] = part[i];
			continue;
		}
		part[kept].bytes += part[i].bytes;
		part[kept].count += part[i].count;
	}
	held->parts = kept + 1;
	qsort(part, held->parts, sizeof(*part), by_bytes);
}

static void add_site(struct held *held, const struct scene_site *site, const struct db_stmt *row)
{
	struct held_part *part = &held->part[held->parts++];

	*part = (struct held_part){ .process = site->process,
				    .category = site->category,
				    .phase = site->phase,
				    .owner = site->owner,
				    .bytes = site->at[SCENE_NOW],
				    .count = site->count_at[SCENE_NOW] };
	mt_copy_text(part->function, sizeof(part->function), db_text(row, 1));
	mt_copy_text(part->place, sizeof(part->place), db_text(row, 2));
}

/* The rows and the scene's sites have one order. */
static int read_sites(struct held *held, const struct scene *scene, struct db_stmt *row)
{
	size_t i = 0;
	int more;

	while ((more = db_step(row)) > 0) {
		while (i < scene->sites && scene->site[i].id < db_int(row, 0))
			i++;
		if (i < scene->sites && scene->site[i].id == db_int(row, 0) && scene->site[i].at[SCENE_NOW])
			add_site(held, &scene->site[i++], row);
	}
	return more;
}

int held_load(struct held *held, const struct scene *scene)
{
	struct db_stmt *row = NULL;
	int error;

	held->parts = 0;
	held->part = calloc(scene->sites + 1, sizeof(*held->part));
	if (!held->part)
		return -MT_E_MEMORY;
	error = db_prepare(scene->db, &row,
			   "SELECT site.id, ifnull(function, ''), ifnull(place, '') FROM site LEFT JOIN place "
			   "ON place.node = site.node WHERE device = ?1 ORDER BY site.id");
	if (!error) {
		db_bind(row, 1, scene->request.device);
		error = read_sites(held, scene, row);
	}
	db_finish(row);
	join(held);
	return error;
}

void held_release(struct held *held)
{
	free(held->part);
	memset(held, 0, sizeof(*held));
}

/* ---- sums ---- */

static const char *word_of(const struct held_part *part, enum held_by by)
{
	return by == HELD_BY_CATEGORY ? mt_category_name((uint32_t)part->category)
	       : by == HELD_BY_PHASE  ? mt_phase_name((uint32_t)part->phase)
				      : part->owner;
}

static int sum_order(const void *one, const void *two)
{
	const struct held_sum *a = one, *b = two;

	return a->bytes == b->bytes ? strcmp(a->word, b->word) : order_of(b->bytes, a->bytes);
}

size_t held_sums(const struct held *held, enum held_by by, struct held_sum sum[HELD_SUMS_MAX])
{
	size_t count = 0, i, at;

	for (i = 0; i < held->parts; i++) {
		for (at = 0; at < count && strcmp(sum[at].word, word_of(&held->part[i], by)); at++)
			;
		if (at == HELD_SUMS_MAX)
			continue;
		if (at == count)
			sum[count++] = (struct held_sum){ .word = word_of(&held->part[i], by) };
		sum[at].bytes += held->part[i].bytes;
		sum[at].count += held->part[i].count;
	}
	qsort(sum, count, sizeof(*sum), sum_order);
	return count;
}

/* ---- the device ---- */

int why_balance(struct balance *balance, const struct scene *scene)
{
	const struct oom_failure *it = scene->request.failure;
	const struct balance_question question = { .oom = it->id,
						   .device = it->device,
						   .time = it->time,
						   .requested = it->requested,
						   .total = it->total,
						   .free = it->free,
						   .free_by = it->free_by,
						   .recorded = scene->held };

	return balance_load(balance, &question, scene->db);
}

uint64_t why_asleep(const struct scene *scene)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < scene->processes; i++)
		bytes += scene->process[i].asleep;
	return bytes;
}

uint32_t *why_holders(const struct scene *scene)
{
	uint32_t *order = calloc(scene->processes + 1, sizeof(*order)), i, k;

	if (!order)
		return NULL;
	for (i = 0; i < scene->processes; i++) {
		for (k = i; k && scene->process[order[k - 1]].held < scene->process[i].held; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	return order;
}
