/* list.h - a scrolling list with a chosen row, for all views with rows. Pure; the view draws the rows. */
#ifndef MEMANA_TUI_LIST_H
#define MEMANA_TUI_LIST_H

#include <stdint.h>
#include "request.h"
#include "screen/draw/canvas.h"

struct list {
	uint32_t rows;
	uint32_t chosen; /* below `rows`; 0 without rows */
	uint32_t first;  /* the uppermost that is shown */
	int height;      /* rows that fit */
};

/* Sets the number of rows, and of those that fit. The chosen row stays chosen and in sight. */
void list_fit(struct list *list, uint32_t rows, int height);

/* UP, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST. 1: it was one of these. */
int list_request(struct list *list, enum request request);

void list_choose(struct list *list, uint32_t row);

/* The rows that match a search, and the next of them. Zeroed except for `from` and `on`. */
struct list_hits {
	uint32_t from; /* the chosen row */
	int on;        /* 1: search forwards, 0: backwards */
	uint32_t count;
	uint32_t row, number; /* the next hit, with wrap-around, and its number from 1; unused while count is 0 */
};

/* Adds a hit. Call it for rows in ascending order. */
void list_hit(struct list_hits *hits, uint32_t row);

/* The row at line `y` of the list's area, -1: none. */
int64_t list_row_at(const struct list *list, int y);

/* Draws a scroll bar at the right edge; blanks if all rows fit. */
void list_bar(const struct list *list, struct area area);

#endif
