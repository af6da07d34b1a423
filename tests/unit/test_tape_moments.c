/* Changes of one moment on the tape: which of them count, and what it takes to find them among very many. */
#include "tape_kit.h"
#include "timeline/tape.c"

#include <signal.h>

static uint64_t count_changes(const struct told *told, uint64_t events, int64_t time)
{
	uint64_t i, changes = 0;

	for (i = 0; i < events; i++)
		changes += told->event[i].time == time && !told->event[i].more;
	return changes;
}

/* Events that hold once `changes` changes of the moment were told, by its events from `first` on. */
static uint64_t count_after(const struct told *told, uint64_t first, uint64_t changes)
{
	uint64_t i = first;

	for (; changes && i < told->count && told->event[i].time == told->event[first].time; i++)
		changes -= !told->event[i].more;
	return i;
}

TEST(a_moment_has_as_many_changes_as_were_told_at_it)
{
	struct kit_random random = { 4 };
	struct tape *tape = tape_new();
	uint64_t i, at, first, events;
	struct told told;
	int64_t time;

	tell(&random, &told, tape, TAPE_BLOCK + 3 * MARK_EVENTS);
	for (i = 0; i < 300; i++) {
		at = i < 40 ? i * MARK_EVENTS % told.count : kit_below(&random, told.count);
		time = told.event[at].time;
		for (first = at; first && told.event[first - 1].time == time; first--)
			;
		events = kit_below(&random, 2) ? at + kit_below(&random, told.count - at + 1) : at;
		CHECK_EQ(tape_changes(tape, events, time), count_changes(&told, events, time));
		CHECK_EQ(tape_after(tape, told.count, time, i % 7), count_after(&told, first, i % 7));
	}
	CHECK_EQ(tape_changes(tape, told.count, INT64_MIN), 0);
	CHECK_EQ(tape_changes(tape, 0, 0), 0);
	free(told.event);
	tape_free(tape);
}

/* ---- pages of the tape that a question reads ----------------------------------------------------------------------- */

#define PAGE 4096u
#define PAGES_MAX 40 /* a step of each binary search, and what lies between two marks */

static unsigned pages_read;

static void open_page(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr / PAGE * PAGE;

	(void)number;
	(void)context;
	pages_read++;
	if (mprotect((void *)page, PAGE, PROT_READ)) /* NOLINT(performance-no-int-to-ptr) */
		_exit(9);
}

static void close_pages(const struct tape *tape)
{
	uint32_t i;

	for (i = 0; i < tape->windows; i++)
		CHECK_EQ(mprotect(tape->window[i].base, tape->window[i].size, PROT_NONE), 0);
	pages_read = 0;
}

TEST(a_moment_of_very_many_changes_is_found_by_a_few_pages)
{
	struct sigaction action = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO }, before;
	const uint64_t events = 4 * TAPE_BLOCK + 7;
	struct tape *tape = tape_new();
	uint64_t i;

	for (i = 0; i < events; i++)
		CHECK_EQ(i % 3 ? tape_add(tape, 5, 2, 1, 1) : tape_add_part(tape, 5, 2, 1, 1), 0);
	CHECK_EQ(tape_settle(tape), events);
	CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
	close_pages(tape);
	CHECK_EQ(tape_changes(tape, events, 5), events - (events - 1) / 3);
	CHECK(pages_read && pages_read < PAGES_MAX);
	close_pages(tape);
	CHECK_EQ(tape_after(tape, events, 5, events / 2), (events / 2 - 1) / 2 * 3 + (events / 2 - 1) % 2 + 1);
	CHECK(pages_read && pages_read < PAGES_MAX);
	CHECK_EQ(sigaction(SIGSEGV, &before, NULL), 0);
	tape_free(tape);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define LONG_BLOCKS 60u /* a block has 1.5 MiB */
#define LONG_KIB (20 << 10)

static void write_and_read(const char *path MT_UNUSED)
{
	struct tape *tape = tape_new();
	uint64_t events = LONG_BLOCKS * (uint64_t)TAPE_BLOCK, i, bytes = 0;
	uint32_t run, k;

	for (i = 0; i < events; i++)
		CHECK_EQ(tape_add(tape, (int64_t)i, 2 + (uint32_t)(i % 50), 3, 1), 0);
	for (i = 0; i < events; i += run) {
		const struct tape_event *event = tape_at(tape, i, &run);

		for (k = 0; k < run; k++)
			bytes += (uint64_t)event[k].bytes;
		tape_let_go(tape, (uint32_t)(i / TAPE_BLOCK));
	}
	CHECK_EQ(bytes, 3 * events);
	tape_free(tape);
}

TEST(memory_does_not_grow_with_the_tape)
{
	long kib = kit_cost_of(write_and_read, NULL).ru_maxrss - kit_cost_of(NULL, NULL).ru_maxrss;

	printf("# %u blocks: %ld KiB\n", LONG_BLOCKS, kib);
	CHECK(kib < LONG_KIB);
}

TEST_MAIN()
