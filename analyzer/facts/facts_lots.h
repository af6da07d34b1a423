/*
 * facts_lots.h - lots: rows of one table, as bytes and back. The pass writes lots while it goes on; at its end they become smaller by what
 * is guessed (facts_guess.h).
 */
#ifndef MEMANA_FACTS_LOTS_H
#define MEMANA_FACTS_LOTS_H

#include "facts_guess.h"
#include "facts_io.h"
#include "rows/load_table.h"

#define FACTS_LOT_ROWS 2048u
#define FACTS_CELLS_MOST 32u

/* The kinds of columns of load_table.h. */
enum facts_cell {
	FACTS_CELL_INTEGER,
	FACTS_CELL_OPTIONAL,
	FACTS_CELL_TEXT,
	FACTS_CELL_TIME,
	FACTS_CELL_PROCESS,
	FACTS_CELL_DEVICE,
	FACTS_CELL_SITE,
	FACTS_CELL_DEFINITION
};

/* A row is its cells, of 8 bytes each. */
struct facts_table {
	const uint8_t *cell; /* enum facts_cell */
	uint32_t cells;
};

extern const struct facts_table facts_tables[LOAD_TABLE_COUNT];

static inline size_t facts_row_size(uint32_t table)
{
	return facts_tables[table].cells * sizeof(uint64_t);
}

/* The lot's rows. FACTS_LOT_ROWS at most. */
void facts_lot_write(struct facts_io *io, uint32_t table, void *rows, uint32_t count);

/* Both numbers of the next lot; then its rows, which are zeroed before. */
uint32_t facts_lot_begin(struct facts_io *io, uint32_t *table);
void facts_lot_rows(struct facts_io *io, uint32_t table, void *rows, uint32_t count);

/* All lots that were written, as `from`: the times of their rows are noted. 0 or an error. */
int facts_lots_note(const struct facts_io *from, struct facts_guess *guess);

/* The same lots, as differences from what is guessed. */
void facts_lots_write(struct facts_io *io, const struct facts_io *from, struct facts_guess *guess);

#endif
