/*
 * series.h - bytes over time in a few layers, for any stretch of the run at any zoom, without reading all events.
 *
 * Leaves stand for SERIES_LEAF events each, the nodes above them for two nodes each:
 *
 *     level 2   [ min max of 4 leaves ]
 *     level 1   [ 2 leaves ][ 2 leaves ]
 *     level 0   [leaf][leaf][leaf][leaf]     each: smallest and largest sums in it, and after which events they were;
 *     tape       e..e  e..e  e..e  e..e      of a leaf the layers at its beginning, too
 *
 * A column of the screen is a few nodes and, at its edges, fewer than SERIES_LEAF events of the tape. The chart is
 * exact down to single events, and the peak is never lost between two columns. Moments inside a change of several moves
 * (tape.h) do not count.
 *
 * Two sums are followed: of all layers (what is held), and of all but one, the allocator's slack (what is in use). A
 * full cache holds equal bytes at all times. Only the second sum shows the moment with the most tensors.
 */
#ifndef MEMANA_TUI_SERIES_H
#define MEMANA_TUI_SERIES_H

#include <stdint.h>
#include "timeline/tape.h"

#define SERIES_LAYERS_MAX 16u
#define SERIES_LEAF 256u
#define SERIES_HIDDEN 255u /* a layer that is not counted */

struct series;

struct series *series_new(void); /* NULL: out of memory */
void series_free(struct series *series);

/*
 * Begins anew. Bytes of cell c belong to layer layer_of[c] (below `layers`, or SERIES_HIDDEN). Bytes of cells from
 * `cells` on belong to `rest`. `slack`: layer of bytes that are held and not in use, SERIES_HIDDEN: none. Copies
 * layer_of. Returns 0; or -MT_E_MEMORY: the series is empty, and all cells are `rest`.
 */
int series_begin(struct series *series, const uint8_t *layer_of, uint32_t cells, uint8_t rest, uint8_t slack,
		 uint32_t layers);

/*
 * Adds cells. Known cells, and cells that were counted as `rest`, keep their layers. Returns 0; or -MT_E_MEMORY:
 * nothing has changed.
 */
int series_extend(struct series *series, const uint8_t *layer_of, uint32_t cells);

/*
 * Takes up to `budget` of the first `events` events of the tape. Until series_begin the tape must be the same, with no
 * fewer events. Returns 1: more events are left; 0: all are taken; or -MT_E_MEMORY: earlier events are taken
 * (series_events), and the call may be repeated.
 */
int series_more(struct series *series, const struct tape *tape, uint64_t events, uint64_t budget);

/* Number of events taken so far. */
uint64_t series_events(const struct series *series);

struct series_column {
	uint64_t max, min;           /* most and least bytes held in the column */
	uint64_t used_max, used_min; /* most and least bytes in use; equal to `max` and `min` without a slack layer */
	int64_t time;      /* moment with the most held, not before the column; of several the one with most in use */
	uint64_t upto;     /* events of the tape that count at the moment with the most held */
	int64_t used_time; /* moment with the most in use; of several the first */
	/* Bytes of the layers at used_time. The slack layer has the rest of `max`: all layers add up to `max`. */
	uint64_t layer[SERIES_LAYERS_MAX];
	uint64_t events; /* events of the tape in the column, hidden ones included */
};

/*
 * Fills `columns` columns of equal time from `from` up to `to` (exclusive), from the events taken so far. Column c
 * begins at from + (to - from) * c / columns. Memory from before a column counts in it, unless the column's first
 * moment changes the memory.
 */
void series_columns(const struct series *series, const struct tape *tape, int64_t from, int64_t to,
		    struct series_column *column, uint32_t columns);

/* The most bytes held, and its time; the most bytes in use. Ties are decided as in a column. */
uint64_t series_peak(const struct series *series, int64_t *time);
uint64_t series_used_peak(const struct series *series, int64_t *time);

/* Whether the two peaks are different moments: more was in use at the second than at the first. */
int series_peaks_differ(const struct series *series);

#endif
