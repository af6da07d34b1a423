/*
 * outline.h - the bytes of a run over time in few moves: a picture of the whole run before its events are read.
 *
 *     held     /\/\/\/|\/\/\/\|/\/\/\/    time is cut into slices of one length
 *     outline  ───────┴───────┘           each slice has the bytes of all places at the moment when the device held most
 *
 * A longer run has longer slices. Memory: OUTLINE_SLICES slices for each device, and OUTLINE_ROOM bytes of places in all slices.
 */
#ifndef MEMANA_OUTLINE_H
#define MEMANA_OUTLINE_H

#include "course.h"

#define OUTLINE_SLICES 512u     /* a power of two */
#define OUTLINE_ROOM (1u << 17) /* places in slices, of 24 bytes each */

struct outline;

/* The pass over `analysis`, a run of one process, in its beginning. NULL: out of memory. */
struct outline *outline_new(const struct analysis *analysis);
void outline_free(struct outline *outline); /* NULL is fine */

/* As course_changed. Out of memory there is no outline. */
void outline_changed(struct outline *outline, int goes_on, const struct course_move *move, uint32_t moves);

/* After the last call: the moves of all devices, by time. 0 or -MT_E_MEMORY. The caller frees. */
int outline_find(struct outline *outline, struct course_moves *moves);

#endif
