/* Collects the rows of a pass and writes them as bytes. */
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

size_t facts_rows_room = FACTS_ROWS_BYTES_MOST;
uint32_t facts_rows_most = FACTS_ROWS_MOST;

#define LIVES_FREE (256u << 10) /* bytes of lives that are allowed in the shortest trace */

static uint64_t hash_of(const char *word)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *word; word++)
		hash = (hash ^ (uint8_t)*word) * 0x100000001b3u;
	return hash;
}

/* Returns the slot of the text, or the empty slot where the text belongs. */
static uint32_t *find_slot(const struct facts_rows *rows, const char *word)
{
	uint32_t mask = 2 * rows->word_room - 1, at = (uint32_t)hash_of(word) & mask;

	while (rows->slot[at] && strcmp(rows->word[rows->slot[at] - 1], word) != 0)
		at = (at + 1) & mask;
	return &rows->slot[at];
}

/* Makes room for one more text; at most half of the slots are used. 0; else the rows are given up. */
static int make_room(struct facts_rows *rows)
{
	uint32_t room = rows->word_room ? rows->word_room * 2 : 32, i;
	const char **word = room <= FACTS_ROWS_WORDS_MOST ? realloc(rows->word, room * sizeof(*word)) : NULL;
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

/* Returns the number of the text. A hash table, because each step may have its own name. */
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

/* Replaces the texts of the lot's rows by their numbers. */
static void number_texts(struct facts_rows *rows, uint32_t table, struct facts_lot *lot)
{
	uint64_t *cell = lot->row;
	const char *word;
	uint32_t i, k;

	for (i = 0; i < lot->rows; i++, cell += facts_tables[table].cells)
		for (k = 0; k < facts_tables[table].cells; k++) {
			if (facts_tables[table].cell[k] != FACTS_CELL_TEXT)
				continue;
			memcpy(&word, &cell[k], sizeof(word));
			cell[k] = word_number(rows, word ? word : "");
		}
}

/* Drops all bytes written for the table. */
static void empty(struct facts_io *io, struct facts_lot *lot)
{
	free(io->data);
	*io = (struct facts_io){ .writing = 1 };
	lot->written = 0;
}

static void forget_lives(struct facts_rows *rows)
{
	rows->detail = SUMS_NONE;
	rows->rows.steps_alone = rows->rows.sums.seen_alone = 1; /* makes the rest of the pass cheaper */
	empty(&rows->lives, &rows->lot[LOAD_allocation_raw]);
}

uint32_t facts_rows_limit(uint32_t table, enum sums_detail detail)
{
	if (table != LOAD_allocation_raw)
		return FACTS_ROWS_MOST;
	return detail > SUMS_STEPS ? facts_rows_most : FACTS_BY_STEP * facts_rows_most;
}

/* Whether bytes or rows of the table fill more than `part` thousandths of their room. */
static int fills(const struct facts_rows *rows, uint32_t table, uint64_t part)
{
	const struct facts_io *io = table == LOAD_allocation_raw ? &rows->lives : &rows->io;

	return io->error || rows->lot[table].written * 1000ull > facts_rows_limit(table, rows->detail) * part ||
	       io->size * 1000ull > facts_rows_room * part;
}

/* Writes the table's lot. Lives may take twice their room here: they can be thinned only at the next instant. */
static void write_lot(struct facts_rows *rows, uint32_t table)
{
	struct facts_lot *lot = &rows->lot[table];
	int is_life = table == LOAD_allocation_raw;
	struct facts_io *io = is_life ? &rows->lives : &rows->io;

	if (lot->rows && !rows->none && !(is_life && !rows->detail)) {
		number_texts(rows, table, lot);
		facts_lot_write(io, table, lot->row, lot->rows);
	}
	lot->written += lot->rows;
	lot->rows = 0;
	if (!fills(rows, table, is_life ? 2000 : 1000))
		return;
	rows->none |= !is_life;
	if (!is_life)
		empty(io, lot);
	forget_lives(rows);
}

static void *new_row(void *context, enum load_table table, int *error)
{
	struct facts_rows *rows = context;
	struct facts_lot *lot = &rows->lot[table];

	*error = 0;
	if (!lot->row)
		lot->row = malloc(FACTS_LOT_ROWS * facts_row_size(table));
	if (lot->rows == FACTS_LOT_ROWS)
		write_lot(rows, table);
	if (!lot->row)
		*error = -MT_E_MEMORY;
	return lot->row ? (uint8_t *)lot->row + lot->rows++ * facts_row_size(table) : NULL;
}

/* Gives up the rows; the pass goes on. */
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
		grown = room <= FACTS_ROWS_CHANGES_MOST ? realloc(rows->change, room * sizeof(*grown)) : NULL;
		if (!grown)
			return forget(rows, 0, 0);
		rows->change = grown;
		rows->change_room = room;
	}
	rows->change[rows->changes++] = *change;
	return 0;
}

/* ---- fewer instants ---- */

/* Reads the next lot of written lives and adds it to the sums between the new instants. 0 or an error. */
static int thin_lot(struct facts_rows *rows, struct facts_io *io, struct load_allocation_raw *row)
{
	struct load_allocation_raw *single;
	uint64_t number;
	uint32_t table, count = facts_lot_begin(io, &table), i;
	int error = 0;

	memset(row, 0, count * sizeof(*row));
	facts_lot_rows(io, LOAD_allocation_raw, row, count);
	for (i = 0; i < count && !io->error && !error; i++) {
		memcpy(&number, &row[i].memory, sizeof(number));
		row[i].memory = rows->word[number];
		if (!load_sums_is_left_out(&rows->rows.sums, 0, (uint64_t)row[i].alloc_seq)) {
			error = load_sums_row(&rows->rows.sums, 0, &row[i]);
			continue;
		}
		single = new_row(rows, LOAD_allocation_raw, &error);
		if (single)
			*single = row[i];
	}
	return io->error ? io->error : error;
}

/* Sums all written lives once more, between fewer instants. `newest` is the last of these. 0 or an error. */
static int thin(struct facts_rows *rows, uint64_t newest)
{
	struct load_sums *sums = &rows->rows.sums;
	struct load_allocation_raw *row = malloc(FACTS_LOT_ROWS * sizeof(*row));
	struct facts_io old;
	uint64_t *seq;
	size_t count, i;
	int error = sums_instants_all(&rows->instants, rows->detail, rows->analysis, 0, &seq, &count);

	sums->seen_alone = 1;
	if (!error)
		error = row ? load_sums_begin_again(sums) : -MT_E_MEMORY;
	write_lot(rows, LOAD_allocation_raw);
	old = rows->lives;
	rows->lives = (struct facts_io){ 0 };
	empty(&rows->lives, &rows->lot[LOAD_allocation_raw]);
	for (i = 0; i < count && seq[i] < newest && !error; i++)
		load_sums_instant(sums, 0, seq[i]);
	old.writing = 0;
	old.at = old.data;
	old.end = old.data + old.size;
	while (!error && old.at < old.end)
		error = thin_lot(rows, &old, row);
	load_sums_instant(sums, 0, newest);
	write_lot(rows, LOAD_allocation_raw);
	free(old.data);
	free(row);
	free(seq);
	return error ? error : sums->error;
}

/* Whether the lives have outgrown their room. */
static int is_due(const struct facts_rows *rows)
{
	size_t size = rows->lives.size;

	if (fills(rows, LOAD_allocation_raw, 1000))
		return 1;
	return rows->due ? size > rows->due : size > LIVES_FREE && size > rows->analysis->process[0].events / 2;
}

/* Thins lives that have outgrown their room, until half of the room is free: then thinning is rare. */
static void fit(struct facts_rows *rows, uint64_t newest)
{
	if (!rows->detail || rows->none || !is_due(rows))
		return;
	rows->detail = rows->detail == SUMS_ALL ? SUMS_BATCHES : rows->detail;
	while (rows->detail && (thin(rows, newest) || fills(rows, LOAD_allocation_raw, 500)))
		rows->detail--;
	rows->due = 2 * rows->lives.size + LIVES_FREE;
	rows->rows.steps_alone = rows->detail <= SUMS_STEPS;
	if (!rows->detail)
		forget_lives(rows);
}

/* ---- moves ---- */

/* Passes the collected moves to course and outline. Collected, because many moves at once cost less. */
static void tell_moves(struct facts_rows *rows)
{
	course_changed(rows->course, rows->goes_on, rows->move, rows->moves);
	outline_changed(rows->outline, rows->goes_on, rows->move, rows->moves);
	rows->moves = 0;
}

/* Returns the site's move in the running event, or NULL. */
static struct course_move *find_move(struct facts_rows *rows, uint32_t site, int slack, int64_t time)
{
	struct course_move *move = rows->move + rows->moves;

	while (move > rows->move) {
		move--;
		if (move->site == site && move->slack == slack && move->time == time)
			return move;
		if (move > rows->move && !move[-1].more)
			break;
	}
	return NULL;
}

/* Returns the place of one more move, of event number `event`. */
static struct course_move *add_move(struct facts_rows *rows, uint64_t event)
{
	int goes_on = rows->event == event;

	rows->event = event;
	if (rows->moves == FACTS_MOVES)
		tell_moves(rows);
	if (rows->moves)
		rows->move[rows->moves - 1].more = (uint8_t)goes_on;
	else
		rows->goes_on = goes_on;
	return &rows->move[rows->moves++];
}

static struct course_move *move_of(struct facts_rows *rows, uint32_t site, int slack, int64_t time)
{
	uint64_t event = rows->analysis->process[0].events;
	struct course_move *move = rows->event == event ? find_move(rows, site, slack, time) : NULL;

	if (move)
		return move;
	move = add_move(rows, event);
	move->time = time;
	move->bytes = 0;
	move->site = site;
	move->count = 0;
	move->more = 0;
	move->slack = (uint8_t)slack;
	return move;
}

static void note_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	struct course_move *move = move_of(context, site, slack != 0, time);

	move->bytes = (int64_t)((uint64_t)move->bytes + (uint64_t)bytes);
}

static void note_count(void *context, uint32_t site, int change, int64_t time)
{
	struct facts_rows *rows = context;
	struct course_move *move = rows->moves ? &rows->move[rows->moves - 1] : NULL;

	/* Look at the newest move first: nearly always its site is the same. */
	if (!move || move->site != site || move->slack || move->time != time ||
	    rows->event != rows->analysis->process[0].events)
		move = move_of(rows, site, 0, time);
	move->count = (int32_t)((uint32_t)move->count + (uint32_t)change);
}

static void note_reached(void *context, uint32_t device, int oom)
{
	struct facts_rows *rows = context;

	if (oom) {
		tell_moves(rows);
		course_reached(rows->course, device, oom);
	}
	rows->rest.reached(context, device, oom);
}

/* ---- instants and steps ---- */

static void note_instant(void *context, uint32_t process, uint64_t seq)
{
	struct facts_rows *rows = context;

	rows->rest.instant(context, process, seq);
	fit(rows, seq);
}

static int note_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		     const struct mt_event *last)
{
	struct facts_rows *rows = context;
	int error = sums_instants_span(&rows->instants, phase, step, first->seq, last->seq);

	tell_moves(rows);
	course_span(rows->course, phase, step, first);
	return error ? error : rows->rest.span(context, process, phase, step, first, last);
}

static int note_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct facts_rows *rows = context;
	int error = sums_instants_step(&rows->instants, event->seq);

	return error ? error : rows->rest.step(context, process, event);
}

static void listen(struct facts_rows *rows)
{
	rows->rest = rows->sink;
	rows->sink.instant = note_instant;
	rows->sink.span = note_span;
	rows->sink.step = note_step;
	rows->sink.moved = note_move;
	rows->sink.counted = note_count;
	rows->sink.reached = note_reached;
}

/* ---- all of them ---- */

int facts_rows_init(struct facts_rows *rows, const struct analysis *analysis)
{
	memset(rows, 0, sizeof(*rows));
	rows->io.writing = rows->lives.writing = 1;
	rows->detail = SUMS_ALL;
	rows->analysis = analysis;
	rows->maker = (struct row_maker){ rows, new_row, forget, add_change };
	row_sink_init(&rows->rows, &rows->sink, analysis, &rows->maker, 1);
	rows->sink.quiet = 1;
	rows->kept = kept_new(analysis, 0);
	if (!rows->kept)
		return -MT_E_MEMORY;
	row_sink_keep(&rows->rows, &rows->sink, rows->kept, 0);
	rows->course = course_new(analysis);
	rows->outline = outline_new(analysis);
	rows->use = phase_use_new(analysis);
	if (!rows->course || !rows->outline || !rows->use)
		return -MT_E_MEMORY;
	row_sink_use(&rows->rows, rows->use);
	listen(rows);
	return 0;
}

void facts_rows_release(struct facts_rows *rows)
{
	uint32_t i;

	row_sink_release(&rows->rows);
	sums_instants_release(&rows->instants);
	kept_free(rows->kept);
	course_free(rows->course);
	outline_free(rows->outline);
	phase_use_free(rows->use);
	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		free(rows->lot[i].row);
	free(rows->io.data);
	free(rows->lives.data);
	free(rows->word);
	free(rows->slot);
	free(rows->change);
	memset(rows, 0, sizeof(*rows));
}

/* ---- as bytes ---- */

#define R(member) FACTS_MEMBER(row_residence, member)
const struct facts_member facts_rows_change[FACTS_ROWS_CHANGE] = { R(process), R(alloc_seq), R(seq),
								   R(time),    R(step),      R(bytes) };
#undef R

const struct facts_member facts_rows_number[1] = { { 0, 1 } };

static void write_freed(struct facts_io *io, const struct row_freed *freed)
{
	uint32_t room = freed->processes ? freed->process[0].room : 0;

	facts_count(io, room, 1, UINT32_MAX);
	if (room)
		facts_rows(io, freed->process[0].node, 1, room, facts_rows_number, 1);
}

/* Writes the first number, and the figures of phases. Returns 0 without rows. */
static int write_first(struct facts_io *io, const struct facts_rows *rows)
{
	struct phase_use_list use;
	int found = rows->none ? 0 : phase_use_find(rows->use, &use);

	if (rows->none)
		return (int)facts_count(io, 0, 0, FACTS_ROWS_FIRST);
	if (found < 0)
		io->error = found;
	facts_count(io, 1 + rows->detail + (found ? FACTS_ROWS_USE : 0), 0, FACTS_ROWS_FIRST);
	if (found)
		facts_use_write(io, &use);
	free(use.row);
	return !io->error;
}

static void write_rows(struct facts_io *io, struct facts_rows *rows, struct facts_guess *guess)
{
	uint32_t i;

	facts_count(io, rows->words, 1, FACTS_ROWS_WORDS_MOST);
	for (i = 0; i < rows->words; i++)
		facts_text(io, rows->word[i], FACTS_ROWS_WORD_MOST);
	write_freed(io, &rows->rows.freed);
	facts_count(io, rows->changes, 1, FACTS_ROWS_CHANGES_MOST);
	if (rows->changes)
		facts_rows(io, rows->change, sizeof(*rows->change), rows->changes, facts_rows_change,
			   FACTS_ROWS_CHANGE);
	facts_lots_write(io, &rows->io, guess);
	if (rows->detail)
		facts_lots_write(io, &rows->lives, guess);
}

/* Writes the last rows into lots. */
static void finish(struct facts_rows *rows)
{
	uint32_t i;

	rows->none |= row_sink_finish(&rows->rows) != 0;
	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		write_lot(rows, i);
	rows->due = rows->due ? 1 : 0; /* forces fit to thin lives once more, if lives were thinned before */
	fit(rows, INT64_MAX);
}

/* Prepares the guess: notes all times of rows and moment. 0 or an error. */
static int begin_guess(const struct facts_rows *rows, const struct kept_moment *moment, struct facts_guess *guess)
{
	int error = facts_guess_init(guess, rows->analysis);

	if (!error)
		error = facts_guess_note_kept(guess, moment);
	if (!error && !rows->none)
		error = facts_lots_note(&rows->io, guess);
	if (!error && !rows->none && rows->detail)
		error = facts_lots_note(&rows->lives, guess);
	return error;
}

void facts_rows_write(struct facts_io *io, struct facts_rows *rows)
{
	struct facts_guess guess = { 0 };
	struct course_moves moves = { 0 }, outline = { 0 };
	struct kept_moment moment;
	int error = kept_find(rows->kept, &moment);

	tell_moves(rows);
	if (!error && moment.advice)
		error = course_find(rows->course, moment.device, moment.oom, &moves);
	if (!error)
		error = outline_find(rows->outline, &outline);
	finish(rows);
	if (!error)
		error = begin_guess(rows, &moment, &guess);
	io->error = io->error ? io->error : error;
	if (!io->error) {
		facts_guess_write(io, &guess);
		facts_kept_write(io, &moment, &guess);
		facts_course_write(io, &moves, rows->analysis->process[0].events);
		facts_course_write(io, &outline, rows->analysis->process[0].events);
		if (write_first(io, rows))
			write_rows(io, rows, &guess);
	}
	free(moves.move);
	free(outline.move);
	kept_moment_release(&moment);
	facts_guess_release(&guess);
}
