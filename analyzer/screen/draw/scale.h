/*
 * scale.h - the stretch of the run on the screen: converts times to columns and back; zoom, axis marks.
 *
 * Pure arithmetic. Column c of a scale shows the times [scale_time(c), scale_time(c + 1)). Times are from 0 to
 * INT64_MAX ns. A time outside of the run becomes the nearest time of the run.
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

/* Call it when the run has grown, or the screen has changed. A view of the whole run stays a view of the whole run. */
void scale_extend(struct scale *scale, int64_t first, int64_t last);
void scale_resize(struct scale *scale, int columns);

int64_t scale_time(const struct scale *scale, int column); /* column 0 .. columns */
int scale_column(const struct scale *scale, int64_t time); /* 0 .. columns - 1; -1: before, columns: after */

/* The cursor moves to `time`; what is shown follows it. */
void scale_go(struct scale *scale, int64_t time);

/* The cursor moves `columns` columns. */
void scale_move(struct scale *scale, int columns);

/* Shows `numerator` / `denominator` of the time, down to 1 ns a column. `around` keeps its column. */
void scale_zoom(struct scale *scale, int64_t around, int numerator, int denominator);

void scale_all(struct scale *scale);
void scale_span(struct scale *scale, int64_t from, int64_t to); /* shows exactly this stretch */
int scale_is_all(const struct scale *scale);

/* Round distance between marks of an axis, ns (1, 2 or 5 times a power of ten), so that each has `room` columns. */
int64_t scale_tick(const struct scale *scale, int room);

/* A round number of bytes, at least `most`, for the top of an axis. */
uint64_t scale_top(uint64_t most);

/*
 * The height of `bytes` in parts, on an axis with `top` bytes in `rows` rows of `parts` parts. Rounded to the nearest;
 * not 0 for bytes above 0.
 */
int scale_height(uint64_t bytes, uint64_t top, int rows, int parts);

#endif
