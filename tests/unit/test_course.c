/*
 * test_course.c - the moves that the highest sums need: for any sizes at least 0, the highest sum of each phase is that of all moves. Moves
 * of random steps: equal ones, some with other sizes, some with other moves.
 */
#include <time.h>
#include "memtrace/phase.h"
#include "rows/course.h"
#include "rows/outline.h"
#include "test.h"
#include "trace_kit.h"

#define SITES 9u
#define MOVES_MOST 100000u
#define PHASES 3u
#define MANY 100000u

static struct site site[SITES];
static struct analysis_device gpu;
static struct analysis_process process;
static struct analysis_oom oom[2];
static struct analysis analysis;
static struct course *course;
static struct outline *outline;
static struct course_move all[MOVES_MOST];
static uint8_t phase_of[MOVES_MOST]; /* by move */
static uint32_t moves, asked;        /* asked: moves before the failed request */
static int64_t now;
static int64_t held[SITES];
static int count[SITES]; /* live allocations */

static void begin(void)
{
	course_free(course);
	outline_free(outline);
	memset(held, 0, sizeof(held));
	memset(count, 0, sizeof(count));
	process = (struct analysis_process){ .events = 0 };
	gpu.kind = MT_DEVICE_CUDA;
	analysis = (struct analysis){ .process = &process, .processes = 1, .device = &gpu, .devices = 1, .oom = oom };
	analysis.attribution.site = site;
	analysis.attribution.sites = SITES;
	moves = asked = 0;
	now = 0;
	course = course_new(&analysis);
	outline = outline_new(&analysis);
	CHECK(course && outline);
}

/* One event of one allocation; bytes 0: all of the site die. */
static void change(uint8_t phase, uint32_t number, int64_t bytes)
{
	int born = bytes ? bytes > 0 ? 1 : -1 : -count[number];
	struct course_move told[3] = { { 0 } };
	uint32_t i;

	bytes = bytes ? bytes : -held[number];
	process.events++;
	now += 10;
	for (i = 0; i < 3; i++)
		told[i] = (struct course_move){ .time = now, .site = number };
	told[0].bytes = bytes;
	told[1].count = born;
	told[2].bytes = -bytes;
	told[2].slack = 1;
	told[1].more = 1;
	course_changed(course, 0, told, 1); /* one event in two calls */
	course_changed(course, 1, told + 1, 2);
	outline_changed(outline, 0, told, 1);
	outline_changed(outline, 1, told + 1, 1);
	phase_of[moves] = phase;
	all[moves++] = (struct course_move){ .time = now, .bytes = bytes, .site = number, .count = born };
	held[number] += bytes;
	count[number] += born;
}

/* A step of `length` births in each phase, each with `size` bytes and more, of which the last phase frees all. */
static void step(uint32_t number, uint32_t length, int64_t size, int64_t kept)
{
	const int64_t first = now + 1;
	uint32_t i, phase;

	for (phase = 0; phase < PHASES; phase++) {
		struct mt_event from = { .time = (uint64_t)now + 1 };

		for (i = 0; i < length; i++) {
			change((uint8_t)phase, 1 + (i + phase) % (SITES - 2), size + i);
			if (phase == PHASES - 1)
				change((uint8_t)phase, 1 + (i + 1) % (SITES - 2), 0);
		}
		for (i = 1; i < SITES - 1 && phase == PHASES - 1; i++)
			change((uint8_t)phase, i, 0);
		if (!phase && kept)
			change(0, SITES - 1, kept);
		course_span(course, (uint8_t)phase, number, &from);
	}
	CHECK(first < now);
}

static void fail(void)
{
	asked = moves;
	oom[analysis.ooms++] = (struct analysis_oom){ .kind = MT_TENSOR_OOM, .time = now };
	course_reached(course, 0, 1);
}

struct peaks {
	double of[PHASES], asked;
};

/* The peak of each phase, and the sum at the failed request. `marked` NULL: `move` is all moves. */
static struct peaks peaks_of(const struct course_move *move, uint32_t steps, const double factor[SITES],
			     const struct course_moves *marked)
{
	struct peaks peaks = { { 0 }, -1 };
	double sum = 0;
	uint64_t changes = 0;
	uint32_t i, at = 0;

	for (i = 0; i < steps; i++) {
		if (marked && marked->oom && peaks.asked < 0 &&
		    (move[i].time > oom[0].time || (move[i].time == oom[0].time && changes >= marked->changes)))
			peaks.asked = sum;
		sum += factor[move[i].site] * (double)move[i].bytes;
		if (move[i].more)
			continue;
		changes += move[i].time == oom[0].time;
		while (at + 1 < moves && all[at].time < move[i].time)
			at++;
		if (sum > peaks.of[phase_of[at]])
			peaks.of[phase_of[at]] = sum;
		if (!marked && asked == i + 1)
			peaks.asked = sum;
	}
	if (marked && marked->oom && peaks.asked < 0)
		peaks.asked = sum;
	return peaks;
}

/* Sums of whole bytes are exact. Returns the number of moves that are kept. */
static uint32_t same(struct kit_random *random)
{
	struct course_moves kept;
	double factor[SITES];
	struct peaks one, two;
	uint32_t i, k;

	CHECK(!course_find(course, 0, asked ? 1 : 0, &kept));
	CHECK(kept.moves > 0);
	CHECK_EQ(kept.oom, asked ? 1 : 0);
	for (i = 0; i < 50; i++) {
		for (k = 0; k < SITES; k++)
			factor[k] = (double)kit_below(random, 4);
		one = peaks_of(all, moves, factor, NULL);
		two = peaks_of(kept.move, kept.moves, factor, &kept);
		for (k = 0; k < PHASES; k++)
			CHECK(one.of[k] == two.of[k]);
		CHECK(!asked || one.asked == two.asked);
	}
	for (i = 1; i < kept.moves; i++)
		CHECK(kept.move[i].time >= kept.move[i - 1].time);
	k = kept.moves;
	free(kept.move);
	return k;
}

TEST(equal_steps_are_kept_once)
{
	struct kit_random random = { 1 };
	uint32_t i, one;

	begin();
	for (i = 1; i <= 3; i++)
		step(i, 20, 1000, 0);
	one = same(&random);
	begin();
	for (i = 1; i <= 300; i++)
		step(i, 20, 1000, 0);
	CHECK_EQ(same(&random), one);
}

TEST(a_leak_keeps_its_last_steps)
{
	struct kit_random random = { 2 };
	uint32_t i;

	begin();
	for (i = 1; i <= 300; i++)
		step(i, 20, 1000, 7);
	CHECK(same(&random) < 6 * 91);
	CHECK(moves > 24000);
}

TEST(the_largest_of_steps_with_other_sizes_is_kept)
{
	struct kit_random random = { 3 };
	uint32_t i;

	begin();
	for (i = 1; i <= 300; i++)
		step(i, 20, 1000 + (int64_t)kit_below(&random, 5000), 0);
	CHECK(same(&random) < 8 * 91);
}

TEST(any_steps_have_the_same_peaks)
{
	struct kit_random random = { 4 };
	uint32_t round, i, steps;

	for (round = 0; round < 60; round++) {
		begin();
		steps = 1 + (uint32_t)kit_below(&random, 30);
		for (i = 1; i <= steps; i++) {
			step(i, 3 + (uint32_t)kit_below(&random, 3), 1000 + (int64_t)kit_below(&random, 3) * 100,
			     kit_below(&random, 3) ? 0 : (int64_t)kit_below(&random, 50) + 1);
			if (!asked && kit_below(&random, 20) == 0)
				fail();
		}
		same(&random);
	}
}

TEST(a_step_with_a_request_is_kept)
{
	struct kit_random random = { 5 };
	uint32_t i;

	begin();
	for (i = 1; i <= 40; i++) {
		step(i, 20, i == 20 ? 500 : 1000, 0);
		if (i == 20) {
			change(0, 3, 5);
			fail();
			change(0, 3, -5);
		}
	}
	CHECK(same(&random) < 8 * 91);
}

/* All places together, at each change. */
static int64_t highest(const struct course_move *move, uint32_t steps)
{
	int64_t sum = 0, most = 0;
	uint32_t i;

	for (i = 0; i < steps; i++) {
		sum += move[i].bytes;
		most = !move[i].more && sum > most ? sum : most;
	}
	return most;
}

/* The bytes of each place at each change are those of the run at that time. */
static void check_states(const struct course_moves *some)
{
	int64_t one[SITES] = { 0 }, two[SITES] = { 0 };
	uint32_t i, k, at = 0;

	for (i = 0; i < some->moves; i++) {
		CHECK(!i || some->move[i].time >= some->move[i - 1].time);
		one[some->move[i].site] += some->move[i].bytes;
		if (some->move[i].more)
			continue;
		for (; at < moves && all[at].time <= some->move[i].time; at++)
			two[all[at].site] += all[at].bytes;
		for (k = 0; k < SITES; k++)
			CHECK_EQ(one[k], two[k]);
	}
}

TEST(an_outline_has_the_peak_in_few_moves)
{
	struct kit_random random = { 6 };
	struct course_moves some;
	uint32_t round, i;

	for (round = 1; round <= 4; round++) {
		begin();
		for (i = 1; i < 5 * round * round * round; i++) {
			step(i, 5 + (uint32_t)kit_below(&random, 20), 1000 + (int64_t)kit_below(&random, 900), 3);
			now += (int64_t)kit_below(&random, 3000000);
		}
		CHECK(!outline_find(outline, &some));
		CHECK(some.moves > 0 && some.moves <= OUTLINE_SLICES * SITES);
		CHECK_EQ(highest(some.move, some.moves), highest(all, moves));
		check_states(&some);
		free(some.move);
	}
}

TEST(too_many_moves_are_no_course)
{
	struct course_moves kept;
	uint32_t i;

	begin();
	for (i = 1; i < 900; i++)
		step(i, i, 1000, 0), moves = 0;
	CHECK(!course_find(course, 0, 0, &kept));
	CHECK_EQ(kept.moves, 0);
	course_free(course);
	outline_free(outline);
	course = NULL;
	outline = NULL;
}

/* The end of a process: one event that frees what each of very many sites has, in two moves each. */
TEST(an_event_of_many_sites_is_linear)
{
	static struct site of[MANY];
	static struct course_move told[2 * MANY];
	const clock_t began = clock();
	struct course_moves kept;
	uint32_t i;

	begin();
	analysis.attribution.site = of;
	analysis.attribution.sites = MANY;
	for (i = 0; i < 2 * MANY; i++)
		told[i] = (struct course_move){
			.time = 10, .bytes = 2 + i % 2, .site = i / 2 * 7 % MANY, .count = 1, .more = 1
		};
	told[2 * MANY - 1].more = 0;
	course_changed(course, 0, told, 1000);
	course_changed(course, 1, told + 1000, 2 * MANY - 1000);
	CHECK(!course_find(course, 0, 0, &kept));
	CHECK_EQ(kept.moves, MANY);
	for (i = 0; i < kept.moves; i++)
		if (kept.move[i].bytes != 5 || kept.move[i].count != 2 || kept.move[i].site != i * 7 % MANY ||
		    kept.move[i].more != (i + 1 < MANY))
			break;
	CHECK_EQ(i, MANY);
	CHECK((double)(clock() - began) / CLOCKS_PER_SEC < 2); /* 4 if each move looks at all moves before it */
	free(kept.move);
	course_free(course);
	outline_free(outline);
	course = NULL;
	outline = NULL;
}

TEST_MAIN()
