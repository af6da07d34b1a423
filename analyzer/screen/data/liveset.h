/*
 * liveset.h - what is alive at a moment, place by place; and what was born between two moments and lives.
 *
 * Under the model's lock. A row joins sites of one process and device that look alike: the same stack, phase, category
 * and owner.
 */
#ifndef MEMANA_TUI_LIVESET_H
#define MEMANA_TUI_LIVESET_H

#include <stddef.h>
#include <stdint.h>
#include "timeline/model.h"

struct liveset_row {
	uint32_t site;    /* the one that holds most of it */
	uint8_t category; /* of the cells, with "allocator slack" told apart */
	uint64_t bytes, count;
};

struct liveset {
	struct liveset_row *row; /* sorted */
	uint32_t rows, room;
	uint64_t bytes, count; /* of all rows */
	/* private: what the cells hold, and where a cell's entry is, plus 1 */
	struct tape_held *held;
	uint32_t helds, held_room;
	uint32_t *slot, slot_room;
	uint32_t cells; /* of the model */
	/* private: how much the site of a row holds of it; which row a group of cells is, plus 1 (room of both: `room`) */
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
 * What is alive after the first `events` events (model_events_at). `shown[cell]` 0 leaves a cell out; cells from `cells` on are in; NULL: all are. All
 * calls with one live set are of one model. 0; or -MT_E_MEMORY: it may have no rows then, or rows in no order.
 */
int liveset_at(struct liveset *live, const struct model *model, uint64_t events, const uint8_t *shown, uint32_t cells,
	       enum liveset_sort sort);

#endif
