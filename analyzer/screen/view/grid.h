/* grid.h - an answer of the worker as a table that scrolls both ways, for view_answer and view_place. */
#ifndef MEMANA_TUI_GRID_H
#define MEMANA_TUI_GRID_H

#include "screen/draw/canvas.h"
#include "screen/input/list.h"
#include "screen/worker/worker.h"

#define GRID_COLUMNS 32 /* columns whose width may differ from their words' */

struct grid {
	struct list list;
	int column[GRID_COLUMNS]; /* their widths, as drawn last */
	int left;                 /* columns of the screen that are scrolled out at the left */
	int width;                /* width of all its columns, as drawn last */
	int room;                 /* columns of the screen that there were for them */
	int y;                    /* line of the first row, in the area that it was drawn to last */
};

/* Whether the table is wider than `width`: some words are cut or out of sight. */
int grid_is_wider(const struct worker_answer *answer, int width);

/* Writes the parts of the chosen row that are cut or out of sight, with the titles of their columns. */
void grid_rest(char *out, size_t size, const struct grid *grid, const struct worker_answer *answer);

/* Titles, then rows; the chosen row is shown as such when `focus`. */
void grid_draw(struct grid *grid, const struct worker_answer *answer, struct area area, int focus);

/* Moves between rows, and with LEFT and RIGHT sideways. 1: it was one of these. */
int grid_request(struct grid *grid, enum request request);

/* The row at line y of that area, -1: none. */
int64_t grid_row_at(const struct grid *grid, int y);

/* The worker's state until an answer comes: "loading the traces into a database, 42%". Returns `out`. */
const char *grid_waiting(char *out, size_t size, struct worker *worker);

/*
 * Draws words from row `y` on, broken at blanks, in at most `rows` rows; the last row is cut. Returns the row after
 * them.
 */
int grid_words(struct area area, int y, int rows, uint8_t style, const char *words);

#endif
