/*
 * test_budget.c - the budget of a file (trace-v1.md, "Limits"). A small file that claims to be large costs little. No stream of
 * events makes a file beyond the budget.
 *
 * With "--write DIR" it only writes the files, for tests/cli/test_bombs.sh: NAME.zst is beyond the budget, NAME-fair.zst
 * is as dense as a file may be.
 */
#include <zstd.h>
#include "bombs.h"
#include "trace_kit.h"

/* ---- files that claim to be large -------------------------------------------------------------------------------- */

/* Reads all of it. */
static struct mt_trace_state read_file(const char *path)
{
	const struct mt_event *events;
	struct mt_trace_state state;
	struct mt_reader *reader;
	size_t count;
	int checkpoint;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	do {
		CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	} while (count);
	state = *mt_reader_state(reader);
	mt_reader_free(reader);
	return state;
}

static double seconds_of(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static void read_whole(const char *path)
{
	CHECK_EQ(read_file(path).error, 0);
}

#define FIXED_KIB (16 << 10) /* whatever the file is */
#define FIXED_SECONDS 5      /* seconds of processor time */
#ifdef __SANITIZE_ADDRESS__
#define KIB_PER_KIB 2560 /* KiB for each KiB of file */
#else
#define KIB_PER_KIB 1280
#endif
#define SECONDS_PER_MIB 12 /* sanitizers and slow machines are thought of */

/* The cost of reading a file is in proportion to it. */
static void check_cost(const struct bomb_kind *kind, const char *path, void (*read)(const char *path))
{
	struct rusage usage, nothing = kit_cost_of(NULL, path);
	struct stat st;
	long kib;

	CHECK(!stat(path, &st));
	usage = kit_cost_of(read, path);
	kib = usage.ru_maxrss - nothing.ru_maxrss;
	printf("# %-12s %8lld bytes: %7ld KiB, %.2f s\n", kind->name, (long long)st.st_size, kib, seconds_of(&usage));
	CHECK(kib <= FIXED_KIB + KIB_PER_KIB * st.st_size / 1024);
	CHECK(seconds_of(&usage) <= FIXED_SECONDS + SECONDS_PER_MIB * (double)st.st_size / (1 << 20));
}

/* In a process of its own: making a file takes more memory than reading it may. */
static void make_apart(const struct bomb_kind *kind, int fair, const char *path)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		bomb_write(kind, fair, path);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
}

/* Those beyond the budget: tests/cli/test_bombs.sh. */
TEST(what_is_within_the_budget_is_read_and_costs_in_proportion)
{
	const struct bomb_kind *kind;
	const char *path = kit_path("bomb.zst");

	for (kind = __start_bomb_kinds; kind < __stop_bomb_kinds; kind++) {
		make_apart(kind, 1, path);
		check_cost(kind, path, read_whole);
	}
}

TEST(too_many_bytes_are_refused)
{
	struct mt_trace_state state;

	make_apart(&bomb_kind_zeros, 0, kit_path("zeros.zst"));
	state = read_file(kit_path("zeros.zst"));
	CHECK_EQ(state.error, -MT_E_LIMIT);
	make_apart(&bomb_kind_allocations, 0, kit_path("allocations.zst"));
	state = read_file(kit_path("allocations.zst"));
	CHECK_EQ(state.error, -MT_E_LIMIT);
	CHECK_EQ(state.events, 0);
}

/* ---- what is written ---------------------------------------------------------------------------------------------- */

/* Every chunk is within the budget: by the bytes in the file, not by what our reader says. */
static void check_file(const char *path)
{
	size_t size, at, frame;
	uint8_t *data = kit_load(path, &size);
	unsigned long long payload;

	for (at = 0; at < size; at += frame) {
		frame = ZSTD_findFrameCompressedSize(data + at, size - at);
		CHECK(!ZSTD_isError(frame));
		payload = ZSTD_getFrameContentSize(data + at, size - at);
		CHECK(payload != ZSTD_CONTENTSIZE_UNKNOWN &&
		      payload / MT_CHUNK_DENSITY_MAX <= frame + MT_CHUNK_FRAME_BYTES);
	}
	free(data);
}

static void check_trace(const char *path, uint64_t events)
{
	const struct mt_chunk_info *chunks;
	struct mt_trace_state state = read_file(path);
	struct mt_reader *reader;
	uint32_t i, count;

	CHECK_EQ(state.error, 0);
	CHECK(state.complete && !state.lost);
	CHECK_EQ(state.events, events);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	chunks = mt_reader_chunks(reader, &count);
	for (i = 0; i < count; i++)
		CHECK(chunks[i].events / MT_CHUNK_DENSITY_EVENTS_MAX <= chunks[i].size + MT_CHUNK_FRAME_BYTES);
	mt_reader_free(reader);
	check_file(path);
}

/* Event `number` of a stream that could not repeat itself more: the clock ticks evenly. */
typedef struct mt_event (*stream)(uint64_t number);

static struct mt_event marks(uint64_t number MT_UNUSED)
{
	return (struct mt_event){ .kind = MT_MARK };
}

static struct mt_event alloc_and_free(uint64_t number)
{
	return (struct mt_event){ .kind = number & 1 ? MT_TENSOR_FREE : MT_TENSOR_ALLOC,
				  .addr = 1 << 20,
				  .size = 512,
				  .total = number & 1 ? 0 : 512,
				  .reserved = 1 << 21 };
}

/* All stay alive, and each is in the checkpoints that follow. */
static struct mt_event alloc_only(uint64_t number)
{
	return (struct mt_event){ .kind = MT_TENSOR_ALLOC,
				  .addr = (1 << 20) + 512 * number,
				  .size = 512,
				  .total = 512 * (number + 1),
				  .reserved = 1ull << 40 };
}

static struct mt_event ranges(uint64_t number)
{
	return (struct mt_event){ .kind = number & 1 ? MT_RANGE_POP : MT_RANGE_PUSH };
}

/* A training loop, as even as none ever was: forward takes, backward gives back. */
static struct mt_event training(uint64_t number)
{
	struct mt_event event = { .kind = number % 200 < 100 ? MT_TENSOR_ALLOC : MT_TENSOR_FREE, .size = 4096 };
	uint64_t slot = number % 200 < 100 ? number % 200 : 199 - number % 200;

	event.addr = (1 << 20) + 4096 * slot;
	event.total = 4096 * (event.kind == MT_TENSOR_ALLOC ? slot + 1 : slot);
	event.reserved = 100 * 4096;
	if (number % 200 == 199)
		event = (struct mt_event){ .kind = MT_STEP_MARK };
	return event;
}

static void check_stream(stream next, uint64_t events, const struct mt_writer_options *options)
{
	const char *path = kit_path("stream.zst");
	struct mt_writer *writer;
	struct mt_event event;
	uint64_t i;

	CHECK_EQ(mt_writer_open(&writer, path, &kit_process, options), 0);
	for (i = 0; i < events; i++) {
		event = next(i);
		event.seq = i + 1;
		event.time = 1000 * (i + 1);
		CHECK_EQ(mt_writer_event(writer, &event, 6, 1), 0);
	}
	CHECK_EQ(mt_writer_close(writer, 1), 0);
	check_trace(path, events);
}

TEST(no_stream_makes_a_file_beyond_the_budget)
{
	const struct mt_writer_options usual = { .checkpoint_events = 100000 };
	const struct mt_writer_options dense = { .level = 9, .chunk_events = MT_CHUNK_EVENTS_MAX };
	stream streams[] = { marks, alloc_and_free, alloc_only, ranges, training };
	size_t i;

	for (i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
		check_stream(streams[i], 250000, &usual);
		check_stream(streams[i], MT_CHUNK_EVENTS_MAX + 1000, &dense);
	}
}

/* Payloads of all sizes, of nothing and of everything: the frames are within the budget, and come back with the bytes. */
TEST(packing_stays_within_the_budget)
{
	struct mt_packer *packer = mt_packer_new(3);
	struct mt_buffer payload = { 0 }, out = { 0 };
	struct kit_random random = { 7 };
	size_t bytes, i;
	uint32_t events;

	for (bytes = 0; bytes < MT_CHUNK_BYTES_MAX / 2; bytes = 2 * bytes + 1 + kit_below(&random, 90)) {
		events = bytes > MT_CHUNK_EVENTS_MAX ? MT_CHUNK_EVENTS_MAX : (uint32_t)bytes;
		mt_payload_begin(&payload, 200);
		bomb_repeat(&payload, 0, bytes);
		for (i = kit_below(&random, 2) * bytes / 100; i > 0; i--)
			payload.data[1 + kit_below(&random, bytes)] = (uint8_t)kit_next(&random);
		mt_buffer_clear(&out);
		CHECK_EQ(mt_packer_pack(packer, &payload, events, &out), 0);
		CHECK(out.size + MT_CHUNK_FRAME_BYTES >= payload.size / MT_CHUNK_DENSITY_MAX);
		CHECK(out.size + MT_CHUNK_FRAME_BYTES >= events / MT_CHUNK_DENSITY_EVENTS_MAX);
		CHECK(out.size <= 1024 + bytes / 8 + bytes / MT_CHUNK_DENSITY_EVENTS_MAX);
	}
	mt_buffer_release(&payload);
	mt_buffer_release(&out);
	mt_packer_free(packer);
}

/* ---- files for the commands --------------------------------------------------------------------------------------- */

static void write_bombs(const char *folder)
{
	const struct bomb_kind *kind;
	char path[512];

	for (kind = __start_bomb_kinds; kind < __stop_bomb_kinds; kind++) {
		snprintf(path, sizeof(path), "%s/%s.zst", folder, kind->name);
		bomb_write(kind, 0, path);
		snprintf(path, sizeof(path), "%s/%s-fair.zst", folder, kind->name);
		bomb_write(kind, 1, path);
	}
}

TEST_MAIN_WRITE(write_bombs)
