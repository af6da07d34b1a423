/* Reads the rows of a pass from bytes, and passes them on with numbers and times of the run. */
#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "facts_course.h"
#include "facts_kept.h"
#include "facts_lots.h"
#include "facts_rows_impl.h"
#include "facts_use.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "rows/row_id.h"
#include "rows/sums_steps.h"

struct reading {
	struct facts_io *io;
	const struct mt_defs *defs;
	const struct facts_place *place;
	const struct row_maker *maker;
	const struct analysis *run;
	struct facts_guess guess;
	enum sums_detail detail; /* detail of the lives that the taker wants */
	struct sums_instants instants;
	struct sums_steps steps; /* SUMS_BATCHES */
	struct load_sums sums;   /* sums between fewer instants than the facts have */
	struct facts_fold *fold; /* sums for SUMS_STEPS */
	int summing;             /* 1: `sums` has its instants */
	const char **word;
	uint32_t words, told[LOAD_TABLE_COUNT];
};

static void read_words(struct reading *reading)
{
	uint32_t i;

	reading->words = facts_count(reading->io, 0, 1, FACTS_ROWS_WORDS_MOST);
	reading->word = calloc((size_t)reading->words + 1, sizeof(*reading->word));
	if (!reading->word)
		reading->io->error = -MT_E_MEMORY;
	for (i = 0; i < reading->words && !reading->io->error; i++)
		reading->word[i] = facts_text(reading->io, "", FACTS_ROWS_WORD_MOST);
}

static void read_freed(struct reading *reading, struct row_freed *freed)
{
	struct facts_io *io = reading->io;
	uint32_t room = facts_count(io, 0, 1, UINT32_MAX), i;
	uint8_t *node = NULL;

	facts_array(io, (void **)&node, 1, room, facts_rows_number, 1);
	for (i = 1; i < room && !io->error; i++) {
		if (!node[i])
			continue;
		facts_check(io, i <= mt_defs_count(reading->defs, MT_DEF_NODE));
		if (!io->error)
			io->error = row_freed_add(freed, reading->place->process, i);
	}
	free(node);
}

/* Reads the changes of resident bytes. 0 or an error, of the bytes or of the maker. */
static int read_changes(struct reading *reading)
{
	struct facts_io *io = reading->io;
	uint32_t count = facts_count(io, 0, FACTS_ROWS_CHANGE, FACTS_ROWS_CHANGES_MOST), i;
	struct row_residence *change = NULL;
	int error = 0;

	facts_array(io, (void **)&change, sizeof(*change), count, facts_rows_change, FACTS_ROWS_CHANGE);
	for (i = 0; i < count && !io->error && !error; i++) {
		change[i].process = row_process_id(reading->place->process);
		change[i].time += reading->place->later;
		error = load_sums_leave_out(&reading->sums, reading->place->process, (uint64_t)change[i].alloc_seq);
		if (!error)
			error = reading->maker->residence(reading->maker->context, &change[i]);
	}
	free(change);
	return io->error ? io->error : error;
}

/* Replaces the number of a text by the text. */
static uint64_t text_cell(struct reading *reading, uint64_t cell)
{
	const char *word;

	facts_check(reading->io, cell < reading->words);
	word = reading->io->error ? "" : reading->word[cell];
	memcpy(&cell, &word, sizeof(word));
	return cell;
}

/* Converts a cell of the facts, which know one process only, for the run. */
static uint64_t place_cell(struct reading *reading, enum facts_cell kind, uint64_t cell)
{
	const struct facts_place *place = reading->place;

	switch (kind) {
	case FACTS_CELL_TEXT:
		return text_cell(reading, cell);
	case FACTS_CELL_TIME:
		return (int64_t)cell == DB_CELL_NULL ? cell : cell + (uint64_t)place->later;
	case FACTS_CELL_PROCESS:
		return (uint64_t)row_process_id(place->process);
	case FACTS_CELL_DEVICE:
		facts_check(reading->io, cell && cell <= place->devices);
		return reading->io->error ? 0 : (uint64_t)row_device_id(place->device[cell - 1]);
	case FACTS_CELL_SITE:
		facts_check(reading->io, cell && cell <= place->sites);
		return reading->io->error ? 0 : place->site[cell - 1];
	case FACTS_CELL_DEFINITION:
		return (int64_t)cell == DB_CELL_NULL ? cell : (uint64_t)row_id(place->process, cell & UINT32_MAX);
	default:
		return cell;
	}
}

static void place_row(struct reading *reading, uint32_t table, uint64_t *cell)
{
	struct load_step_device *peak = table == LOAD_step_device ? (struct load_step_device *)cell : NULL;
	uint32_t k;

	for (k = 0; k < facts_tables[table].cells; k++)
		cell[k] = place_cell(reading, facts_tables[table].cell[k], cell[k]);
	if (!peak || peak->peak_seq)
		return;
	peak->peak_time -= reading->place->later; /* nothing was held, so the peak has no time */
	peak->peak_process = row_process_id(0);
}

/* Notes the ends of steps and spans as instants. Their rows come before the rows of lives. */
static int note_row(struct reading *reading, uint32_t table, const uint64_t *cell)
{
	const struct load_phase_span *span = (const struct load_phase_span *)cell;
	int phase;

	if (!reading->detail || reading->detail == SUMS_ALL)
		return 0;
	if (table == LOAD_step)
		sums_steps_end(&reading->steps, (uint64_t)((const struct load_step *)cell)->step);
	if (table == LOAD_step)
		return sums_instants_step(&reading->instants, (uint64_t)((const struct load_step *)cell)->end_seq);
	if (table != LOAD_phase_span)
		return 0;
	phase = mt_phase_parse(span->phase, strlen(span->phase));
	return sums_instants_span(&reading->instants, (uint8_t)(phase < 0 ? MT_PHASE_OTHER : phase),
				  (uint32_t)span->step, (uint64_t)span->first_seq, (uint64_t)span->last_seq);
}

static int begin_sums(struct reading *reading)
{
	uint64_t *seq;
	size_t count, i;
	int error = reading->detail == SUMS_BATCHES
			    ? sums_steps_find(&reading->steps, &reading->instants, reading->run,
					      reading->place->process, &seq, &count)
			    : sums_instants_all(&reading->instants, reading->detail, reading->run,
						reading->place->process, &seq, &count);

	reading->summing = 1;
	for (i = 0; i < count && !error; i++)
		load_sums_instant(&reading->sums, reading->place->process, seq[i]);
	free(seq);
	return error;
}

static int is_summed(const struct reading *reading, uint32_t table, const uint64_t *cell)
{
	return table == LOAD_allocation_raw && reading->detail < SUMS_ALL &&
	       !load_sums_is_left_out(&reading->sums, reading->place->process,
				      (uint64_t)((const struct load_allocation_raw *)cell)->alloc_seq);
}

static int tell_row(struct reading *reading, uint32_t table, uint64_t *cell)
{
	struct load_allocation_raw *life = (struct load_allocation_raw *)cell;
	int error = 0;
	void *row;

	if (is_summed(reading, table, cell)) {
		if (reading->fold)
			return facts_fold_row(reading->fold, life);
		error = reading->summing ? 0 : begin_sums(reading);
		sums_steps_alike(&reading->steps, life);
		return error ? error : load_sums_row(&reading->sums, reading->place->process, life);
	}
	row = reading->maker->row(reading->maker->context, (enum load_table)table, &error);
	if (row)
		memcpy(row, cell, facts_row_size(table));
	return error ? error : note_row(reading, table, cell);
}

static int tell_lot(struct reading *reading, uint32_t table, uint64_t *cell, uint32_t rows)
{
	int error = 0;
	uint32_t i;

	for (i = 0; i < rows && !reading->io->error && !error; i++, cell += facts_tables[table].cells) {
		place_row(reading, table, cell);
		if (!reading->io->error)
			error = tell_row(reading, table, cell);
	}
	return error;
}

static int read_lot(struct reading *reading)
{
	struct facts_io *io = reading->io;
	uint64_t *cell;
	uint32_t table, rows = facts_lot_begin(io, &table);
	int error = 0;

	reading->told[table] += rows;
	facts_check(io, reading->told[table] <= facts_rows_limit(table, reading->detail));
	if (io->error)
		return io->error;
	cell = calloc((size_t)rows + 1, facts_row_size(table));
	if (!cell)
		return -MT_E_MEMORY;
	facts_lot_rows(io, table, cell, rows);
	if (!io->error && (reading->detail || table != LOAD_allocation_raw)) {
		facts_guess_lot(&reading->guess, FACTS_BACK, table, cell, rows);
		error = tell_lot(reading, table, cell, rows);
	}
	free(cell);
	return io->error ? io->error : error;
}

int facts_rows_are_there(struct facts_io io, const struct facts_taker *taker)
{
	uint32_t first;

	facts_guess_skip(&io);
	facts_kept_read(&io, NULL, NULL);
	facts_kept_lives(&io, NULL, NULL, NULL, NULL);
	facts_course_read(&io, NULL, NULL);
	facts_course_read(&io, NULL, NULL);
	first = facts_count(&io, 0, 0, FACTS_ROWS_FIRST);
	if (io.error)
		return io.error;
	return first && (first - 1) % FACTS_ROWS_USE >= (uint32_t)taker->detail &&
	       (!taker->use || first > FACTS_ROWS_USE);
}

int facts_rows_moment(struct facts_io io, const struct analysis *run, const struct facts_taker *taker)
{
	facts_guess_skip(&io);
	facts_kept_read(&io, run, taker->moment);
	facts_kept_lives(&io, NULL, NULL, NULL, NULL);
	facts_course_read(&io, run, taker->course);
	facts_course_read(&io, run, taker->outline);
	if (io.error)
		return io.error;
	return !taker->moment || taker->moment->there;
}

/* Reads the rows, behind the guess and the moment. 0 or an error, of the bytes or of the maker. */
static int read_rows(struct reading *reading, const struct facts_taker *taker)
{
	struct facts_io *io = reading->io;
	int error;

	read_words(reading);
	read_freed(reading, taker->freed);
	error = read_changes(reading);
	while (!error && io->at < io->end)
		error = read_lot(reading);
	if (!error)
		error = load_sums_finish(&reading->sums);
	load_sums_release(&reading->sums);
	sums_instants_release(&reading->instants);
	sums_steps_release(&reading->steps);
	free(reading->word);
	return error;
}

int facts_rows_read(struct facts_io *io, const struct analysis *run, const struct facts_place *place,
		    const struct facts_taker *taker, struct facts_fold *fold)
{
	struct reading reading = { .io = io,
				   .run = run,
				   .defs = run->process[place->process].defs,
				   .place = place,
				   .maker = taker->maker,
				   .detail = taker->detail,
				   .fold = fold,
				   .sums = { .maker = taker->maker, .first = place->process, .seen_alone = 1 } };
	uint32_t first;
	int error, is_alone = run->processes == 1;

	facts_guess_read(io, &reading.guess);
	facts_kept_read(io, run, NULL);
	error = facts_kept_lives(io, run, &reading.guess, is_alone ? taker->lives : NULL, taker->lives_context);
	facts_course_read(io, run, NULL);
	facts_course_read(io, run, NULL);
	first = facts_count(io, 0, 0, FACTS_ROWS_FIRST);
	if (first > FACTS_ROWS_USE)
		facts_use_read(io, place, taker->use);
	if (first && !error)
		error = read_rows(&reading, taker);
	facts_guess_release(&reading.guess);
	error = error ? error : io->error;
	return error ? error : first != 0;
}
