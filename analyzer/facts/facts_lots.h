/*
 * facts_lots.h - writes and reads lots: some rows of one table. The pass writes lots while it runs. At its end they are written once more, as smaller
 * differences from guesses (facts_guess.h).
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

/* A table. Each row is an array of cells of 8 bytes. */
struct facts_table {
	const uint8_t *cell; /* enum facts_cell */
	uint32_t cells;
};

extern const struct facts_table facts_tables[LOAD_TABLE_COUNT];

static inline size_t facts_row_size(uint32_t table)
{
	return facts_tables[table].cells * sizeof(uint64_t);
}

/* Writes a lot of at most FACTS_LOT_ROWS rows. */
void facts_lot_write(struct facts_io *io, uint32_t table, void *rows, uint32_t count);

/* facts_lot_begin returns the number of rows of the next lot, and its table. facts_lot_rows then reads the rows, which the caller has zeroed. */
uint32_t facts_lot_begin(struct facts_io *io, uint32_t *table);
void facts_lot_rows(struct facts_io *io, uint32_t table, void *rows, uint32_t count);

/* Notes the times of all rows in the lots of `from`. 0 or an error. */
int facts_lots_note(const struct facts_io *from, struct facts_guess *guess);

/* Writes the lots of `from` to `io`, as differences from the guess. */
void facts_lots_write(struct facts_io *io, const struct facts_io *from, struct facts_guess *guess);

#endif
