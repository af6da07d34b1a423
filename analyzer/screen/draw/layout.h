/*
 * layout.h - the places of the parts of the first screen. Pure: one size has one layout.
 *
 *     verdict                                one row, up to three where there is room and need
 *     bytes | chart                          what is left
 *     axis  | chart
 *           | band of phases, a row a process (several only where there is room)
 *           | steps
 *           | times
 *     legend                                 one row, two where there is room and need
 *     table of what is alive at the cursor
 *     status
 *
 * From 40x10 up all parts that fit are there; below that only a line says how large the window should be.
 */
#ifndef MEMANA_TUI_LAYOUT_H
#define MEMANA_TUI_LAYOUT_H

struct layout_part {
	int x, y, width, height; /* height 0: not there */
};

struct layout {
	int too_small;
	struct layout_part verdict, axis, chart, band, steps, times, legend, table, status;
};

#define LAYOUT_MIN_WIDTH 40
#define LAYOUT_MIN_HEIGHT 10
#define LAYOUT_VERDICT_MOST 4
#define LAYOUT_LEGEND_MOST 2

/* The rows that the parts can use. They must not change with the cursor: the chart would jump. */
struct layout_wants {
	int bands;           /* processes that have phases */
	int verdict, legend; /* 0 counts as 1 */
};

struct layout layout_make(int width, int height, struct layout_wants wants);

#endif
