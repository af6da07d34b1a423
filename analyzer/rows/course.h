/*
 * course.h - of the moves of a device those that its highest sums need, for `memana advise` without events.
 *
 * Advice asks for the largest sum of each phase, where each place's bytes are multiplied by a number of its own, at least 0 (why/effect/replay.h).
 * A step does not count where another one held as much at each place after each of its moves:
 *
 *     step      1       2       3       4          steps of the same moves, at the same places
 *     bytes     a b c   a b c   A B C   a B c      3 holds what 1 and 2 hold, and more; 4 is kept, too, where its c is larger than C
 *
 * A kept step begins with one change that brings the device to what it held then. The step of a failed request is kept whole.
 *
 * Memory: COURSE_MOST moves of 32 bytes, and as many bytes of what was held at their begins. A run that needs more has no course.
 */
#ifndef MEMANA_COURSE_H
#define MEMANA_COURSE_H

#include "engine/analysis.h"

#define COURSE_MOST (1u << 18)

/* Bytes that a site gained (lost, if negative), and allocations. */
struct course_move {
	int64_t time; /* never goes back */
	int64_t bytes;
	uint32_t site;
	int32_t count;
	uint8_t more;  /* 1: the next move is of the same event */
	uint8_t slack; /* 1: slack of the allocator in the memory of the site */
};

/* Zeroed: there is none. */
struct course_moves {
	struct course_move *move; /* malloc; of the allocator's slack there are none */
	uint32_t moves;           /* 0: there is no course */
	uint32_t oom;             /* number of the failed request, from 1; 0: none */
	uint64_t changes;         /* complete changes at its time, before it */
};

struct course;

/* The pass over `analysis`, a run of one process, in its beginning. NULL: out of memory. */
struct course *course_new(const struct analysis *analysis);
void course_free(struct course *course); /* NULL is fine */

/*
 * Moves of events, in their order; `more` is set between two of one event. `goes_on` 1: the first move is of the event of the newest one of the
 * call before. Out of memory, or out of room, there is no course.
 */
void course_changed(struct course *course, int goes_on, const struct course_move *move, uint32_t moves);

/* As the calls of struct analysis_sink, after all moves up to then. */
void course_reached(struct course *course, uint32_t device, int oom);
void course_span(struct course *course, uint8_t phase, uint32_t step, const struct mt_event *first);

/* After the last call: the moves of the device, with failed request `oom`, from 1; 0: none is asked for. 0 or -MT_E_MEMORY. The caller frees. */
int course_find(struct course *course, uint32_t device, uint32_t oom, struct course_moves *moves);

#endif
