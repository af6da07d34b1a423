#include "find_sizes.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

static uint64_t each_of(const struct scene_block *block)
{
	return block->count ? block->bytes / block->count : block->bytes;
}

static int by_size(const void *one, const void *two)
{
	const struct find_sizes_row *a = one, *b = two;

	if (a->each != b->each)
		return a->each < b->each ? -1 : 1;
	return a->there < b->there ? -1 : a->there > b->there;
}

/* Joins rows of one size and time. Each row's count includes the rows of its size before it. */
static void merge_rows(struct find_sizes *sizes)
{
	struct find_sizes_row *last = NULL, *row;
	size_t i, rows = 0;
	uint64_t count;

	for (i = 0; i < sizes->rows; i++) {
		row = &sizes->row[i];
		count = row->count + (last && last->each == row->each ? last->count : 0);
		if (!last || last->each != row->each || last->there != row->there)
			last = &sizes->row[rows++];
		*last = *row;
		last->count = count;
	}
	sizes->rows = rows;
}

static void add_rows(struct find_sizes *sizes, const struct scene *scene, size_t from, size_t to, int64_t there)
{
	const struct scene_block *block;
	size_t i;

	for (i = from; i < to; i++) {
		block = &scene->block[i];
		sizes->bytes += block->bytes;
		sizes->row[sizes->rows++] = (struct find_sizes_row){ .each = each_of(block),
								     .count = block->count,
								     .there = there };
	}
}

static int is_in_pool(const struct scene *scene, const struct scene_site *site, uint32_t process, int engine)
{
	return site->process == process && site->category == MT_CATEGORY_WEIGHTS && site->engine == engine &&
	       !site->driver && find_is_here(scene, site);
}

int find_sizes_load(struct find_sizes *sizes, const struct scene *scene, uint32_t process, int engine)
{
	size_t from, to;

	memset(sizes, 0, sizeof(*sizes));
	sizes->row = calloc(scene->blocks + 1, sizeof(*sizes->row));
	if (!sizes->row)
		return -MT_E_MEMORY;
	for (from = 0; from < scene->blocks; from = to) {
		to = find_site_end(scene, from);
		if (is_in_pool(scene, &scene->site[scene->block[from].site], process, engine))
			add_rows(sizes, scene, from, to, find_site_there(scene, from, to));
	}
	qsort(sizes->row, sizes->rows, sizeof(*sizes->row), by_size);
	merge_rows(sizes);
	return 0;
}

int find_sizes_site(struct find_sizes *sizes, const struct scene *scene, size_t from, size_t to)
{
	memset(sizes, 0, sizeof(*sizes));
	sizes->row = calloc(to - from + 1, sizeof(*sizes->row));
	if (!sizes->row)
		return -MT_E_MEMORY;
	add_rows(sizes, scene, from, to, 0);
	qsort(sizes->row, sizes->rows, sizeof(*sizes->row), by_size);
	merge_rows(sizes);
	return 0;
}

void find_sizes_release(struct find_sizes *sizes)
{
	free(sizes->row);
	memset(sizes, 0, sizeof(*sizes));
}

/* The first row at or after the size and the time. */
static size_t first_from(const struct find_sizes *sizes, uint64_t each, int64_t there)
{
	const struct find_sizes_row wanted = { .each = each, .there = there };
	size_t low = 0, high = sizes->rows, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (by_size(&sizes->row[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Number of blocks of this size, up to rounding, of sites that were complete before `since`. */
static uint64_t count_before(const struct find_sizes *sizes, uint64_t each, int64_t since)
{
	uint64_t slack = each / 1024, size, count = 0;
	size_t i, end;

	for (i = first_from(sizes, each - slack, INT64_MIN); i < sizes->rows;
	     i = first_from(sizes, size + 1, INT64_MIN)) {
		size = sizes->row[i].each;
		if (size > each + slack)
			break;
		end = first_from(sizes, size, since);
		count += end > i ? sizes->row[end - 1].count : 0;
	}
	return count;
}

/* Adds a size of the site, with its number of pieces. */
static void add_kind(struct find_sizes_match *match, uint64_t each, uint64_t pieces, uint64_t there)
{
	match->bytes += each * pieces;
	match->pieces += pieces;
	match->there += there;
	match->kinds++;
}

struct find_sizes_match find_sizes_match(const struct find_sizes *sizes, const struct find_sizes *site,
					 struct find_sizes_ratio ratio, int64_t since)
{
	struct find_sizes_match match = { .ratio = ratio };
	const struct find_sizes_row *row;
	uint64_t there;
	size_t i;

	for (i = 0; i < site->rows; i++) {
		row = &site->row[i];
		if (row->each < FIND_SIZES_LEAST)
			continue;
		match.of += row->each * row->count;
		there = count_before(sizes, row->each / ratio.num * ratio.den, since);
		if (there)
			add_kind(&match, row->each, row->count, there);
	}
	return match;
}
