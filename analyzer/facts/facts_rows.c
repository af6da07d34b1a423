#include "facts_rows.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "facts_course.h"
#include "facts_kept.h"
#include "facts_lots.h"
#include "facts_use.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "rows/row_id.h"
#include "rows/sums_steps.h"

size_t facts_rows_room = FACTS_ROWS_BYTES_MOST;

#define LIVES_FREE (256u << 10) /* bytes of lives that any trace may have */
#define WORDS_MOST (1u << 20)
#define CHANGES_MOST (1u << 22)
#define WORD_MOST 65536u

/* The first number of the bytes: 0, there are no rows; else 1, the detail of lives, and ROWS_USE where there are figures of phases. */
#define ROWS_USE (SUMS_ALL + 1u)
#define ROWS_FIRST (2 * ROWS_USE)

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

	for (i = 0; i < lot->rows; i++, cell += facts_tables[table].cells)
		for (k = 0; k < facts_tables[table].cells; k++) {
			if (facts_tables[table].cell[k] != FACTS_CELL_TEXT)
				continue;
			memcpy(&word, &cell[k], sizeof(word));
			cell[k] = word_number(rows, word ? word : "");
		}
}

/* The bytes of the lot's rows begin anew. */
static void empty(struct facts_io *io, struct facts_lot *lot)
{
	free(io->data);
	*io = (struct facts_io){ .writing = 1 };
	lot->written = 0;
}

static void forget_lives(struct facts_rows *rows)
{
	rows->detail = SUMS_NONE;
	rows->rows.steps_alone = rows->rows.sums.seen_alone = 1; /* the rest of the pass costs less */
	empty(&rows->lives, &rows->lot[LOAD_allocation_raw]);
}

/* Whether the bytes and rows fill more than `part` thousandths of their room. */
static int fills(const struct facts_io *io, const struct facts_lot *lot, uint64_t part)
{
	return io->error || lot->written * 1000ull > FACTS_ROWS_MOST * part ||
	       io->size * 1000ull > facts_rows_room * part;
}

/* Lives have twice their room until the next instant, where they can be thinned. */
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
	if (!fills(io, lot, is_life ? 2000 : 1000))
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

/* ---- fewer instants ---- */

/* The next lot of the lives that were written, between the instants of now. 0 or an error. */
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

/* Takes the lives through sums once more. The newest instant, `newest`, is the last to be told. 0 or an error. */
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

/* Whether lives take more than they may by now. */
static int is_due(const struct facts_rows *rows)
{
	size_t size = rows->lives.size;

	if (fills(&rows->lives, &rows->lot[LOAD_allocation_raw], 1000))
		return 1;
	return rows->due ? size > rows->due : size > LIVES_FREE && size > rows->analysis->process[0].events / 2;
}

/* Thins lives that have outgrown their room. Half of it is to be free then: lives that grow are thinned seldom. */
static void fit(struct facts_rows *rows, uint64_t newest)
{
	const struct facts_lot *lot = &rows->lot[LOAD_allocation_raw];

	if (!rows->detail || rows->none || !is_due(rows))
		return;
	rows->detail = rows->detail == SUMS_ALL ? SUMS_BATCHES : rows->detail;
	while (rows->detail && (thin(rows, newest) || fills(&rows->lives, lot, 500)))
		rows->detail--;
	rows->due = 2 * rows->lives.size + LIVES_FREE;
	rows->rows.steps_alone = rows->detail <= SUMS_STEPS;
	if (!rows->detail)
		forget_lives(rows);
}

/* ---- moves ---- */

/* Course and outline need no event at once: many together cost less. */
static void tell_moves(struct facts_rows *rows)
{
	course_changed(rows->course, rows->goes_on, rows->move, rows->moves);
	outline_changed(rows->outline, rows->goes_on, rows->move, rows->moves);
	rows->moves = 0;
}

/* The running event's move of the site. NULL: there is none. */
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

/* One more move, of event number `event`. */
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

	/* Nearly always the site has just moved. */
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

/* The first number, and the figures of phases. 0: there are no rows. */
static int write_first(struct facts_io *io, const struct facts_rows *rows)
{
	struct phase_use_list use;
	int found = rows->none ? 0 : phase_use_find(rows->use, &use);

	if (rows->none)
		return (int)facts_count(io, 0, 0, ROWS_FIRST);
	if (found < 0)
		io->error = found;
	facts_count(io, 1 + rows->detail + (found ? ROWS_USE : 0), 0, ROWS_FIRST);
	if (found)
		facts_use_write(io, &use);
	free(use.row);
	return !io->error;
}

static void write_rows(struct facts_io *io, struct facts_rows *rows, struct facts_guess *guess)
{
	uint32_t i;

	facts_count(io, rows->words, 1, WORDS_MOST);
	for (i = 0; i < rows->words; i++)
		facts_text(io, rows->word[i], WORD_MOST);
	write_freed(io, &rows->rows.freed);
	facts_count(io, rows->changes, 1, CHANGES_MOST);
	if (rows->changes)
		facts_rows(io, rows->change, sizeof(*rows->change), rows->changes, change_members,
			   MT_ARRAY_SIZE(change_members));
	facts_lots_write(io, &rows->io, guess);
	if (rows->detail)
		facts_lots_write(io, &rows->lives, guess);
}

/* The last rows are in their lots then. */
static void finish(struct facts_rows *rows)
{
	uint32_t i;

	rows->none |= row_sink_finish(&rows->rows) != 0;
	for (i = 0; i < LOAD_TABLE_COUNT; i++)
		write_lot(rows, i);
	rows->due = rows->due ? 1 : 0; /* lives that came since are thinned, too */
	fit(rows, INT64_MAX);
}

/* Makes the guess from all that has times. 0 or an error. */
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

/* ---- reading ---- */

struct reading {
	struct facts_io *io;
	const struct mt_defs *defs;
	const struct facts_place *place;
	const struct row_maker *maker;
	const struct analysis *run;
	struct facts_guess guess;
	enum sums_detail detail; /* lives that are asked for have it */
	struct sums_instants instants;
	struct sums_steps steps; /* SUMS_BATCHES */
	struct load_sums sums;   /* lives between fewer instants than those of the facts */
	struct facts_fold *fold; /* the same for SUMS_STEPS */
	int summing;             /* 1: it knows its instants */
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
		error = load_sums_leave_out(&reading->sums, reading->place->process, (uint64_t)change[i].alloc_seq);
		if (!error)
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
	peak->peak_time -= reading->place->later; /* nothing was held: there is no peak */
	peak->peak_process = row_process_id(0);
}

/* Notes the instants that ends of steps and stretches of phases are: their rows come before those of lives. */
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
	facts_check(io, reading->told[table] <= FACTS_ROWS_MOST);
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
	facts_kept_read(&io, NULL, NULL, NULL);
	facts_course_read(&io, NULL, NULL);
	facts_course_read(&io, NULL, NULL);
	first = facts_count(&io, 0, 0, ROWS_FIRST);
	if (io.error)
		return io.error;
	return first && (first - 1) % ROWS_USE >= (uint32_t)taker->detail && (!taker->use || first > ROWS_USE);
}

int facts_rows_moment(struct facts_io io, const struct analysis *run, const struct facts_taker *taker)
{
	struct facts_guess guess;

	facts_guess_read(&io, &guess);
	facts_kept_read(&io, run, taker->moment, &guess);
	facts_course_read(&io, run, taker->course);
	facts_course_read(&io, run, taker->outline);
	facts_guess_release(&guess);
	if (io.error)
		return io.error;
	return !taker->moment || taker->moment->there;
}

/* Behind the guess and the moment. 0 or an error, of the bytes or of the maker. */
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
	int error = 0;

	facts_guess_read(io, &reading.guess);
	facts_kept_read(io, run, NULL, NULL);
	facts_course_read(io, run, NULL);
	facts_course_read(io, run, NULL);
	first = facts_count(io, 0, 0, ROWS_FIRST);
	if (first > ROWS_USE)
		facts_use_read(io, place, taker->use);
	if (first)
		error = read_rows(&reading, taker);
	facts_guess_release(&reading.guess);
	error = error ? error : io->error;
	return error ? error : first != 0;
}
