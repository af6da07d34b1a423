/* module_map.c - modules by address and time; see module_map.h. */
#include "module_map.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

void module_map_release(struct module_map *map)
{
	free(map->items);
	*map = (struct module_map){ 0 };
}

enum module_role module_role_of(const char *path)
{
	static const struct {
		const char *prefix;
		enum module_role role;
	} names[] = {
		{ "libmemrec", MODULE_RECORDER },
		{ "libcupti", MODULE_RECORDER },
		{ "libpython", MODULE_INTERPRETER },
		{ "python", MODULE_INTERPRETER },
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i].prefix, strlen(names[i].prefix)))
			return names[i].role;
	return MODULE_PLAIN;
}

int module_map_add(struct module_map *map, const struct module_item *item)
{
	if (map->count == map->capacity) {
		size_t capacity = map->capacity ? map->capacity * 2 : 64;
		struct module_item *items = realloc(map->items, capacity * sizeof(*items));

		if (!items)
			return -MT_E_MEMORY;
		map->items = items;
		map->capacity = capacity;
	}
	map->items[map->count++] = *item;
	return 0;
}

/* A walk is good enough: it is done once per native frame of a new stack, and processes have some hundred modules. */
const struct module_item *module_map_find(const struct module_map *map, uint64_t address, uint64_t instant)
{
	const struct module_item *later = NULL;
	size_t i;

	for (i = map->count; i--;) {
		const struct module_item *item = &map->items[i];

		if (address < item->start || address >= item->end)
			continue;
		if (item->instant <= instant)
			return item;
		later = item;
	}
	return later;
}
