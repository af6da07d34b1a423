/* past_impl.h - what the files of this room share. */
#ifndef MEMANA_PAST_IMPL_H
#define MEMANA_PAST_IMPL_H

#include <stdlib.h>

/* `array` with room for one more of `size` bytes; it may have moved. NULL: out of memory, and it is as it was. */
static inline void *past_room(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown = array;

	if (count == *room) {
		grown = realloc(array, more * size);
		*room = grown ? more : *room;
	}
	return grown;
}

#endif
