/* test_damage.c - damaged files: never a crash, never a wrong event, nothing lost that was good. */
#include "memtrace/ledger.h"
#include "trace/chunk.h"
#include "trace_kit.h"

static const struct mt_writer_options small = { .chunk_events = 12, .checkpoint_events = 40 };

/* A small trace with everything in it. Its bytes are the caller's. */
static uint8_t *make_trace(struct kit_trace *trace, size_t events, size_t *size)
{
	const char *path = kit_path("whole.zst");

	kit_begin(trace, path, 4711, &small);
	kit_write_events(trace, events);
	CHECK_EQ(mt_writer_close(trace->writer, 1), 0);
	return kit_load(path, size);
}

/* The same in chunks that a reader hands out in several pieces. */
static uint8_t *make_big_chunks(struct kit_trace *trace, size_t events, size_t *size)
{
	static const struct mt_writer_options big = { .chunk_events = 1300, .checkpoint_events = 2000 };
	struct mt_event event;

	kit_begin(trace, kit_path("whole.zst"), 4711, &big);
	while (events--) {
		event = kit_make_event(trace);
		CHECK_EQ(mt_writer_event(trace->writer, &event, 1, 1), 0);
		kit_remember(trace, &event);
	}
	CHECK_EQ(mt_writer_close(trace->writer, 1), 0);
	return kit_load(kit_path("whole.zst"), size);
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

/* The result of reading a damaged file. */
struct sound {
	size_t events, skipped; /* events of the trace; skipped ones have others behind them */
	uint64_t told;          /* number that are missing */
};

/* The checkpoint is what the first `count` events of the trace leave alive. */
static void check_live(const struct kit_trace *trace, size_t count, const struct mt_event *live, size_t lives)
{
	struct mt_ledger *want = mt_ledger_new(NULL, NULL), *got = mt_ledger_new(NULL, NULL);
	uint32_t device;
	size_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(mt_ledger_event(want, &trace->events[i], 0, 0, 0, NULL), 0);
	for (i = 0; i < lives; i++) {
		CHECK_EQ(live[i].kind, MT_LIVE);
		CHECK_EQ(mt_ledger_event(got, &live[i], 0, 0, 0, NULL), 0);
	}
	CHECK_EQ(mt_ledger_count(got), mt_ledger_count(want));
	for (device = 0; device < MT_LEDGER_DEVICES; device++) {
		CHECK_EQ(mt_ledger_held(got, device), mt_ledger_held(want, device));
		CHECK_EQ(mt_ledger_tensors(got, device), mt_ledger_tensors(want, device));
	}
	mt_ledger_free(got);
	mt_ledger_free(want);
}

/* Events up to `seq` are missing: the reader has said so. */
static void skip_missing(const struct kit_trace *trace, const struct mt_event *lost, struct sound *sound)
{
	size_t next = sound->events + sound->skipped;

	CHECK(kit_is_damage(lost) && lost->value && next < trace->count);
	while (next < trace->count && trace->events[next].seq <= lost->seq)
		next++;
	sound->skipped = next - sound->events;
	sound->told += lost->value;
}

/*
 * Reads on to the end. Every event is one of the trace, in order. If some are left out the reader says so, and the
 * live set after them is right.
 */
static struct sound read_sound(struct mt_reader *reader, const struct kit_trace *trace)
{
	struct sound sound = { 0 };
	const struct mt_event *events;
	size_t count, i;
	int batch, missing = 0;

	while (!mt_reader_next(reader, &events, &count, &batch) && count) {
		if (batch == MT_BATCH_ANEW)
			check_live(trace, sound.events + sound.skipped, events, count);
		CHECK(!missing || batch == MT_BATCH_ANEW);
		missing = 0;
		for (i = 0; i < count && !batch; i++) {
			size_t next = sound.events + sound.skipped;

			missing = next >= trace->count ||
				  !kit_is_event(mt_reader_defs(reader), &events[i], trace, next);
			if (missing) {
				CHECK_EQ(count, 1);
				skip_missing(trace, &events[i], &sound);
			} else {
				sound.events++;
			}
		}
	}
	return sound;
}

/* Reads a file that may be damaged, twice. */
static void check_damaged(const char *path, const struct kit_trace *trace)
{
	struct mt_reader *reader;
	const struct mt_trace_state *state;
	struct sound sound, again;

	if (mt_reader_open(&reader, path)) {
		CHECK(!reader);
		return;
	}
	sound = read_sound(reader, trace);
	state = mt_reader_state(reader);
	if (state->complete)
		CHECK(sound.events == trace->count && !state->error);
	if (!state->error)
		CHECK(sound.events == trace->count && !state->damaged);
	else
		CHECK(state->error_offset < state->file_bytes);
	CHECK(state->lost >= sound.told);
	mt_reader_rewind(reader);
	again = read_sound(reader, trace);
	CHECK(again.events == sound.events && again.skipped == sound.skipped && again.told == sound.told);
	mt_reader_free(reader);
}

/* The chunk that ends the gap which damage to chunk `i` opens; `count`: none does. */
static uint32_t next_checkpoint(const struct mt_chunk_info *chunks, uint32_t count, uint32_t i)
{
	while (i < count && chunks[i].kind != MT_CHUNK_CHECKPOINT)
		i++;
	return i;
}

static size_t events_from(const struct mt_chunk_info *chunks, uint32_t from, uint32_t to)
{
	size_t events = 0;

	for (; from < to; from++)
		events += chunks[from].kind == MT_CHUNK_EVENTS ? chunks[from].events : 0;
	return events;
}

static int events_follow(const struct mt_chunk_info *chunks, uint32_t count, uint32_t i)
{
	return events_from(chunks, i + 1, count) || next_checkpoint(chunks, count, i + 1) < count;
}

/* The events read from a file with the damaged chunk `bad`. */
static void check_bad_chunk(const char *path, const struct kit_trace *trace, const struct mt_chunk_info *chunks,
			    uint32_t count, uint32_t bad, int indexed)
{
	uint32_t end = next_checkpoint(chunks, count, bad);
	size_t missed = events_from(chunks, bad, end), before = events_from(chunks, 0, bad);
	const struct mt_trace_state *state;
	struct mt_reader *reader;
	struct sound sound;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	sound = read_sound(reader, trace);
	state = mt_reader_state(reader);
	if (chunks[bad].kind != MT_CHUNK_DEFS) /* damage there may make more of them useless */
		CHECK_EQ(state->damaged, bad + 1 < count || indexed);
	CHECK_EQ(state->error_offset, chunks[bad].offset);
	CHECK(state->error == (bad + 1 < count || indexed ? -MT_E_CHECKSUM : state->error) && !state->complete);
	if (chunks[bad].kind == MT_CHUNK_EVENTS) {
		CHECK_EQ(sound.events, end < count ? trace->count - missed : before);
		CHECK(events_follow(chunks, count, bad) || indexed ? sound.skipped == missed : sound.skipped <= 1);
		CHECK(!indexed || state->missed == missed);
		CHECK_EQ(sound.told, state->missed);
	} else if (chunks[bad].kind == MT_CHUNK_CHECKPOINT && indexed) {
		CHECK_EQ(sound.events, trace->count);
	} else {
		CHECK(sound.events >= before);
	}
	mt_reader_free(reader);
}

/* Writes all of the trace but `size` bytes at `offset`. */
static void save_without(const char *path, const uint8_t *data, size_t size, uint64_t offset, uint64_t missing)
{
	uint8_t *copy = malloc(size);

	memcpy(copy, data, offset);
	memcpy(copy + offset, data + offset + missing, size - offset - missing);
	kit_save(path, copy, size - missing);
	free(copy);
}

/* Each chunk in turn is cut out, whole or without its first byte, of a file with an index: nothing that the index knows is lost in silence. */
TEST(a_chunk_that_is_cut_out_is_missed)
{
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size, missed, kept;
	uint8_t *data = make_trace(&trace, 300, &size);
	uint32_t count, i, end;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const struct mt_trace_state *state;
	struct mt_reader *reader;
	struct sound sound;

	for (i = 2; i < 2 * count; i++) {
		const struct mt_chunk_info *chunk = &chunks[i / 2];

		kept = i % 2;
		save_without(path, data, size, chunk->offset + kept, chunk->size - kept);
		end = next_checkpoint(chunks, count, i / 2);
		missed = chunk->kind == MT_CHUNK_EVENTS ? events_from(chunks, i / 2, end) : 0;
		CHECK_EQ(mt_reader_open(&reader, path), 0);
		sound = read_sound(reader, &trace);
		state = mt_reader_state(reader);
		CHECK(!state->complete && state->error == -MT_E_CORRUPT && state->damaged);
		CHECK_EQ(state->error_offset, chunk->offset);
		CHECK_EQ(sound.told, state->missed);
		CHECK(chunk->kind == MT_CHUNK_DEFS || sound.told == missed);
		CHECK_EQ(sound.events + sound.told, trace.count);
		mt_reader_free(reader);
		if (!kept)
			CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &(uint64_t){ 0 }), -MT_E_CORRUPT);
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* The same without an index: numbers of a ring tell. The chunk behind is of no use without the one that is gone. */
TEST(numbers_tell_of_a_chunk_that_is_cut_out)
{
	const char *path = kit_path("whole.zst");
	struct kit_trace trace = { .random = { 3 } };
	struct mt_event event;
	uint32_t count, i, end;
	struct mt_chunk_info *chunks;
	struct mt_reader *reader;
	struct sound sound;
	uint8_t *data;
	size_t size, missed, before;

	CHECK_EQ(mt_writer_open(&trace.writer, path, &kit_process, &small), 0);
	for (i = 1; i <= 300; i++) {
		event = kit_make_event(&trace);
		event.seq = 64 * (uint64_t)i;
		CHECK_EQ(mt_writer_event(trace.writer, &event, 1, 1), 0);
		kit_remember(&trace, &event);
	}
	CHECK_EQ(mt_writer_close(trace.writer, 0), 0);
	data = kit_load(path, &size);
	chunks = load_chunks(&count);
	for (i = 1; i + 1 < count; i++) {
		end = next_checkpoint(chunks, count, i);
		missed = events_from(chunks, i, end);
		before = events_from(chunks, 0, i);
		if (chunks[i].kind != MT_CHUNK_EVENTS || !before || !events_follow(chunks, count, i))
			continue;
		save_without(kit_path("damaged.zst"), data, size, chunks[i].offset, chunks[i].size);
		CHECK_EQ(mt_reader_open(&reader, kit_path("damaged.zst")), 0);
		sound = read_sound(reader, &trace);
		CHECK_EQ(sound.events, end < count ? trace.count - missed : before);
		CHECK_EQ(sound.told, missed);
		CHECK_EQ(mt_reader_state(reader)->missed, missed);
		CHECK_EQ(mt_reader_state(reader)->error, -MT_E_CORRUPT);
		mt_reader_free(reader);
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* Each bit of an index in turn: it is never taken for a file without an end. */
TEST(a_flipped_bit_of_the_index_is_damage)
{
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size, bit;
	uint8_t *data = make_trace(&trace, 100, &size);
	uint32_t count;
	struct mt_chunk_info *chunks = load_chunks(&count);
	uint64_t index = end_of(&chunks[count - 1]);
	struct mt_reader *reader;

	for (bit = 8 * index; bit < 8 * size; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		kit_save(path, data, size);
		CHECK_EQ(mt_reader_open(&reader, path), 0);
		CHECK_EQ(kit_read_prefix(reader, &trace), trace.count);
		CHECK(mt_reader_state(reader)->error != 0 && mt_reader_state(reader)->error != -MT_E_TRUNCATED);
		CHECK_EQ(mt_reader_state(reader)->error_offset, index);
		CHECK_EQ(mt_reader_state(reader)->missed, 0);
		mt_reader_free(reader);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* The checksum at the end of each chunk in turn, in a file with an index and in one without. */
TEST(reading_goes_on_at_the_next_checkpoint)
{
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 300, &size);
	uint32_t count, i;
	struct mt_chunk_info *chunks = load_chunks(&count);

	for (i = 1; i < count; i++) {
		data[end_of(&chunks[i]) - 1] ^= 1;
		kit_save(path, data, size);
		check_bad_chunk(path, &trace, chunks, count, i, 1);
		kit_save(path, data, end_of(&chunks[count - 1]));
		check_bad_chunk(path, &trace, chunks, count, i, 0);
		data[end_of(&chunks[i]) - 1] ^= 1;
	}
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* A crash after damage: both are there, and the damage is what is told. A torn end alone is no damage. */
TEST(a_torn_end_after_damage)
{
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 300, &size);
	uint32_t count, bad;
	struct mt_chunk_info *chunks = load_chunks(&count);
	struct mt_reader *reader;
	struct sound sound;

	for (bad = count / 2; chunks[bad].kind != MT_CHUNK_EVENTS;)
		bad++;
	kit_save(path, data, size - (size - end_of(&chunks[count - 1])) - 3);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_state(reader)->error, -MT_E_TRUNCATED);
	mt_reader_free(reader);
	memset(data + chunks[bad].offset, 0xff, chunks[bad].size); /* not even a frame any more */
	kit_save(path, data, end_of(&chunks[count - 1]) - 3);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_state(reader)->error, -MT_E_CORRUPT);
	CHECK_EQ(mt_reader_state(reader)->error_offset, chunks[bad].offset);
	sound = read_sound(reader, &trace);
	CHECK(sound.skipped >= chunks[bad].events);
	CHECK_EQ(sound.events + sound.skipped, trace.count - chunks[count - 1].events);
	mt_reader_free(reader);
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* A frame that seems to go on beyond the end of the file is damage when chunks follow, and no torn end. */
TEST(a_frame_that_seems_to_be_longer)
{
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 300, &size), *block;
	uint32_t count, bad;
	struct mt_chunk_info *chunks = load_chunks(&count);
	struct mt_reader *reader;
	struct sound sound;

	for (bad = 3; chunks[bad].kind != MT_CHUNK_EVENTS;)
		bad++;
	block = data + chunks[bad].offset + 4 + 1 + 2; /* magic, descriptor, content size of two bytes: see RFC 8878 */
	CHECK_EQ(data[chunks[bad].offset + 4] >> 6, 1);
	block[1] = block[2] = 0xff;
	kit_save(path, data, end_of(&chunks[count - 1]));
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_state(reader)->error, -MT_E_CORRUPT);
	sound = read_sound(reader, &trace);
	CHECK_EQ(sound.skipped, events_from(chunks, bad, next_checkpoint(chunks, count, bad)));
	CHECK_EQ(sound.events + sound.skipped, trace.count);
	mt_reader_free(reader);
	free(chunks);
	free(data);
	kit_release(&trace);
}

/* Places that look like the beginning of a chunk cost time: only a limited number are tried. */
TEST(a_file_full_of_beginnings)
{
	static const uint8_t magic[] = { 0x28, 0xB5, 0x2F, 0xFD, 0x64, 0xff, 0x7f, 0xfd, 0xff, 0xff };
	const char *path = kit_path("damaged.zst");
	struct kit_trace trace;
	size_t size, at, big = 4 << 20;
	uint8_t *data = make_trace(&trace, 30, &size), *large = malloc(big);
	struct mt_reader *reader;
	uint32_t count;
	struct mt_chunk_info *chunks = load_chunks(&count);

	for (at = 0; at < big; at++)
		large[at] = magic[at % sizeof(magic)];
	memcpy(large, data, end_of(&chunks[count - 1]));
	kit_save(path, large, big);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(kit_read_prefix(reader, &trace), 30);
	CHECK(mt_reader_state(reader)->error);
	mt_reader_free(reader);
	free(large);
	free(chunks);
	free(data);
	kit_release(&trace);
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

/* How many events there are, checkpoints and what stands for gaps included. */
static size_t read_all(struct mt_reader *reader)
{
	const struct mt_event *events;
	size_t count, i, total = 0;
	int batch;

	while (!mt_reader_next(reader, &events, &count, &batch) && count) {
		total += count;
		for (i = 0; i < count; i++)
			check_ids(reader, &events[i]);
	}
	return total;
}

/* A file whose checksums are right, whatever it says. 1: it was found bad. */
static int read_hostile(const char *path)
{
	struct mt_trace_state state;
	struct mt_reader *reader;
	size_t total;

	if (mt_reader_open(&reader, path))
		return 1;
	total = read_all(reader);
	state = *mt_reader_state(reader);
	mt_reader_rewind(reader);
	CHECK_EQ(read_all(reader), total); /* though more is known of the file by now */
	CHECK(state.missed == mt_reader_state(reader)->missed && state.damaged == mt_reader_state(reader)->damaged);
	CHECK(state.events == mt_reader_state(reader)->events && state.error == mt_reader_state(reader)->error);
	mt_reader_free(reader);
	return state.error != 0;
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
	CHECK_EQ(mt_packer_pack(packer, &payload, 0, &out), 0);
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
	uint8_t *data = make_big_chunks(&trace, 3000, &size);
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
	uint32_t i, hit = 0;

	/* Events that no checkpoint stands for: the first after the last one. */
	for (i = 0; i < count; i++)
		if (chunks[i].kind == MT_CHUNK_CHECKPOINT)
			hit = 0;
		else if (chunks[i].kind == MT_CHUNK_EVENTS && !hit)
			hit = i;
	CHECK(hit && hit + 1 < count);
	data[chunks[hit].offset + chunks[hit].size - 1] ^= 1; /* the content checksum */
	kit_save(path, data, size);
	CHECK_EQ(mt_writer_reopen(&writer, path, NULL, &last), -MT_E_CHECKSUM);
	CHECK(!writer);
	after = kit_load(path, &now);
	CHECK(now == size && !memcmp(after, data, size));
	free(after);
	free(chunks);
	free(data);
	kit_release(&trace);
}

TEST(a_writer_goes_on_after_damage_that_a_checkpoint_follows)
{
	struct kit_trace trace;
	size_t size;
	uint8_t *data = make_trace(&trace, 300, &size);
	uint32_t count, bad;
	struct mt_chunk_info *chunks = load_chunks(&count);
	const char *path = kit_path("damaged.zst");
	struct mt_reader *reader;
	struct sound sound;
	uint64_t last;

	for (bad = 3; chunks[bad].kind != MT_CHUNK_EVENTS;)
		bad++;
	data[end_of(&chunks[bad]) - 1] ^= 1;
	kit_save(path, data, size);
	CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &last), 0);
	CHECK_EQ(last, trace.seq);
	kit_write_events(&trace, 100);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	sound = read_sound(reader, &trace);
	CHECK_EQ(sound.skipped, events_from(chunks, bad, next_checkpoint(chunks, count, bad)));
	CHECK_EQ(sound.events + sound.skipped, 400);
	CHECK(mt_reader_state(reader)->error && mt_reader_state(reader)->error_offset == chunks[bad].offset);
	mt_reader_free(reader);
	free(chunks);
	free(data);
	kit_release(&trace);
}

TEST_MAIN()
