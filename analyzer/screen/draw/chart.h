/*
 * chart.h - draws layers over time as a stacked area, with as much of a cell as the terminal's characters allow.
 *
 * UTF-8 with colours: eighths of a row, boundaries between layers as foreground on background. UTF-8 without colours
 * and ASCII: letters of the layers fill their areas, the top row of each column is as high as half a row.
 */
#ifndef MEMANA_TUI_CHART_H
#define MEMANA_TUI_CHART_H

#include <stdint.h>
#include "base/text.h"
#include "canvas.h"
#include "palette.h"
#include "scale.h"
#include "screen/data/series.h"

/* Marks over the area. Columns of the scale; -1: none. */
struct chart_marks {
	int cursor, mark_a, mark_b;
	int peak, used_peak; /* column of the most bytes held; column of the most in use, if at another moment */
	const int *oom;      /* columns of out-of-memory errors */
	uint32_t ooms;
	uint64_t capacity; /* bytes of the device, 0: unknown; a line where it is inside the chart */
};

/*
 * `column` has area.width entries. `top`: bytes at the upper edge. If max and min of a column differ, the part between
 * them is pale. The layers lie bottom up in their order, then the rest, and slack on top. The layers below slack are as
 * high as the most bytes in use; with slack the column is as high as the most bytes held.
 *
 * The height of a column is that of scale_height. Each layer with more than half an eighth gets at least one eighth, if
 * there are enough. A cell shows two layers, first those that no other cell of the column shows.
 */
void chart_draw(struct area area, const struct series_column *column, const struct palette *palette, uint64_t top,
		const struct chart_marks *marks);

/* Labels of the bytes axis, right-aligned in the area beside the chart, which has as many rows. */
void chart_axis(struct area area, uint64_t top, uint64_t capacity);

/* One row of time marks under the chart. */
void chart_times(struct area area, const struct scale *scale);

/* Writes a time as exactly as a column of the scale: "113.2 ms", "12.431 s", "1:03:20". Returns `out`. */
const char *chart_time_text(char out[TEXT_SIZE_MAX], int64_t time, const struct scale *scale);

/*
 * Draws the band of a process's phases. A column has the phase with most of its time; unknown time (other) counts only
 * if there is no other phase. The cursor's column has the phase at the cursor. The name is at the phase's beginning, or
 * its letter if there is no room. `coloured` 1: in the colour of the phase's layer, 0: a plain line. The caller holds
 * the model's lock. Returns the shown phases: bit n for phase n.
 */
uint32_t chart_band(struct area area, const struct model *model, uint32_t process, const struct scale *scale,
		    int coloured);

/* A row with the beginnings of steps: "|3        |4   ". */
void chart_steps(struct area area, const struct model *model, uint32_t process, const struct scale *scale);

/*
 * Draws a small series in Braille or ASCII (the life of one place). `column` is as above; the largest reaches the upper
 * edge. Bytes that vary inside a column are half as dense.
 */
void chart_strip(struct area area, const struct series_column *column, uint8_t style);

#endif
