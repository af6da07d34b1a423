/*
 * export_names.h - keeps texts, or keys of any bytes, once each and by number: for tables of strings and of frames.
 *
 * Memory grows with the bytes of the different texts.
 */
#ifndef MEMANA_EXPORT_NAMES_H
#define MEMANA_EXPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include "base/tuple.h"

/* All zeros: empty. The owner calls export_names_release. */
struct export_names {
	char *bytes; /* all texts, one after the other, a NUL behind each */
	size_t used, room;
	size_t *start; /* offset of each text in `bytes`, by number */
	uint32_t count, start_room;
	struct tuple_table table;
};

/* Gets the number of these bytes, from 0, in the order of their first call. `is_new` may be NULL. 0 or -MT_E_MEMORY. */
int export_names_add(struct export_names *names, const void *bytes, size_t size, uint32_t *number, int *is_new);

/* The bytes of `number`, with a NUL behind them. Valid until the next export_names_add. `size` may be NULL. */
const char *export_names_get(const struct export_names *names, uint32_t number, size_t *size);

void export_names_release(struct export_names *names);

#endif
