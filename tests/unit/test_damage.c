/* test_damage.c - damaged files and full disks: never a crash, never a wrong event, nothing lost that was good. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include "chunk.h"
#include "trace_kit.h"

static const struct mt_writer_options small = { .chunk_events = 12, .checkpoint_events = 60 };

/* A small trace with everything in it. Its bytes are the caller's. */
static uint8_t *make_trace(struct kit_trace *trace, size_t events, size_t *size)
{
	const char *path = kit_path("whole.zst");

	kit_begin(trace, path, 4711, &small);
	kit_write_events(trace, events);
	CHECK_EQ(mt_writer_close(trace->writer, 1), 0);
	return kit_load(path, size);
}

/* The chunks of the whole trace. */
static struct mt_chunk_info *load_chunks(uint32_t *count)
{
	const struct mt_chunk_info *chunks;
	struct mt_chunk_info *copy;
	struct mt_reader *reader;

	CHECK_EQ(mt_reader_open(&reader, kit_path("whole.zst")), 0);
	chunks = mt_reader_chunks(reader, count);
	copy = malloc(*count * sizeof(*copy));
	memcpy(copy, chunks, *count * sizeof(*copy));
	mt_reader_free(reader);
	return copy;
}

static uint64_t end_of(const struct mt_chunk_info *chunk)
{
	return chunk->offset + chunk->size;
}

/* Events in chunks that lie wholly before `offset`. */
static size_t events_before(const struct mt_chunk_info *chunks, uint32_t count, uint64_t offset)
{
	size_t events = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (chunks[i].kind == MT_CHUNK_EVENTS && end_of(&chunks[i]) <= offset)
			events += chunks[i].events;
	return events;
}

static int is_chunk_end(const struct mt_chunk_info *chunks, uint32_t count, uint64_t offset)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (end_of(&chunks[i]) == offset)
			return 1;
	return 0;
}

TEST(cut_at_every_byte)
{
	struct kit_trace trace;
	size_t size, cut;
	uint8_t *data = make_trace(&trace, 100, &size);
	uint32_t count;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const char *path = kit_path("cut.zst");
	struct mt_reader *reader;
	int error;

	kit_save(path, data, size);
	for (cut = size - 1; cut + 1 > 0; cut--) {
		CHECK(!truncate(path, (off_t)cut));
		error = mt_reader_open(&reader, path);
		if (cut < end_of(&chunks[0])) {
			CHECK_EQ(error, -MT_E_TRUNCATED);
			continue;
		}
		CHECK_EQ(error, 0);
		CHECK_EQ(kit_read_prefix(reader, &trace), events_before(chunks, count, cut));
		CHECK_EQ(mt_reader_state(reader)->complete, 0);
		CHECK_EQ(mt_reader_state(reader)->error, is_chunk_end(chunks, count, cut) ? 0 : -MT_E_TRUNCATED);
		CHECK_EQ(mt_reader_state(reader)->events, events_before(chunks, count, cut));
		mt_reader_free(reader);
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* Reads a file that may be damaged: a prefix of the trace, and the whole of it only when nothing seems to be wrong. */
static void check_damaged(const char *path, const struct kit_trace *trace)
{
	struct mt_reader *reader;
	const struct mt_trace_state *state;
	size_t got;

	if (mt_reader_open(&reader, path)) {
		CHECK(!reader);
		return;
	}
	got = kit_read_prefix(reader, trace);
	state = mt_reader_state(reader);
	if (state->complete)
		CHECK(got == trace->count && !state->error);
	if (!state->error)
		CHECK_EQ(got, trace->count);
	else
		CHECK(state->error_offset < state->file_bytes);
	mt_reader_rewind(reader);
	CHECK_EQ(kit_read_prefix(reader, trace), got);
	mt_reader_free(reader);
}

/* Every single byte, by a bit that moves on, and by a random value. */
TEST(flipped_bytes)
{
	struct kit_random random = { 99 };
	struct kit_trace trace;
	size_t size, at;
	uint8_t *data = make_trace(&trace, 100, &size), byte;
	const char *path = kit_path("flipped.zst");

	int fd;

	kit_save(path, data, size);
	fd = open(path, O_RDWR);
	for (at = 0; at < size; at++) {
		byte = data[at] ^ (uint8_t)(1 << at % 8);
		CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
		check_damaged(path, &trace);
		byte = (uint8_t)(data[at] ^ (1 + kit_below(&random, 255)));
		CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
		check_damaged(path, &trace);
		CHECK_EQ(pwrite(fd, &data[at], 1, (off_t)at), 1);
	}
	close(fd);
	free(data);
	kit_release(&trace);
}

TEST(blocks_of_garbage)
{
	struct kit_random random = { 7 };
	struct kit_trace trace;
	size_t size, at, length, i;
	uint8_t *data = make_trace(&trace, 300, &size), *copy = malloc(size);
	const char *path = kit_path("garbage.zst");
	int round;

	for (round = 0; round < 600; round++) {
		memcpy(copy, data, size);
		at = kit_below(&random, size);
		length = 1 + kit_below(&random, 200);
		for (i = at; i < size && i < at + length; i++)
			copy[i] = round % 3 ? (uint8_t)kit_next(&random) : 0;
		kit_save(path, copy, size);
		check_damaged(path, &trace);
	}
	free(copy);
	free(data);
	kit_release(&trace);
}

/* Whole chunks twice, swapped, or left out: each is sound, the file is not. */
TEST(chunks_in_the_wrong_place)
{
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 200, &size);
	uint32_t count, i;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const char *path = kit_path("misplaced.zst");
	struct mt_reader *reader;
	FILE *file;

	for (i = 1; i < count; i++) {
		if (chunks[i].kind != MT_CHUNK_EVENTS)
			continue;
		file = fopen(path, "wb");
		CHECK(file && fwrite(data, 1, end_of(&chunks[i]), file) == end_of(&chunks[i]));
		CHECK(fwrite(data + chunks[i].offset, 1, chunks[i].size, file) == chunks[i].size);
		CHECK(!fclose(file));
		CHECK_EQ(mt_reader_open(&reader, path), 0);
		CHECK_EQ(kit_read_prefix(reader, &trace), events_before(chunks, count, end_of(&chunks[i])));
		CHECK_EQ(mt_reader_state(reader)->error, -MT_E_CORRUPT);
		CHECK_EQ(mt_reader_state(reader)->error_offset, end_of(&chunks[i]));
		mt_reader_free(reader);
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* Ids that a reader hands out are those of definitions that it has. */
static void check_ids(const struct mt_reader *reader, const struct mt_event *event)
{
	const struct mt_defs *defs = mt_reader_defs(reader);

	CHECK(mt_kind_fields(event->kind));
	CHECK(event->thread <= mt_defs_count(defs, MT_DEF_THREAD) && event->stack <= mt_defs_count(defs, MT_DEF_NODE));
	CHECK(event->device <= mt_defs_count(defs, MT_DEF_DEVICE) && event->name <= mt_defs_count(defs, MT_DEF_STRING));
}

/* A file whose checksums are right, whatever it says. 1: it was found bad. */
static int read_hostile(const char *path)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	size_t count, i;
	int checkpoint, bad;

	if (mt_reader_open(&reader, path))
		return 1;
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count)
		for (i = 0; i < count; i++)
			check_ids(reader, &events[i]);
	bad = mt_reader_state(reader)->error != 0;
	mt_reader_free(reader);
	return bad;
}

/* Changes a few bytes of the payload of one chunk, and packs it again. */
static void make_hostile(const char *path, const uint8_t *data, size_t size, const struct mt_chunk_info *chunk,
			 struct kit_random *random)
{
	struct mt_unpacker *unpacker;
	struct mt_packer *packer = mt_packer_new(1);
	struct mt_buffer payload = { 0 }, out = { 0 };
	struct mt_cursor unpacked;
	struct mt_zframe frame;
	int fd = open(kit_path("whole.zst"), O_RDONLY), changes;

	unpacker = mt_unpacker_new(fd, size);
	CHECK(packer && unpacker && !mt_unpacker_find(unpacker, chunk->offset, 0, &frame));
	CHECK_EQ(mt_unpacker_unpack(unpacker, &unpacked), 0);
	mt_buffer_put(&payload, unpacked.at, mt_cursor_left(&unpacked));
	for (changes = 1 + (int)kit_below(random, 3); changes > 0; changes--)
		payload.data[kit_below(random, payload.size)] = (uint8_t)kit_next(random);
	mt_buffer_put(&out, data, chunk->offset);
	CHECK_EQ(mt_packer_pack(packer, &payload, &out), 0);
	mt_buffer_put(&out, data + end_of(chunk), size - end_of(chunk));
	kit_save(path, out.data, out.size);
	mt_buffer_release(&payload);
	mt_buffer_release(&out);
	mt_packer_free(packer);
	mt_unpacker_free(unpacker);
	close(fd);
}

TEST(right_checksums_and_wrong_content)
{
	struct kit_random random = { 31 };
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 100, &size);
	uint32_t count, round, bad = 0;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const char *path = kit_path("hostile.zst");

	for (round = 0; round < 800; round++) {
		make_hostile(path, data, size, &chunks[round % count], &random);
		bad += (uint32_t)read_hostile(path);
	}
	CHECK(bad > 400);
	free(chunks);
	free(data);
	kit_release(&trace);
}

TEST(a_writer_does_not_go_on_after_damage)
{
	struct kit_trace trace;
	size_t size, now;
	uint8_t *data = make_trace(&trace, 100, &size), *after;
	uint32_t count;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const char *path = kit_path("damaged.zst");
	struct mt_writer *writer = (void *)1;
	uint64_t last;

	data[chunks[count / 2].offset + chunks[count / 2].size - 1] ^= 1; /* the content checksum */
	kit_save(path, data, size);
	CHECK_EQ(mt_writer_reopen(&writer, path, &last), -MT_E_CHECKSUM);
	CHECK(!writer);
	after = kit_load(path, &now);
	CHECK(now == size && !memcmp(after, data, size));
	free(after);
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* ---- no space ---------------------------------------------------------------------------------------------------- */

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

/* What is in the file is a trace, and a prefix of what was handed in. */
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

TEST_MAIN()
