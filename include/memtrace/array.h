/* array.h - arrays that grow at their end: a pointer, a count, and the number of entries that there is room for. */
#ifndef MEMTRACE_ARRAY_H
#define MEMTRACE_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include "memtrace/error.h"

#define MT_ARRAY_FIRST 16u /* entries of a new array */

/*
 * Returns `array` with room for an entry after its first `count`, of `size` bytes. *room is the number of entries with room, at most `most`. NULL: out
 * of memory or too many; the array stays.
 */
static inline void *mt_array_grown(void *array, size_t count, size_t *room, size_t most, size_t size)
{
	size_t wanted = *room ? *room * 2 : MT_ARRAY_FIRST;
	void *grown;

	if (count < *room)
		return array;
	if (wanted > most || wanted > SIZE_MAX / 2 / size)
		return NULL;
	grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

/* Makes room for one more entry. `array` and `room` are variables, and `room` is unsigned. 0 or -MT_E_MEMORY. */
#define MT_ARRAY_ROOM(array, count, room)                                                                        \
	({                                                                                                       \
		size_t room_ = (room);                                                                           \
		void *grown_ = mt_array_grown((array), (count), &room_, (__typeof__(room))-1, sizeof(*(array))); \
		if (grown_)                                                                                      \
			(array) = grown_;                                                                        \
		(room) = (__typeof__(room))room_;                                                                \
		grown_ ? 0 : -MT_E_MEMORY;                                                                       \
	})

#endif
