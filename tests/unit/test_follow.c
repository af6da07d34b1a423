/* Reading along with a trace that is still being written: in pieces of any size, of several processes, to its end. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "screen/data/feed.h"
#include "source/source.h"
#include "test.h"
#include "trace_builder.h"

#define EVENTS_MAX 100000u

/* ---- a run ---- */

/* Three steps: what is kept grows, what is not comes and goes. Two places, and a phase each. */
static void make_step(struct builder *builder, unsigned step)
{
	unsigned i;

	builder_phase(builder, "forward");
	builder->stack = builder_python(builder, 0, "attention", "model.py", 12);
	for (i = 0; i < 300; i++)
		builder_tensor_alloc(builder, 0x10000000 + i * MIB, MIB);
	builder_phase_end(builder);
	builder_phase(builder, "backward");
	builder->stack = builder_python(builder, 0, "keep", "train.py", 40 + step);
	builder_tensor_alloc(builder, 0x90000000 + step * 16 * MIB, 16 * MIB);
	for (i = 0; i < 300; i++)
		builder_tensor_free(builder, 0x10000000 + i * MIB, MIB);
	builder_phase_end(builder);
	builder_step(builder, step);
}

static void make_trace(const char *path)
{
	struct builder builder;
	unsigned step;

	builder_open(&builder, path, 100, -1);
	for (step = 1; step <= 3; step++) {
		make_step(&builder, step);
		CHECK_EQ(mt_writer_flush(builder.writer), 0);
	}
	builder_close(&builder);
}

/* ---- the reader ---- */

struct read {
	uint64_t count, sum; /* number and sum of events, and over their fields */
};

static void take(struct read *read, struct mt_reader *reader)
{
	const struct mt_event *events;
	size_t count, i;
	int checkpoint;

	for (;;) {
		CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
		if (!count)
			return;
		for (i = 0; i < count && checkpoint == MT_BATCH_EVENTS; i++) {
			read->count++;
			read->sum = read->sum * 31 + events[i].seq + events[i].time + events[i].addr + events[i].size +
				    events[i].stack;
		}
	}
}

static char *load_file(const char *path, size_t *size)
{
	struct stat status;
	int fd = open(path, O_RDONLY);
	char *bytes;

	CHECK(fd >= 0 && !fstat(fd, &status));
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	CHECK(bytes && read(fd, bytes, *size) == (ssize_t)*size);
	close(fd);
	return bytes;
}

static struct read read_whole(const char *path)
{
	struct mt_reader *reader;
	struct read read = { 0 };

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	take(&read, reader);
	CHECK(mt_reader_state(reader)->complete);
	mt_reader_free(reader);
	return read;
}

/* The file comes in pieces of a given size: most of them end inside of a chunk. */
static void follow_pieces(const char *bytes, size_t size, size_t piece, const struct read *want)
{
	int fd = open("pieces.zst", O_WRONLY | O_CREAT | O_TRUNC, 0666), more, looked = 0;
	struct mt_reader *reader = NULL;
	struct read read = { 0 };
	size_t at, part;

	CHECK(fd >= 0);
	for (at = 0; at < size; at += part) {
		part = size - at < piece ? size - at : piece;
		CHECK_EQ(write(fd, bytes + at, part), part);
		if (!reader && mt_reader_open(&reader, "pieces.zst"))
			continue;
		more = mt_reader_more(reader);
		CHECK(more >= 0);
		looked += more;
		take(&read, reader);
		CHECK(read.count <= want->count);
	}
	CHECK_EQ(read.count, want->count);
	CHECK_EQ(read.sum, want->sum);
	CHECK_EQ(mt_reader_state(reader)->complete, 1);
	CHECK_EQ(mt_reader_state(reader)->damaged, 0);
	CHECK_EQ(mt_reader_more(reader), 0);
	CHECK(piece > 100 || looked >= 3); /* each flush showed by itself */
	mt_reader_free(reader);
	close(fd);
}

TEST(follow_a_file_in_pieces)
{
	static const size_t pieces[] = { 1, 7, 64, 997, 4096, 1 << 20 };
	struct read want;
	char *bytes;
	size_t size, i;

	make_trace("whole.zst");
	want = read_whole("whole.zst");
	bytes = load_file("whole.zst", &size);
	for (i = 0; i < MT_ARRAY_SIZE(pieces); i++)
		follow_pieces(bytes, size, pieces[i], &want);
	free(bytes);
}

/* A file whose middle is damaged is read on behind it, as it would be at once. */
TEST(follow_past_damage)
{
	struct mt_reader *reader;
	struct read want = { 0 }, got = { 0 };
	size_t size, half;
	char *bytes;
	int fd;

	make_trace("whole.zst");
	bytes = load_file("whole.zst", &size);
	half = size / 2;
	bytes[half] ^= 0x55;
	fd = open("damaged.zst", O_RDWR | O_CREAT | O_TRUNC, 0666);
	CHECK_EQ(write(fd, bytes, half / 2), half / 2);
	CHECK_EQ(mt_reader_open(&reader, "damaged.zst"), 0);
	take(&got, reader);
	CHECK_EQ(write(fd, bytes + half / 2, size - half / 2), size - half / 2);
	CHECK(mt_reader_more(reader) >= 0);
	take(&got, reader);
	CHECK(mt_reader_state(reader)->error != 0);
	mt_reader_free(reader);
	CHECK_EQ(mt_reader_open(&reader, "damaged.zst"), 0);
	take(&want, reader);
	mt_reader_free(reader);
	CHECK_EQ(got.count, want.count);
	CHECK_EQ(got.sum, want.sum);
	close(fd);
	free(bytes);
}

/* --keep and memrec recover put another file in its place; a disk that was full cuts it back. */
TEST(another_file_is_told)
{
	struct mt_reader *reader;
	struct read read = { 0 };

	make_trace("one.zst");
	make_trace("two.zst");
	CHECK_EQ(mt_reader_open(&reader, "one.zst"), 0);
	take(&read, reader);
	CHECK_EQ(rename("two.zst", "one.zst"), 0);
	CHECK_EQ(mt_reader_more(reader), -MT_E_BUSY);
	mt_reader_free(reader);
	CHECK_EQ(mt_reader_open(&reader, "one.zst"), 0);
	take(&read, reader);
	CHECK_EQ(truncate("one.zst", 100), 0);
	CHECK_EQ(mt_reader_more(reader), -MT_E_BUSY);
	mt_reader_free(reader);
}

/* ---- the model ---- */

struct run {
	struct source source;
	struct model model;
	struct feed *feed;
};

static void open_run(struct run *run, char *const *paths, uint32_t count, enum source_follow follow)
{
	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open_live(&run->source, paths, count, follow), 0);
	CHECK_EQ(model_init(&run->model), 0);
	CHECK_EQ(feed_new(&run->feed, &run->model, &run->source), 0);
}

static void close_run(struct run *run)
{
	feed_free(run->feed);
	model_release(&run->model);
	source_release(&run->source);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits until the model has `steps` steps, for up to 20 s: how long that took, ns. */
static uint64_t until_steps(struct model *model, uint32_t steps)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t began = now_ns();
	uint32_t have = 0;

	while (have < steps) {
		model_lock(model);
		have = model->steps;
		model_unlock(model);
		CHECK(now_ns() - began < 20000000000u);
		nanosleep(&pause, NULL);
	}
	return now_ns() - began;
}

static void until_over(struct model *model)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t began = now_ns();
	enum model_follow follow = MODEL_FOLLOWS;

	while (follow == MODEL_FOLLOWS) {
		model_lock(model);
		follow = model->follow;
		model_unlock(model);
		CHECK(now_ns() - began < 20000000000u);
		nanosleep(&pause, NULL);
	}
	CHECK_EQ(follow, MODEL_OVER);
}

/* The followed run is the run of the whole trace. */
static void check_same(const struct model *followed, const struct model *whole)
{
	uint32_t run, i;
	uint64_t at;

	CHECK_EQ(followed->sites, whole->sites);
	CHECK_EQ(followed->events, whole->events);
	for (at = 0; at < whole->events; at++) {
		const struct tape_event *one = tape_at(followed->tape, at, &run), *two = tape_at(whole->tape, at, &run);

		CHECK(one->time == two->time && one->bytes == two->bytes && one->cell == two->cell);
	}
	CHECK_EQ(followed->spans, whole->spans);
	for (i = 0; i < whole->spans; i++) {
		CHECK_EQ(followed->span[i].first, whole->span[i].first);
		CHECK_EQ(followed->span[i].last, whole->span[i].last);
		CHECK_EQ(followed->span[i].phase, whole->span[i].phase);
	}
	CHECK_EQ(followed->steps, whole->steps);
	CHECK_EQ(followed->device[0].peak, whole->device[0].peak);
	CHECK_EQ(followed->device[0].peak_time, whole->device[0].peak_time);
	CHECK_EQ(followed->last_time, whole->last_time);
}

TEST(the_model_follows)
{
	char path[] = "run.zst", *paths[] = { path };
	struct builder builder;
	struct run followed, whole;
	struct model *model = &followed.model;

	builder_open(&builder, path, 100, -1);
	make_step(&builder, 1);
	CHECK_EQ(mt_writer_flush(builder.writer), 0);
	open_run(&followed, paths, 1, SOURCE_PATIENTLY);
	CHECK_EQ(followed.source.written, 1);
	until_steps(model, 1);
	model_lock(model);
	CHECK_EQ(model->follow, MODEL_FOLLOWS);
	CHECK_EQ(model->state, MODEL_READING);
	CHECK_EQ(model->process[0].now.phase, MT_PHASE_BACKWARD);
	CHECK_EQ(model->process[0].now.step, 1);
	CHECK_EQ(model->device[0].now.held, 16 * MIB);
	CHECK_EQ(model->device[0].peak, 316 * MIB);
	model_unlock(model);
	make_step(&builder, 2);
	CHECK_EQ(mt_writer_flush(builder.writer), 0);
	CHECK(until_steps(model, 2) < 5000000000u); /* a tenth of a second where nobody else works */
	make_step(&builder, 3);
	builder_close(&builder);
	until_over(model);
	open_run(&whole, paths, 1, SOURCE_PATIENTLY);
	CHECK_EQ(whole.source.written, 0);
	feed_wait(whole.feed);
	feed_wait(followed.feed);
	check_same(model, &whole.model);
	close_run(&followed);
	close_run(&whole);
}

/* A process that does nothing does not hold up the others, and comes in when it goes on. */
TEST(a_process_that_sleeps)
{
	char one[] = "rank0.zst", two[] = "rank1.zst", *paths[] = { one, two };
	struct builder first, second;
	struct run followed;
	uint32_t i, of_second = 0;

	builder_open(&first, one, 100, 0);
	builder_open(&second, two, 101, 1);
	make_step(&first, 1);
	CHECK_EQ(mt_writer_flush(first.writer), 0);
	make_step(&second, 1);
	CHECK_EQ(mt_writer_flush(second.writer), 0);
	open_run(&followed, paths, 2, SOURCE_PATIENTLY);
	CHECK_EQ(followed.source.written, 2);
	until_steps(&followed.model, 2);
	make_step(&first, 2);
	CHECK_EQ(mt_writer_flush(first.writer), 0);
	until_steps(&followed.model, 3);
	second.time = first.time;
	make_step(&second, 2);
	builder_close(&second);
	until_steps(&followed.model, 4);
	make_step(&first, 3);
	builder_close(&first);
	until_over(&followed.model);
	feed_wait(followed.feed);
	for (i = 0; i < followed.model.steps; i++)
		of_second += followed.model.step[i].process == 1;
	CHECK_EQ(of_second, 2);
	CHECK_EQ(followed.model.steps, 5);
	close_run(&followed);
}

/* The screen is closed while the recording goes on. */
TEST(leaving_does_not_wait)
{
	char path[] = "run.zst", *paths[] = { path };
	struct builder builder;
	struct run run;
	uint64_t began;

	builder_open(&builder, path, 100, -1);
	make_step(&builder, 1);
	CHECK_EQ(mt_writer_flush(builder.writer), 0);
	open_run(&run, paths, 1, SOURCE_PATIENTLY);
	until_steps(&run.model, 1);
	began = now_ns();
	close_run(&run);
	CHECK(now_ns() - began < 5000000000u);
	builder_close(&builder);
}

TEST_MAIN()
