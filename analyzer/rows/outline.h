/*
 * outline.h - the bytes of a run over time, reduced to few moves: the timeline's first picture, before events are read.
 *
 *     held     /\/\/\/|\/\/\/\|/\/\/\/    time is cut into slices of one length
 *     outline  ───────┴───────┘           a slice has the bytes of all places at its fullest moment
 *
 * A longer run has longer slices. Memory: OUTLINE_SLICES slices for each device, and OUTLINE_ROOM bytes of places in all slices.
 */
#ifndef MEMANA_OUTLINE_H
#define MEMANA_OUTLINE_H

#include "course.h"

#define OUTLINE_SLICES 512u     /* a power of two */
#define OUTLINE_ROOM (1u << 17) /* places in slices, of 24 bytes each */

struct outline;

/* Call it at the beginning of the pass over `analysis`, a run of one process. NULL: out of memory. */
struct outline *outline_new(const struct analysis *analysis);
void outline_free(struct outline *outline); /* NULL is fine */

/* Like course_changed. Without memory the outline is given up. */
void outline_changed(struct outline *outline, int goes_on, const struct course_move *move, uint32_t moves);

/* After the last call: fills in the moves of all devices, by time. 0 or -MT_E_MEMORY. The caller frees. */
int outline_find(struct outline *outline, struct course_moves *moves);

#endif
