#include "outlived.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define ROOM_LEAST 256u
#define DUE_LEAST 16384u /* rows: a smaller table is not made smaller */

size_t outlived_most = OUTLIVED_MOST;

static size_t place_of(const struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until)
{
	uint64_t hash = ((uint64_t)site << 32 ^ (uint64_t)until << 20 ^ step) * 0x9e3779b97f4a7c15ull;

	return (size_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull >> 24) & (outlived->room - 1);
}

/* The row of the triple, or the free row where the triple belongs. */
static struct outlived_row *find(const struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until)
{
	size_t at = place_of(outlived, site, step, until);
	struct outlived_row *row;

	for (;; at = (at + 1) & (outlived->room - 1)) {
		row = &outlived->row[at];
		if (!row->site || (row->site == site && row->step == step && row->until == until))
			return row;
	}
}

/*
 * Makes a table of `room` rows with the rows of `from`. If `number` is not NULL, sites get new numbers by it. Returns 0
 * or -MT_E_MEMORY.
 */
static int copy(struct outlived *to, size_t room, const struct outlived *from, const uint32_t *number)
{
	const struct outlived_row *row;
	uint32_t site;
	size_t i;

	*to = *from;
	to->room = room;
	to->row = calloc(room, sizeof(*to->row));
	if (!to->row)
		return -MT_E_MEMORY;
	for (i = 0; i < from->room; i++) {
		row = &from->row[i];
		if (!row->site)
			continue;
		site = number ? number[row->site] : row->site;
		*find(to, site, row->step, row->until) = (struct outlived_row){
			.site = site, .step = row->step, .until = row->until, .bytes = row->bytes, .count = row->count
		};
	}
	return 0;
}

static int replace(struct outlived *outlived, size_t room, const uint32_t *number)
{
	struct outlived grown;
	int error = copy(&grown, room, outlived, number);

	if (error)
		return error;
	free(outlived->row);
	*outlived = grown;
	return 0;
}

/* Adds to a table that has room. */
static void add(struct outlived *outlived, const struct outlived_row *more)
{
	struct outlived_row *row = find(outlived, more->site, more->step, more->until);

	outlived->rows += !row->site;
	row->site = more->site;
	row->step = more->step;
	row->until = more->until;
	row->bytes += more->bytes;
	row->count += more->count;
}

void outlived_forget(struct outlived *outlived, uint32_t site, uint32_t step, uint32_t until, uint64_t bytes)
{
	struct outlived_row *row = outlived->rows ? find(outlived, site, step, until) : NULL;

	if (!row || !row->count || row->bytes < bytes)
		return;
	row->bytes -= bytes;
	row->count--;
}

int outlived_reorder(struct outlived *outlived, const uint32_t *number)
{
	return outlived->rows ? replace(outlived, outlived->room, number) : 0;
}

static int by_key(const void *a, const void *b)
{
	const struct outlived_row *one = a, *two = b;

	if (one->site != two->site)
		return one->site < two->site ? -1 : 1;
	if (one->step != two->step)
		return one->step < two->step ? -1 : 1;
	return (one->until > two->until) - (one->until < two->until);
}

struct outlived_row *outlived_sorted(const struct outlived *outlived)
{
	struct outlived_row *sorted = outlived->rows ? malloc(outlived->rows * sizeof(*sorted)) : NULL;
	size_t i, count = 0;

	if (!sorted)
		return NULL;
	for (i = 0; i < outlived->room; i++)
		if (outlived->row[i].site)
			sorted[count++] = outlived->row[i];
	qsort(sorted, count, sizeof(*sorted), by_key);
	return sorted;
}

/* ---- fewer rows ---- */

/*
 * Whether the row does not count: its memory went by the end of the group of steps after its own, and that has ended. The first row of a site
 * stays: it tells which of its kinds came first.
 */
static int is_replaced(const struct outlived_row *row, uint32_t grain, uint32_t ended)
{
	return row->until <= ended && row->until / grain <= (uint64_t)row->step / grain + 1;
}

/* Steps become groups. A death after the newest end of a step counts as none: its step has no group yet. */
static void round_steps(struct outlived_row *row, uint32_t grain, uint32_t ended)
{
	row->step -= row->step % grain;
	if (row->until <= ended)
		row->until -= row->until % grain;
}

/* Makes the table anew of the sorted rows, with this grain. */
static void refill(struct outlived *outlived, const struct outlived_row *sorted, size_t rows, uint32_t grain,
		   uint32_t ended)
{
	struct outlived_row row;
	uint32_t first_of = 0; /* the site whose first row was seen */
	size_t i;

	memset(outlived->row, 0, outlived->room * sizeof(*outlived->row));
	outlived->rows = 0;
	outlived->grain = grain;
	for (i = 0; i < rows; i++) {
		row = sorted[i];
		if (row.until <= ended && row.site != first_of)
			first_of = row.site;
		else if (is_replaced(&row, grain, ended))
			continue;
		round_steps(&row, grain, ended);
		add(outlived, &row);
	}
}

int outlived_settle(struct outlived *outlived, uint32_t ended)
{
	struct outlived_row *sorted = outlived_sorted(outlived);
	uint32_t grain = outlived_grain(outlived);
	size_t rows = outlived->rows;

	if (!sorted)
		return rows ? -MT_E_MEMORY : 0;
	refill(outlived, sorted, rows, grain, ended);
	while (outlived->rows > outlived_most && ended / OUTLIVED_GROUPS >= 2 * grain)
		refill(outlived, sorted, rows, grain *= 2, ended);
	free(sorted);
	outlived->due = outlived->rows > DUE_LEAST / 2 ? 2 * outlived->rows : DUE_LEAST;
	return 0;
}

int outlived_add(struct outlived *outlived, const struct outlived_row *more, uint32_t ended)
{
	if (outlived->rows >= outlived->due && outlived->due && outlived_settle(outlived, ended))
		return -MT_E_MEMORY;
	if (!outlived->due)
		outlived->due = DUE_LEAST;
	if (outlived->rows * 4 >= outlived->room * 3 &&
	    replace(outlived, outlived->room ? outlived->room * 2 : ROOM_LEAST, NULL))
		return -MT_E_MEMORY;
	add(outlived, more);
	return 0;
}

void outlived_release(struct outlived *outlived)
{
	free(outlived->row);
	memset(outlived, 0, sizeof(*outlived));
}
