#include "symbol_index.h"

#include <stdlib.h>

/*
 * The sorted array is a tree: the node of [low, high) is the span in the middle. `reach` is the largest end of the spans in this subtree. A search
 * skips subtrees whose `reach` is below the address.
 */

#define NEAR_ROOM_MIN 64u
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static unsigned digit_of(uint64_t start, unsigned shift)
{
	return (unsigned)(start >> shift) & (DIGITS - 1);
}

static void sort_by_digit(const struct symbol_span *from, struct symbol_span *to, size_t count, unsigned shift)
{
	size_t place[DIGITS] = { 0 }, sum = 0, spans, i;

	for (i = 0; i < count; i++)
		place[digit_of(from[i].start, shift)]++;
	for (i = 0; i < DIGITS; i++) {
		spans = place[i];
		place[i] = sum;
		sum += spans;
	}
	for (i = 0; i < count; i++)
		to[place[digit_of(from[i].start, shift)]++] = from[i];
}

/* Sorts by start, then by number. A sort by comparison would take several times as long. */
static int sort_spans(struct symbol_index *index)
{
	struct symbol_span *spare = malloc(index->count * sizeof(*spare) + 1), *sorted;
	uint64_t differ = 0;
	unsigned shift;
	size_t i;

	if (!spare)
		return -1;
	for (i = 0; i < index->count; i++)
		differ |= index->span[i].start ^ index->span[0].start;
	for (shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!digit_of(differ, shift))
			continue;
		sort_by_digit(index->span, spare, index->count, shift);
		sorted = spare;
		spare = index->span;
		index->span = sorted;
	}
	free(spare);
	return 0;
}

static size_t middle(size_t low, size_t high)
{
	return low + (high - low) / 2;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t fill_reach(struct symbol_span *span, size_t low, size_t high)
{
	size_t mid = middle(low, high);

	if (low >= high)
		return 0;
	span[mid].reach = larger(span[mid].end, fill_reach(span, low, mid));
	span[mid].reach = larger(span[mid].reach, fill_reach(span, mid + 1, high));
	return span[mid].reach;
}

int symbol_index_build(struct symbol_index *index)
{
	if (sort_spans(index))
		return -1;
	fill_reach(index->span, 0, index->count);
	return 0;
}

/* ---- the spans around an address ---- */

static int add_near(struct symbol_index *index, size_t count, size_t at)
{
	size_t room = index->near_room ? index->near_room * 2 : NEAR_ROOM_MIN;
	uint64_t *near;

	if (count == index->near_room) {
		near = realloc(index->near, room * sizeof(*near));
		if (!near)
			return -1;
		index->near = near;
		index->near_room = room;
	}
	index->near[count] = (uint64_t)index->span[at].number << 32 | at;
	return 0;
}

/* Adds the spans of [low, high) around the address to `near`, with number and position. Returns 0; -1: out of memory. */
static int find_near(struct symbol_index *index, size_t low, size_t high, uint64_t address, size_t *count)
{
	const struct symbol_span *span;
	size_t mid;

	for (; low < high; low = mid + 1) {
		mid = middle(low, high);
		span = &index->span[mid];
		index->looked_at++;
		if (span->reach <= address)
			return 0;
		if (find_near(index, low, mid, address, count))
			return -1;
		if (span->start > address)
			return 0;
		if (span->end > address && add_near(index, (*count)++, mid))
			return -1;
	}
	return 0;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int is_better(const struct symbol_span *span, const struct symbol_span *best)
{
	if (!best || span->start > best->start || span->rank > best->rank)
		return 1;
	return span->start == best->start && span->rank == best->rank && span->end < best->end;
}

/* Returns the best of the near spans, among global or among local symbols. The order of the symbol table decides: "better" is not transitive. */
static const struct symbol_span *find_best(const struct symbol_index *index, size_t count, int global)
{
	const struct symbol_span *best = NULL, *span;
	size_t i;

	for (i = 0; i < count; i++) {
		span = &index->span[(uint32_t)index->near[i]];
		if ((span->number >= index->first_global) == global && is_better(span, best))
			best = span;
	}
	return best;
}

/* ---- labels ---- */

/* Returns the largest end of the spans that begin at or below the address. */
static uint64_t find_reach(struct symbol_index *index, uint64_t address)
{
	const struct symbol_span *span = index->span;
	size_t low = 0, high = index->count, mid;
	uint64_t reach = 0;

	while (low < high) {
		mid = middle(low, high);
		index->looked_at++;
		if (span[mid].start > address) {
			high = mid;
			continue;
		}
		reach = larger(reach, span[mid].end);
		if (low < mid)
			reach = larger(reach, span[middle(low, mid)].reach);
		low = mid + 1;
	}
	return reach;
}

static size_t first_at(const struct symbol_index *index, uint64_t start)
{
	size_t low = 0, high = index->count, mid;

	while (low < high) {
		mid = middle(low, high);
		if (index->span[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the last label at `start` that may name the address, among global or among local labels. */
static const struct symbol_span *find_label(struct symbol_index *index, uint64_t start, uint64_t address,
					    uint32_t section, int global)
{
	const struct symbol_span *label = NULL, *span;
	size_t i;

	for (i = first_at(index, start); i < index->count && index->span[i].start == start; i++) {
		span = &index->span[i];
		index->looked_at++;
		if (span->end == start && (span->number >= index->first_global) == global &&
		    (start == address || span->section == section))
			label = span;
	}
	return label;
}

uint32_t symbol_index_find(struct symbol_index *index, uint64_t address, uint32_t section)
{
	const struct symbol_span *found;
	uint64_t reach;
	size_t count = 0;

	if (find_near(index, 0, index->count, address, &count))
		return 0;
	if (count)
		qsort(index->near, count, sizeof(*index->near), by_value);
	found = find_best(index, count, 1);
	if (!found)
		found = find_label(index, address, address, section, 1);
	if (!found)
		found = find_best(index, count, 0);
	if (found)
		return found->number;
	/* A span that ends above a label hides this label. */
	reach = find_reach(index, address);
	found = find_label(index, reach, address, section, 0);
	if (!found)
		found = find_label(index, reach, address, section, 1);
	return found ? found->number : 0;
}

void symbol_index_release(struct symbol_index *index)
{
	free(index->span);
	free(index->near);
}
