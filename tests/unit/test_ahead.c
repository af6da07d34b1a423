/* Reading ahead: the same events in the same order as without, whatever is between them; and the progress line. */
#include "memtrace/ahead.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include "memtrace/error.h"
#include "progress.h"
#include "trace_maker.h"

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
	struct maker maker;
	char name[32];
	uint64_t addr = 0x1000;
	int part, i;

	maker_open(&maker, path, pid, -1);
	for (part = 0; part < PARTS; part++) {
		snprintf(name, sizeof(name), "function_%d", part);
		maker.stack = maker_python(&maker, 0, name, "train.py", (uint32_t)part + 1);
		for (i = 0; i < PART_EVENTS; i++, addr += 0x1000) {
			maker_tensor_alloc(&maker, addr, 512 + (uint64_t)i + pid);
			if (i % 3)
				maker_tensor_free(&maker, addr, 512 + (uint64_t)i + pid);
		}
		CHECK_EQ(mt_writer_flush(maker.writer), 0);
	}
	maker_close(&maker);
}

static uint64_t digest(uint64_t sum, const struct mt_defs *defs, const struct mt_event *events, size_t count)
{
	const struct mt_node *node;
	size_t i;

	for (i = 0; i < count; i++) {
		sum = mix(mix(mix(sum, events[i].seq), events[i].addr), events[i].total);
		node = mt_defs_node(defs, (uint32_t)events[i].stack);
		sum = mix(sum, node ? node->frame : 0);
	}
	return sum;
}

/* Of all events and checkpoints that say something new. */
static uint64_t read_plainly(const char *path, uint64_t *total)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	uint64_t sum = 1;
	size_t count;
	int batch;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	for (*total = 0; !mt_reader_next(reader, &events, &count, &batch) && count;) {
		if (batch == MT_BATCH_REPEAT)
			continue;
		sum = digest(mix(sum, (uint64_t)batch), mt_reader_defs(reader), events, count);
		*total += count;
	}
	mt_reader_free(reader);
	return sum;
}

/* Reads all in turn, one batch of each, and holds them against what they are when read alone. */
static void check_all(char path[][32], uint32_t traces)
{
	struct mt_reader *reader[TRACES];
	uint64_t sum[TRACES], total[TRACES] = { 0 }, wanted, want_total, offset;
	const struct mt_event *events;
	struct mt_ahead *ahead;
	uint32_t i, open = traces;
	size_t count;
	int batch, ended[TRACES] = { 0 };

	for (i = 0; i < traces; i++) {
		CHECK_EQ(mt_reader_open(&reader[i], path[i]), 0);
		sum[i] = 1;
	}
	ahead = mt_ahead_new(reader, traces);
	CHECK(ahead);
	while (open) {
		for (i = 0; i < traces; i++) {
			if (ended[i])
				continue;
			CHECK_EQ(mt_ahead_next(ahead, i, &events, &count, &batch, &offset), 0);
			CHECK(offset <= mt_reader_state(reader[i])->file_bytes);
			ended[i] = !count;
			open -= !count;
			if (!count)
				continue;
			CHECK(batch != MT_BATCH_REPEAT);
			sum[i] = digest(mix(sum[i], (uint64_t)batch), mt_reader_defs(reader[i]), events, count);
			total[i] += count;
		}
	}
	CHECK_EQ(mt_ahead_next(ahead, 0, &events, &count, &batch, &offset), 0);
	CHECK_EQ(count, 0);
	mt_ahead_free(ahead);
	for (i = 0; i < traces; i++) {
		wanted = read_plainly(path[i], &want_total);
		CHECK_EQ(total[i], want_total);
		CHECK(sum[i] == wanted);
		CHECK(total[i] > (uint64_t)PARTS * PART_EVENTS);
		mt_reader_free(reader[i]);
	}
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
	check_all(path, 1);
}

TEST(several_traces_share_the_threads)
{
	char path[TRACES][32];

	make_all(path);
	check_all(path, TRACES);
}

TEST(it_can_be_stopped_anywhere)
{
	char path[TRACES][32];
	const struct mt_event *events;
	struct mt_reader *reader;
	struct mt_ahead *ahead;
	uint64_t offset;
	size_t count;
	int batch, batches, i;

	make_all(path);
	for (batches = 0; batches < 20; batches++) {
		CHECK_EQ(mt_reader_open(&reader, path[0]), 0);
		ahead = mt_ahead_new(&reader, 1);
		for (i = 0; i < batches; i++)
			CHECK_EQ(mt_ahead_next(ahead, 0, &events, &count, &batch, &offset), 0);
		mt_ahead_free(ahead);
		mt_reader_free(reader);
	}
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
	ssize_t got;
	FILE *file;

	CHECK_EQ(openpty(&ours, &theirs, NULL, NULL, NULL), 0);
	file = fdopen(theirs, "w");
	progress_init(&progress, file, "a.zst", 100, 1);
	progress_add(&progress, 10, 1000000, SECOND / 2); /* too early */
	progress_add(&progress, 32, 3000000, 1 + 2 * SECOND);
	progress_add(&progress, 1, 1000000, 2 + 2 * SECOND); /* too soon after */
	progress_release(&progress);
	got = read(ours, text, sizeof(text) - 1);
	CHECK(got > 0);
	CHECK_STR(text, "\rmemana: a.zst  42%  2.0 M events/s\033[K\r\033[K");
}

TEST_MAIN()
