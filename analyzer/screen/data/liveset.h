/*
 * liveset.h - the live memory at a moment, by place.
 *
 * Under the model's lock. A row is a place as in memana top: sites of one line of the code (model_same_line) in the same
 * phase and of the same category.
 */
#ifndef MEMANA_TUI_LIVESET_H
#define MEMANA_TUI_LIVESET_H

#include <stddef.h>
#include <stdint.h>
#include "timeline/model.h"

struct liveset_row {
	uint32_t site;    /* site that holds most of it */
	uint8_t category; /* category of the cells; "allocator slack" is one */
	uint64_t bytes, count;
	uint32_t group; /* private: cells that look alike */
	int is_found;   /* see liveset_find */
};

struct liveset {
	struct liveset_row *row; /* sorted */
	uint32_t rows, room;
	uint64_t bytes, count;  /* sums over all rows */
	struct tape_held *held; /* bytes of the cells, hidden ones included, in no order */
	uint32_t helds;
	/* private: index of a cell's entry, plus 1 */
	uint32_t *slot, slot_room, held_room;
	uint32_t cells; /* cells of the model */
	/* private: bytes of a row's site in the row; row of each group, plus 1 (both have `room` entries) */
	uint64_t *most;
	uint32_t *row_of;
	struct liveset_groups *groups;
	struct liveset_order *order;
};

/* X(NAME, word) - orders of the table. */
#define LIVESET_SORT_LIST(X)    \
	X(BYTES, "size")        \
	X(COUNT, "count")       \
	X(PHASE, "phase")       \
	X(CATEGORY, "category") \
	X(PLACE, "place")

enum liveset_sort {
#define LIVESET_SORT_ENUM(name, word) LIVESET_SORT_##name,
	LIVESET_SORT_LIST(LIVESET_SORT_ENUM)
#undef LIVESET_SORT_ENUM
		LIVESET_SORTS
};

extern const char *const liveset_sort_words[LIVESET_SORTS];

/* Zeroed is empty. */
void liveset_release(struct liveset *live);

/*
 * Finds the live set after the first `events` events (model_events_at). `shown[cell]` 0 leaves a cell out; cells from
 * `cells` on are shown; NULL: all are shown. A live set belongs to one model. Returns 0; or -MT_E_MEMORY: the live set
 * may have no rows, or unsorted ones.
 */
int liveset_at(struct liveset *live, const struct model *model, uint64_t events, const uint8_t *shown, uint32_t cells,
	       enum liveset_sort sort);

/* Marks the rows that have a site with bytes for which `has` returns 1. `shown` and `cells` are as in liveset_at. */
void liveset_find(struct liveset *live, const uint8_t *shown, uint32_t cells, int (*has)(void *context, uint32_t site),
		  void *context);

/* The bytes of a cell; NULL: it has held no bytes since the tape's block began. */
const struct tape_held *liveset_cell(const struct liveset *live, uint32_t cell);

#endif
