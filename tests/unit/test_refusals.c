/* test_refusals.c - a failed request counts once, a refusal that was survived not at all. */
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/refusals.h"
#include "test.h"

static uint64_t now;

/*
 * A letter is an event: r is a refusal of 5 bytes, R is one of 6, s is one of the second GPU. The letter a gives the 5 bytes, v gives
 * them by another call. The letter o is the allocator's failure, e is another error, and "." is a pause of two seconds.
 */
static void put(struct mt_refusals *refusals, char letter)
{
	static const char *const fails = "rRse", *const gives = "av";
	struct mt_event event = { .time = now,
				  .device = letter == 's' ? 2 : 1,
				  .size = letter == 'R' ? 6 : 5,
				  .entry = letter == 'v' ? 4 : 3 };

	now += letter == '.' ? 2000000000 : 1000;
	if (letter == '.')
		return;
	event.kind = strchr(fails, letter) ? MT_DRIVER_FAIL : strchr(gives, letter) ? MT_DRIVER_ALLOC : MT_TENSOR_OOM;
	event.result = event.kind != MT_DRIVER_FAIL ? 0 : letter == 'e' ? 1 : 2;
	mt_refusals_event(refusals, &event);
}

TEST(a_failed_request_is_one)
{
	static const struct {
		const char *events;
		uint64_t failed, survived;
	} row[] = { { "", 0, 0 },    { "o", 1, 0 },    { "e", 0, 0 },    { "r", 1, 0 },   { "rrro", 1, 0 },
		    { "rRo", 1, 0 }, { "ra", 0, 1 },   { "rra", 0, 2 },  { "Rra", 1, 1 }, { "rraRo", 1, 2 },
		    { "rv", 1, 0 },  { "Ra", 1, 0 },   { "sa", 1, 0 },   { "so", 2, 0 },  { "r.a", 1, 0 },
		    { "r.o", 2, 0 }, { "roro", 2, 0 }, { "rora", 1, 1 }, { "r.ra", 1, 1 } };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(row); i++) {
		struct mt_refusals refusals = { .failed = 0 };
		const char *at;

		for (now = 0, at = row[i].events; *at; at++)
			put(&refusals, *at);
		mt_refusals_end(&refusals);
		CHECK_EQ(refusals.failed, row[i].failed);
		CHECK_EQ(refusals.survived, row[i].survived);
	}
}

TEST(more_refusals_than_there_is_room_are_failures)
{
	struct mt_refusals refusals = { .failed = 0 };
	int i;

	for (i = 0; i < MT_REFUSALS_OPEN + 7; i++)
		put(&refusals, 'r');
	put(&refusals, 'a');
	CHECK_EQ(refusals.failed, 7);
	CHECK_EQ(refusals.survived, MT_REFUSALS_OPEN);
}

TEST_MAIN()
