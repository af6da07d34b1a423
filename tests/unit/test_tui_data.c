/* The data behind the timeline: the tape, and the series over it. */
#include <signal.h>
#include <sys/resource.h>
#include "memtrace/error.h"
#include "screen/data/series.h"
#include "tape_kit.h"
#include "test.h"
#include "timeline/tape.h"

/* ---- the tape ---------------------------------------------------------------------------------------------------- */

TEST(tape_gives_back_what_it_was_told)
{
	struct kit_random random = { 1 };
	struct tape *tape = tape_new();
	const struct tape_event *event;
	struct told told;
	uint64_t i;
	uint32_t run;

	tell(&random, &told, tape, 3 * TAPE_BLOCK + 1000);
	CHECK_EQ(tape_count(tape), told.count);
	for (i = 0; i < told.count; i++) {
		event = tape_at(tape, i, &run);
		CHECK(!memcmp(event, &told.event[i], sizeof(*event)));
		CHECK_EQ(run, TAPE_BLOCK - i % TAPE_BLOCK);
	}
	free(told.event);
	tape_free(tape);
}

TEST(each_block_begins_with_what_was_alive)
{
	struct kit_random random = { 2 };
	struct tape *tape = tape_new();
	const struct tape_held *held;
	uint64_t i, bytes[CELLS] = { 0 }, live[CELLS] = { 0 };
	uint32_t block, count, cell, alive;
	struct told told;

	tell(&random, &told, tape, 3 * TAPE_BLOCK + 1000);
	for (i = 0, block = 0; i < told.count; i++) {
		if (i % TAPE_BLOCK == 0) {
			held = tape_snapshot(tape, block++, &count);
			for (cell = 0, alive = 0; cell < CELLS; cell++)
				alive += bytes[cell] || live[cell];
			CHECK_EQ(count, alive);
			for (cell = 0; cell < count; cell++) {
				CHECK_EQ(held[cell].bytes, bytes[held[cell].cell]);
				CHECK_EQ(held[cell].count, live[held[cell].cell]);
				CHECK(!cell || held[cell - 1].cell < held[cell].cell);
			}
		}
		bytes[told.event[i].cell] += (uint64_t)told.event[i].bytes;
		live[told.event[i].cell] += (uint64_t)(int64_t)told.event[i].count;
	}
	CHECK_EQ(block, 4);
	free(told.event);
	tape_free(tape);
}

TEST(counts_join_the_bytes_they_belong_to)
{
	struct tape *tape = tape_new();
	uint32_t run;

	CHECK_EQ(tape_add(tape, 10, 2, 100, 0), 0);
	CHECK_EQ(tape_add_part(tape, 10, 3, -100, 0), 0);
	CHECK_EQ(tape_add_part(tape, 10, 2, 0, 1), 0);
	CHECK_EQ(tape_count(tape), 2);
	CHECK_EQ(tape_at(tape, 0, &run)->count, 1);
	CHECK_EQ(tape_at(tape, 0, &run)->more, 1);
	CHECK_EQ(tape_at(tape, 1, &run)->more, 0);
	/* Not at another time, nor to what a reader has seen. */
	CHECK_EQ(tape_add(tape, 11, 2, 0, 1), 0);
	CHECK_EQ(tape_count(tape), 3);
	CHECK_EQ(tape_settle(tape), 3);
	CHECK_EQ(tape_add_part(tape, 11, 2, 0, 1), 0);
	CHECK_EQ(tape_count(tape), 4);
	CHECK_EQ(tape_at(tape, 2, &run)->count, 1);
	CHECK_EQ(tape_at(tape, 2, &run)->more, 0);
	tape_free(tape);
}

TEST(a_count_over_the_border_of_a_block_is_in_the_snapshot_once)
{
	struct tape *tape = tape_new();
	const struct tape_held *held;
	uint32_t i, count, run;

	for (i = 0; i < TAPE_BLOCK; i++)
		CHECK_EQ(tape_add(tape, 5, 2, 1, 0), 0);
	CHECK_EQ(tape_add(tape, 5, 3, 1, 0), 0);
	CHECK_EQ(tape_add(tape, 5, 2, 0, 7), 0);
	CHECK_EQ(tape_count(tape), TAPE_BLOCK + 2);
	held = tape_snapshot(tape, 1, &count);
	CHECK_EQ(count, 1);
	CHECK_EQ(held[0].count, 0);
	CHECK_EQ(tape_at(tape, TAPE_BLOCK + 1, &run)->count, 7);
	/* And one that was joined is in the next. */
	CHECK_EQ(tape_add(tape, 5, 3, 0, 9), 0);
	CHECK_EQ(tape_count(tape), TAPE_BLOCK + 2);
	for (i = tape_count(tape) % TAPE_BLOCK; i <= TAPE_BLOCK; i++)
		CHECK_EQ(tape_add(tape, 6, 4, 1, 0), 0);
	held = tape_snapshot(tape, 2, &count);
	CHECK_EQ(count, 3);
	CHECK_EQ(held[0].count, 7);
	CHECK_EQ(held[1].count, 9);
	tape_free(tape);
}

static uint64_t find_slowly(const struct told *told, uint64_t events, int64_t time)
{
	uint64_t i = 0;

	while (i < events && told->event[i].time <= time)
		i++;
	return i;
}

TEST(find_is_the_first_later_event)
{
	static const uint64_t counts[] = { 0, 1, 5, TAPE_BLOCK - 1, TAPE_BLOCK, TAPE_BLOCK + 1, 2 * TAPE_BLOCK + 77 };
	struct kit_random random = { 3 };
	struct tape *tape = tape_new();
	struct told told;
	int64_t time;
	size_t i, k;

	tell(&random, &told, tape, 2 * TAPE_BLOCK + 100);
	for (i = 0; i < MT_ARRAY_SIZE(counts); i++) {
		CHECK_EQ(tape_find(tape, counts[i], INT64_MIN), 0);
		CHECK_EQ(tape_find(tape, counts[i], INT64_MAX), counts[i]);
		for (k = 0; k < 60; k++) {
			time = told.event[kit_below(&random, told.count)].time - (int64_t)kit_below(&random, 2);
			CHECK_EQ(tape_find(tape, counts[i], time), find_slowly(&told, counts[i], time));
		}
		if (counts[i])
			CHECK_EQ(tape_find(tape, counts[i], told.event[counts[i] - 1].time),
				 find_slowly(&told, counts[i], told.event[counts[i] - 1].time));
	}
	free(told.event);
	tape_free(tape);
}

TEST(a_full_disk_is_an_error_and_keeps_what_was_there)
{
	struct rlimit limit = { .rlim_cur = 5 << 20, .rlim_max = 5 << 20 };
	struct tape *tape = tape_new();
	uint64_t i;
	uint32_t run;
	int error = 0;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (i = 0; !error && i < 10 * TAPE_BLOCK; i++)
		error = tape_add(tape, (int64_t)i, 2, 1, 1);
	CHECK_EQ(error, -MT_E_SYSTEM);
	CHECK(tape_count(tape) >= TAPE_BLOCK);
	CHECK_EQ(tape_count(tape) % TAPE_BLOCK, 0);
	CHECK_EQ(tape_settle(tape), i - 1);
	for (i = 0; i < tape_count(tape); i++)
		CHECK_EQ(tape_at(tape, i, &run)->time, i);
	CHECK_EQ(tape_find(tape, tape_count(tape), 1000), 1001);
	tape_free(tape);
}

TEST(where_the_folder_is_missing_another_is_taken)
{
	struct tape *tape = tape_new();

	setenv("TMPDIR", "/does/not/exist", 1);
	CHECK_EQ(tape_add(tape, 1, 2, 1, 1), 0);
	CHECK_EQ(tape_count(tape), 1);
	tape_free(tape);
}

/* ---- a tape of which cells are split ------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* At every moment each part holds its share, and all other cells what they held. */
TEST(a_split_tape_says_the_same_of_two_cells)
{
	const struct tape_share share[] = { { .from = 7, .to = CELLS, .bytes = 900, .count = 2 },
					    { .from = 20, .to = CELLS + 1, .bytes = 0, .count = 0 },
					    { .from = 9, .to = CELLS + 2, .bytes = UINT64_MAX, .count = UINT64_MAX } };
	uint64_t was[CELLS] = { 0 }, count[CELLS] = { 0 }, bytes[CELLS + 3] = { 0 }, counts[CELLS + 3] = { 0 }, i,
		 k = 0;
	struct tape *tape = tape_new(), *split;
	struct kit_random random = { 11 };
	const struct tape_event *event;
	struct told told;
	uint32_t run, cell;

	tell(&random, &told, tape, TAPE_BLOCK + 5000);
	CHECK_EQ(tape_split(&split, tape, share, MT_ARRAY_SIZE(share)), 0);
	for (i = 0; i < told.count; i++) {
		was[told.event[i].cell] += (uint64_t)told.event[i].bytes;
		count[told.event[i].cell] += (uint64_t)(int64_t)told.event[i].count;
		do {
			CHECK(k < tape_count(split));
			event = tape_at(split, k++, &run);
			CHECK_EQ(event->time, told.event[i].time);
			bytes[event->cell] += (uint64_t)event->bytes;
			counts[event->cell] += (uint64_t)(int64_t)event->count;
		} while (event->more && !told.event[i].more);
		if (told.event[i].more)
			continue;
		for (cell = 0; cell < CELLS; cell++) {
			if (cell != 7 && cell != 20) {
				CHECK_EQ(bytes[cell], was[cell]);
				CHECK_EQ(counts[cell], count[cell]);
			}
		}
		CHECK_EQ(bytes[7], least(was[7], 900));
		CHECK_EQ(counts[7], least(count[7], 2));
		CHECK_EQ(bytes[7] + bytes[CELLS], was[7]);
		CHECK_EQ(counts[7] + counts[CELLS], count[7]);
		CHECK_EQ(bytes[CELLS + 1], was[20]);
		CHECK(!bytes[20] && !bytes[CELLS + 2]);
	}
	CHECK_EQ(k, tape_count(split));
	tape_free(split);
	free(told.event);
	tape_free(tape);
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

struct layers {
	uint8_t of[CELLS];
	uint32_t cells, count;
	uint8_t rest, slack;
};

static void random_layers(struct kit_random *random, struct layers *layers)
{
	uint32_t cell;

	layers->count = 1 + (uint32_t)kit_below(random, SERIES_LAYERS_MAX);
	layers->cells = kit_below(random, 2) ? CELLS : (uint32_t)kit_below(random, CELLS);
	layers->rest = kit_below(random, 4) ? (uint8_t)kit_below(random, layers->count) : SERIES_HIDDEN;
	layers->slack = kit_below(random, 3) ? (uint8_t)kit_below(random, layers->count) : SERIES_HIDDEN;
	for (cell = 0; cell < CELLS; cell++)
		layers->of[cell] = kit_below(random, 5) ? (uint8_t)kit_below(random, layers->count)
							: (uint8_t)SERIES_HIDDEN;
}

static uint8_t layer_of(const struct layers *layers, uint32_t cell)
{
	return cell < layers->cells ? layers->of[cell] : layers->rest;
}

static void count_moment(struct series_column *column, uint64_t *tie, const struct layers *layers,
			 const uint64_t layer[SERIES_LAYERS_MAX], int64_t time, uint64_t upto)
{
	uint64_t held = 0, used;
	size_t i;

	for (i = 0; i < SERIES_LAYERS_MAX; i++)
		held += layer[i];
	used = held - (layers->slack < layers->count ? layer[layers->slack] : 0);
	if (column->time == INT64_MIN || held > column->max || (held == column->max && used > *tie)) {
		column->max = held;
		*tie = used;
		column->time = time;
		column->upto = upto;
	}
	if (column->used_time == INT64_MIN || used > column->used_max) {
		column->used_max = used;
		column->used_time = time;
		memcpy(column->layer, layer, sizeof(column->layer));
	}
	if (held < column->min)
		column->min = held;
	if (used < column->used_min)
		column->used_min = used;
}

/* The column that shows [from, to), by going through all events from the first. */
static struct series_column column_slowly(const struct told *told, uint64_t events, const struct layers *layers,
					  int64_t from, int64_t to)
{
	struct series_column column = {
		.min = UINT64_MAX, .used_min = UINT64_MAX, .time = INT64_MIN, .used_time = INT64_MIN
	};
	uint64_t layer[SERIES_LAYERS_MAX] = { 0 }, tie = 0, i;
	const struct tape_event *event;

	for (i = 0; i < events && told->event[i].time < from; i++)
		if (layer_of(layers, told->event[i].cell) != SERIES_HIDDEN)
			layer[layer_of(layers, told->event[i].cell)] += (uint64_t)told->event[i].bytes;
	if (i == events || told->event[i].time > from)
		count_moment(&column, &tie, layers, layer, from, i);
	for (; i < events && told->event[i].time < to; i++) {
		event = &told->event[i];
		if (layer_of(layers, event->cell) != SERIES_HIDDEN)
			layer[layer_of(layers, event->cell)] += (uint64_t)event->bytes;
		if (!event->more)
			count_moment(&column, &tie, layers, layer, event->time, i + 1);
		column.events++;
	}
	if (layers->slack < layers->count)
		column.layer[layers->slack] = column.max - column.used_max;
	return column;
}

static void check_columns(const struct series *series, const struct tape *tape, const struct told *told,
			  uint64_t events, const struct layers *layers, int64_t from, int64_t to, uint32_t columns)
{
	struct series_column column[40], slow;
	int64_t begin, end;
	uint32_t i;

	series_columns(series, tape, from, to, column, columns);
	for (i = 0; i < columns; i++) {
		begin = from + (int64_t)((__int128)(to - from) * i / columns);
		end = from + (int64_t)((__int128)(to - from) * (i + 1) / columns);
		slow = column_slowly(told, events, layers, begin, end);
		CHECK_EQ(column[i].max, slow.max);
		CHECK_EQ(column[i].min, slow.min);
		CHECK_EQ(column[i].time, slow.time);
		CHECK_EQ(column[i].upto, slow.upto);
		CHECK_EQ(column[i].used_max, slow.used_max);
		CHECK_EQ(column[i].used_min, slow.used_min);
		CHECK_EQ(column[i].used_time, slow.used_time);
		CHECK_EQ(column[i].events, slow.events);
		CHECK(!memcmp(column[i].layer, slow.layer, sizeof(slow.layer)));
	}
}

/* The end of the last whole change of the first `events` events. */
static uint64_t whole(const struct told *told, uint64_t events)
{
	while (events && told->event[events - 1].more)
		events--;
	return events;
}

TEST(columns_are_what_going_through_all_events_gives)
{
	struct kit_random random = { 4 };
	struct series *series = series_new();
	struct layers layers;
	struct tape *tape;
	struct told told;
	uint64_t events;
	int64_t from, to;
	int round, k;

	for (round = 0; round < 40; round++) {
		tape = tape_new();
		tell(&random, &told, tape, 1 + kit_below(&random, 8 * SERIES_LEAF));
		random_layers(&random, &layers);
		CHECK_EQ(series_begin(series, layers.of, layers.cells, layers.rest, layers.slack, layers.count), 0);
		events = whole(&told, kit_below(&random, 2) ? told.count : kit_below(&random, told.count + 1));
		CHECK_EQ(series_more(series, tape, events, UINT64_MAX), 0);
		CHECK_EQ(series_events(series), events);
		check_columns(series, tape, &told, events, &layers, 0, told.time + 1, 20);
		check_columns(series, tape, &told, events, &layers, 0, told.time + 1, 1);
		for (k = 0; k < 6; k++) {
			from = (int64_t)kit_below(&random, (uint64_t)told.time + 10) - 5;
			to = from + 1 +
			     (int64_t)kit_below(&random, kit_below(&random, 2) ? 300 : (uint64_t)told.time + 1);
			check_columns(series, tape, &told, events, &layers, from, to,
				      1 + (uint32_t)kit_below(&random, 40));
		}
		free(told.event);
		tape_free(tape);
	}
	series_free(series);
}

TEST(columns_over_block_borders)
{
	struct kit_random random = { 5 };
	struct series *series = series_new();
	struct tape *tape = tape_new();
	struct layers layers;
	struct told told;
	int64_t time;
	int k;

	tell(&random, &told, tape, TAPE_BLOCK + 3 * SERIES_LEAF / 2);
	random_layers(&random, &layers);
	CHECK_EQ(series_begin(series, layers.of, layers.cells, layers.rest, layers.slack, layers.count), 0);
	CHECK_EQ(series_more(series, tape, told.count, UINT64_MAX), 0);
	time = told.event[TAPE_BLOCK].time;
	check_columns(series, tape, &told, told.count, &layers, 0, told.time + 1, 9);
	for (k = 0; k < 10; k++)
		check_columns(series, tape, &told, told.count, &layers, time - (int64_t)kit_below(&random, 3000),
			      time + 1 + (int64_t)kit_below(&random, 3000), 10);
	free(told.event);
	tape_free(tape);
	series_free(series);
}

/* One byte comes and goes: everywhere the same largest sum, and the first of them counts. */
TEST(of_equal_moments_the_first_counts)
{
	static const struct layers layers = { .cells = CELLS, .slack = SERIES_HIDDEN, .count = 1 };
	struct series *series = series_new();
	struct tape *tape = tape_new();
	struct told told = { .count = 20 * SERIES_LEAF };
	uint64_t i;

	told.event = calloc(told.count, sizeof(*told.event));
	for (i = 0; i < told.count; i++) {
		told.event[i] = (struct tape_event){ .time = (int64_t)i * 10,
						     .bytes = i % 3 ? (i % 3 == 1 ? -5 : 0) : 5,
						     .cell = 2 };
		told.event[i].count = told.event[i].bytes ? 0 : 1;
		CHECK_EQ(tape_add(tape, told.event[i].time, 2, told.event[i].bytes, told.event[i].count), 0);
	}
	CHECK_EQ(tape_settle(tape), told.count);
	CHECK_EQ(series_begin(series, layers.of, layers.cells, layers.rest, layers.slack, layers.count), 0);
	CHECK_EQ(series_more(series, tape, told.count, UINT64_MAX), 0);
	for (i = 0; i < 30; i++)
		check_columns(series, tape, &told, told.count, &layers, (int64_t)i * 700 - 5, (int64_t)told.count * 10,
			      3);
	free(told.event);
	tape_free(tape);
	series_free(series);
}

TEST(taking_events_in_bit_by_bit_gives_the_same)
{
	struct kit_random random = { 6 };
	struct series *once = series_new(), *bits = series_new();
	struct series_column a[30], b[30];
	struct tape *tape = tape_new();
	struct layers layers;
	struct told told;
	uint64_t before;
	int64_t time_a, time_b;
	int more = 1;

	tell(&random, &told, tape, 30000);
	random_layers(&random, &layers);
	CHECK_EQ(series_begin(once, layers.of, CELLS, layers.rest, layers.slack, layers.count), 0);
	CHECK_EQ(series_more(once, tape, told.count, UINT64_MAX), 0);
	/* Cells become known as late as they can. */
	CHECK_EQ(series_begin(bits, NULL, 0, layers.rest, layers.slack, layers.count), 0);
	CHECK_EQ(series_extend(bits, layers.of, 10), 0);
	CHECK_EQ(series_extend(bits, layers.of, CELLS), 0);
	while (more) {
		before = series_events(bits);
		more = series_more(bits, tape, told.count, 1 + kit_below(&random, 700));
		CHECK(more >= 0);
		CHECK(series_events(bits) > before && series_events(bits) <= before + 700);
	}
	CHECK_EQ(series_events(bits), told.count);
	series_columns(once, tape, 0, told.time, a, 30);
	series_columns(bits, tape, 0, told.time, b, 30);
	CHECK(!memcmp(a, b, sizeof(a)));
	CHECK_EQ(series_peak(once, &time_a), series_peak(bits, &time_b));
	CHECK_EQ(time_a, time_b);
	free(told.event);
	tape_free(tape);
	series_free(once);
	series_free(bits);
}

TEST(a_cell_that_was_counted_as_rest_stays_there)
{
	static const uint8_t late[] = { 0, 0, 0, 1 };
	struct series *series = series_new();
	struct tape *tape = tape_new();
	struct series_column column;

	CHECK_EQ(tape_add(tape, 1, 2, 100, 1), 0);
	CHECK_EQ(tape_add(tape, 2, 3, 10, 1), 0);
	CHECK_EQ(tape_add(tape, 3, 2, -100, -1), 0);
	CHECK_EQ(tape_settle(tape), 3);
	CHECK_EQ(series_begin(series, NULL, 0, 2, SERIES_HIDDEN, 3), 0);
	CHECK_EQ(series_more(series, tape, 1, UINT64_MAX), 0);
	CHECK_EQ(series_extend(series, late, 4), 0); /* cell 2 is of the rest by now */
	CHECK_EQ(series_more(series, tape, 3, UINT64_MAX), 0);
	series_columns(series, tape, 2, 3, &column, 1);
	CHECK_EQ(column.max, 110);
	CHECK_EQ(column.layer[2], 100);
	CHECK_EQ(column.layer[1], 10);
	series_columns(series, tape, 3, 4, &column, 1);
	CHECK_EQ(column.max, 10);
	CHECK_EQ(column.layer[2], 0);
	tape_free(tape);
	series_free(series);
}

TEST(the_peak_is_the_largest_moment)
{
	struct kit_random random = { 7 };
	struct series *series = series_new();
	struct series_column slow;
	struct layers layers;
	struct tape *tape;
	struct told told;
	int64_t time;
	int round;

	for (round = 0; round < 20; round++) {
		tape = tape_new();
		tell(&random, &told, tape, 1 + kit_below(&random, 5000));
		random_layers(&random, &layers);
		CHECK_EQ(series_begin(series, layers.of, layers.cells, layers.rest, layers.slack, layers.count), 0);
		while (series_more(series, tape, told.count, 1 + kit_below(&random, 1000)) > 0)
			;
		slow = column_slowly(&told, told.count, &layers, -1, INT64_MAX);
		CHECK_EQ(series_peak(series, &time), slow.max);
		if (slow.max)
			CHECK_EQ(time, slow.time);
		free(told.event);
		tape_free(tape);
	}
	series_free(series);
}

TEST(bytes_that_change_hands_are_no_dip_and_no_peak)
{
	static const uint8_t layer[] = { 0, 0, 0, 1 };
	struct series *series = series_new();
	struct tape *tape = tape_new();
	struct series_column column;
	int64_t time;

	CHECK_EQ(tape_add(tape, 1, 2, 1000, 1), 0);
	CHECK_EQ(tape_add(tape, 5, 2, -900, 0), 0);
	CHECK_EQ(tape_add_part(tape, 5, 3, 900, 1), 0);
	CHECK_EQ(tape_add(tape, 9, 2, 900, 0), 0);
	CHECK_EQ(tape_add_part(tape, 9, 3, -900, -1), 0);
	CHECK_EQ(tape_settle(tape), 5);
	CHECK_EQ(series_begin(series, layer, 4, 0, SERIES_HIDDEN, 2), 0);
	CHECK_EQ(series_more(series, tape, 5, UINT64_MAX), 0);
	series_columns(series, tape, 2, 20, &column, 1);
	CHECK_EQ(column.min, 1000);
	CHECK_EQ(column.max, 1000);
	CHECK_EQ(column.events, 4);
	CHECK_EQ(series_peak(series, &time), 1000);
	CHECK_EQ(time, 1);
	tape_free(tape);
	series_free(series);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* There is no memory any more, nor any that was given back; what is taken here stays so. */
static void end_memory(void)
{
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
	void *volatile taken;
	size_t size;

	CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
	for (size = 1 << 20; size >= 32; size /= 2)
		do {
			taken = malloc(size);
		} while (taken);
}

/* Whenever memory ends, what is in is whole; when there is some again, it goes on. */
TEST(a_series_goes_on_when_there_is_memory_again)
{
	struct series *series = series_new(), *whole = series_new();
	struct series_column column[30], right[30];
	struct kit_random random = { 12 };
	struct tape *tape = tape_new();
	struct layers layers;
	struct rlimit limit;
	struct told told;
	int more, refused = 0;

	if (SANITIZED)
		SKIP("a sanitizer needs memory of its own");
	tell(&random, &told, tape, 6 * TAPE_BLOCK);
	random_layers(&random, &layers);
	CHECK_EQ(series_begin(whole, layers.of, CELLS, 0, SERIES_HIDDEN, SERIES_LAYERS_MAX), 0);
	CHECK_EQ(series_more(whole, tape, told.count, UINT64_MAX), 0);
	CHECK_EQ(series_begin(series, layers.of, CELLS, 0, SERIES_HIDDEN, SERIES_LAYERS_MAX), 0);
	CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	for (more = 1; more;) {
		end_memory();
		more = series_more(series, tape, told.count, UINT64_MAX);
		CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
		series_columns(series, tape, 0, told.time, column, 30);
		if (more < 0) {
			refused++;
			CHECK_EQ(more, -MT_E_MEMORY);
			CHECK(series_events(series) < told.count);
			more = series_more(series, tape, told.count, SERIES_LEAF);
		}
	}
	CHECK(refused > 1);
	CHECK_EQ(series_events(series), told.count);
	series_columns(series, tape, 0, told.time, column, 30);
	series_columns(whole, tape, 0, told.time, right, 30);
	CHECK(!memcmp(column, right, sizeof(column)));
	free(told.event);
	tape_free(tape);
	series_free(series);
	series_free(whole);
}

TEST(a_series_of_nothing_is_nothing)
{
	struct series *series = series_new();
	struct tape *tape = tape_new();
	struct series_column column[3];
	int64_t time;

	CHECK_EQ(series_begin(series, NULL, 0, 0, SERIES_HIDDEN, 1), 0);
	CHECK_EQ(series_more(series, tape, 0, 100), 0);
	memset(column, 0xff, sizeof(column));
	series_columns(series, tape, 0, 1000, column, 3);
	CHECK_EQ(column[2].max, 0);
	CHECK_EQ(column[2].min, 0);
	CHECK_EQ(column[2].events, 0);
	CHECK_EQ(series_peak(series, &time), 0);
	tape_free(tape);
	series_free(series);
}

TEST_MAIN()
