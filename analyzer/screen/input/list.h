/* list.h - a list with a chosen row, that scrolls: what all views with rows share. Pure; the view draws the rows. */
#ifndef MEMANA_TUI_LIST_H
#define MEMANA_TUI_LIST_H

#include <stdint.h>
#include "request.h"
#include "screen/draw/canvas.h"

struct list {
	uint32_t rows;
	uint32_t chosen; /* below rows, 0 when there are none */
	uint32_t first;  /* the uppermost that is shown */
	int height;      /* rows that fit */
};

/* The number of rows, and of those that fit; the chosen one stays chosen and in sight. */
void list_fit(struct list *list, uint32_t rows, int height);

/* UP, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST. 1: it was one of these. */
int list_request(struct list *list, enum request request);

void list_choose(struct list *list, uint32_t row);

/* The rows that have what is searched for, and which of them comes next. Zeroed but for `from` and `on`. */
struct list_hits {
	uint32_t from; /* the chosen row */
	int on;        /* 0: back */
	uint32_t count;
	uint32_t row, number; /* the next one, round and round, and its number from 1; of no use while count is 0 */
};

/* Takes the next hit. Rows come from the first one on. */
void list_hit(struct list_hits *hits, uint32_t row);

/* The row at line `y` of the list's area, -1: none. */
int64_t list_row_at(const struct list *list, int y);

/* One column of blanks or of a bar at the right edge that says where in the list this is; nothing when all fits. */
void list_bar(const struct list *list, struct area area);

#endif
