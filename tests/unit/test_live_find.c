/* The recordings that memana live finds: this user's own, in folders and files of this user alone. */
#include <fcntl.h>
#include <sys/stat.h>
#include "ring_builder.h"
#include "source/live.h"
#include "trace_kit.h"

#define STRANGER 65534

/* A run that records: the folder of its ring, the trace that the link beside the ring names. */
static struct {
	const char *base;
	char folder[512], ring[600], link[700], trace[512];
	struct ring_builder builder;
	struct mt_writer *writer;
} run;

static void begin_run(void)
{
	struct mt_process process = kit_process;

	run.base = test_dir();
	snprintf(run.folder, sizeof(run.folder), "%s/memrec.own", run.base);
	snprintf(run.ring, sizeof(run.ring), "%s/1.ring", run.folder);
	snprintf(run.link, sizeof(run.link), "%s" RING_TRACE_SUFFIX, run.ring);
	snprintf(run.trace, sizeof(run.trace), "%s/running.zst", run.base);
	CHECK(!mkdir(run.folder, 0700));
	CHECK_EQ(ring_builder_open(&run.builder, run.ring, 1, 4096, 4096), 0);
	run.builder.header->pid = process.pid = (uint32_t)getpid();
	run.builder.header->start_monotonic = process.start_monotonic;
	snprintf(run.builder.header->boot_id, sizeof(run.builder.header->boot_id), "%s", process.boot_id);
	process.ring_path = run.ring;
	CHECK_EQ(mt_writer_open(&run.writer, run.trace, &process, NULL), 0);
	CHECK(!symlink(run.trace, run.link));
}

static void end_run(void)
{
	CHECK_EQ(mt_writer_close(run.writer, 1), 0);
	ring_builder_close(&run.builder);
}

/* 1: the trace of the run is among those found. */
static int is_found(void)
{
	struct live_traces traces;
	uint32_t i, found = 0;

	CHECK_EQ(live_find(&traces, &run.base, 1), 0);
	for (i = 0; i < traces.count; i++)
		found += !strcmp(traces.path[i], run.trace);
	live_release(&traces);
	return (int)found;
}

TEST(one_that_runs_is_found_until_it_ends)
{
	begin_run();
	CHECK(is_found());
	end_run();
	CHECK(!is_found());
}

TEST(a_stranger_is_passed_over)
{
	const char *names[] = { run.folder, run.trace, run.ring };
	size_t i;

	if (geteuid())
		SKIP("another owner needs root");
	begin_run();
	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		CHECK(!chown(names[i], STRANGER, STRANGER));
		if (names[i] != run.ring) /* root may read any ring: its owner is that of the program */
			CHECK(!is_found());
		CHECK(!chown(names[i], 0, 0));
		CHECK(is_found());
	}
	end_run();
}

/* A name that is no plain file is not waited for, and no link is followed to a folder. */
TEST(what_is_no_plain_file_is_passed_over)
{
	char elsewhere[600];

	begin_run();
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", run.base);
	CHECK(!rename(run.folder, elsewhere));
	CHECK(!symlink(elsewhere, run.folder));
	CHECK(!is_found());
	CHECK(!unlink(run.folder) && !rename(elsewhere, run.folder));
	CHECK(is_found());
	snprintf(elsewhere, sizeof(elsewhere), "%s/pipe", run.base);
	CHECK(!mkfifo(elsewhere, 0600));
	CHECK(!unlink(run.link) && !symlink(elsewhere, run.link));
	CHECK(!is_found());
	CHECK(!unlink(run.link) && !symlink("/dev/zero", run.link));
	CHECK(!is_found());
	end_run();
}

TEST_MAIN()
