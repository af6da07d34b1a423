#include "facts_rows.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "facts_kept.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "rows/row_id.h"

#define LOT_ROWS 2048u
#define CELLS_MOST 32u
#define WORDS_MOST (1u << 20)
#define CHANGES_MOST (1u << 22)
#define WORD_MOST 65536u

/* The first number of the bytes. */
enum { ROWS_NONE, ROWS_ALL, ROWS_NO_LIVES };

/* ---- tables: all cells have 8 bytes ---- */

enum cell { CELL_INTEGER, CELL_OPTIONAL, CELL_TEXT, CELL_TIME, CELL_PROCESS, CELL_DEVICE, CELL_SITE, CELL_DEFINITION };

#define CELL(type, column) CELL_##type,
#define CELLS(table) static const uint8_t cells_of_##table[] = { LOAD_COLUMNS_##table(CELL) };
LOAD_TABLES(CELLS)
#undef CELLS
#undef CELL

#define TABLE(table) [LOAD_##table] = { cells_of_##table, MT_ARRAY_SIZE(cells_of_##table) },
static const struct {
	const uint8_t *cell;
	uint32_t cells;
} tables[] = { LOAD_TABLES(TABLE) };
#undef TABLE

#define CHECK(table)                                                                                         \
	_Static_assert(sizeof(struct load_##table) == sizeof(cells_of_##table) * sizeof(uint64_t) &&         \
			       sizeof(cells_of_##table) <= CELLS_MOST && sizeof(char *) == sizeof(uint64_t), \
		       "a row is its cells");
LOAD_TABLES(CHECK)
#undef CHECK

static size_t row_size(uint32_t table)
{
	return tables[table].cells * sizeof(uint64_t);
}

static void lot_columns(struct facts_io *io, void *rows, uint32_t table, uint32_t count)
{
	struct facts_member member[CELLS_MOST];
	uint32_t i;

	for (i = 0; i < tables[table].cells; i++)
		member[i] = (struct facts_member){ (uint16_t)(i * sizeof(uint64_t)), sizeof(uint64_t) };
	facts_runs(io, rows, row_size(table), count, member, tables[table].cells);
}

/* ---- writing ---- */

static uint64_t hash_of(const char *word)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *word; word++)
		hash = (hash ^ (uint8_t)*word) * 0x100000001b3u;
	return hash;
}

/* The slot of the text, or the empty one for it. */
static uint32_t *find_slot(const struct facts_rows *rows, const char *word)
{
	uint32_t mask = 2 * rows->word_room - 1, at = (uint32_t)hash_of(word) & mask;

	while (rows->slot[at] && strcmp(rows->word[rows->slot[at] - 1], word) != 0)
		at = (at + 1) & mask;
	return &rows->slot[at];
}

/* Room for one more text: at most half of the slots are taken. 0, or there will be no rows. */
static int make_room(struct facts_rows *rows)
{
	uint32_t room = rows->word_room ? rows->word_room * 2 : 32, i;
	const char **word = room <= WORDS_MOST ? realloc(rows->word, room * sizeof(*word)) : NULL;
	uint32_t *slot = word ? calloc(2 * (size_t)room, sizeof(*slot)) : NULL;

	rows->word = word ? word : rows->word;
	if (!slot) {
		rows->none = 1;
		return -MT_E_MEMORY;
	}
	free(rows->slot);
	rows->slot = slot;
	rows->word_room = room;
	for (i = 0; i < rows->words; i++)
		*find_slot(rows, rows->word[i]) = i + 1;
	return 0;
}

/* The number of the text. Each step may have a name of its own. */
static uint64_t word_number(struct facts_rows *rows, const char *word)
{
	uint32_t *slot;

	if (rows->words == rows->word_room && make_room(rows))
		return 0;
	slot = find_slot(rows, word);
	if (!*slot) {
		rows->word[rows->words] = word;
		*slot = ++rows->words;
	}
	return *slot - 1;
}

/* Texts become numbers. */
static void number_texts(struct facts_rows *rows, uint32_t table, struct facts_lot *lot)
{
	uint64_t *cell = lot->row;
	const char *word;
	uint32_t i, k;

	for (i = 0; i < lot->rows; i++, cell += tables[table].cells)
		for (k = 0; k < tables[table].cells; k++) {
			if (tables[table].cell[k] != CELL_TEXT)
				continue;
			memcpy(&word, &cell[k], sizeof(word));
			cell[k] = word_number(rows, word ? word : "");
		}
}

static void write_lot(struct facts_rows *rows, uint32_t table)
{
	struct facts_lot *lot = &rows->lot[table];
	int is_life = table == LOAD_allocation_raw;
	struct facts_io *io = is_life ? &rows->lives : &rows->io;
	uint64_t number = table;

	if (lot->rows && !rows->none && !(is_life && rows->no_lives)) {
		number_texts(rows, table, lot);
		facts_number(io, &number);
		facts_count(io, lot->rows, 0, LOT_ROWS);
		lot_columns(io, lot->row, table, lot->rows);
	}
	lot->written += lot->rows;
	lot->rows = 0;
	if (!io->error && lot->written <= FACTS_ROWS_MOST && io->size <= FACTS_ROWS_BYTES_MOST)
		return;
	rows->no_lives = 1;
	rows->none |= !is_life;
	free(io->data);
	*io = (struct facts_io){ .writing = 1 };
}

static void *new_row(void *context, enum load_table table, int *error)
{
	struct facts_rows *rows = context;
	struct facts_lot *lot = &rows->lot[table];

	*error = 0;
	if (!lot->row)
		lot->row = malloc(LOT_ROWS * row_size(table));
	if (lot->rows == LOT_ROWS)
		write_lot(rows, table);
	if (!lot->row)
		*error = -MT_E_MEMORY;
	return lot->row ? (uint8_t *)lot->row + lot->rows++ * row_size(table) : NULL;
}

/* The pass goes on without rows. */
static int forget(void *context, int64_t process, int64_t alloc_seq)
{
	(void)process;
	(void)alloc_seq;
	((struct facts_rows *)context)->none = 1;
	return 0;
}

static int add_change(void *context, const struct row_residence *change)
{
	struct facts_rows *rows = context;
	uint32_t room = rows->change_room ? rows->change_room * 2 : 256;
	struct row_residence *grown;

	if (rows->none)
		return 0;
	if (rows->changes == rows->change_room) {
		grown = room <= CHANGES_MOST ? realloc(rows->change, room * sizeof(*grown)) : NULL;
		if (!grown)
			return forget(rows, 0, 0);
		rows->change = grown;
		rows->change_room = room;
	}
	rows->change[rows->changes++] = *change;
	return 0;
}

int facts_rows_init(struct facts_rows *rows, const struct analysis *analysis)
{
	memset(rows, 0, sizeof(*rows));
	rows->io.writing = rows->lives.writing = 1;
	rows->maker = (struct row_maker){ rows, new_row, forget, add_change };
	row_sink_init(&rows->rows, &rows->sink, analysis, &rows->maker, 1);
	rows->sink.quiet = 1;
	rows->kept = kept_new(analysis, 0);
	if (!rows->kept)
		return -MT_E_MEMORY;
	row_sink_keep(&rows->rows, &rows->sink, rows->kept, 0);
	return 0;
}

void facts_rows_release(struct facts_rows *rows)
{
	uint32_t i;

	row_sink_release(&rows->rows);
	kept_free(rows->kept);
	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		free(rows->lot[i].row);
	free(rows->io.data);
	free(rows->lives.data);
	free(rows->word);
	free(rows->slot);
	free(rows->change);
	memset(rows, 0, sizeof(*rows));
}

/* ---- both ways ---- */

#define R(member) FACTS_MEMBER(row_residence, member)
static const struct facts_member change_members[] = { R(process), R(alloc_seq), R(seq), R(time), R(step), R(bytes) };
#undef R

static const struct facts_member number8[] = { { 0, 1 } };

static void write_freed(struct facts_io *io, const struct row_freed *freed)
{
	uint32_t room = freed->processes ? freed->process[0].room : 0;

	facts_count(io, room, 1, UINT32_MAX);
	if (room)
		facts_rows(io, freed->process[0].node, 1, room, number8, 1);
}

static void write_kept(struct facts_io *io, struct kept *kept)
{
	struct kept_moment moment;
	int error = kept_find(kept, &moment);

	if (!io->error)
		io->error = error;
	facts_kept_write(io, &moment);
	kept_moment_release(&moment);
}

void facts_rows_write(struct facts_io *io, struct facts_rows *rows)
{
	uint32_t i;

	write_kept(io, rows->kept);
	rows->none |= row_sink_finish(&rows->rows) != 0;
	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		write_lot(rows, i);
	if (!facts_count(io, rows->none ? ROWS_NONE : rows->no_lives ? ROWS_NO_LIVES : ROWS_ALL, 0, ROWS_NO_LIVES))
		return;
	facts_count(io, rows->words, 1, WORDS_MOST);
	for (i = 0; i < rows->words; i++)
		facts_text(io, rows->word[i], WORD_MOST);
	write_freed(io, &rows->rows.freed);
	facts_count(io, rows->changes, 1, CHANGES_MOST);
	if (rows->changes)
		facts_rows(io, rows->change, sizeof(*rows->change), rows->changes, change_members,
			   MT_ARRAY_SIZE(change_members));
	facts_bytes(io, rows->io.data, rows->io.size);
	if (!rows->no_lives)
		facts_bytes(io, rows->lives.data, rows->lives.size);
}

/* ---- reading ---- */

struct reading {
	struct facts_io *io;
	const struct mt_defs *defs;
	const struct facts_place *place;
	const struct row_maker *maker;
	int lives; /* 1: rows of lives are asked for */
	const char **word;
	uint32_t words, told[LOAD_TABLE_COUNT];
};

static void read_words(struct reading *reading)
{
	uint32_t i;

	reading->words = facts_count(reading->io, 0, 1, WORDS_MOST);
	reading->word = calloc((size_t)reading->words + 1, sizeof(*reading->word));
	if (!reading->word)
		reading->io->error = -MT_E_MEMORY;
	for (i = 0; i < reading->words && !reading->io->error; i++)
		reading->word[i] = facts_text(reading->io, "", WORD_MOST);
}

static void read_freed(struct reading *reading, struct row_freed *freed)
{
	struct facts_io *io = reading->io;
	uint32_t room = facts_count(io, 0, 1, UINT32_MAX), i;
	uint8_t *node = NULL;

	facts_array(io, (void **)&node, 1, room, number8, 1);
	for (i = 1; i < room && !io->error; i++) {
		if (!node[i])
			continue;
		facts_check(io, i <= mt_defs_count(reading->defs, MT_DEF_NODE));
		if (!io->error)
			io->error = row_freed_add(freed, reading->place->process, i);
	}
	free(node);
}

/* 0 or the error of the bytes or of the maker. */
static int read_changes(struct reading *reading)
{
	struct facts_io *io = reading->io;
	uint32_t count = facts_count(io, 0, MT_ARRAY_SIZE(change_members), CHANGES_MOST), i;
	struct row_residence *change = NULL;
	int error = 0;

	facts_array(io, (void **)&change, sizeof(*change), count, change_members, MT_ARRAY_SIZE(change_members));
	for (i = 0; i < count && !io->error && !error; i++) {
		change[i].process = row_process_id(reading->place->process);
		change[i].time += reading->place->later;
		error = reading->maker->residence(reading->maker->context, &change[i]);
	}
	free(change);
	return io->error ? io->error : error;
}

/* Numbers of texts become texts. */
static uint64_t text_cell(struct reading *reading, uint64_t cell)
{
	const char *word;

	facts_check(reading->io, cell < reading->words);
	word = reading->io->error ? "" : reading->word[cell];
	memcpy(&cell, &word, sizeof(word));
	return cell;
}

/* An id of the process, which is alone in its facts, as that of the run. */
static uint64_t place_cell(struct reading *reading, enum cell kind, uint64_t cell)
{
	const struct facts_place *place = reading->place;

	switch (kind) {
	case CELL_TEXT:
		return text_cell(reading, cell);
	case CELL_TIME:
		return (int64_t)cell == DB_CELL_NULL ? cell : cell + (uint64_t)place->later;
	case CELL_PROCESS:
		return (uint64_t)row_process_id(place->process);
	case CELL_DEVICE:
		facts_check(reading->io, cell && cell <= place->devices);
		return reading->io->error ? 0 : (uint64_t)row_device_id(place->device[cell - 1]);
	case CELL_SITE:
		facts_check(reading->io, cell && cell <= place->sites);
		return reading->io->error ? 0 : place->site[cell - 1];
	case CELL_DEFINITION:
		return (int64_t)cell == DB_CELL_NULL ? cell : (uint64_t)row_id(place->process, cell & UINT32_MAX);
	default:
		return cell;
	}
}

static void place_row(struct reading *reading, uint32_t table, uint64_t *cell)
{
	struct load_step_device *peak = table == LOAD_step_device ? (struct load_step_device *)cell : NULL;
	uint32_t k;

	for (k = 0; k < tables[table].cells; k++)
		cell[k] = place_cell(reading, tables[table].cell[k], cell[k]);
	if (!peak || peak->peak_seq)
		return;
	peak->peak_time -= reading->place->later; /* nothing was held: there is no peak */
	peak->peak_process = row_process_id(0);
}

static int tell_lot(struct reading *reading, uint32_t table, uint64_t *cell, uint32_t rows)
{
	int error = 0;
	uint32_t i;
	void *row;

	for (i = 0; i < rows && !reading->io->error && !error; i++, cell += tables[table].cells) {
		place_row(reading, table, cell);
		row = reading->maker->row(reading->maker->context, (enum load_table)table, &error);
		if (row)
			memcpy(row, cell, row_size(table));
	}
	return error;
}

static int read_lot(struct reading *reading)
{
	struct facts_io *io = reading->io;
	uint64_t number, *cell;
	uint32_t rows, table;
	int error = 0;

	facts_number(io, &number);
	facts_check(io, number < LOAD_TABLE_COUNT);
	table = io->error ? 0 : (uint32_t)number;
	rows = facts_count(io, 0, 0, LOT_ROWS);
	reading->told[table] += rows;
	facts_check(io, reading->told[table] <= FACTS_ROWS_MOST);
	if (io->error)
		return io->error;
	cell = calloc((size_t)rows + 1, row_size(table));
	if (!cell)
		return -MT_E_MEMORY;
	lot_columns(io, cell, table, rows);
	if (!io->error && (reading->lives || table != LOAD_allocation_raw))
		error = tell_lot(reading, table, cell, rows);
	free(cell);
	return io->error ? io->error : error;
}

int facts_rows_are_there(const struct facts_io *io, int lives)
{
	return io->at < io->end && (*io->at == ROWS_ALL || (!lives && *io->at == ROWS_NO_LIVES));
}

int facts_rows_read(struct facts_io *io, const struct mt_defs *defs, const struct facts_place *place,
		    const struct facts_taker *taker)
{
	struct reading reading = {
		.io = io, .defs = defs, .place = place, .maker = taker->maker, .lives = !taker->moment
	};
	int error;

	if (!facts_count(io, 0, 0, ROWS_NO_LIVES))
		return io->error;
	read_words(&reading);
	read_freed(&reading, taker->freed);
	error = read_changes(&reading);
	while (!error && io->at < io->end)
		error = read_lot(&reading);
	free(reading.word);
	return error ? error : 1;
}
