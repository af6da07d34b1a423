#include "same_call.h"

/* Returns the first index with at least this seq. */
static size_t first_from(const struct place_call *call, size_t calls, int64_t seq)
{
	size_t low = 0, high = calls, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (call[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t same_call(const struct call_span *span, size_t spans, const struct place_call *call, size_t calls, int *matches)
{
	const struct call_span *now = span + spans - 1, *it;
	size_t number, from, to, best = SAME_CALL_NONE;

	*matches = 0;
	if (!spans || !calls)
		return SAME_CALL_NONE;
	number = calls - first_from(call, calls, now->first_seq);
	for (it = now; it-- > span;) {
		if (it->phase != now->phase)
			continue;
		from = first_from(call, calls, it->first_seq);
		to = first_from(call, calls, it->last_seq + 1);
		if (to - from > number) {
			*matches = 1;
			return from + number;
		}
		if (to > from && best == SAME_CALL_NONE)
			best = to - 1;
	}
	return best;
}
