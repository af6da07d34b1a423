/*
 * What is alive at a moment has one meaning: traces at which several tellings of it would part. With "--write DIR" it
 * only writes them, for tests/cli/test_meaning.sh.
 */
#include "screen/data/feed.h"
#include "screen/data/liveset.h"
#include "memtrace/base.h"
#include "test.h"
#include "trace_maker.h"

#define EXPANDABLE 0x10000000000ull
#define SEGMENT 0x20000000000ull
#define OTHERS 0x30000000000ull

static void begin(struct maker *m, const char *folder, const char *name, uint32_t pid)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	maker_open(m, path, pid, -1);
	m->stack = maker_python(m, 0, "main", "/home/me/train.py", 50);
}

/* The next event is at the same nanosecond as the newest one. */
static void at_once(struct maker *m)
{
	m->time -= 1000;
}

static void fail(struct maker *m, uint64_t size)
{
	maker_event(m, (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m->cuda, .stack = m->stack, .size = size });
}

/*
 * MiB: five mappings of 20 in a row with tensors at 0..30, 50..60 and 90..100, and a segment of 100 with tensors at
 * 0..10, 30..40 and 60..70. 120 are idle, 30 of them in a row, and one mapping has nothing in it.
 */
static void write_pieces(const char *folder)
{
	struct maker m;
	uint64_t i;

	begin(&m, folder, "pieces.zst", 100);
	maker_phase(&m, "forward");
	for (i = 0; i < 5; i++) {
		maker_event(&m, (struct mt_event){ .kind = MT_VMM_CREATE, .device = m.cuda, .stack = m.stack,
						   .handle = 100 + i, .size = 20 * MIB });
		maker_event(&m, (struct mt_event){ .kind = MT_VMM_MAP, .addr = EXPANDABLE + i * 20 * MIB,
						   .size = 20 * MIB, .handle = 100 + i });
	}
	maker_tensor_alloc(&m, EXPANDABLE, 30 * MIB);
	maker_tensor_alloc(&m, EXPANDABLE + 50 * MIB, 10 * MIB);
	maker_tensor_alloc(&m, EXPANDABLE + 90 * MIB, 10 * MIB);
	maker_driver_alloc(&m, SEGMENT, 100 * MIB);
	for (i = 0; i < 3; i++)
		maker_tensor_alloc(&m, SEGMENT + i * 30 * MIB, 10 * MIB);
	fail(&m, 64 * MIB);
	maker_close(&m);
}

/* Two processes at one nanosecond: the request of the first fails, and then the second takes 50 MiB more. */
static void write_neighbours(const char *folder)
{
	struct maker first, second;

	begin(&first, folder, "first.zst", 100);
	begin(&second, folder, "second.zst", 200);
	maker_driver_alloc(&first, SEGMENT, 100 * MIB);
	maker_tensor_alloc(&first, SEGMENT, 60 * MIB);
	maker_driver_alloc(&second, OTHERS, 200 * MIB);
	maker_tensor_alloc(&second, OTHERS, 10 * MIB);
	fail(&first, 64 * MIB);
	maker_driver_alloc(&second, OTHERS + 1024 * MIB, 50 * MIB);
	maker_tensor_alloc(&second, OTHERS + 1024 * MIB, 50 * MIB);
	maker_close(&first);
	maker_close(&second);
}

/* A tensor of init's makes room and another one comes at the peak of forward, and it goes; all of it at once. */
static void write_instant(const char *folder)
{
	struct maker m;

	begin(&m, folder, "instant.zst", 100);
	maker_phase(&m, "init");
	maker_driver_alloc(&m, SEGMENT, 100 * MIB);
	maker_tensor_alloc(&m, SEGMENT, 20 * MIB);
	maker_phase_end(&m);
	maker_phase(&m, "forward");
	maker_tensor_alloc(&m, SEGMENT + 20 * MIB, 70 * MIB);
	at_once(&m);
	maker_tensor_free(&m, SEGMENT + 20 * MIB, 70 * MIB);
	at_once(&m);
	maker_tensor_free(&m, SEGMENT, 20 * MIB);
	maker_phase_end(&m);
	maker_step(&m, 1);
	maker_close(&m);
}

/* A thread that was late: its event comes after that of another one, with an earlier time. */
static void write_late(const char *folder)
{
	struct maker m;

	begin(&m, folder, "late.zst", 100);
	maker_driver_alloc(&m, SEGMENT, 100 * MIB);
	maker_tensor_alloc(&m, SEGMENT, 20 * MIB);
	m.time += 7000;
	maker_tensor_alloc(&m, SEGMENT + 20 * MIB, 30 * MIB); /* at 10 us */
	m.time -= 5000;
	maker_tensor_alloc(&m, SEGMENT + 50 * MIB, 40 * MIB); /* at 6 us, they say */
	m.time += 10000;
	maker_close(&m);
}

/* Bytes of tensors that the timeline's table has at the device's peak. */
static uint64_t tensors_at_peak(const char *path)
{
	char *paths[] = { (char *)path };
	struct liveset live = { 0 };
	struct source source;
	struct model model;
	struct feed *feed;
	uint64_t bytes = 0;
	uint32_t i;

	CHECK_EQ(source_open_traces(&source, paths, 1), 0);
	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(feed_new(&feed, &model, &source), 0);
	feed_wait(feed);
	CHECK_EQ(model.state, MODEL_READ);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, 0, model.device[0].peak_time), NULL, 0, LIVESET_SORT_BYTES), 0);
	for (i = 0; i < live.rows; i++)
		bytes += model.site[live.row[i].site].driver ? 0 : live.row[i].bytes;
	liveset_release(&live);
	feed_free(feed);
	model_release(&model);
	source_release(&source);
	return bytes;
}

TEST(the_timeline_has_at_the_peak_what_was_there_at_the_peak)
{
	const char *folder = test_dir();
	char path[512];

	write_instant(folder);
	snprintf(path, sizeof(path), "%s/instant.zst", folder);
	CHECK_EQ(tensors_at_peak(path) / MIB, 90);
}

static void write_all(const char *folder)
{
	write_pieces(folder);
	write_neighbours(folder);
	write_instant(folder);
	write_late(folder);
}

TEST_MAIN_WRITE(write_all)
