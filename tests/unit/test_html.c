/* The moves of a page: exact at each moment that stays when they are thinned, and the same however a run is read. */
#include "export/html/html.h"

#include <unistd.h>
#include "memtrace/base.h"
#include "test.h"
#include "timeline/tape.h"

#define CELLS 40
#define CHANGES 60000
#define DEVICES 2

/* ---- a run whose every moment is known ---- */

struct told {
	uint32_t device, moves;
	struct moves_move move[3];
};

static struct told told[CHANGES];
static uint32_t chance = 12345;

static uint32_t random_below(uint32_t limit)
{
	chance = chance * 1664525u + 1013904223u;
	return (chance >> 8) % limit;
}

/* Change i happens at time i. Bytes of a cell are never below 0; the cells of a device are of its parity times two. */
static void make_run(void)
{
	static int64_t held[CELLS];
	uint32_t i, j, cell;
	int64_t bytes;

	memset(held, 0, sizeof(held));
	for (i = 0; i < CHANGES; i++) {
		told[i].device = random_below(3) == 0;
		told[i].moves = 1 + random_below(3);
		for (j = 0; j < told[i].moves; j++) {
			cell = random_below(CELLS / 4) * 4 + 2 * told[i].device + random_below(2);
			bytes = held[cell] && random_below(2) ? -(int64_t)(1 + random_below((uint32_t)held[cell]))
							      : 1 + random_below(5000);
			held[cell] += bytes;
			told[i].move[j] = (struct moves_move){ cell, bytes > 0 ? 1 : -1, bytes };
		}
	}
}

static int64_t total(const int64_t held[CELLS])
{
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; i < CELLS; i++)
		sum += held[i];
	return sum;
}

/* The bytes of each cell of a device after the change at `time`. */
static void held_at(int64_t held[CELLS], uint32_t device, int64_t time)
{
	uint32_t i, j;

	memset(held, 0, CELLS * sizeof(*held));
	for (i = 0; i < CHANGES && i <= time; i++)
		for (j = 0; j < told[i].moves && told[i].device == device; j++)
			held[told[i].move[j].cell] += told[i].move[j].bytes;
}

/* Tells the run. The peaks are told as they come, and a failed request after each 7000th change of a device. */
static void tell(struct moves_all *all)
{
	int64_t most[DEVICES] = { 0 }, now[DEVICES] = { 0 };
	uint32_t i, j, device;

	for (i = 0; i < CHANGES; i++) {
		device = told[i].device;
		for (j = 0; j < told[i].moves; j++) {
			CHECK_EQ(moves_add(all, device, i + 1, i, &told[i].move[j]), 0);
			now[device] += told[i].move[j].bytes;
		}
		if (now[device] > most[device])
			CHECK_EQ(moves_peak(all, device, i), 0);
		most[device] = now[device] > most[device] ? now[device] : most[device];
		if (i % 7000 == 0)
			CHECK_EQ(moves_oom(all, device, i, i + 1), 0);
	}
	CHECK_EQ(moves_finish(all, NULL, 0), 0);
}

static struct moves_all range_of(int64_t first, int64_t last, uint64_t most)
{
	return (struct moves_all){ .most = most, .range_first = first, .range_last = last };
}

/* The bytes of each cell at every change that stays; the most that was held. */
static int64_t check_exact(const struct moves_all *all, uint32_t device)
{
	static int64_t held[CELLS], want[CELLS], most;
	const struct moves *moves = &all->device[device];
	const struct moves_move *move;
	uint32_t i, j, count, next = 0;
	int64_t time;

	memset(held, 0, sizeof(held));
	memset(want, 0, sizeof(want));
	most = 0;
	for (i = 0; i < moves->changes; i++) {
		time = moves->change[i].time;
		CHECK(!i || time > moves->change[i - 1].time);
		move = moves_of(moves, i, &count);
		for (j = 0; j < count; j++)
			held[move[j].cell] += move[j].bytes;
		for (; next < CHANGES && next <= time; next++)
			for (j = 0; j < told[next].moves && told[next].device == device; j++)
				want[told[next].move[j].cell] += told[next].move[j].bytes;
		CHECK(!memcmp(held, want, sizeof(held)));
		most = total(held) > most ? total(held) : most;
	}
	return most;
}

static int64_t most_of(uint32_t device, int64_t first, int64_t last)
{
	int64_t now = 0, most = 0;
	uint32_t i, j;

	for (i = 0; i < CHANGES && i <= last; i++) {
		for (j = 0; j < told[i].moves && told[i].device == device; j++)
			now += told[i].move[j].bytes;
		if (i >= first && told[i].device == device && now > most)
			most = now;
	}
	return most;
}

TEST(all_changes_stay_where_there_is_room)
{
	struct moves_all all = range_of(INT64_MIN, INT64_MAX, MOVES_MAX);
	uint32_t i, changes = 0;

	make_run();
	tell(&all);
	for (i = 0; i < DEVICES; i++) {
		CHECK_EQ(all.device[i].shift, 0);
		CHECK_EQ(check_exact(&all, i), most_of(i, 0, CHANGES));
		changes += all.device[i].changes;
	}
	CHECK_EQ(changes, CHANGES);
	moves_release(&all);
}

TEST(what_stays_is_exact)
{
	struct moves_all all = range_of(INT64_MIN, INT64_MAX, 20000);
	const struct moves *moves;
	uint32_t i, j;

	make_run();
	tell(&all);
	CHECK(all.moves <= 20000);
	for (i = 0; i < DEVICES; i++) {
		moves = &all.device[i];
		CHECK(moves->shift > 0 && moves->changes < moves->told);
		CHECK_EQ(check_exact(&all, i), most_of(i, 0, CHANGES));
		for (j = 0; j < moves->marks; j++)
			CHECK(moves->mark[j].changes <= moves->changes);
	}
	moves_release(&all);
}

TEST(the_peak_and_failed_requests_stay_where_they_are)
{
	struct moves_all all = range_of(INT64_MIN, INT64_MAX, 6000);
	int64_t held[CELLS], now;
	const struct moves *moves;
	uint32_t i, j, k, count, marks = 0;

	make_run();
	tell(&all);
	for (i = 0; i < DEVICES; i++) {
		moves = &all.device[i];
		marks += moves->marks;
		for (j = 0, now = 0; j < moves->peak; j++)
			for (k = 0; moves_of(moves, j, &count) && k < count; k++)
				now += moves_of(moves, j, &count)[k].bytes;
		CHECK_EQ(now, most_of(i, 0, CHANGES));
		for (j = 0; j < moves->marks; j++) {
			held_at(held, i, moves->mark[j].oom - 1);
			CHECK_EQ(moves->change[moves->mark[j].changes - 1].time, moves->mark[j].oom - 1);
		}
	}
	CHECK_EQ(marks, (CHANGES + 6999) / 7000);
	moves_release(&all);
}

/* Each stretch keeps the most bytes that were held in it. */
TEST(no_stretch_loses_its_most)
{
	struct moves_all all = range_of(INT64_MIN, INT64_MAX, 20000);
	const struct moves *moves;
	const struct moves_move *move;
	int64_t now = 0, most = 0, stretch = -1;
	uint32_t i, j, count;

	make_run();
	tell(&all);
	moves = &all.device[0];
	for (i = 0; i <= moves->changes; i++) {
		if (i == moves->changes || moves->change[i].time >> moves->shift != stretch) {
			if (stretch >= 0)
				CHECK_EQ(most,
					 most_of(0, stretch << moves->shift, ((stretch + 1) << moves->shift) - 1));
			if (i == moves->changes)
				break;
			stretch = moves->change[i].time >> moves->shift;
			most = 0;
		}
		move = moves_of(moves, i, &count);
		for (j = 0; j < count; j++)
			now += move[j].bytes;
		most = now > most ? now : most;
	}
	moves_release(&all);
}

TEST(what_was_before_a_range_is_its_first_change)
{
	struct moves_all all = range_of(20000, 30000, MOVES_MAX);
	int64_t held[CELLS], now;
	const struct moves_move *move;
	uint32_t i, j, count;

	make_run();
	tell(&all);
	for (i = 0; i < DEVICES; i++) {
		held_at(held, i, 19999);
		CHECK_EQ(all.device[i].change[0].time, 20000);
		move = moves_of(&all.device[i], 0, &count);
		for (j = 0, now = 0; j < count; j++) {
			CHECK_EQ(move[j].bytes, held[move[j].cell]);
			now += move[j].bytes;
		}
		CHECK_EQ(now, total(held));
		for (j = count; j < all.device[i].moves; j++)
			now += all.device[i].move[j].bytes;
		held_at(held, i, 30000);
		CHECK_EQ(now, total(held));
		CHECK(all.device[i].change[all.device[i].changes - 1].time <= 30000);
		for (j = 0; j < all.device[i].marks; j++)
			CHECK(all.device[i].mark[j].oom > 20000 && all.device[i].mark[j].oom <= 30001);
	}
	moves_release(&all);
}

TEST(a_run_that_ends_before_the_range_is_one_change)
{
	struct moves_all all = range_of(CHANGES + 5, INT64_MAX, MOVES_MAX);

	make_run();
	tell(&all);
	CHECK_EQ(all.device[0].changes, 1);
	CHECK_EQ(all.device[0].peak, 0);
	moves_release(&all);
}

TEST(a_cell_of_two_sites_is_shared_out)
{
	const struct moves_share share = { .from = 2, .to = 8, .bytes = 100, .count = 2 };
	struct moves_all all = range_of(INT64_MIN, INT64_MAX, MOVES_MAX);
	const struct moves_move move[] = { { 2, 1, 60 }, { 2, 1, 90 }, { 2, 1, 50 }, { 2, -1, -150 } };
	static const int64_t kept[] = { 60, 100, 100, 50 }, rest[] = { 0, 50, 100, 0 };
	int64_t held[10] = { 0 }, count[10] = { 0 };
	const struct moves_move *found;
	uint32_t i, j, moves;

	for (i = 0; i < MT_ARRAY_SIZE(move); i++)
		CHECK_EQ(moves_add(&all, 0, i + 1, i, &move[i]), 0);
	CHECK_EQ(moves_finish(&all, &share, 1), 0);
	for (i = 0; i < all.device[0].changes; i++) {
		found = moves_of(&all.device[0], i, &moves);
		for (j = 0; j < moves; j++) {
			held[found[j].cell] += found[j].bytes;
			count[found[j].cell] += found[j].count;
		}
		CHECK_EQ(held[2], kept[i]);
		CHECK_EQ(held[8], rest[i]);
	}
	CHECK_EQ(count[2], 2);
	CHECK_EQ(count[8], 0);
	moves_release(&all);
}

/* ---- a run is the same however it is read ---- */

static void read_run(struct html *html, struct export_run *run, const struct export_options *options, char *path,
		     uint64_t events)
{
	*run = (struct export_run){ .options = options };
	CHECK_EQ(source_open(&run->source, &path, 1), 0);
	*html = (struct html){ .run = run, .moves.most = MOVES_MAX, .events_most = events };
	CHECK_EQ(html_read(html), 0);
}

#define SITES 20000

/* Adds the moves of a change to what its cells hold; a tape may have a change in more moves. */
static void add_change(int64_t (*cell)[2], const struct moves *moves, uint32_t change, int sign)
{
	uint32_t i, count;
	const struct moves_move *move = moves_of(moves, change, &count);

	for (i = 0; i < count; i++) {
		CHECK(move[i].cell < SITES);
		cell[move[i].cell][0] += sign * move[i].bytes;
		cell[move[i].cell][1] += sign * move[i].count;
	}
	for (i = 0; i < count && sign < 0; i++)
		CHECK(!cell[move[i].cell][0] && !cell[move[i].cell][1]);
}

static void check_same(const struct moves *one, const struct moves *two)
{
	static int64_t cell[SITES][2];
	uint32_t i;

	CHECK_EQ(one->changes, two->changes);
	CHECK_EQ(one->peak, two->peak);
	CHECK_EQ(one->marks, two->marks);
	for (i = 0; i < one->marks; i++) {
		CHECK_EQ(one->mark[i].changes, two->mark[i].changes);
		CHECK_EQ(one->mark[i].oom, two->mark[i].oom);
	}
	for (i = 0; i < one->changes; i++) {
		CHECK_EQ(one->change[i].time, two->change[i].time);
		add_change(cell, one, i, 1);
		add_change(cell, two, i, -1);
		add_change(cell, two, i, 1);
		add_change(cell, one, i, -1);
	}
}

static void check_both_ways(const char *name)
{
	static const struct export_options options = { .since = EXPORT_NO_TIME, .until = EXPORT_NO_TIME };
	const char *folder = getenv("SRC");
	struct export_run run[2];
	struct html html[2];
	char path[4096];
	uint32_t i;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	read_run(&html[0], &run[0], &options, path, HTML_EVENTS_MAX);
	read_run(&html[1], &run[1], &options, path, 0);
	CHECK(html[0].has_lives && !html[1].has_lives);
	CHECK_EQ(html[0].moves.devices, html[1].moves.devices);
	for (i = 0; i < html[0].moves.devices; i++)
		check_same(&html[0].moves.device[i], &html[1].moves.device[i]);
	for (i = 0; i < 2; i++) {
		moves_release(&html[i].moves);
		export_run_release(&run[i]);
		source_release(&run[i].source);
	}
}

TEST(a_long_run_has_the_moves_of_a_short_one)
{
	check_both_ways("samples/trl_grpo.zst");
	check_both_ways("samples/gpu/torch_oom.zst");
	check_both_ways("samples/gpu/torch_sleep.zst");
	check_both_ways("tests/golden/v1-run.zst");
	check_both_ways("tests/golden/v1-keep.zst");
}

TEST_MAIN()
