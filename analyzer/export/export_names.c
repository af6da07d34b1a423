#include "export_names.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* Two hashes, the size, and a number of tries: different bytes with the same key get the next number. */
static struct tuple key_of(const unsigned char *bytes, size_t size, uint64_t turn)
{
	uint64_t one = 0xcbf29ce484222325ull, two = 0x9e3779b97f4a7c15ull;
	size_t i;

	for (i = 0; i < size; i++) {
		one = (one ^ bytes[i]) * 0x100000001b3ull;
		two = (two + bytes[i]) * 0xff51afd7ed558ccdull;
		two ^= two >> 31;
	}
	return (struct tuple){ { one, two, size, turn } };
}

static int make_room(struct export_names *names, size_t size)
{
	size_t room = names->room ? names->room : 4096;
	uint32_t count = names->start_room ? names->start_room * 2 : 256;
	size_t *start;
	char *bytes;

	while (room - names->used < size + 1)
		room *= 2;
	if (room != names->room) {
		bytes = realloc(names->bytes, room);
		if (!bytes)
			return -MT_E_MEMORY;
		names->bytes = bytes;
		names->room = room;
	}
	if (names->count < names->start_room)
		return 0;
	start = count < TUPLE_NONE / 2 ? realloc(names->start, count * sizeof(*start)) : NULL;
	if (!start)
		return -MT_E_MEMORY;
	names->start = start;
	names->start_room = count;
	return 0;
}

const char *export_names_get(const struct export_names *names, uint32_t number, size_t *size)
{
	size_t end = number + 1 < names->count ? names->start[number + 1] : names->used;

	if (size)
		*size = end - names->start[number] - 1;
	return names->bytes + names->start[number];
}

int export_names_add(struct export_names *names, const void *bytes, size_t size, uint32_t *number, int *is_new)
{
	struct tuple key = key_of(bytes, size, 0);
	int error;

	if (is_new)
		*is_new = 0;
	while ((*number = tuple_find(&names->table, &key)) != TUPLE_NONE) {
		if (!memcmp(export_names_get(names, *number, NULL), bytes, size))
			return 0;
		key.at[3]++;
	}
	error = make_room(names, size);
	if (error)
		return error;
	if (is_new)
		*is_new = 1;
	*number = names->count;
	names->start[names->count++] = names->used;
	memcpy(names->bytes + names->used, bytes, size);
	names->used += size;
	names->bytes[names->used++] = '\0';
	return tuple_add(&names->table, &key, *number);
}

void export_names_release(struct export_names *names)
{
	free(names->bytes);
	free(names->start);
	tuple_release(&names->table);
	memset(names, 0, sizeof(*names));
}
