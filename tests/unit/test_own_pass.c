/* test_own_pass.c - the collector's own pass: when it hastens, and when it gives up. */
#include <fcntl.h>
#include "collect/own_pass.c"
#include "test.h"
#include "trace_kit.h"

/* A pass that has not begun to read. */
static int open_trace(struct own_pass *pass)
{
	const char *path = kit_path("trace.zst");
	char from[512];
	uint8_t *bytes;
	size_t size;

	snprintf(from, sizeof(from), "%s/tests/golden/v1-census.zst", getenv("SRC") ? getenv("SRC") : ".");
	bytes = kit_load(from, &size);
	kit_save(path, bytes, size);
	free(bytes);
	*pass = (struct own_pass){ .trace = path };
	return open(path, O_RDONLY);
}

TEST(a_pass_that_cannot_reach_the_end_takes_nothing)
{
	struct own_pass pass;
	uint8_t *data = NULL;
	size_t size;
	int fd = open_trace(&pass);

	begin(&pass);
	CHECK(pass.facts);
	CHECK_EQ(make(&pass, fd, LATE_MOST + 1ull, &data, &size), 0);
	CHECK_EQ(mt_facts_taken(pass.facts), 0);
	pass.hurry = 1;
	CHECK_EQ(make(&pass, fd, LATE_HURRY + 1ull, &data, &size), 0);
	CHECK_EQ(mt_facts_taken(pass.facts), 0);
	CHECK_EQ(make(&pass, fd, LATE_HURRY, &data, &size), 1);
	CHECK(mt_facts_taken(pass.facts) > 0 && size > 0);
	free(data);
	own_pass_end(&pass);
	close(fd);
}

static int wait_for(const _Atomic int *flag)
{
	int i;

	for (i = 0; i < 200 && !*flag; i++)
		wait_for_more();
	return *flag;
}

/* The thread ends before it has taken anything, and the next one takes all. */
TEST(a_pass_that_is_behind_gets_another_thread)
{
	struct own_pass pass;
	uint8_t *data = NULL;
	size_t size;
	int fd = open_trace(&pass);

	pass.run = BEHIND;
	own_pass_tick(&pass, EVENTS_LEAST - 1);
	CHECK(!pass.threaded);
	pass.began = 1;
	start(&pass);
	CHECK(wait_for(&pass.behind));
	CHECK_EQ(mt_facts_taken(pass.facts), 0);
	own_pass_tick(&pass, EVENTS_LEAST);
	CHECK(!pass.behind && pass.threaded);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	join(&pass);
	CHECK(mt_facts_taken(pass.facts) > 0 && !pass.behind);
	CHECK_EQ(pass.hastens, 0); /* it has caught up */
	CHECK_EQ(make(&pass, fd, 1, &data, &size), 1);
	free(data);
	own_pass_end(&pass);
	close(fd);
}

/* One without facts ends for good. */
TEST(a_pass_that_failed_gets_no_thread)
{
	struct own_pass pass = { .trace = "/nowhere", .run = BEHIND };

	start(&pass);
	nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	CHECK(!pass.behind && !pass.facts);
	own_pass_end(&pass);
}

TEST_MAIN()
