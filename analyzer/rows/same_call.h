/*
 * same_call.h - the call of a place that matches its newest call, in an earlier span of the same phase.
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
 * The index of the matching call in an earlier span, newest span first; `span` ends with the span of the request, and `call` has the
 * place's calls before the request, oldest first. Without a match (*matches 0) the last call of the newest span of the phase with
 * any. SAME_CALL_NONE: none.
 */
size_t same_call(const struct call_span *span, size_t spans, const struct place_call *call, size_t calls, int *matches);

#endif
