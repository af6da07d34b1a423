/*
 * course.h - the moves of a device that decide its highest sums, so that `memana advise` needs no events.
 *
 * Advice multiplies the bytes of each place by a factor of at least 0, and asks for the largest sum in each phase (why/effect/replay.h). A step
 * cannot have that sum if another step held at least as much at each place after each move:
 *
 *     step      1       2       3       4          steps of the same moves, at the same places
 *     bytes     a b c   a b c   A B C   a B c      3 holds at least as much as 1 and 2: 1 and 2 are dropped; 4 is kept if its c is larger than C
 *
 * A kept step begins with one change that sets the holdings of the device at that moment. The step of a failed request is always kept.
 *
 * Memory: COURSE_MOST moves of 32 bytes, and as many bytes for the holdings at the begins of steps. A run that needs more has no course.
 */
#ifndef MEMANA_COURSE_H
#define MEMANA_COURSE_H

#include "engine/analysis.h"

#define COURSE_MOST (1u << 18)

/* Bytes and allocations that a site gained; negative: lost. */
struct course_move {
	int64_t time; /* never goes back */
	int64_t bytes;
	uint32_t site;
	int32_t count;
	uint8_t more;  /* 1: the next move is of the same event */
	uint8_t slack; /* 1: the bytes are slack of the allocator, in the site's driver memory */
};

/* Zeroed: no course. */
struct course_moves {
	struct course_move *move; /* malloc; without moves of slack */
	uint32_t moves;           /* 0: there is no course */
	uint32_t oom;             /* number of the failed request, from 1; 0: none */
	uint64_t changes;         /* complete changes at the time of the request, before the request */
};

struct course;

/* Call it at the beginning of the pass over `analysis`, a run of one process. NULL: out of memory. */
struct course *course_new(const struct analysis *analysis);
void course_free(struct course *course); /* NULL is fine */

/*
 * Takes moves in the order of their events; `more` is set on a move if the next move has the same event. `goes_on` 1: the first move belongs to the
 * event of the last move of the call before. Without memory or room the course is given up.
 */
void course_changed(struct course *course, int goes_on, const struct course_move *move, uint32_t moves);

/* Like the calls of struct analysis_sink; all earlier moves have been passed to course_changed. */
void course_reached(struct course *course, uint32_t device, int oom);
void course_span(struct course *course, uint8_t phase, uint32_t step, const struct mt_event *first);

/*
 * After the last call: fills in the moves of the device. `oom`: number of a failed request to mark, from 1; 0: none. Returns 0 or -MT_E_MEMORY. The
 * caller frees.
 */
int course_find(struct course *course, uint32_t device, uint32_t oom, struct course_moves *moves);

#endif
