/*
 * chart_stack.h - one column of the chart: the heights of its layers, in whole parts of a row, and the contents of its
 * cells. Pure; private to chart.c.
 */
#ifndef MEMANA_TUI_CHART_STACK_H
#define MEMANA_TUI_CHART_STACK_H

#include <stdint.h>
#include "palette.h"
#include "screen/data/series.h"

#define STACK_NOTHING 255 /* a layer: above the column */
#define STACK_PIECES_MAX (2 * SERIES_LAYERS_MAX + 1)

/* A stretch of one layer in a cell, in parts from the cell's bottom. */
struct piece {
	int from, to;
	uint8_t layer;
	uint8_t pale; /* 1: not present for the whole time of the column */
	uint8_t only; /* no other cell shows the layer */
};

struct stack {
	int parts;                                                     /* parts of a row */
	int from[SERIES_LAYERS_MAX], height[SERIES_LAYERS_MAX], total; /* parts from the bottom of the column */
	int steady;                                                    /* parts that are in use the whole time */
	int steady_slack;                                              /* parts held the whole time, slack included */
	uint32_t layers;
};

/* Divides scale_height's parts among the layers of the column, bottom up: 1, 2 .. layers - 1, the rest, and slack. */
void stack_make(struct stack *stack, const struct series_column *column, uint32_t layers, uint64_t top, int rows,
		int parts);

/*
 * Makes the pieces of the cell in row `row` from below: one that fills it, or two, bottom up. `may_split` 0: the whole
 * cell is steady or pale. Returns the number of pieces.
 */
int stack_cell(const struct stack *stack, int row, int may_split, struct piece piece[STACK_PIECES_MAX]);

/* The index of the piece that must be shown first, other than `but`. -1: all are empty. */
int stack_most_deserving(const struct piece *piece, int count, int but);

/* Whether the layer is there all the time in row `row` from below. */
int stack_is_steady(const struct stack *stack, uint32_t layer, int row);

/* The rows from below that a layer fills wholly: [*first, return value). */
int stack_full_rows(const struct stack *stack, uint32_t layer, int *first);

#endif
