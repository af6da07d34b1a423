#include "sums_steps.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

void sums_steps_end(struct sums_steps *steps, uint64_t step)
{
	steps->first = !steps->last || step < steps->first ? step : steps->first;
	steps->last = step > steps->last ? step : steps->last;
}

static int by_number(const void *a, const void *b)
{
	return MT_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int is_looked_into(const struct sums_steps *steps, uint64_t step)
{
	return steps->count && bsearch(&step, steps->looked_into, steps->count, sizeof(step), by_number);
}

/* Finds the steps with more than SUMS_PARTS micro-batches. 0 or -MT_E_MEMORY. */
static int find_looked_into(struct sums_steps *steps, const struct sums_instants_list *step)
{
	uint64_t *of = malloc((step->count + 1) * sizeof(*of));
	size_t i, next;

	steps->looked_into = of;
	if (!of)
		return -MT_E_MEMORY;
	if (step->count) {
		memcpy(of, step->seq, step->count * sizeof(*of));
		qsort(of, step->count, sizeof(*of), by_number);
	}
	for (i = 0; i < step->count; i = next) {
		for (next = i; next < step->count && of[next] == of[i]; next++)
			;
		if (next - i > SUMS_PARTS)
			of[steps->count++] = of[i];
	}
	return 0;
}

static void find_alike(struct sums_steps *steps)
{
	uint64_t earliest = steps->first + 1, latest = steps->last;

	while (earliest <= latest && is_looked_into(steps, earliest))
		earliest++;
	while (earliest <= latest && is_looked_into(steps, latest))
		latest--;
	if (!steps->last || earliest > latest)
		return;
	steps->earliest = earliest;
	steps->latest = latest;
}

int sums_steps_find(struct sums_steps *steps, const struct sums_instants *instants, const struct analysis *analysis,
		    uint32_t process, uint64_t **seq, size_t *count)
{
	struct sums_instants some = { 0 };
	size_t i;
	int error = find_looked_into(steps, &instants->steps);

	*seq = NULL;
	*count = 0;
	if (!error)
		find_alike(steps);
	for (i = 0; i < instants->steps.count && !error; i++)
		if (is_looked_into(steps, instants->steps.seq[i]))
			error = sums_instants_copy(&some, instants, i);
	if (!error)
		error = sums_instants_all(&some, SUMS_BATCHES, analysis, process, seq, count);
	sums_instants_release(&some);
	return error;
}

/* Whether the step is one of those that share rows. */
static int is_alike(const struct sums_steps *steps, int64_t step)
{
	return steps->earliest && step > (int64_t)steps->first && step <= (int64_t)steps->last &&
	       !is_looked_into(steps, (uint64_t)step);
}

void sums_steps_alike(const struct sums_steps *steps, struct load_allocation_raw *row)
{
	int stays = row->free_seq == DB_CELL_NULL;

	if (!stays && row->free_step <= row->step)
		return;
	if (is_alike(steps, row->step))
		row->step = (int64_t)steps->earliest;
	if (!stays && is_alike(steps, row->free_step))
		row->free_step = (int64_t)steps->latest;
}

void sums_steps_release(struct sums_steps *steps)
{
	free(steps->looked_into);
	memset(steps, 0, sizeof(*steps));
}
