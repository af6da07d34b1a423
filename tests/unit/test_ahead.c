/* Reading ahead: the same events and labels in the same order as without, whatever is between; and the progress line. */
#include "memtrace/ahead.h"

#include <fcntl.h>
#include <malloc.h>
#include <pty.h>
#include <sys/stat.h>
#include "base/progress.h"
#include "memtrace/error.h"
#include "read/reader_impl.h"
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/process.h"
#include "trace_builder.h"

#define TRACES 5
#define PARTS 40
#define PART_EVENTS 700 /* more than one batch */

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15ull;
}

/* New definitions in every part, so that they come between events, and a live set that checkpoints repeat. */
static void make_trace(const char *path, uint32_t pid)
{
	struct builder builder;
	char name[32];
	uint64_t addr = 0x1000;
	int part, i;

	builder_open(&builder, path, pid, -1);
	for (part = 0; part < PARTS; part++) {
		snprintf(name, sizeof(name), "function_%d.%s", part, part % 3 ? "forward" : "step");
		builder.stack = builder_python(&builder, 0, name, "train.py", (uint32_t)part + 1);
		for (i = 0; i < PART_EVENTS; i++, addr += 0x1000) {
			builder_tensor_alloc(&builder, addr, 512 + (uint64_t)i + pid);
			if (i % 3)
				builder_tensor_free(&builder, addr, 512 + (uint64_t)i + pid);
		}
		CHECK_EQ(mt_writer_flush(builder.writer), 0);
	}
	builder_close(&builder);
}

static uint64_t digest(uint64_t sum, const struct mt_defs *defs, const struct mt_event *event,
		       const struct mt_label *label)
{
	const struct mt_node *node = mt_defs_node(defs, (uint32_t)event->stack);

	sum = mix(mix(mix(sum, event->seq), event->addr), event->total);
	sum = mix(mix(mix(sum, node ? node->frame : 0), label->phase), label->part);
	return mix(mix(sum, label->rule_frame), label->step);
}

static struct mt_rules *make_rules(void)
{
	struct mt_rules *rules;
	char message[256];

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	return rules;
}

/* Counts all events and checkpoints that say something new. */
static uint64_t read_plainly(const char *path, const struct mt_rules *rules, uint64_t *total)
{
	const struct mt_event *events;
	struct mt_tracker *tracker;
	struct mt_reader *reader;
	struct mt_label label;
	uint64_t sum = 1;
	size_t count, i;
	int batch;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	tracker = mt_tracker_new(rules, mt_reader_defs(reader));
	for (*total = 0; !mt_reader_next(reader, &events, &count, &batch) && count;) {
		if (batch == MT_BATCH_REPEAT)
			continue;
		sum = mix(sum, (uint64_t)batch);
		for (i = 0; i < count; i++) {
			mt_tracker_event(tracker, &events[i], 0, &label);
			sum = digest(sum, mt_reader_defs(reader), &events[i], &label);
		}
		*total += count;
	}
	mt_tracker_free(tracker);
	mt_reader_free(reader);
	return sum;
}

/* One trace that is read ahead. */
struct course {
	struct mt_reader *reader;
	struct mt_tracker *tracker;
	uint64_t sum, total;
	int ended;
};

static void take_batch(struct course *course, const struct mt_ahead_batch *batch)
{
	size_t i;

	CHECK(batch->offset <= mt_reader_state(course->reader)->file_bytes);
	course->ended = !batch->count;
	if (course->ended)
		return;
	CHECK(batch->checkpoint != MT_BATCH_REPEAT);
	course->sum = mix(course->sum, (uint64_t)batch->checkpoint);
	for (i = 0; i < batch->count; i++)
		course->sum = digest(course->sum, mt_reader_defs(course->reader), &batch->events[i], &batch->labels[i]);
	course->total += batch->count;
}

/* Reads all in turn, one batch of each, and holds them against what they are when read alone. */
static void check_all(char path[][32], uint32_t traces, uint32_t threads)
{
	struct course course[TRACES] = { { 0 } };
	struct mt_rules *rules = make_rules();
	struct mt_reader *reader[TRACES];
	struct mt_tracker *tracker[TRACES];
	struct mt_ahead_batch batch;
	struct mt_ahead *ahead;
	uint32_t i, open = traces;
	uint64_t total;

	for (i = 0; i < traces; i++) {
		CHECK_EQ(mt_reader_open(&reader[i], path[i]), 0);
		tracker[i] = mt_tracker_new(rules, mt_reader_defs(reader[i]));
		course[i] = (struct course){ reader[i], tracker[i], 1, 0, 0 };
	}
	ahead = mt_ahead_new(reader, tracker, traces, threads);
	CHECK(ahead);
	while (open) {
		for (i = 0; i < traces; i++) {
			if (course[i].ended)
				continue;
			CHECK_EQ(mt_ahead_next(ahead, i, &batch), 0);
			take_batch(&course[i], &batch);
			open -= (uint32_t)course[i].ended;
		}
	}
	CHECK_EQ(mt_ahead_next(ahead, 0, &batch), 0);
	CHECK_EQ(batch.count, 0);
	mt_ahead_free(ahead);
	for (i = 0; i < traces; i++) {
		CHECK(course[i].sum == read_plainly(path[i], rules, &total));
		CHECK_EQ(course[i].total, total);
		CHECK(total > (uint64_t)PARTS * PART_EVENTS);
		mt_tracker_free(tracker[i]);
		mt_reader_free(reader[i]);
	}
	mt_rules_free(rules);
}

static void make_all(char path[][32])
{
	uint32_t i;

	for (i = 0; i < TRACES; i++) {
		snprintf(path[i], sizeof(path[i]), "ahead%u.zst", i);
		make_trace(path[i], i + 1);
	}
}

TEST(one_trace_reads_ahead_as_it_reads)
{
	char path[TRACES][32];

	make_all(path);
	check_all(path, 1, MT_AHEAD_THREADS);
}

TEST(several_traces_share_the_threads)
{
	char path[TRACES][32];

	make_all(path);
	check_all(path, TRACES, MT_AHEAD_THREADS);
}

TEST(all_is_the_same_without_threads)
{
	char path[TRACES][32];

	make_all(path);
	check_all(path, TRACES, 0);
}

TEST(it_can_be_stopped_anywhere)
{
	char path[TRACES][32];
	struct mt_ahead_batch batch;
	struct mt_reader *reader;
	struct mt_ahead *ahead;
	int batches, i;

	make_all(path);
	for (batches = 0; batches < 20; batches++) {
		CHECK_EQ(mt_reader_open(&reader, path[0]), 0);
		ahead = mt_ahead_new(&reader, NULL, 1, MT_AHEAD_THREADS);
		for (i = 0; i < batches; i++) {
			CHECK_EQ(mt_ahead_next(ahead, 0, &batch), 0);
			CHECK(!batch.labels);
		}
		mt_ahead_free(ahead);
		mt_reader_free(reader);
	}
}

/* ---- large chunks ---- */

#define HUGE_BYTES (60u << 20)
#define HUGE_TRACES 6 /* four of these fit */
#define HUGE_BATCHES 4
#define HUGE_BATCH ((int)MT_READER_BATCH)

/* A small file with one chunk that is as good as as large as a chunk may be: a section nobody knows. */
static void make_huge(const char *path)
{
	struct mt_event event = { .kind = MT_RANGE_POP, .thread = 0 };
	struct mt_process process = { .pid = 1, .rank = -1, .command = "huge" };
	struct mt_packer *packer = mt_packer_new(1);
	struct mt_buffer payload = { 0 }, out = { 0 };
	uint8_t *zeros = calloc(1, HUGE_BYTES);
	struct mt_encoder encoder;
	FILE *file = fopen(path, "w");

	mt_encoder_init(&encoder);
	for (event.seq = 1; event.seq <= HUGE_BATCHES * HUGE_BATCH; event.seq++)
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	mt_recognition_put(&out);
	mt_process_encode(&process, &payload);
	CHECK_EQ(mt_packer_pack(packer, &payload, 0, &out), 0);
	mt_encoder_payload(&encoder, MT_CHUNK_EVENTS, &payload);
	mt_payload_section(&payload, 1000, zeros, HUGE_BYTES);
	CHECK_EQ(mt_packer_pack(packer, &payload, 0, &out), 0);
	CHECK(file && fwrite(out.data, 1, out.size, file) == out.size && !fclose(file));
	CHECK(out.size < HUGE_BYTES / 50);
	mt_encoder_release(&encoder);
	mt_buffer_release(&payload);
	mt_buffer_release(&out);
	mt_packer_free(packer);
	free(zeros);
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* In turn, so that all of them would be inside of their chunk at the same time. */
TEST(large_chunks_share_what_there_is)
{
	struct mt_reader *reader[HUGE_TRACES];
	struct mt_ahead_batch batch;
	struct mt_ahead *ahead;
	size_t before = bytes_in_use();
	int round, i;

	make_huge("huge.zst");
	for (i = 0; i < HUGE_TRACES; i++)
		CHECK_EQ(mt_reader_open(&reader[i], "huge.zst"), 0);
	CHECK(bytes_in_use() < before + HUGE_BYTES);
	ahead = mt_ahead_new(reader, NULL, HUGE_TRACES, MT_AHEAD_THREADS);
	for (round = 0; round < HUGE_BATCHES; round++) {
		for (i = 0; i < HUGE_TRACES; i++) {
			CHECK_EQ(mt_ahead_next(ahead, (uint32_t)i, &batch), 0);
			CHECK_EQ(batch.count, i < 4 ? HUGE_BATCH : !round);
		}
	}
	for (i = 0; i < HUGE_TRACES; i++) {
		CHECK_EQ(mt_ahead_next(ahead, (uint32_t)i, &batch), 0);
		CHECK_EQ(batch.count, 0);
		CHECK_EQ(mt_reader_state(reader[i])->error, i < 4 ? 0 : -MT_E_LIMIT);
		CHECK_EQ(mt_reader_state(reader[i])->missed, i < 4 ? 0 : HUGE_BATCHES * HUGE_BATCH);
	}
	mt_ahead_free(ahead);
	CHECK(bytes_in_use() < before + HUGE_BYTES); /* read to their ends, they hold nothing */
	for (i = 0; i < HUGE_TRACES; i++)
		mt_reader_free(reader[i]);
}

/* One after the other, each is alone with what there is. */
TEST(large_chunks_in_turn_all_fit)
{
	struct mt_reader *reader[HUGE_TRACES];
	struct mt_ahead_batch batch;
	struct mt_ahead *ahead;
	int i, round;

	make_huge("huge.zst");
	for (i = 0; i < HUGE_TRACES; i++)
		CHECK_EQ(mt_reader_open(&reader[i], "huge.zst"), 0);
	ahead = mt_ahead_new(reader, NULL, HUGE_TRACES, MT_AHEAD_THREADS);
	for (i = 0; i < HUGE_TRACES; i++) {
		for (round = 0; round <= HUGE_BATCHES; round++) {
			CHECK_EQ(mt_ahead_next(ahead, (uint32_t)i, &batch), 0);
			CHECK_EQ(batch.count, round < HUGE_BATCHES ? HUGE_BATCH : 0);
		}
	}
	mt_ahead_free(ahead);
	for (i = 0; i < HUGE_TRACES; i++)
		mt_reader_free(reader[i]);
}

/* ---- progress ---- */

#define SECOND 1000000000ll

TEST(progress_is_silent_without_a_terminal)
{
	struct progress progress;
	FILE *file = tmpfile();

	progress_init(&progress, file, "a.zst", 100, 0);
	progress_add(&progress, 50, 1000, 5 * SECOND);
	progress_release(&progress);
	CHECK_EQ(ftell(file), 0);
	fclose(file);
}

TEST(progress_is_one_line_that_goes_away)
{
	struct progress progress;
	char text[512] = "";
	int ours, theirs;
	size_t size = 0;
	ssize_t got;
	FILE *file;

	CHECK_EQ(openpty(&ours, &theirs, NULL, NULL, NULL), 0);
	file = fdopen(theirs, "w");
	progress_init(&progress, file, "a.zst", 100, 1);
	progress_add(&progress, 10, 1000000, SECOND / 2); /* too early */
	progress_add(&progress, 32, 3000000, 1 + 2 * SECOND);
	progress_add(&progress, 1, 1000000, 2 + 2 * SECOND); /* too soon after */
	progress_release(&progress);
	fclose(file);
	while ((got = read(ours, text + size, sizeof(text) - 1 - size)) >
	       0) /* a terminal hands out what has come by then */
		size += (size_t)got;
	CHECK_STR(text, "\rmemana: a.zst  42%  2.0 M events/s\033[K\r\033[K");
}

TEST_MAIN()
