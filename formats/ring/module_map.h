/*
 * module_map.h - finds the module of an address in the recorded process. Modules come and go, and addresses are used
 * again, so each module and each question has an instant: any number that grows.
 */
#ifndef FORMATS_MODULE_MAP_H
#define FORMATS_MODULE_MAP_H

#include <stddef.h>
#include <stdint.h>

/* The use of a module's frames by a stack. */
enum module_role {
	MODULE_PLAIN = 0,
	MODULE_RECORDER = 1,    /* the agent, or CUPTI calling it; not the program's own work */
	MODULE_INTERPRETER = 2, /* CPython itself */
};

struct module_item {
	uint64_t start, end, bias; /* as in struct mt_module */
	uint64_t instant;          /* first instant with this module */
	uint32_t id;               /* definition */
	enum module_role role;
};

/* A map of modules in order of their instants. All zero: empty. */
struct module_map {
	struct module_item *items;
	size_t count, capacity;
};

void module_map_release(struct module_map *map);

/* Derives the role from the file name: libmemrec*, libcupti*, libpython*, python*. */
enum module_role module_role_of(const char *path);

/* Adds a module. Its instant must not be below an earlier one's. 0 or -MT_E_MEMORY. */
int module_map_add(struct module_map *map, const struct module_item *item);

/*
 * Returns the newest module over `address` at `instant`, else the first later one, because a module is used before the
 * agent logs it. NULL: none. Valid until the next module_map_add.
 */
const struct module_item *module_map_find(const struct module_map *map, uint64_t address, uint64_t instant);

#endif
