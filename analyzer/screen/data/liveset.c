#include "liveset.h"

#include <stdlib.h>
#include <string.h>
#include "liveset_impl.h"
#include "memtrace/array.h"
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
	free(live->most);
	free(live->row_of);
	liveset_groups_free(live->groups);
	liveset_order_free(live->order);
	memset(live, 0, sizeof(*live));
}

/* ---- what the cells hold ----------------------------------------------------------------------------------------- */

/* Returns the entry of a cell, and makes it if it is new. NULL: out of memory. */
static struct tape_held *held_of(struct liveset *live, uint32_t cell)
{
	if (live->slot[cell])
		return &live->held[live->slot[cell] - 1];
	if (MT_ARRAY_ROOM(live->held, live->helds, live->held_room))
		return NULL;
	live->held[live->helds] = (struct tape_held){ .cell = cell };
	live->slot[cell] = ++live->helds;
	return &live->held[live->helds - 1];
}

const struct tape_held *liveset_cell(const struct liveset *live, uint32_t cell)
{
	return cell < live->cells && live->slot[cell] ? &live->held[live->slot[cell] - 1] : NULL;
}

/* Removes all entries, and makes room for `cells` cells. */
static int clear(struct liveset *live, uint32_t cells)
{
	uint32_t room = cells + cells / 2 + 64, i;
	uint32_t *grown;

	for (i = 0; i < live->helds; i++)
		live->slot[live->held[i].cell] = 0;
	live->helds = 0;
	if (cells > live->slot_room) {
		grown = realloc(live->slot, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		memset(grown + live->slot_room, 0, (room - live->slot_room) * sizeof(*grown));
		live->slot = grown;
		live->slot_room = room;
	}
	live->cells = cells;
	return 0;
}

static int add_held(struct liveset *live, uint32_t cell, uint64_t bytes, uint64_t count)
{
	struct tape_held *held;

	if (cell >= live->cells) /* the tape is ahead of the model: the site is not there yet */
		return 0;
	held = held_of(live, cell);
	if (!held)
		return -MT_E_MEMORY;
	held->bytes += bytes;
	held->count += count;
	return 0;
}

/* Adds the snapshot before event `events`, then the events up to it. */
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

/* Makes room for a row of each group, and removes all rows. */
static int begin_rows(struct liveset *live)
{
	uint32_t groups = liveset_groups_count(live->groups), room = groups + groups / 2 + 64;
	struct liveset_row *row;
	uint32_t *row_of;
	uint64_t *most;

	live->rows = 0;
	live->bytes = live->count = 0;
	if (groups > live->room) {
		row = realloc(live->row, room * sizeof(*row));
		live->row = row ? row : live->row;
		most = realloc(live->most, room * sizeof(*most));
		live->most = most ? most : live->most;
		row_of = realloc(live->row_of, room * sizeof(*row_of));
		live->row_of = row_of ? row_of : live->row_of;
		if (!row || !most || !row_of)
			return -MT_E_MEMORY;
		live->room = room;
	}
	if (groups)
		memset(live->row_of, 0, groups * sizeof(*live->row_of));
	return 0;
}

/* Adds a cell to its row. The row has the site of the cell that holds most of it. */
static void add_to_row(struct liveset *live, const struct model *model, const struct tape_held *held)
{
	uint32_t *number = &live->row_of[liveset_group(live->groups, held->cell)], site = TAPE_SITE(held->cell);
	struct liveset_row *row;
	uint64_t *most;

	if (!*number) {
		*number = ++live->rows;
		live->most[*number - 1] = 0;
		live->row[*number - 1] = (struct liveset_row){ .site = site,
							       .category = model_category(model, held->cell),
							       .group = liveset_group(live->groups, held->cell) };
	}
	row = &live->row[*number - 1];
	most = &live->most[*number - 1];
	row->bytes += held->bytes;
	row->count += held->count;
	if (held->bytes > *most || (held->bytes == *most && site < row->site)) {
		*most = held->bytes;
		row->site = site;
	}
}

static int is_shown(const struct tape_held *held, const uint8_t *shown, uint32_t cells)
{
	return !shown || held->cell >= cells || shown[held->cell];
}

static void add_rows(struct liveset *live, const struct model *model, const uint8_t *shown, uint32_t cells)
{
	const struct tape_held *held;
	uint32_t i;

	for (i = 0; i < live->helds; i++) {
		held = &live->held[i];
		if ((held->bytes || held->count) && is_shown(held, shown, cells))
			add_to_row(live, model, held);
	}
}

/* Drops rows without bytes: their pages are not resident, or tensors fill them. */
static void drop_empty_rows(struct liveset *live)
{
	uint32_t i, rows = 0;

	for (i = 0; i < live->rows; i++) {
		if (!live->row[i].bytes)
			continue;
		live->row[rows++] = live->row[i];
		live->bytes += live->row[i].bytes;
		live->count += live->row[i].count;
	}
	live->rows = rows;
}

void liveset_find(struct liveset *live, const uint8_t *shown, uint32_t cells, int (*has)(void *context, uint32_t site),
		  void *context)
{
	const struct tape_held *held;
	struct liveset_row *row;
	uint32_t i;

	if (!live->rows)
		return;
	memset(live->row_of, 0, liveset_groups_count(live->groups) * sizeof(*live->row_of));
	for (i = 0; i < live->rows; i++) {
		live->row_of[live->row[i].group] = i + 1;
		live->row[i].is_found = 0;
	}
	for (i = 0; i < live->helds; i++) {
		held = &live->held[i];
		if (!held->bytes || !is_shown(held, shown, cells) ||
		    !live->row_of[liveset_group(live->groups, held->cell)])
			continue;
		row = &live->row[live->row_of[liveset_group(live->groups, held->cell)] - 1];
		row->is_found = row->is_found || has(context, TAPE_SITE(held->cell));
	}
}

/* The state kept from one time to the next. */
static int begin(struct liveset *live, const struct model *model)
{
	if (!live->groups)
		live->groups = liveset_groups_new();
	if (!live->order)
		live->order = liveset_order_new();
	if (!live->groups || !live->order || liveset_groups_follow(live->groups, model))
		return -MT_E_MEMORY;
	return clear(live, TAPE_CELL(model->sites, 0));
}

int liveset_at(struct liveset *live, const struct model *model, uint64_t events, const uint8_t *shown, uint32_t cells,
	       enum liveset_sort sort)
{
	int error = begin(live, model);

	live->rows = 0;
	live->bytes = live->count = 0;
	if (!error && events)
		error = add_events(live, model->tape, events);
	if (!error)
		error = begin_rows(live);
	if (error)
		return error;
	add_rows(live, model, shown, cells);
	drop_empty_rows(live);
	return liveset_order_rows(live->order, live->row, live->rows, model, sort);
}
