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
 * A column of the screen is a few nodes and, at its edges, fewer than SERIES_LEAF events of the tape. So what is drawn
 * is exact down to single events, and the peak is never lost between two columns. Moments inside a change of several
 * moves (tape.h) are no moments.
 *
 * Two sums are followed: of all layers (what is held), and of all but one, the allocator's slack (what is in use). A cache
 * that is full holds as much at all times; where it is fullest of tensors only the second one tells.
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
 * Forgets all and begins anew: bytes of cell c belong to layer layer_of[c], below `layers`, or SERIES_HIDDEN; those of
 * cells from `cells` on to `rest`. `slack`: the layer that is held and not in use, SERIES_HIDDEN: none. Copies layer_of. 0; or -MT_E_MEMORY: then nothing is in, and all cells are `rest`.
 */
int series_begin(struct series *series, const uint8_t *layer_of, uint32_t cells, uint8_t rest, uint8_t slack,
		 uint32_t layers);

/*
 * More cells are known; those that were known, and those that were counted as `rest`, keep their layers. 0; or
 * -MT_E_MEMORY: then nothing has changed.
 */
int series_extend(struct series *series, const uint8_t *layer_of, uint32_t cells);

/*
 * Takes in up to `budget` events of the first `events` of the tape, which is the same one until series_begin and has no
 * fewer events than the last time. 1: there are more; 0: all are in; or -MT_E_MEMORY: those before are in
 * (series_events), and it may be tried again.
 */
int series_more(struct series *series, const struct tape *tape, uint64_t events, uint64_t budget);

/* How many events are in. */
uint64_t series_events(const struct series *series);

struct series_column {
	uint64_t max, min;           /* most and least that was held in the column, bytes */
	uint64_t used_max, used_min; /* and that was in use: the same where no layer is slack */
	int64_t time; /* moment with the most held: among several the one with most in use, among these the first; not before the column */
	uint64_t upto;     /* number of events of the tape that count when most was held */
	int64_t used_time; /* moment with the most in use, the first if there are several */
	/* When most was in use; the slack is what is left of max then: they add up to max. */
	uint64_t layer[SERIES_LAYERS_MAX];
	uint64_t events; /* events of the tape in the column, hidden ones, too */
};

/*
 * `columns` columns of equal time from `from` on, up to `to` (beyond it), of the events that are in: column c begins
 * at from + (to - from) * c / columns. Memory from before a column counts for it, unless its first moment changes
 * that.
 */
void series_columns(const struct series *series, const struct tape *tape, int64_t from, int64_t to,
		    struct series_column *column, uint32_t columns);

/* The most of all that was held, and when; the most that was in use. Equal moments are decided as in a column. */
uint64_t series_peak(const struct series *series, int64_t *time);
uint64_t series_used_peak(const struct series *series, int64_t *time);

/* 1: the two are not the same moment: at the one more was in use than at the other. */
int series_peaks_differ(const struct series *series);

#endif
