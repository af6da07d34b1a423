#include "facts_lots.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define CELL(type, column) FACTS_CELL_##type,
#define CELLS(table) static const uint8_t cells_of_##table[] = { LOAD_COLUMNS_##table(CELL) };
LOAD_TABLES(CELLS)
#undef CELLS
#undef CELL

#define TABLE(table) [LOAD_##table] = { cells_of_##table, MT_ARRAY_SIZE(cells_of_##table) },
const struct facts_table facts_tables[LOAD_TABLE_COUNT] = { LOAD_TABLES(TABLE) };
#undef TABLE

#define CHECK(table)                                                                                               \
	_Static_assert(sizeof(struct load_##table) == sizeof(cells_of_##table) * sizeof(uint64_t) &&               \
			       sizeof(cells_of_##table) <= FACTS_CELLS_MOST && sizeof(char *) == sizeof(uint64_t), \
		       "a row is its cells");
LOAD_TABLES(CHECK)
#undef CHECK

void facts_lot_rows(struct facts_io *io, uint32_t table, void *rows, uint32_t count)
{
	struct facts_member member[FACTS_CELLS_MOST];
	uint32_t i;

	for (i = 0; i < facts_tables[table].cells; i++)
		member[i] = (struct facts_member){ (uint16_t)(i * sizeof(uint64_t)), sizeof(uint64_t) };
	facts_runs(io, rows, facts_row_size(table), count, member, facts_tables[table].cells);
}

void facts_lot_write(struct facts_io *io, uint32_t table, void *rows, uint32_t count)
{
	uint64_t number = table;

	facts_number(io, &number);
	facts_count(io, count, 0, FACTS_LOT_ROWS);
	facts_lot_rows(io, table, rows, count);
}

uint32_t facts_lot_begin(struct facts_io *io, uint32_t *table)
{
	uint64_t number;

	facts_number(io, &number);
	facts_check(io, number < LOAD_TABLE_COUNT);
	*table = io->error ? 0 : (uint32_t)number;
	return facts_count(io, 0, 0, FACTS_LOT_ROWS);
}

/* Writes the lots to `io`; `io` NULL: notes their times. 0 or an error. */
static int take_lots(struct facts_io *io, const struct facts_io *from, struct facts_guess *guess)
{
	struct facts_io lots = { .error = from->error, .at = from->data, .end = from->data + from->size };
	uint64_t *cell = malloc(FACTS_LOT_ROWS * FACTS_CELLS_MOST * sizeof(*cell));
	uint32_t table, rows;
	int error = cell ? 0 : -MT_E_MEMORY;

	while (lots.at < lots.end && !lots.error && !error) {
		rows = facts_lot_begin(&lots, &table);
		memset(cell, 0, rows * facts_row_size(table));
		facts_lot_rows(&lots, table, cell, rows);
		if (!io) {
			error = facts_guess_note_lot(guess, table, cell, rows);
			continue;
		}
		facts_guess_lot(guess, FACTS_AWAY, table, cell, rows);
		facts_lot_write(io, table, cell, rows);
		error = io->error;
	}
	free(cell);
	return error ? error : lots.error;
}

int facts_lots_note(const struct facts_io *from, struct facts_guess *guess)
{
	return take_lots(NULL, from, guess);
}

void facts_lots_write(struct facts_io *io, const struct facts_io *from, struct facts_guess *guess)
{
	int error = io->error ? io->error : take_lots(io, from, guess);

	io->error = error;
}
