/*
 * scale.h - which stretch of the run is on the screen, and where: times to columns and back, zoom, axis marks.
 *
 * Pure arithmetic. Column c of a scale shows the times [scale_time(c), scale_time(c + 1)). A scale has times from 0 to
 * INT64_MAX ns. Functions take any time, and take the nearest of the run for one outside of it.
 */
#ifndef MEMANA_TUI_SCALE_H
#define MEMANA_TUI_SCALE_H

#include <stdint.h>

struct scale {
	int64_t first, last; /* limits of the run, ns; first < last */
	int64_t from, to;    /* shown; from < to; inside first and last */
	int64_t cursor;      /* inside from and to */
	int columns;         /* at least 1 */
};

/* `time` + `ns`, from 0 to INT64_MAX. */
int64_t scale_later(int64_t time, int64_t ns);

/* The whole run; the cursor at its beginning. A run of no length is shown as 1 us. */
void scale_init(struct scale *scale, int64_t first, int64_t last, int columns);

/* The run grew, or the screen changed. A view of the whole run stays one. */
void scale_extend(struct scale *scale, int64_t first, int64_t last);
void scale_resize(struct scale *scale, int columns);

int64_t scale_time(const struct scale *scale, int column); /* column 0 .. columns */
int scale_column(const struct scale *scale, int64_t time); /* 0 .. columns - 1; -1: before, columns: after */

/* The cursor moves to `time`; what is shown follows it. */
void scale_go(struct scale *scale, int64_t time);

/* The cursor moves `columns` columns. */
void scale_move(struct scale *scale, int columns);

/* Shows `numerator` / `denominator` of the time, around `around`, which keeps its column. Down to 1 ns a column. */
void scale_zoom(struct scale *scale, int64_t around, int numerator, int denominator);

void scale_all(struct scale *scale);
void scale_span(struct scale *scale, int64_t from, int64_t to); /* shows just that */
int scale_is_all(const struct scale *scale);

/* Round distance between marks of an axis, ns (1, 2 or 5 times a power of ten), so that each has `room` columns. */
int64_t scale_tick(const struct scale *scale, int room);

/* Bytes at the top of an axis that shows `most`: a round number of a binary unit, not less. */
uint64_t scale_top(uint64_t most);

/* `bytes` of `top` in `rows` rows of `parts` parts each, rounded to the nearest, but not to nothing. */
int scale_height(uint64_t bytes, uint64_t top, int rows, int parts);

#endif
