/*
 * export_names.h - texts, or keys of any bytes, each once and by number: string tables and tables of frames.
 *
 * Memory: the bytes of all that are different.
 */
#ifndef MEMANA_EXPORT_NAMES_H
#define MEMANA_EXPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include "base/tuple.h"

/* All zeros: empty. Release in any case. */
struct export_names {
	char *bytes; /* one after the other, each with a NUL behind it */
	size_t used, room;
	size_t *start; /* by number */
	uint32_t count, start_room;
	struct tuple_table table;
};

/* The number of these bytes, from 0, in the order in which they first came. 0 or -MT_E_MEMORY; *is_new may be NULL. */
int export_names_add(struct export_names *names, const void *bytes, size_t size, uint32_t *number, int *is_new);

/* The bytes of `number`, with a NUL behind them. They may move with the next export_names_add. */
const char *export_names_get(const struct export_names *names, uint32_t number, size_t *size);

void export_names_release(struct export_names *names);

#endif
