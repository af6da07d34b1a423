/* Which traces are of one run: by what they say, and by when they were recorded. */
#include "source/runs.h"

#include <stdlib.h>
#include <string.h>
#include "test.h"

#define TRACES_MAX 8

struct expected {
	const char *what;
	struct runs_trace trace[TRACES_MAX]; /* run, first, last, and 1 in `of` for the newest run */
};

static const struct expected table[] = {
	{ "one launch, whenever its processes were there",
	  { { "launch=a", 10, 20, 1, 0 }, { "launch=a", 30, 40, 1, 0 }, { "launch=b", 1, 5, 0, 0 } } },
	{ "launches that overlap are two runs, and the one that began last is the newest",
	  { { "launch=a", 10, 90, 0, 0 }, { "launch=b", 20, 80, 1, 0 } } },
	{ "hosts of a step of a Slurm job, each with a launch of its own, and one that was restarted",
	  { { "slurm=7.0 launch=a", 10, 20, 1, 0 },
	    { "slurm=7.0 launch=b", 10, 20, 1, 0 },
	    { "launch=b", 50, 60, 1, 0 },
	    { "slurm=7.1 launch=c", 1, 100, 0, 0 } } },
	{ "an ID that people give again: one run where it overlaps",
	  { { "elastic=100 launch=a", 10, 20, 1, 0 },
	    { "elastic=100 launch=b", 15, 30, 1, 0 },
	    { "elastic=100 launch=c", 1, 9, 0, 0 } } },
	{ "localhost is another host on each host",
	  { { "master=localhost.29500 launch=a", 10, 20, 0, 0, "one" },
	    { "master=localhost.29500 launch=b", 10, 20, 0, 0, "one" },
	    { "master=localhost.29500 launch=c", 11, 20, 1, 0, "two" },
	    { "master=localhost.29500 launch=d", 12, 20, 1, 0, "two" } } },
	{ "so is 127.0.0.1",
	  { { "master=127.0.0.1.29500 launch=a", 10, 20, 0, 0, "one" },
	    { "master=127.0.0.1.29500 launch=b", 11, 20, 1, 0, "two" } } },
	{ "so is ::1",
	  { { "master=::1.29500 launch=a", 10, 20, 0, 0, "one" },
	    { "master=::1.29500 launch=b", 11, 20, 1, 0, "two" } } },
	{ "a host that others know, too, by an address that is not the loopback's",
	  { { "master=localhost9.29500 launch=a", 10, 20, 1, 0, "one" },
	    { "master=localhost9.29500 launch=b", 11, 20, 1, 0, "two" } } },
	{ "a cluster of Ray counts anew",
	  { { "ray=01", 10, 20, 0, 0 },
	    { "ray=01", 30, 60, 1, 0 },
	    { "ray=01", 40, 50, 1, 0 },
	    { "ray=01", 55, 90, 1, 0 } } },
	{ "silent traces that overlap one after the other",
	  { { "", 10, 20, 1, 0 }, { "", 15, 40, 1, 0 }, { "", 30, 35, 1, 0 }, { "", 1, 9, 0, 0 } } },
	{ "a silent trace goes with the run that it overlaps",
	  { { "launch=a", 10, 20, 1, 0 }, { "", 5, 12, 1, 0 }, { "", 18, 30, 1, 0 }, { "launch=b", 1, 4, 0, 0 } } },
	{ "a trace without times may be of any run",
	  { { "launch=a", 10, 20, 0, 0 }, { "launch=b", 30, 40, 1, 0 }, { "", 0, 0, 1, 0 } } },
	{ "words of a later recorder say nothing yet",
	  { { "later=1 launch=a", 10, 20, 0, 0 }, { "later=1 launch=b", 30, 40, 1, 0 } } },
	{ "one that still runs overlaps what began later", { { "", 10, INT64_MAX, 1, 0 }, { "", 50, 60, 1, 0 } } },
};

static uint32_t count_of(const struct expected *expected)
{
	uint32_t count = 0;

	while (count < TRACES_MAX && expected->trace[count].run)
		count++;
	return count;
}

static void shuffle(struct runs_trace *trace, uint32_t count)
{
	struct runs_trace other;
	uint32_t i, with;

	for (i = count; i > 1; i--) {
		with = (uint32_t)random() % i;
		other = trace[i - 1];
		trace[i - 1] = trace[with];
		trace[with] = other;
	}
}

/* The order in which traces are named says nothing. */
TEST(the_newest_run_is_told_in_any_order)
{
	struct runs_trace trace[TRACES_MAX], want[TRACES_MAX];
	uint32_t i, count, round, newest, runs;
	size_t row;

	for (row = 0; row < sizeof(table) / sizeof(*table); row++) {
		count = count_of(&table[row]);
		memcpy(want, table[row].trace, sizeof(want));
		for (round = 0; round < 30; round++) {
			printf("# %s, %u\n", table[row].what, round);
			shuffle(want, count);
			memcpy(trace, want, sizeof(trace));
			CHECK_EQ(runs_find(trace, count, &newest, &runs), 0);
			for (i = 0; i < count; i++)
				CHECK_EQ(trace[i].of == newest, want[i].of);
		}
	}
}

TEST_MAIN()
