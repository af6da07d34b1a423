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

/* The signs over the area. Columns of the scale; -1: not there. */
struct chart_marks {
	int cursor, mark_a, mark_b;
	int peak, used_peak; /* column of the most held; of the most in use, if that is another moment */
	const int *oom;      /* columns of out-of-memory errors */
	uint32_t ooms;
	uint64_t capacity; /* bytes of the device, 0: unknown; a line where it is inside the chart */
};

/*
 * `column`: as many as area.width. `top`: bytes at the upper edge. If max and min of a column differ, the part
 * between them is pale. The parts are drawn bottom up in the order of the layers, then the rest, and slack on top:
 * what lies under it is as high as what was in use at most, and with it the column is as high as what was held at
 * most.
 *
 * A column is as high as scale_height says. Its layers share that so that each that has more than half an eighth has
 * one, if there are enough. A cell shows two layers: of several, those that no other cell of the column shows.
 */
void chart_draw(struct area area, const struct series_column *column, const struct palette *palette, uint64_t top,
		const struct chart_marks *marks);

/* Labels of the bytes axis, right-aligned in the area beside the chart, which has as many rows. */
void chart_axis(struct area area, uint64_t top, uint64_t capacity);

/* One row of time marks under the chart. */
void chart_times(struct area area, const struct scale *scale);

/* A time as exact as a column of the scale: "113.2 ms", "12.431 s", "1:03:20". Into `out`, which is returned. */
const char *chart_time_text(char out[TEXT_SIZE_MAX], int64_t time, const struct scale *scale);

/*
 * A band of phases of one process: each column has the phase that takes most of its time, which what nobody knows (other)
 * is only where nothing else is; the column of the cursor has that of its moment. The name stands where it begins, or its
 * letter where that has no room. `coloured` 1: in the colour of the phase's layer, 0: a plain line. Under the model's lock.
 * Which phases it shows: bit n stands for phase n.
 */
uint32_t chart_band(struct area area, const struct model *model, uint32_t process, const struct scale *scale,
		    int coloured);

/* A row with the beginnings of steps: "|3        |4   ". */
void chart_steps(struct area area, const struct model *model, uint32_t process, const struct scale *scale);

/*
 * Braille or ASCII for a small series (the life of one place): `column` as above, the largest reaches the upper edge.
 * Bytes that vary inside a column are drawn half as dense.
 */
void chart_strip(struct area area, const struct series_column *column, uint8_t style);

#endif
