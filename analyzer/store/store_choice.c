/*
 * store_choice.c - chooses the sites with rows of their own in the database of `memana top`. A trace can have millions of sites, and top shows
 * hundreds of places. Sites alike (label/alike.h) are chosen together: the layers of a model are one place.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "store.h"

int store_held_at_peak(const struct analysis *analysis, uint32_t site)
{
	struct site_bytes at_peak = attribution_at_peak(&analysis->attribution, site);

	return at_peak.plain + at_peak.slack != 0;
}

/* Memory of a split site that was freed belongs to the twin, as in load_renumber.c. */
uint32_t store_outlived_site(const struct analysis *analysis, const struct outlived_row *row)
{
	const struct category_site *site = row->site < analysis->categories.room ? &analysis->categories.site[row->site]
										 : NULL;

	return site && site->twin && !site->twin_home && row->until != OUTLIVED_STAYS ? site->twin : row->site;
}

/* The largest groups of a device: a heap of their first sites, with the smallest group on top. */
struct largest {
	uint32_t *site;
	uint32_t count, room;
};

#define CHOSEN 1u
#define CHOSEN_GROUP 2u /* the group whose first site this is */

struct choice {
	const struct analysis *analysis;
	struct largest *device;
	const uint32_t *first; /* by site: first site of its group; NULL: each site is a group of its own */
	uint64_t *bytes;       /* by first site: bytes of the group at the peak */
	size_t most;
};

/* Whether `one` comes after `two` in the order of query_sites: most bytes first, then the lower number. */
static int is_smaller(const struct choice *choice, uint32_t one, uint32_t two)
{
	uint64_t bytes = choice->bytes[one], other = choice->bytes[two];

	return bytes != other ? bytes < other : one > two;
}

static void swap(uint32_t *one, uint32_t *two)
{
	uint32_t kept = *one;

	*one = *two;
	*two = kept;
}

static void sift_up(const struct choice *choice, struct largest *heap)
{
	uint32_t at = heap->count - 1, parent;

	for (; at; at = parent) {
		parent = (at - 1) / 2;
		if (!is_smaller(choice, heap->site[at], heap->site[parent]))
			return;
		swap(&heap->site[at], &heap->site[parent]);
	}
}

static void sift_down(const struct choice *choice, struct largest *heap)
{
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count && is_smaller(choice, heap->site[child + 1], heap->site[child]))
			child++;
		if (!is_smaller(choice, heap->site[child], heap->site[at]))
			return;
		swap(&heap->site[child], &heap->site[at]);
	}
}

/* Adds the site if it is one of the largest. Returns 0; -1: out of memory. */
static int offer(const struct choice *choice, struct largest *heap, uint32_t site)
{
	if (heap->count == choice->most) {
		if (heap->count && is_smaller(choice, heap->site[0], site)) {
			heap->site[0] = site;
			sift_down(choice, heap);
		}
		return 0;
	}
	if (MT_ARRAY_ROOM(heap->site, heap->count, heap->room))
		return -1;
	heap->site[heap->count++] = site;
	sift_up(choice, heap);
	return 0;
}

static uint32_t first_of(const struct choice *choice, uint32_t site)
{
	return choice->first ? choice->first[site] : site;
}

static void sum_groups(const struct choice *choice)
{
	const struct attribution *attribution = &choice->analysis->attribution;
	struct site_bytes at_peak;
	uint32_t i;

	memset(choice->bytes, 0, attribution->sites * sizeof(*choice->bytes));
	for (i = 1; i < attribution->sites; i++) {
		at_peak = attribution_at_peak(attribution, i);
		choice->bytes[first_of(choice, i)] += at_peak.plain + at_peak.slack;
	}
}

static int choose_largest(const struct choice *choice, uint8_t *own)
{
	const struct analysis *analysis = choice->analysis;
	struct largest *heap;
	uint32_t i, device;
	int error = 0;

	sum_groups(choice);
	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		device = analysis->attribution.site[i].key.device;
		if (device < analysis->devices && choice->bytes[i])
			error = offer(choice, &choice->device[device], i);
	}
	for (device = 0; device < analysis->devices; device++) {
		heap = &choice->device[device];
		while (heap->count)
			own[heap->site[--heap->count]] |= CHOSEN_GROUP;
	}
	for (i = 1; i < analysis->attribution.sites; i++)
		if (own[first_of(choice, i)] & CHOSEN_GROUP && store_held_at_peak(analysis, i))
			own[i] |= CHOSEN;
	return error;
}

static int store_can_grow(const struct analysis *analysis, uint32_t process)
{
	return process < analysis->processes && analysis->process[process].steps > 1;
}

int store_any_can_grow(const struct analysis *analysis)
{
	uint32_t i = 0;

	while (i < analysis->processes && !store_can_grow(analysis, i))
		i++;
	return i < analysis->processes;
}

static void choose_growing(const struct analysis *analysis, uint8_t *own)
{
	const struct outlived_row *row, *end;
	uint32_t i;

	for (i = 0; i < analysis->processes; i++) {
		if (!store_can_grow(analysis, i))
			continue;
		row = analysis->process[i].outlived.row;
		end = row + analysis->process[i].outlived.room;
		for (; row < end; row++)
			if (row->site && row->count)
				own[store_outlived_site(analysis, row)] = 1;
	}
}

/* Chooses the largest groups, or for `first` NULL the largest single sites. */
static int choose(struct choice *choice, const uint32_t *first, uint8_t *own)
{
	uint32_t i;
	int error;

	choice->first = first;
	error = choose_largest(choice, own);
	for (i = 0; i < choice->analysis->attribution.sites; i++)
		own[i] &= CHOSEN;
	return error;
}

static void release_choice(struct choice *choice)
{
	uint32_t i;

	for (i = 0; i < choice->analysis->devices && choice->device; i++)
		free(choice->device[i].site);
	free(choice->device);
	free(choice->bytes);
}

uint8_t *store_choose(const struct analysis *analysis, size_t most)
{
	struct choice choice = { .analysis = analysis, .most = most };
	uint8_t *own = calloc((size_t)analysis->attribution.sites + 1, 1);
	int error = 0;

	choice.device = calloc((size_t)analysis->devices + 1, sizeof(*choice.device));
	choice.bytes = calloc((size_t)analysis->attribution.sites + 1, sizeof(*choice.bytes));
	if (!own || !choice.device || !choice.bytes)
		error = -1;
	if (!error)
		error = choose(&choice, NULL, own);
	if (!error && analysis->modules.alike)
		error = choose(&choice, analysis->modules.alike, own);
	release_choice(&choice);
	if (!error && store_any_can_grow(analysis))
		choose_growing(analysis, own);
	if (!error)
		return own;
	free(own);
	return NULL;
}
