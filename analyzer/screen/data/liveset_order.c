/*
 * The order of the rows. Every order is by numbers, and a radix sort sorts them. Each pass keeps the order of the pass
 * before; the least important number comes first.
 */
#include <stdlib.h>
#include <string.h>
#include "liveset_impl.h"
#include "memtrace/error.h"

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

struct order_key {
	uint64_t key;
	uint32_t row;
};

/* The place of a site in the order of names, and the names that this order was made with. */
struct order_place {
	const char *function, *place;
	uint32_t site, rank;
};

struct liveset_order {
	struct order_key *key, *spare;
	struct liveset_row *row;   /* spare */
	uint32_t room;             /* room of all three */
	struct order_place *place; /* by site */
	uint32_t places;
};

struct liveset_order *liveset_order_new(void)
{
	return calloc(1, sizeof(struct liveset_order));
}

void liveset_order_free(struct liveset_order *order)
{
	if (!order)
		return;
	free(order->key);
	free(order->spare);
	free(order->row);
	free(order->place);
	free(order);
}

static int make_room(struct liveset_order *order, uint32_t rows)
{
	uint32_t room = rows + rows / 2 + 64;
	struct order_key *key, *spare;
	struct liveset_row *row;

	if (rows <= order->room)
		return 0;
	key = realloc(order->key, room * sizeof(*key));
	order->key = key ? key : order->key;
	spare = realloc(order->spare, room * sizeof(*spare));
	order->spare = spare ? spare : order->spare;
	row = realloc(order->row, room * sizeof(*row));
	order->row = row ? row : order->row;
	if (!key || !spare || !row)
		return -MT_E_MEMORY;
	order->room = room;
	return 0;
}

/* ---- names as numbers ---- */

static int by_names(const void *a, const void *b)
{
	const struct order_place *one = a, *two = b;
	int order = strcmp(one->function, two->function);

	return order ? order : strcmp(one->place, two->place);
}

static int by_site(const void *a, const void *b)
{
	const struct order_place *one = a, *two = b;

	return (one->site > two->site) - (one->site < two->site);
}

/* Names of sites change while the worker looks them up. */
static int places_are_known(const struct liveset_order *order, const struct model *model)
{
	uint32_t i;

	if (order->places != model->sites)
		return 0;
	for (i = 1; i < model->sites; i++)
		if (order->place[i].function != model->site[i].function ||
		    order->place[i].place != model->site[i].place)
			return 0;
	return 1;
}

static int rank_places(struct liveset_order *order, const struct model *model)
{
	struct order_place *place;
	uint32_t i;

	if (places_are_known(order, model))
		return 0;
	place = realloc(order->place, model->sites * sizeof(*place));
	if (!place)
		return -MT_E_MEMORY;
	order->place = place;
	order->places = model->sites;
	for (i = 0; i < model->sites; i++)
		place[i] = (struct order_place){ model->site[i].function, model->site[i].place, i, 0 };
	qsort(place, order->places, sizeof(*place), by_names);
	for (i = 1; i < order->places; i++)
		place[i].rank = place[i - 1].rank + (by_names(&place[i - 1], &place[i]) != 0);
	qsort(place, order->places, sizeof(*place), by_site);
	return 0;
}

/* ---- sorting ---- */

static void sort_digit(struct order_key *to, const struct order_key *from, uint32_t count, unsigned shift)
{
	uint32_t place[DIGITS] = { 0 }, i, digit, here, next = 0;

	for (i = 0; i < count; i++)
		place[from[i].key >> shift & (DIGITS - 1)]++;
	for (digit = 0; digit < DIGITS; digit++) {
		here = place[digit];
		place[digit] = next;
		next += here;
	}
	for (i = 0; i < count; i++)
		to[place[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Smallest key first; of equal ones the order stays. */
static void sort_keys(struct liveset_order *order, uint32_t count)
{
	struct order_key *swap;
	uint64_t differ = 0;
	unsigned shift;
	uint32_t i;

	for (i = 1; i < count; i++)
		differ |= order->key[i].key ^ order->key[0].key;
	for (shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differ >> shift & (DIGITS - 1))) /* all rows have the same digit */
			continue;
		sort_digit(order->spare, order->key, count, shift);
		swap = order->key;
		order->key = order->spare;
		order->spare = swap;
	}
}

/* The number that orders a row; the smallest comes first. */
static uint64_t number_of(const struct liveset_order *order, const struct liveset_row *row, const struct model *model,
			  enum liveset_sort sort)
{
	switch (sort) {
	case LIVESET_SORT_COUNT:
		return ~row->count;
	case LIVESET_SORT_PHASE:
		return model->site[row->site].phase;
	case LIVESET_SORT_CATEGORY:
		return row->category;
	case LIVESET_SORT_PLACE:
		return order->place[row->site].rank;
	default:
		return ~row->bytes;
	}
}

static void sort_by(struct liveset_order *order, const struct liveset_row *row, uint32_t rows,
		    const struct model *model, enum liveset_sort sort)
{
	uint32_t i;

	for (i = 0; i < rows; i++)
		order->key[i].key = number_of(order, &row[order->key[i].row], model, sort);
	sort_keys(order, rows);
}

int liveset_order_rows(struct liveset_order *order, struct liveset_row *row, uint32_t rows, const struct model *model,
		       enum liveset_sort sort)
{
	uint32_t i;

	if (make_room(order, rows) || (sort == LIVESET_SORT_PLACE && rank_places(order, model)))
		return -MT_E_MEMORY;
	for (i = 0; i < rows; i++)
		order->key[i] = (struct order_key){ TAPE_CELL(row[i].site, row[i].category == MT_CATEGORY_SLACK), i };
	sort_keys(order, rows);
	sort_by(order, row, rows, model, LIVESET_SORT_BYTES);
	if (sort != LIVESET_SORT_BYTES)
		sort_by(order, row, rows, model, sort);
	for (i = 0; i < rows; i++)
		order->row[i] = row[order->key[i].row];
	if (rows)
		memcpy(row, order->row, rows * sizeof(*row));
	return 0;
}
