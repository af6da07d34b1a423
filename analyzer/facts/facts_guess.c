#include "facts_guess.h"

#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define MOMENTS_MOST (1u << 20) /* a reader needs 2 MB for these, and their bytes */
#define OUTLIVES_MOST (1u << 24)
#define SITES_MOST (1u << 26)
#define LEVELS_FREE 65536u
#define NOTES_FIRST 65536u /* room at first; each growth sorts all notes */
#define BLOCK 64u          /* moments of one block */
#define CACHED 256u        /* decoded blocks that are kept */

/* ---- what outlived its step ---- */

static const struct facts_member outlived_members[] = {
	FACTS_MEMBER(outlived_row, site),  FACTS_MEMBER(outlived_row, step),  FACTS_MEMBER(outlived_row, until),
	FACTS_MEMBER(outlived_row, bytes), FACTS_MEMBER(outlived_row, count),
};

void facts_outlived(struct facts_io *io, struct outlived_row **row, uint32_t *rows)
{
	facts_run_array(io, (void **)row, sizeof(**row), rows, OUTLIVES_MOST, outlived_members,
			MT_ARRAY_SIZE(outlived_members));
}

static int is_before(const struct outlived_row *row, const struct outlived_row *key)
{
	if (row->site != key->site)
		return row->site < key->site;
	return row->step != key->step ? row->step < key->step : row->until < key->until;
}

static int is_row(const struct facts_guess *guess, uint32_t at, const struct outlived_row *key)
{
	return at < guess->outlives && !is_before(&guess->outlived[at], key) && !is_before(key, &guess->outlived[at]);
}

static const struct outlived_row *find_row(struct facts_guess *guess, const struct outlived_row *key)
{
	uint32_t from = 0, to = guess->outlives, middle;

	if (is_row(guess, guess->newest + 1, key))
		return &guess->outlived[++guess->newest];
	while (from < to) {
		middle = from + (to - from) / 2;
		if (is_before(&guess->outlived[middle], key))
			from = middle + 1;
		else
			to = middle;
	}
	if (!is_row(guess, from, key))
		return NULL;
	guess->newest = from;
	return &guess->outlived[from];
}

/* Guesses the bytes of `count` allocations from the average of the same site and steps. */
static uint64_t bytes_of(struct facts_guess *guess, uint64_t site, uint64_t step, uint64_t until, uint64_t count)
{
	const struct outlived_row key = { .site = (uint32_t)site, .step = (uint32_t)step, .until = (uint32_t)until };
	const struct outlived_row *row = find_row(guess, &key);

	return row && row->count ? row->bytes / row->count * count : 0;
}

/* ---- what was held at the ends of steps ---- */

/* Returns the line of a device's levels. A device has two lines: tensors, and driver memory. */
static uint32_t line_of(uint32_t device, uint32_t driver)
{
	return 2 * device + driver;
}

/* Sets the line of each site. */
static int take_lines(struct facts_guess *guess, const struct attribution *attribution)
{
	uint32_t i;

	guess->sites = attribution->sites ? attribution->sites - 1 : 0;
	guess->line = malloc((size_t)guess->sites + 1);
	if (!guess->line)
		return -MT_E_MEMORY;
	for (i = 0; i < guess->sites; i++)
		guess->line[i] = (uint8_t)line_of(attribution->site[i + 1].key.device,
						  attribution->site[i + 1].key.driver != 0);
	return 0;
}

static void site_lines(struct facts_io *io, struct facts_guess *guess)
{
	static const struct facts_member line_member[] = { { 0, 1 } };

	facts_run_array(io, (void **)&guess->line, 1, &guess->sites, SITES_MOST, line_member, 1);
}

/* Finds the range of steps of the rows, and numbers the lines that have rows. */
static void find_lines(struct facts_io *io, struct facts_guess *guess)
{
	const struct outlived_row *row = guess->outlived;
	uint64_t end = 0;
	uint8_t line;

	guess->first_step = UINT32_MAX;
	for (; row < guess->outlived + guess->outlives && !io->error; row++) {
		facts_check(io, row->site && row->site <= guess->sites && guess->line[row->site - 1] < FACTS_LINES);
		line = io->error ? 0 : guess->line[row->site - 1];
		if (!guess->known[line])
			guess->known[line] = (uint8_t)++guess->lines;
		guess->first_step = row->step < guess->first_step ? row->step : guess->first_step;
		end = row->step >= end ? row->step + 1ull : end;
		if (row->until != OUTLIVED_STAYS && row->until >= end)
			end = row->until + 1ull;
	}
	guess->steps = end > guess->first_step ? end - guess->first_step : 0;
}

/* Adds up the bytes by line and step. Makes no levels if there are far more steps than rows. */
static void make_levels(struct facts_io *io, struct facts_guess *guess)
{
	const struct outlived_row *row = guess->outlived;
	uint64_t *level, i, levels;

	find_lines(io, guess);
	levels = guess->lines * guess->steps;
	if (io->error || levels > 8ull * guess->outlives + LEVELS_FREE)
		return;
	guess->level = facts_new_rows(io, sizeof(*level), levels + 1);
	for (; row < guess->outlived + guess->outlives && guess->level; row++) {
		level = guess->level + (guess->known[guess->line[row->site - 1]] - 1) * guess->steps;
		level[row->step - guess->first_step] += row->bytes;
		if (row->until != OUTLIVED_STAYS && row->until >= guess->first_step)
			level[row->until - guess->first_step] -= row->bytes;
	}
	for (i = 1; i < levels && guess->level; i++)
		guess->level[i] += i % guess->steps ? guess->level[i - 1] : 0;
}

static uint64_t level_of(const struct facts_guess *guess, uint64_t device, uint32_t driver, uint64_t step)
{
	uint32_t known = device < MT_LEDGER_DEVICES ? guess->known[line_of((uint32_t)device, driver)] : 0;

	if (!guess->level || !known || step < guess->first_step)
		return 0;
	step -= guess->first_step;
	return guess->level[(known - 1) * guess->steps + (step < guess->steps ? step : guess->steps - 1)];
}

/* ---- times: notes ---- */

static int by_seq(const void *a, const void *b)
{
	const struct facts_moment *one = a, *two = b;

	return (one->seq > two->seq) - (one->seq < two->seq);
}

static int is_passed(const struct facts_guess *guess, uint64_t seq)
{
	return !((seq * 0x9e3779b97f4a7c15ull >> 40) & guess->sieve);
}

/* Keeps one note for each event. If the notes are too many, keeps a half of the events, a quarter, and so on. */
static void settle(struct facts_guess *guess)
{
	size_t i, kept = 0;

	if (guess->notes)
		qsort(guess->noted, guess->notes, sizeof(*guess->noted), by_seq);
	for (i = 0; i < guess->notes; i++)
		if (!kept || guess->noted[i].seq != guess->noted[kept - 1].seq)
			guess->noted[kept++] = guess->noted[i];
	for (guess->notes = kept; guess->notes > MOMENTS_MOST; guess->notes = kept) {
		guess->sieve = guess->sieve << 1 | 1;
		for (i = kept = 0; i < guess->notes; i++)
			if (is_passed(guess, guess->noted[i].seq))
				guess->noted[kept++] = guess->noted[i];
	}
}

/* Makes room for one more note; at most half of the room is used afterwards. 0 or -MT_E_MEMORY. */
static int make_room(struct facts_guess *guess)
{
	size_t room = guess->note_room ? guess->note_room * 2 : NOTES_FIRST;
	struct facts_moment *grown;

	settle(guess);
	if (guess->note_room && guess->notes <= guess->note_room / 2)
		return 0;
	grown = realloc(guess->noted, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	guess->noted = grown;
	guess->note_room = room;
	return 0;
}

static int note(struct facts_guess *guess, uint64_t seq, uint64_t time)
{
	if (seq == (uint64_t)DB_CELL_NULL || !is_passed(guess, seq) ||
	    (guess->notes && guess->noted[guess->notes - 1].seq == seq))
		return 0;
	if (guess->notes == guess->note_room && make_room(guess))
		return -MT_E_MEMORY;
	guess->noted[guess->notes++] = (struct facts_moment){ seq, time };
	return 0;
}

/* ---- times: the table ---- */

struct facts_moments_block {
	uint32_t number; /* from 1; 0: none */
	struct facts_moment moment[BLOCK];
};

static void write_moments(struct facts_io *io, const struct facts_guess *guess)
{
	const struct facts_moment *moment = guess->noted;
	uint64_t number, time = 0, seq = 0;
	uint8_t low;
	size_t i;

	facts_count(io, (uint32_t)guess->notes, 1, MOMENTS_MOST);
	for (i = 0; i < guess->notes; i++) {
		number = moment[i].seq - seq;
		seq = moment[i].seq;
		facts_number(io, &number);
	}
	for (i = 0; i < guess->notes; i++) {
		low = (uint8_t)(moment[i].time - time);
		time = moment[i].time;
		facts_bytes(io, &low, 1);
	}
	for (i = 0, time = 0; i < guess->notes; i++) {
		number = (moment[i].time - time) >> 8;
		time = moment[i].time;
		facts_number(io, &number);
	}
}

/* Finds the beginnings of blocks, by reading both columns side by side. */
static void read_places(struct facts_io *seqs, struct facts_io *highs, struct facts_guess *guess)
{
	struct facts_moment now = { 0 };
	uint64_t seq, high;
	uint32_t i;

	for (i = 0; i < guess->moments && !seqs->error && !highs->error; i++) {
		struct facts_moments_place *place = &guess->place[i / BLOCK];

		if (i % BLOCK == 0)
			*place = (struct facts_moments_place){ .before = now, .seqs = seqs->at, .highs = highs->at };
		facts_number(seqs, &seq);
		facts_number(highs, &high);
		facts_check(seqs, seq <= UINT64_MAX - now.seq);
		now.seq += seq;
		now.time += high << 8 | guess->lows[i];
		if (i % BLOCK == 0)
			place->first = now.seq;
	}
}

/* Moves behind the numbers of a column. */
static void skip_numbers(struct facts_io *io, uint32_t count)
{
	uint64_t number;

	for (; count && !io->error; count--)
		facts_number(io, &number);
}

static void read_moments(struct facts_io *io, struct facts_guess *guess)
{
	struct facts_io seqs;

	guess->moments = facts_count(io, 0, 3, MOMENTS_MOST);
	seqs = *io;
	skip_numbers(io, guess->moments);
	facts_check(io, guess->moments <= (size_t)(io->end - io->at));
	if (io->error)
		return;
	guess->lows = io->at;
	io->at += guess->moments;
	guess->place = facts_new_rows(io, sizeof(*guess->place), guess->moments / BLOCK + 1);
	guess->cache = facts_new_rows(io, sizeof(*guess->cache), CACHED);
	if (!io->error)
		read_places(&seqs, io, guess);
	facts_check(io, !seqs.error);
}

/* Reads a number of a column without bounds: read_places has read the column to its end before. */
static inline uint64_t next_number(const uint8_t **at)
{
	uint64_t value = *(*at)++;
	unsigned shift;

	if (value < 0x80)
		return value;
	value &= 0x7f;
	for (shift = 7;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

static const struct facts_moments_block *block_of(struct facts_guess *guess, uint32_t number)
{
	const struct facts_moments_place *place = &guess->place[number];
	struct facts_moments_block *block = &guess->cache[number % CACHED];
	const uint8_t *seqs = place->seqs, *highs = place->highs;
	struct facts_moment now = place->before;
	uint32_t i;

	if (block->number == number + 1)
		return block;
	for (i = 0; i < BLOCK && number * BLOCK + i < guess->moments; i++) {
		now.seq += next_number(&seqs);
		now.time += next_number(&highs) << 8 | guess->lows[number * BLOCK + i];
		block->moment[i] = now;
	}
	block->number = number + 1;
	return block;
}

/* Returns the last block that begins at the event or earlier. */
static uint32_t find_block(const struct facts_guess *guess, uint64_t seq)
{
	uint32_t blocks = (guess->moments + BLOCK - 1) / BLOCK, from = 0, to = blocks, middle;

	if (guess->place[guess->block].first <= seq) {
		if (guess->block + 1 == blocks || seq < guess->place[guess->block + 1].first)
			return guess->block;
		from = guess->block + 1;
	} else {
		to = guess->block;
	}
	while (to - from > 1) {
		middle = from + (to - from) / 2;
		if (guess->place[middle].first <= seq)
			from = middle;
		else
			to = middle;
	}
	return from;
}

static uint64_t time_of(struct facts_guess *guess, uint64_t seq)
{
	const struct facts_moments_block *block;
	uint32_t from = 0, to, middle;

	if (seq == (uint64_t)DB_CELL_NULL)
		return seq;
	if (!guess->moments || seq < guess->place[0].first)
		return 0;
	guess->block = find_block(guess, seq);
	block = block_of(guess, guess->block);
	to = guess->moments - guess->block * BLOCK;
	to = to < BLOCK ? to : BLOCK;
	while (to - from > 1) {
		middle = from + (to - from) / 2;
		if (block->moment[middle].seq <= seq)
			from = middle;
		else
			to = middle;
	}
	return block->moment[from].time;
}

/* ---- rows ---- */

enum how { TIME, LIVES, TENSORS, HELD, PEAK, PEAK_TENSORS };

/* How one cell of a row is guessed; A time, and bytes of lives, are guessed from the cell `of`. */
struct rule {
	uint8_t table, how, cell, of;
};

#define CELL_OF(table, column) (offsetof(struct load_##table, column) / sizeof(uint64_t))
#define RULE(table, how, column, of)                                          \
	{                                                                     \
		LOAD_##table, how, CELL_OF(table, column), CELL_OF(table, of) \
	}

/* The order matters: a cell is before the cells that its guess reads. */
static const struct rule rules[] = {
	RULE(allocation_raw, TIME, alloc_time, alloc_seq),
	RULE(allocation_raw, TIME, free_time, free_seq),
	RULE(allocation_raw, LIVES, bytes, allocations),
	RULE(mapping, TIME, map_time, map_seq),
	RULE(mapping, TIME, unmap_time, unmap_seq),
	RULE(phase_span, TIME, first_time, first_seq),
	RULE(phase_span, TIME, last_time, last_seq),
	RULE(step, TIME, begin_time, begin_seq),
	RULE(step, TIME, end_time, end_seq),
	RULE(step_device, TIME, peak_time, peak_seq),
	RULE(step_device, PEAK_TENSORS, peak_tensor_bytes, peak_bytes),
	RULE(step_device, PEAK, peak_bytes, held_bytes),
	RULE(step_device, HELD, held_bytes, step),
	RULE(step_device, TENSORS, tensor_bytes, step),
};

#define CELLS(table) [LOAD_##table] = sizeof(struct load_##table) / sizeof(uint64_t),
static const uint8_t cells[] = { LOAD_TABLES(CELLS) };
#undef CELLS

static uint64_t guess_lives(struct facts_guess *guess, const struct load_allocation_raw *row)
{
	int64_t until = row->free_step == DB_CELL_NULL ? OUTLIVED_STAYS : row->free_step;

	return bytes_of(guess, (uint64_t)row->site, (uint64_t)row->step, (uint64_t)until, (uint64_t)row->allocations);
}

/* Guesses the held bytes: driver memory, or tensors if there is no driver memory. */
static uint64_t guess_held(const struct facts_guess *guess, const struct load_step_device *row)
{
	uint64_t driver = level_of(guess, (uint64_t)row->device - 1, 1, (uint64_t)row->step);

	return driver ? driver : (uint64_t)row->tensor_bytes;
}

static uint64_t guess_cell(struct facts_guess *guess, const struct rule *rule, const uint64_t *cell)
{
	const struct load_step_device *row = (const struct load_step_device *)cell;

	switch (rule->how) {
	case TIME:
		return time_of(guess, cell[rule->of]);
	case LIVES:
		return guess_lives(guess, (const struct load_allocation_raw *)cell);
	case TENSORS:
		return level_of(guess, (uint64_t)row->device - 1, 0, (uint64_t)row->step);
	case HELD:
		return guess_held(guess, row);
	case PEAK_TENSORS:
		return (uint64_t)row->tensor_bytes + (uint64_t)row->peak_bytes - (uint64_t)row->held_bytes;
	default:
		return cell[rule->of];
	}
}

int facts_guess_note_lot(struct facts_guess *guess, uint32_t table, const uint64_t *cell, uint32_t rows)
{
	const struct rule *rule;
	uint32_t i;
	int error = 0;

	for (rule = rules; rule < rules + MT_ARRAY_SIZE(rules); rule++)
		for (i = 0; i < rows && rule->table == table && rule->how == TIME && !error; i++)
			error = note(guess, cell[i * cells[table] + rule->of], cell[i * cells[table] + rule->cell]);
	return error;
}

static void take_cells(struct facts_guess *guess, enum facts_way way, const struct rule *rule, uint64_t *cell,
		       uint32_t rows)
{
	uint64_t guessed;
	uint32_t i;

	for (i = 0; i < rows; i++, cell += cells[rule->table]) {
		guessed = guess_cell(guess, rule, cell);
		cell[rule->cell] += way == FACTS_BACK ? guessed : 0 - guessed;
	}
}

void facts_guess_lot(struct facts_guess *guess, enum facts_way way, uint32_t table, uint64_t *cell, uint32_t rows)
{
	const struct rule *rule;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rules); i++) {
		rule = &rules[way == FACTS_BACK ? MT_ARRAY_SIZE(rules) - 1 - i : i];
		if (rule->table == table)
			take_cells(guess, way, rule, cell, rows);
	}
}

/* ---- the moment that is kept ---- */

int facts_guess_note_kept(struct facts_guess *guess, const struct kept_moment *moment)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < moment->lives && !error; i++)
		error = note(guess, moment->life[i].seq, (uint64_t)moment->life[i].time);
	for (i = 0; i < moment->lives && !error; i++)
		if (moment->life[i].gone_seq != KEPT_STAYS)
			error = note(guess, moment->life[i].gone_seq, (uint64_t)moment->life[i].gone_time);
	return error;
}

void facts_guess_lives(struct facts_guess *guess, enum facts_way way, struct kept_life *life, uint32_t lives)
{
	const struct kept_life *end = life + lives;
	uint64_t sign = way == FACTS_BACK ? 1 : UINT64_MAX;

	for (; life < end; life++) {
		life->time = (int64_t)((uint64_t)life->time + sign * time_of(guess, life->seq));
		if (life->gone_seq != KEPT_STAYS)
			life->gone_time = (int64_t)((uint64_t)life->gone_time + sign * time_of(guess, life->gone_seq));
		life->bytes += sign * bytes_of(guess, life->site, life->step,
					       life->gone_seq == KEPT_STAYS ? OUTLIVED_STAYS : life->gone_step, 1);
	}
}

/* ---- all of it ---- */

int facts_guess_init(struct facts_guess *guess, const struct analysis *analysis)
{
	const struct outlived *outlived = &analysis->process[0].outlived;

	*guess = (struct facts_guess){ .outlived = outlived_sorted(outlived) };
	guess->outlives = guess->outlived ? (uint32_t)outlived->rows : 0;
	return outlived->rows && !guess->outlived ? -MT_E_MEMORY : take_lines(guess, &analysis->attribution);
}

void facts_guess_release(struct facts_guess *guess)
{
	free(guess->outlived);
	free(guess->line);
	free(guess->level);
	free(guess->noted);
	free(guess->place);
	free(guess->cache);
	free(guess->own);
	*guess = (struct facts_guess){ 0 };
}

static void read_all(struct facts_io *io, struct facts_guess *guess)
{
	guess->outlived = NULL;
	guess->line = NULL;
	facts_outlived(io, &guess->outlived, &guess->outlives);
	site_lines(io, guess);
	make_levels(io, guess);
	read_moments(io, guess);
	facts_check(io, io->at == io->end);
}

/* Writes the section, and reads it back: the writer must guess exactly as a reader will. */
void facts_guess_write(struct facts_io *io, struct facts_guess *guess)
{
	struct facts_io own = { .writing = 1, .error = io->error }, back;

	settle(guess);
	facts_outlived(&own, &guess->outlived, &guess->outlives);
	site_lines(&own, guess);
	write_moments(&own, guess);
	free(guess->noted);
	guess->noted = NULL;
	guess->notes = guess->note_room = 0;
	facts_count(io, (uint32_t)own.size, 1, UINT32_MAX);
	facts_bytes(io, own.data, own.size);
	guess->own = own.data;
	back = (struct facts_io){ .error = own.error, .at = own.data, .end = own.data + own.size };
	free(guess->outlived);
	free(guess->line);
	read_all(&back, guess);
	io->error = back.error ? back.error : io->error;
}

/* Returns the bytes of the section, and moves `io` behind them. */
static struct facts_io section(struct facts_io *io)
{
	uint32_t size = facts_count(io, 0, 1, UINT32_MAX);
	struct facts_io own = { .error = io->error, .at = io->at, .end = io->at + size };

	io->at += size;
	return own;
}

void facts_guess_read(struct facts_io *io, struct facts_guess *guess)
{
	struct facts_io own = section(io);

	*guess = (struct facts_guess){ 0 };
	read_all(&own, guess);
	io->error = own.error;
}

void facts_guess_skip(struct facts_io *io)
{
	section(io);
}

void facts_guess_outlived(struct facts_io *io, struct analysis *analysis)
{
	struct facts_io ahead = *io, own = section(&ahead);
	struct outlived_row *row = NULL;
	uint32_t rows = 0, i;

	facts_outlived(&own, &row, &rows);
	for (i = 0; i < rows && !own.error; i++) {
		facts_check(&own, row[i].site && row[i].site < analysis->attribution.sites);
		if (!own.error)
			own.error = outlived_add(&analysis->process[0].outlived, &row[i],
						 analysis->process[0].last_step);
	}
	free(row);
	io->error = own.error;
}
