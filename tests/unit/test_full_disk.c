/* test_full_disk.c - a writer on a full disk: what is written is a trace, and events wait or are refused, but are never lost silently. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include "trace/chunk.h"
#include "trace_kit.h"

static const struct mt_writer_options small = { .chunk_events = 12, .checkpoint_events = 40 };

static void limit_files(uint64_t bytes)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

/* Hands in `count` events; the writer takes them all, whether it can write them or not. Returns the newest error. */
static int hand_in(struct kit_trace *trace, size_t count)
{
	int error, newest = 0;

	while (count--) {
		struct mt_event event = kit_make_event(trace);

		error = mt_writer_event(trace->writer, &event, 1, 1);
		CHECK(!error || error == -MT_E_SPACE);
		kit_remember(trace, &event);
		newest = error ? error : newest;
	}
	return newest;
}

/* The file is a trace, and has a prefix of the events that were handed in. */
static size_t check_prefix(const char *path, const struct kit_trace *trace)
{
	struct mt_reader *reader;
	size_t got;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	got = kit_read_prefix(reader, trace);
	CHECK_EQ(mt_reader_state(reader)->error, 0);
	mt_reader_free(reader);
	return got;
}

TEST(a_full_disk_costs_nothing_that_is_written_later)
{
	const char *path = kit_path("full.zst");
	struct kit_trace trace;
	struct stat st;
	size_t got;

	signal(SIGXFSZ, SIG_IGN);
	kit_begin(&trace, path, 12, &small);
	CHECK_EQ(hand_in(&trace, 200), 0);
	CHECK_EQ(mt_writer_flush(trace.writer), 0);
	limit_files(mt_writer_bytes(trace.writer) + 900);
	CHECK_EQ(hand_in(&trace, 300), -MT_E_SPACE);
	CHECK_EQ(mt_writer_flush(trace.writer), -MT_E_SPACE);
	CHECK_EQ(errno, EFBIG);
	CHECK_EQ(mt_writer_events(trace.writer), 500);
	CHECK(mt_writer_pending(trace.writer) > 0);
	got = check_prefix(path, &trace);
	CHECK_EQ(got, 500 - mt_writer_pending(trace.writer));
	CHECK(!stat(path, &st));
	CHECK_EQ(st.st_size, mt_writer_bytes(trace.writer)); /* cut back */
	limit_files(1 << 20);
	CHECK_EQ(mt_writer_flush(trace.writer), 0);
	CHECK_EQ(check_prefix(path, &trace), 500);
	CHECK_EQ(hand_in(&trace, 100), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(check_prefix(path, &trace), 600);
	kit_release(&trace);
}

TEST(closing_on_a_full_disk_leaves_a_trace)
{
	const char *path = kit_path("full.zst");
	struct kit_trace trace;
	uint64_t room;
	size_t got;
	int error;

	signal(SIGXFSZ, SIG_IGN);
	for (room = 0; room < 6000; room += 197) {
		limit_files(1 << 20);
		kit_begin(&trace, path, 12, &small);
		CHECK_EQ(hand_in(&trace, 100), 0);
		CHECK_EQ(mt_writer_flush(trace.writer), 0);
		limit_files(mt_writer_bytes(trace.writer) + room);
		hand_in(&trace, 10);
		error = mt_writer_close(trace.writer, 1);
		got = check_prefix(path, &trace);
		CHECK(error == -MT_E_SPACE || (!error && got == 110));
		CHECK(error || room > 0);
		CHECK(!error || room < 5800);
		CHECK(got == 100 || got == 110);
		kit_release(&trace);
	}
}

TEST(a_disk_that_is_full_at_once)
{
	struct mt_writer *writer = (void *)1;

	signal(SIGXFSZ, SIG_IGN);
	limit_files(50);
	CHECK_EQ(mt_writer_open(&writer, kit_path("full.zst"), &kit_process, NULL), -MT_E_SPACE);
	CHECK(!writer);
	if (access("/dev/full", W_OK))
		SKIP("no /dev/full here");
	CHECK_EQ(mt_writer_open(&writer, "/dev/full", &kit_process, NULL), -MT_E_SPACE);
	CHECK_EQ(errno, ENOSPC);
}

/* With the disk full for good the buffer grows to the limit of a chunk; then events are refused, not lost silently. */
TEST(what_cannot_be_written_is_refused_in_the_end)
{
	struct mt_event event = { .kind = MT_PHASE_POP };
	struct mt_writer_options options = { .chunk_events = 1 << 16 };
	const char *path = kit_path("full.zst");
	struct kit_trace trace;
	int error;

	signal(SIGXFSZ, SIG_IGN);
	kit_begin(&trace, path, 12, &options);
	limit_files(mt_writer_bytes(trace.writer));
	do {
		event.seq++;
		error = mt_writer_event(trace.writer, &event, 0, 1);
	} while (!error || error == -MT_E_SPACE);
	CHECK_EQ(error, -MT_E_LIMIT);
	CHECK_EQ(mt_writer_events(trace.writer), MT_CHUNK_EVENTS_MAX);
	CHECK_EQ(event.seq, MT_CHUNK_EVENTS_MAX + 1);
	limit_files(1 << 20);
	CHECK_EQ(mt_writer_flush(trace.writer), 0);
	CHECK_EQ(mt_writer_event(trace.writer, &event, 0, 1), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	kit_release(&trace);
}

/* A refused event is missing, but not from the live set: a checkpoint behind the waiting events has it. */
TEST(what_is_dropped_is_alive_all_the_same)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .device = 1, .size = 512, .thread = 1 };
	const char *path = kit_path("full.zst");
	const struct mt_event *events;
	struct mt_reader *reader;
	struct kit_trace trace;
	size_t count;
	int batch, i;

	signal(SIGXFSZ, SIG_IGN);
	kit_begin(&trace, path, 12, &small);
	mt_defs_add_thread(mt_writer_defs(trace.writer), &(struct mt_thread){ .tid = 1 });
	mt_defs_add_device(mt_writer_defs(trace.writer), &(struct mt_device){ .kind = MT_DEVICE_CUDA });
	limit_files(mt_writer_bytes(trace.writer));
	for (i = 0; i < 8; i++, event.addr += 4096) {
		event.seq++;
		event.addr = 4096 * event.seq;
		if (i < 3)
			CHECK_EQ(mt_writer_event(trace.writer, &event, 1, 1), 0);
		else
			CHECK_EQ(mt_writer_drop(trace.writer, &event, 1, 1), 0);
	}
	event.seq++;
	event.addr = 4096 * event.seq;
	CHECK_EQ(mt_writer_event(trace.writer, &event, 1, 1), -MT_E_LIMIT); /* those before have to be written first */
	CHECK_EQ(mt_writer_pending(trace.writer), 3);
	limit_files(1 << 20);
	CHECK_EQ(mt_writer_event(trace.writer, &event, 1, 1), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK(!mt_reader_next(reader, &events, &count, &batch) && batch == MT_BATCH_EVENTS && count == 3);
	CHECK(!mt_reader_next(reader, &events, &count, &batch) && batch == MT_BATCH_ANEW && count == 8);
	CHECK(!mt_reader_next(reader, &events, &count, &batch) && batch == MT_BATCH_EVENTS && count == 1);
	CHECK_EQ(events[0].seq, 9);
	mt_reader_free(reader);
	kit_release(&trace);
}

TEST_MAIN()
