/* test_facts_guess.c - rows as differences from what is guessed come back, and what can be guessed takes no byte. */
#include <string.h>
#include "facts/facts_guess.h"
#include "memtrace/error.h"
#include "test.h"
#include "trace_kit.h"

#define SPANS 3000u
#define SPAN_CELLS (sizeof(struct load_phase_span) / sizeof(uint64_t))
#define STEPS 500u
#define MOMENTS_MOST (1u << 20) /* as facts_guess.c */

/* An analysis with two sites on device 0, tensors and driver memory, and one of tensors on device 1. */
static struct site sites[] = { { .key = { .device = 0 } },
			       { .key = { .device = 0 } },
			       { .key = { .device = 0, .driver = 1 } },
			       { .key = { .device = 1 } } };

static void begin(struct analysis *analysis)
{
	static struct analysis_process process;

	process = (struct analysis_process){ .last_step = 0 };
	*analysis = (struct analysis){ .process = &process, .attribution = { .site = sites, .sites = 4 } };
}

static void outlive(struct analysis *analysis, uint32_t site, uint32_t step, uint32_t until, uint64_t bytes,
		    uint64_t count)
{
	CHECK(!outlived_add(&analysis->process->outlived, &(struct outlived_row){ site, step, until, bytes, count },
			    0));
}

/* Writes the guess, and reads it back into `back`. The caller frees the bytes. */
static uint8_t *write_and_read(struct facts_guess *guess, struct facts_guess *back, size_t *size)
{
	struct facts_io to = { .writing = 1 }, from, skipped;

	facts_guess_write(&to, guess);
	CHECK_EQ(to.error, 0);
	from = skipped = (struct facts_io){ .at = to.data, .end = to.data + to.size };
	facts_guess_read(&from, back);
	facts_guess_skip(&skipped);
	CHECK_EQ(from.error, 0);
	CHECK(from.at == from.end && skipped.at == skipped.end);
	*size = to.size;
	return to.data;
}

/* ---- times ---- */

static void make_spans(struct load_phase_span *span, struct kit_random *random, uint64_t *seq, int64_t *time)
{
	uint32_t i;

	for (i = 0; i < SPANS; i++) {
		span[i].first_seq = (int64_t)(*seq += 64 * (1 + kit_below(random, 9)));
		span[i].first_time = *time += (int64_t)kit_below(random, 5000) - 20;
		span[i].last_seq = (int64_t)(*seq += 64);
		span[i].last_time = *time += (int64_t)kit_below(random, 1u << 31);
		span[i].step = i / 3;
	}
}

static int has_a_time(const struct load_phase_span *span)
{
	uint32_t i;

	for (i = 0; i < SPANS; i++)
		if (span[i].first_time || span[i].last_time)
			return 1;
	return 0;
}

TEST(times_of_known_events_are_0)
{
	static struct load_phase_span span[SPANS], was[SPANS];
	struct facts_guess guess, back;
	struct analysis analysis;
	struct kit_random random = { 3 };
	uint64_t seq = 1000, *cell = (uint64_t *)span;
	int64_t time = 77;
	uint8_t *bytes;
	size_t size;

	begin(&analysis);
	make_spans(span, &random, &seq, &time);
	memcpy(was, span, sizeof(span));
	CHECK(!facts_guess_init(&guess, &analysis));
	CHECK(!facts_guess_note_lot(&guess, LOAD_phase_span, cell, SPANS));
	CHECK(!facts_guess_note_lot(&guess, LOAD_phase_span, cell + SPAN_CELLS, SPANS - 1)); /* known already */
	bytes = write_and_read(&guess, &back, &size);
	CHECK(size > 2 * SPANS * 4 && size < 2 * SPANS * 5);
	facts_guess_lot(&guess, FACTS_AWAY, LOAD_phase_span, cell, SPANS);
	CHECK(!has_a_time(span));
	facts_guess_lot(&back, FACTS_BACK, LOAD_phase_span, cell, SPANS);
	CHECK(!memcmp(span, was, sizeof(span)));
	facts_guess_release(&guess);
	facts_guess_release(&back);
	free(bytes);
}

/* Rows in any order, with events that the table lacks, before and behind it, and without an event. */
TEST(times_of_other_events_come_back)
{
	static struct load_mapping row[SPANS], was[SPANS];
	struct facts_guess guess, back;
	struct analysis analysis;
	struct kit_random random = { 4 };
	uint8_t *bytes;
	uint32_t i;
	size_t size;

	begin(&analysis);
	CHECK(!facts_guess_init(&guess, &analysis));
	for (i = 0; i < SPANS; i++) {
		row[i].map_seq = (int64_t)kit_below(&random, 1u << 20);
		row[i].map_time = (int64_t)kit_next(&random);
		row[i].unmap_seq = i % 3 ? (int64_t)kit_below(&random, 1u << 30) : INT64_MIN; /* DB_CELL_NULL */
		row[i].unmap_time = i % 3 ? row[i].unmap_seq * 3 : INT64_MIN;
	}
	CHECK(!facts_guess_note_lot(&guess, LOAD_mapping, (uint64_t *)(row + SPANS / 3), SPANS / 3));
	memcpy(was, row, sizeof(row));
	bytes = write_and_read(&guess, &back, &size);
	facts_guess_lot(&guess, FACTS_AWAY, LOAD_mapping, (uint64_t *)row, SPANS);
	for (i = 0; i < SPANS; i += 3)
		CHECK_EQ(row[i].unmap_time, 0);
	facts_guess_lot(&back, FACTS_BACK, LOAD_mapping, (uint64_t *)row, SPANS);
	CHECK(!memcmp(row, was, sizeof(row)));
	facts_guess_release(&guess);
	facts_guess_release(&back);
	free(bytes);
}

/* The table takes a part of them. Times of the others are near. */
TEST(more_events_than_the_table_takes)
{
	static struct load_phase_span span[SPANS];
	struct facts_guess guess, back;
	struct analysis analysis;
	struct kit_random random = { 5 };
	uint64_t seq = 64, lots = 3 * MOMENTS_MOST / (2 * SPANS), i;
	int64_t time = 0, last;
	uint8_t *bytes;
	size_t size;

	begin(&analysis);
	CHECK(!facts_guess_init(&guess, &analysis));
	for (i = 0; i < lots; i++) {
		make_spans(span, &random, &seq, &time);
		CHECK(!facts_guess_note_lot(&guess, LOAD_phase_span, (uint64_t *)span, SPANS));
	}
	bytes = write_and_read(&guess, &back, &size);
	CHECK(back.moments > MOMENTS_MOST / 2 && back.moments <= MOMENTS_MOST);
	last = span[SPANS - 1].last_time;
	facts_guess_lot(&guess, FACTS_AWAY, LOAD_phase_span, (uint64_t *)span, SPANS);
	CHECK(has_a_time(span));
	for (i = 0; i < SPANS; i++)
		CHECK(span[i].last_time < (int64_t)64 << 31 && span[i].last_time > -(int64_t)64 * 20);
	facts_guess_lot(&back, FACTS_BACK, LOAD_phase_span, (uint64_t *)span, SPANS);
	CHECK_EQ(span[SPANS - 1].last_time, last);
	facts_guess_release(&guess);
	facts_guess_release(&back);
	free(bytes);
}

/* ---- bytes ---- */

static struct load_step_device device_of(int64_t device, int64_t step, int64_t held, int64_t tensors)
{
	return (struct load_step_device){ .device = device,
					  .step = step,
					  .held_bytes = held,
					  .tensor_bytes = tensors,
					  .peak_bytes = held + 1000,
					  .peak_tensor_bytes = tensors + 1000 };
}

/* Device 0 has tensors in driver memory, device 1 tensors alone. Each step keeps 512 bytes on both. */
TEST(levels_of_steps_follow_from_what_outlived_them)
{
	struct load_step_device row[2 * STEPS], was[2 * STEPS];
	struct facts_guess guess, back;
	struct analysis analysis;
	uint8_t *bytes;
	uint32_t i;
	size_t size;

	begin(&analysis);
	outlive(&analysis, 2, 1, OUTLIVED_STAYS, 1 << 20, 1);
	outlive(&analysis, 1, 1, STEPS / 2, 4096, 2); /* gone in that step */
	for (i = 1; i <= STEPS; i++) {
		outlive(&analysis, 1, i, OUTLIVED_STAYS, 512, 1);
		outlive(&analysis, 3, i, OUTLIVED_STAYS, 512, 1);
		row[2 * i - 2] = device_of(1, i, 1 << 20, (i < STEPS / 2 ? 4096 : 0) + 512 * i);
		row[2 * i - 1] = device_of(2, i, 512 * i, 512 * i);
	}
	memcpy(was, row, sizeof(row));
	CHECK(!facts_guess_init(&guess, &analysis));
	bytes = write_and_read(&guess, &back, &size);
	CHECK(size < 200);
	facts_guess_lot(&guess, FACTS_AWAY, LOAD_step_device, (uint64_t *)row, 2 * STEPS);
	for (i = 0; i < 2 * STEPS; i++)
		CHECK(!row[i].held_bytes && !row[i].tensor_bytes && row[i].peak_bytes == 1000 &&
		      !row[i].peak_tensor_bytes);
	facts_guess_lot(&back, FACTS_BACK, LOAD_step_device, (uint64_t *)row, 2 * STEPS);
	CHECK(!memcmp(row, was, sizeof(row)));
	facts_guess_release(&guess);
	facts_guess_release(&back);
	free(bytes);
	outlived_release(&analysis.process->outlived);
}

static struct load_allocation_raw life_of(int64_t site, int64_t step, int64_t until, int64_t bytes, int64_t count)
{
	return (struct load_allocation_raw){ .site = site,
					     .step = step,
					     .free_step = until,
					     .bytes = bytes,
					     .allocations = count,
					     .alloc_seq = INT64_MIN,
					     .free_seq = INT64_MIN,
					     .alloc_time = INT64_MIN,
					     .free_time = INT64_MIN };
}

TEST(bytes_of_lives_follow_from_what_outlived_its_step)
{
	struct load_allocation_raw row[] = { life_of(1, 7, 9, 3000, 1), life_of(1, 7, INT64_MIN, 512, 1),
					     life_of(1, 7, 9, 6000, 2), life_of(1, 8, 9, 100, 1),
					     life_of(3, 7, 9, 100, 1) };
	struct kept_life life[] = { { .site = 1, .step = 7, .gone_seq = KEPT_STAYS, .bytes = 512 },
				    { .site = 1, .step = 7, .gone_step = 9, .bytes = 3001 } };
	const int64_t rest[] = { 0, 0, 0, 100, 100 };
	struct facts_guess guess;
	struct analysis analysis;
	struct facts_io to = { .writing = 1 };
	size_t i;

	begin(&analysis);
	outlive(&analysis, 1, 7, 9, 9000, 3);
	outlive(&analysis, 1, 7, OUTLIVED_STAYS, 512, 1);
	CHECK(!facts_guess_init(&guess, &analysis));
	facts_guess_write(&to, &guess);
	facts_guess_lot(&guess, FACTS_AWAY, LOAD_allocation_raw, (uint64_t *)row, MT_ARRAY_SIZE(row));
	for (i = 0; i < MT_ARRAY_SIZE(row); i++)
		CHECK_EQ(row[i].bytes, rest[i]);
	facts_guess_lives(&guess, FACTS_AWAY, life, 2);
	CHECK_EQ(life[0].bytes, 0);
	CHECK_EQ(life[1].bytes, 1);
	facts_guess_lives(&guess, FACTS_BACK, life, 2);
	CHECK_EQ(life[1].bytes, 3001);
	facts_guess_release(&guess);
	outlived_release(&analysis.process->outlived);
	free(to.data);
}

/* ---- made-up bytes ---- */

TEST(made_up_guesses_are_refused_or_guess)
{
	static struct load_phase_span span[SPANS];
	struct load_step_device row;
	struct facts_guess guess, back;
	struct analysis analysis;
	struct kit_random random = { 6 };
	uint64_t seq = 0;
	int64_t time = 0;
	struct facts_io from;
	uint32_t i, refused = 0;
	uint8_t *bytes, *copy, was;
	size_t size, at;

	begin(&analysis);
	for (i = 1; i < 50; i++)
		outlive(&analysis, 1 + i % 3, i, i % 2 ? OUTLIVED_STAYS : i + 3, 512 * i, i);
	make_spans(span, &random, &seq, &time);
	CHECK(!facts_guess_init(&guess, &analysis));
	CHECK(!facts_guess_note_lot(&guess, LOAD_phase_span, (uint64_t *)span, 100));
	bytes = write_and_read(&guess, &back, &size);
	facts_guess_release(&back);
	for (i = 0; i < 20000; i++) {
		copy = malloc(size); /* a byte behind it is an error of the sanitizer */
		memcpy(copy, bytes, size);
		at = kit_below(&random, size);
		was = copy[at];
		copy[at] = (uint8_t)kit_next(&random);
		from = (struct facts_io){ .at = copy, .end = copy + (i % 4 ? size : at) };
		facts_guess_read(&from, &back);
		if (!from.error) {
			row = device_of((int64_t)kit_next(&random), (int64_t)kit_next(&random), 1, 1);
			facts_guess_lot(&back, FACTS_BACK, LOAD_step_device, (uint64_t *)&row, 1);
			facts_guess_lot(&back, FACTS_BACK, LOAD_phase_span, (uint64_t *)span, SPANS);
		}
		refused += from.error == -MT_E_CORRUPT && copy[at] != was;
		facts_guess_release(&back);
		free(copy);
	}
	CHECK(refused > 5000);
	facts_guess_release(&guess);
	outlived_release(&analysis.process->outlived);
	free(bytes);
}

TEST_MAIN()
