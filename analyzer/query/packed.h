/*
 * packed.h - rows of equal structs as bytes (facts/facts_io.h), in lots: an array of millions that is read from its begin to its end. A row that
 * differs from the one before as that one did takes next to no byte.
 */
#ifndef MEMANA_PACKED_H
#define MEMANA_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include "facts/facts_io.h"

#define PACKED_LOT 256u /* rows of a lot but the last */

struct packed {
	const struct facts_member *member; /* kept columns of a row; the rest is 0 */
	size_t members, size;              /* size: of a row, bytes */
	size_t rows, lots, room;           /* lots: those in the bytes */
	size_t *end;                       /* by lot: its end in the bytes */
	struct facts_io io;
	char *newest; /* the rows that are not in the bytes yet */
};

/* Empty. `member` lives as long. */
static inline struct packed packed_of(const struct facts_member *member, size_t members, size_t size)
{
	return (struct packed){ .member = member, .members = members, .size = size, .io = { .writing = 1 } };
}

void packed_release(struct packed *packed);

/* 0 or -MT_E_MEMORY. */
int packed_add(struct packed *packed, const void *row);

/* Writes the rows of the lot with this number, from 0, to `rows`, and returns how many they are; 0: there is no such lot. */
size_t packed_lot(const struct packed *packed, size_t number, void *rows);

/* The way through all rows, of PACKED_ROW bytes at most. */
#define PACKED_ROW 32u
struct packed_walk {
	const struct packed *packed;
	size_t lot, at, count;
	uint64_t rows[PACKED_LOT * PACKED_ROW / sizeof(uint64_t)];
};

/* The first row and the next one, which live until the next call. NULL: no more rows. */
const void *packed_first(struct packed_walk *walk, const struct packed *packed);
const void *packed_next(struct packed_walk *walk);

/* Sorts the rows; equal rows get any order. Returns 0 or -MT_E_MEMORY: some rows are lost. */
int packed_sort(struct packed *packed, int (*order)(const void *one, const void *two));

#endif
