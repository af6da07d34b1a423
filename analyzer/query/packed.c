#include "packed.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

void packed_release(struct packed *packed)
{
	free(packed->io.data);
	free(packed->end);
	free(packed->newest);
	*packed = packed_of(packed->member, packed->members, packed->size);
}

static int pack(struct packed *packed)
{
	if (MT_ARRAY_ROOM(packed->end, packed->lots, packed->room))
		return -MT_E_MEMORY;
	facts_runs(&packed->io, packed->newest, packed->size, PACKED_LOT, packed->member, packed->members);
	packed->end[packed->lots++] = packed->io.size;
	return packed->io.error;
}

int packed_add(struct packed *packed, const void *row)
{
	if (!packed->newest)
		packed->newest = malloc(PACKED_LOT * packed->size);
	if (!packed->newest)
		return -MT_E_MEMORY;
	memcpy(packed->newest + packed->rows++ % PACKED_LOT * packed->size, row, packed->size);
	return packed->rows % PACKED_LOT ? 0 : pack(packed);
}

size_t packed_lot(const struct packed *packed, size_t number, void *rows)
{
	size_t newest = packed->rows % PACKED_LOT;
	struct facts_io io = { .error = 0 };

	if (number >= packed->lots) {
		newest = number == packed->lots ? newest : 0;
		if (newest)
			memcpy(rows, packed->newest, newest * packed->size);
		return newest;
	}
	io.at = packed->io.data + (number ? packed->end[number - 1] : 0);
	io.end = packed->io.data + packed->end[number];
	memset(rows, 0, PACKED_LOT * packed->size);
	facts_runs(&io, rows, packed->size, PACKED_LOT, packed->member, packed->members);
	return PACKED_LOT;
}

const void *packed_first(struct packed_walk *walk, const struct packed *packed)
{
	walk->packed = packed;
	walk->lot = walk->at = walk->count = 0;
	return packed_next(walk);
}

const void *packed_next(struct packed_walk *walk)
{
	if (walk->at == walk->count) {
		walk->at = 0;
		walk->count = packed_lot(walk->packed, walk->lot++, walk->rows);
	}
	return walk->count ? (const char *)walk->rows + walk->at++ * walk->packed->size : NULL;
}

int packed_sort(struct packed *packed, int (*order)(const void *one, const void *two))
{
	size_t rows = packed->rows, size = packed->size, i, lot;
	char *all = malloc((packed->lots + 1) * PACKED_LOT * size);
	int error = 0;

	if (!all)
		return -MT_E_MEMORY;
	for (lot = 0; lot <= packed->lots; lot++)
		packed_lot(packed, lot, all + lot * PACKED_LOT * size);
	packed_release(packed);
	qsort(all, rows, size, order);
	for (i = 0; i < rows && !error; i++)
		error = packed_add(packed, all + i * size);
	free(all);
	return error;
}
