/*
 * module_map.h - which module an address of the recorded process belonged to. Modules come and go and addresses are
 * used again, so every module has an instant (any number that grows) and a question has one too.
 */
#ifndef FORMATS_MODULE_MAP_H
#define FORMATS_MODULE_MAP_H

#include <stddef.h>
#include <stdint.h>

/* The use of a module's frames by a stack. */
enum module_role {
	MODULE_PLAIN = 0,
	MODULE_RECORDER = 1,    /* the agent, or CUPTI calling it: not the program's doing */
	MODULE_INTERPRETER = 2, /* CPython itself */
};

struct module_item {
	uint64_t start, end, bias; /* as in struct mt_module */
	uint64_t instant;          /* from then on it was there */
	uint32_t id;               /* definition */
	enum module_role role;
};

/* All zero is an empty map. Items are in order of their instants. */
struct module_map {
	struct module_item *items;
	size_t count, capacity;
};

void module_map_release(struct module_map *map);

/* Tells by the file name: libmemrec*, libcupti*, libpython*, python*. */
enum module_role module_role_of(const char *path);

/* `item`'s instant is not below any before it. -MT_E_MEMORY. */
int module_map_add(struct module_map *map, const struct module_item *item);

/*
 * The newest module over `address` that was there at `instant`; failing that, the first one that came later (a module
 * is used before the agent hears of it). NULL: none. Valid until the next module_map_add.
 */
const struct module_item *module_map_find(const struct module_map *map, uint64_t address, uint64_t instant);

#endif
