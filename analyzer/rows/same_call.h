/*
 * same_call.h - finds the call of a place in an earlier span of the phase that matches its newest call.
 *
 *     phase    forward     backward   forward     backward
 *     calls    1  2  3     4          5  6  ?
 *                    ^ the third call of the newer forward matches the third call of the older one
 */
#ifndef MEMANA_SAME_CALL_H
#define MEMANA_SAME_CALL_H

#include <stddef.h>
#include <stdint.h>

struct call_span {
	int phase;
	int64_t first_seq, last_seq;
};

struct place_call {
	int64_t seq, time;
};

#define SAME_CALL_NONE SIZE_MAX

/*
 * Returns the index of the matching call, searching earlier spans from the newest to the oldest. `span` ends with the span of the request; `call` has
 * the place's earlier calls, oldest first. Without a match (*matches 0) returns the last call in the newest span of the phase that has one;
 * SAME_CALL_NONE: no span has one.
 */
size_t same_call(const struct call_span *span, size_t spans, const struct place_call *call, size_t calls, int *matches);

#endif
