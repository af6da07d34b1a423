#include "liveset.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

const char *const liveset_sort_words[LIVESET_SORTS] = {
#define LIVESET_SORT_WORD(name, word) [LIVESET_SORT_##name] = (word),
	LIVESET_SORT_LIST(LIVESET_SORT_WORD)
#undef LIVESET_SORT_WORD
};

void liveset_release(struct liveset *live)
{
	free(live->row);
	free(live->held);
	free(live->slot);
	memset(live, 0, sizeof(*live));
}

/* ---- what the cells hold ----------------------------------------------------------------------------------------- */

/* The entry of a cell, made if there was none. NULL: out of memory. */
static struct tape_held *held_of(struct liveset *live, uint32_t cell)
{
	uint32_t room = live->held_room ? live->held_room * 2 : 1024;
	struct tape_held *grown;

	if (live->slot[cell])
		return &live->held[live->slot[cell] - 1];
	if (live->helds == live->held_room) {
		grown = realloc(live->held, room * sizeof(*grown));
		if (!grown)
			return NULL;
		live->held = grown;
		live->held_room = room;
	}
	live->held[live->helds] = (struct tape_held){ .cell = cell };
	live->slot[cell] = ++live->helds;
	return &live->held[live->helds - 1];
}

/* `slot` is by cell: where its entry is, plus 1. All are empty after it. */
static int clear(struct liveset *live, uint32_t cells)
{
	uint32_t room = cells + cells / 2 + 64, i;
	uint32_t *grown;

	for (i = 0; i < live->helds; i++)
		live->slot[live->held[i].cell] = 0;
	live->helds = 0;
	if (cells <= live->slots)
		return 0;
	grown = realloc(live->slot, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + live->slots, 0, (room - live->slots) * sizeof(*grown));
	live->slot = grown;
	live->slots = room;
	return 0;
}

static int add_held(struct liveset *live, uint32_t cell, uint64_t bytes, uint64_t count)
{
	struct tape_held *held;

	if (cell >= live->slots) /* no site of the model: the tape is ahead of it */
		return 0;
	held = held_of(live, cell);
	if (!held)
		return -MT_E_MEMORY;
	held->bytes += bytes;
	held->count += count;
	return 0;
}

/* The snapshot before event `events`, then the events up to it. */
static int add_events(struct liveset *live, const struct tape *tape, uint64_t events)
{
	uint32_t block = (uint32_t)((events - 1) / TAPE_BLOCK), count, run, i;
	const struct tape_held *held = tape_snapshot(tape, block, &count);
	const struct tape_event *event = tape_at(tape, (uint64_t)block * TAPE_BLOCK, &run);
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = add_held(live, held[i].cell, held[i].bytes, held[i].count);
	run = (uint32_t)(events - (uint64_t)block * TAPE_BLOCK);
	for (i = 0; i < run && !error; i++)
		error = add_held(live, event[i].cell, (uint64_t)event[i].bytes, (uint64_t)(int64_t)event[i].count);
	return error;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* What makes two cells one row. */
struct key {
	uint32_t process, device, stack, owner;
	uint8_t phase, category;
};

/* A cell on its way into a row. */
struct part {
	struct key key;
	uint32_t site;
	uint64_t bytes, count;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_keys(const struct key *a, const struct key *b)
{
	int order = compare_numbers(a->stack, b->stack);

	if (!order)
		order = compare_numbers(a->process, b->process);
	if (!order)
		order = compare_numbers(a->device, b->device);
	if (!order)
		order = compare_numbers(a->phase, b->phase);
	if (!order)
		order = compare_numbers(a->category, b->category);
	return order ? order : compare_numbers(a->owner, b->owner);
}

/* Of one key the largest first. */
static int by_key(const void *a, const void *b)
{
	const struct part *one = a, *two = b;
	int order = compare_keys(&one->key, &two->key);

	if (!order)
		order = compare_numbers(two->bytes, one->bytes);
	return order ? order : compare_numbers(one->site, two->site);
}

/* The cells that are shown and hold something; how many. */
static uint32_t make_parts(struct part *part, const struct liveset *live, const struct model *model,
			   const uint8_t *shown, uint32_t cells)
{
	const struct tape_held *held;
	const struct model_site *site;
	uint32_t i, count = 0;

	for (i = 0; i < live->helds; i++) {
		held = &live->held[i];
		if ((!held->bytes && !held->count) || (shown && held->cell < cells && !shown[held->cell]))
			continue;
		site = &model->site[TAPE_SITE(held->cell)];
		part[count++] = (struct part){
			.key = { .process = site->process, .device = site->device, .stack = site->stack,
				 .owner = model_cell_owner(model, held->cell), .phase = site->phase,
				 .category = model_category(model, held->cell) },
			.site = TAPE_SITE(held->cell), .bytes = held->bytes, .count = held->count,
		};
	}
	return count;
}

static int add_row(struct liveset *live, const struct liveset_row *row)
{
	uint32_t room = live->room ? live->room * 2 : 256;
	struct liveset_row *grown;

	if (!row->bytes) /* its pages are not there, or tensors fill it: nothing is held for it */
		return 0;
	if (live->rows == live->room) {
		grown = realloc(live->row, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		live->row = grown;
		live->room = room;
	}
	live->row[live->rows++] = *row;
	live->bytes += row->bytes;
	live->count += row->count;
	return 0;
}

/* Parts of one key lie together. */
static int join_parts(struct liveset *live, const struct part *part, uint32_t count)
{
	struct liveset_row row = { 0 };
	uint32_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		if (i && compare_keys(&part[i].key, &part[i - 1].key)) {
			error = add_row(live, &row);
			row.bytes = row.count = 0;
		}
		if (!row.bytes) {
			row.site = part[i].site;
			row.category = part[i].key.category;
		}
		row.bytes += part[i].bytes;
		row.count += part[i].count;
	}
	return error || !count ? error : add_row(live, &row);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct sorted {
	struct liveset_row row;
	const struct model_site *site;
};

static int by_bytes(const void *a, const void *b)
{
	const struct sorted *one = a, *two = b;
	int order = compare_numbers(two->row.bytes, one->row.bytes);

	return order ? order : compare_numbers(one->row.site, two->row.site);
}

static int by_count(const void *a, const void *b)
{
	const struct sorted *one = a, *two = b;
	int order = compare_numbers(two->row.count, one->row.count);

	return order ? order : by_bytes(a, b);
}

static int by_phase(const void *a, const void *b)
{
	const struct sorted *one = a, *two = b;
	int order = compare_numbers(one->site->phase, two->site->phase);

	return order ? order : by_bytes(a, b);
}

static int by_category(const void *a, const void *b)
{
	const struct sorted *one = a, *two = b;
	int order = compare_numbers(one->row.category, two->row.category);

	return order ? order : by_bytes(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct sorted *one = a, *two = b;
	int order = strcmp(one->site->function, two->site->function);

	if (!order)
		order = strcmp(one->site->place, two->site->place);
	return order ? order : by_bytes(a, b);
}

static int sort_rows(struct liveset *live, const struct model *model, enum liveset_sort sort)
{
	static int (*const orders[LIVESET_SORTS])(const void *, const void *) = {
		[LIVESET_SORT_BYTES] = by_bytes,
		[LIVESET_SORT_COUNT] = by_count,
		[LIVESET_SORT_PHASE] = by_phase,
		[LIVESET_SORT_CATEGORY] = by_category,
		[LIVESET_SORT_PLACE] = by_place,
	};
	struct sorted *sorted = malloc(((size_t)live->rows + 1) * sizeof(*sorted));
	uint32_t i;

	if (!sorted)
		return -MT_E_MEMORY;
	for (i = 0; i < live->rows; i++)
		sorted[i] = (struct sorted){ live->row[i], &model->site[live->row[i].site] };
	qsort(sorted, live->rows, sizeof(*sorted), orders[sort]);
	for (i = 0; i < live->rows; i++)
		live->row[i] = sorted[i].row;
	free(sorted);
	return 0;
}

int liveset_at(struct liveset *live, const struct model *model, int64_t time, const uint8_t *shown, uint32_t cells,
	       enum liveset_sort sort)
{
	uint64_t events = tape_find(model->tape, model->events, time);
	struct part *part;
	int error = clear(live, model->sites * 2);

	live->rows = 0;
	live->bytes = live->count = 0;
	if (!error && events)
		error = add_events(live, model->tape, events);
	if (error)
		return error;
	part = malloc(((size_t)live->helds + 1) * sizeof(*part));
	if (!part)
		return -MT_E_MEMORY;
	cells = make_parts(part, live, model, shown, cells);
	qsort(part, cells, sizeof(*part), by_key);
	error = join_parts(live, part, cells);
	free(part);
	return error ? error : sort_rows(live, model, sort);
}
