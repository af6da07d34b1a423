/* test_codec.c - events as columns: every encoding, every value, and what a reader makes of later versions. */
#include "trace/chunk.h"
#include "trace/codec.h"
#include "trace/defs.h"
#include "trace_kit.h"

TEST(varints_come_back)
{
	struct kit_random random = { 3 };
	uint8_t bytes[MT_VARINT_MAX + 1];
	int i, overlong = 0;

	for (i = 0; i < 100000; i++) {
		uint64_t value = i < 200 ? (uint64_t)i : kit_number(&random);
		uint8_t *end = mt_varint_put(bytes, value);
		const uint8_t *at = bytes;
		struct mt_cursor cursor = mt_cursor_make(bytes, (size_t)(end - bytes));

		CHECK(end - bytes <= MT_VARINT_MAX);
		CHECK(mt_varint_take(&at, &overlong) == value && at == end);
		CHECK(mt_cursor_varint(&cursor) == value && !cursor.error && cursor.at == end);
		CHECK(mt_unzigzag(mt_zigzag(value)) == value);
	}
	CHECK_EQ(overlong, 0);
	CHECK_EQ(mt_zigzag(0), 0);
	CHECK_EQ(mt_zigzag((uint64_t)-1), 1);
	CHECK_EQ(mt_zigzag(1), 2);
}

TEST(bad_varints_are_refused)
{
	static const uint8_t ten[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0 };
	static const uint8_t endless[12] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0 };
	static const uint8_t cut[] = { 0x80, 0x80 };
	static const uint8_t padded[] = { 0x85, 0x00 };
	struct mt_cursor cursor = mt_cursor_make(ten, sizeof(ten));

	CHECK_EQ(mt_cursor_varint(&cursor), 0);
	CHECK_EQ(cursor.error, -MT_E_CORRUPT);
	cursor = mt_cursor_make(endless, sizeof(endless));
	mt_cursor_varint(&cursor);
	CHECK_EQ(cursor.error, -MT_E_CORRUPT);
	cursor = mt_cursor_make(cut, sizeof(cut));
	mt_cursor_varint(&cursor);
	CHECK_EQ(cursor.error, -MT_E_CORRUPT);
	cursor = mt_cursor_make(padded, sizeof(padded));
	CHECK_EQ(mt_cursor_varint(&cursor), 5);
	CHECK_EQ(cursor.error, 0);
}

/* Payload of the encoder's events, as a cursor behind the chunk kind. The bytes lie in memory of exactly their size. */
static struct mt_cursor make_payload(const struct mt_encoder *encoder, enum mt_chunk_kind kind, uint8_t **bytes)
{
	struct mt_buffer payload = { 0 };
	struct mt_cursor cursor;

	mt_encoder_payload(encoder, kind, &payload);
	CHECK_EQ(payload.error, 0);
	*bytes = malloc(payload.size);
	memcpy(*bytes, payload.data, payload.size);
	cursor = mt_cursor_make(*bytes, payload.size);
	mt_buffer_release(&payload);
	CHECK_EQ(mt_payload_kind(&cursor), kind);
	return cursor;
}

static struct mt_defs *some_defs(struct kit_random *random)
{
	struct mt_defs *defs = mt_defs_new();
	int i;

	for (i = 0; i < 200; i++)
		kit_define(random, defs, (enum mt_def)(1 + kit_below(random, MT_DEF_VARIANT)));
	return defs;
}

/* Decodes all in batches of `most` and compares. */
static void check_decode(struct mt_cursor payload, enum mt_chunk_kind kind, const struct mt_defs *defs,
			 const struct mt_event *events, size_t count, size_t most)
{
	struct mt_event *batch = malloc(most * sizeof(*batch));
	struct mt_decoder decoder;
	size_t got, i, total = 0;

	CHECK_EQ(mt_decoder_init(&decoder, kind, &payload, defs, 0), 0);
	CHECK_EQ(decoder.info.events, count);
	while (decoder.done < count) {
		CHECK_EQ(mt_decoder_next(&decoder, batch, most, &got), 0);
		for (i = 0; i < got; i++)
			CHECK(kit_same_event(&batch[i], &events[total + i]));
		total += got;
	}
	CHECK_EQ(total, count);
	CHECK_EQ(mt_decoder_next(&decoder, batch, most, &got), 0);
	CHECK_EQ(got, 0);
	free(batch);
}

static void round_trip(uint64_t seed, enum mt_chunk_kind chunk)
{
	struct kit_random random = { seed };
	struct mt_defs *defs = some_defs(&random);
	size_t i, count = 1 + kit_below(&random, seed % 50 ? 300 : 5000);
	struct mt_event *events = calloc(count, sizeof(*events));
	struct mt_encoder encoder;
	struct mt_cursor payload;
	uint8_t *bytes;
	uint64_t seq = 0;

	mt_encoder_init(&encoder);
	encoder.defs = defs;
	if (seed % 2)
		mt_encoder_look_back(&encoder);
	for (i = 0; i < count; i++) {
		events[i].kind = chunk == MT_CHUNK_CHECKPOINT ? (uint32_t)MT_LIVE : kit_kind(&random);
		kit_fill_event(&random, defs, &events[i]);
		if (events[i].addr && seed % 3 == 1)
			events[i].addr = 64 * (1 + kit_below(&random, 100));
		seq += 1 + (kit_below(&random, 9) ? 0 : kit_below(&random, 1ull << 40));
		events[i].seq = chunk == MT_CHUNK_CHECKPOINT ? kit_number(&random) : seq;
		CHECK_EQ(mt_encoder_add(&encoder, &events[i]), 0);
	}
	payload = make_payload(&encoder, chunk, &bytes);
	check_decode(payload, chunk, defs, events, count, 1 + kit_below(&random, 700));
	check_decode(payload, chunk, defs, events, count, count);
	free(bytes);
	mt_encoder_release(&encoder);
	free(events);
	mt_defs_free(defs);
}

TEST(events_come_back)
{
	uint64_t seed;

	for (seed = 1; seed <= 400; seed++)
		round_trip(seed, MT_CHUNK_EVENTS);
}

TEST(checkpoints_come_back)
{
	uint64_t seed;

	for (seed = 1; seed <= 200; seed++)
		round_trip(seed, MT_CHUNK_CHECKPOINT);
}

TEST(every_kind_alone)
{
	struct kit_random random = { 77 };
	struct mt_defs *defs = some_defs(&random);
	size_t i;

	for (i = 0; i < sizeof(kit_kinds); i++) {
		enum mt_chunk_kind chunk = kit_kinds[i] == MT_LIVE ? MT_CHUNK_CHECKPOINT : MT_CHUNK_EVENTS;
		struct mt_event event = { .kind = kit_kinds[i], .seq = 5 };
		struct mt_encoder encoder;
		struct mt_cursor payload;
		uint8_t *bytes;

		kit_fill_event(&random, defs, &event);
		mt_encoder_init(&encoder);
		encoder.defs = defs;
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
		payload = make_payload(&encoder, chunk, &bytes);
		check_decode(payload, chunk, defs, &event, 1, 1);
		free(bytes);
		mt_encoder_release(&encoder);
	}
	mt_defs_free(defs);
}

#define EVEN 40u

/* Columns of one byte: numbers 1 apart, times 3 below the one before, one thread and one size. */
TEST(columns_of_one_byte)
{
	struct kit_random random = { 5 };
	struct mt_defs *defs = mt_defs_new(), *none = mt_defs_new();
	struct mt_event events[EVEN], got[EVEN];
	struct mt_encoder encoder;
	struct mt_decoder decoder;
	struct mt_cursor payload, again;
	uint8_t *bytes;
	size_t i, count;

	mt_encoder_init(&encoder);
	for (i = 0; i < EVEN; i++) {
		events[i] = (struct mt_event){ .kind = MT_VMM_RESERVE,
					       .seq = 100 + i,
					       .time = 5000 - 3 * i,
					       .thread = 1,
					       .addr = 4096 * (1 + i % 5),
					       .size = 77 };
		CHECK_EQ(mt_encoder_add(&encoder, &events[i]), 0);
	}
	kit_define(&random, defs, MT_DEF_THREAD);
	payload = again = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	for (i = 1; i <= EVEN; i++)
		check_decode(payload, MT_CHUNK_EVENTS, defs, events, EVEN, i);
	CHECK_EQ(mt_decoder_init(&decoder, MT_CHUNK_EVENTS, &again, none, 0), 0);
	CHECK_EQ(mt_decoder_next(&decoder, got, EVEN, &count), -MT_E_CORRUPT); /* no such thread */
	free(bytes);
	mt_encoder_release(&encoder);
	mt_defs_free(defs);
	mt_defs_free(none);
}

/* The bytes of one column of a payload. */
static struct mt_cursor find_column(struct mt_cursor payload, uint32_t number)
{
	struct mt_section section = { 0 };

	while (mt_section_next(&payload, &section) > 0)
		if (section.number == number)
			return section.content;
	CHECK(!"the section is there");
	return payload;
}

/* Stacks of three frames in each of some layers, over and over; `nests` 0: the layers are not told apart. */
static void fill_layers(struct mt_defs *defs, struct mt_encoder *encoder, uint32_t layers, int nests)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .size = 64 };
	uint32_t frame[3], i, layer, nest, model;

	mt_defs_add_string(defs, "Layer", 5);
	for (i = 0; i < 3; i++)
		frame[i] = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_PYTHON, .line = i + 1 });
	model = mt_defs_add_nest(defs, 0, mt_defs_add_instance(defs, 64, 1));
	for (i = 0; i < 2 * layers; i++) {
		layer = i % layers;
		nest = mt_defs_add_nest(defs, model, mt_defs_add_instance(defs, 128 + 64 * layer, 1));
		event.stack = mt_defs_add_node_in(defs, 0, frame[0], nests ? model : 0);
		event.stack = mt_defs_add_node_in(defs, (uint32_t)event.stack, frame[1], nests ? nest : 0);
		event.stack = mt_defs_add_node(defs, (uint32_t)event.stack, frame[2]);
		event.addr = 4096 * ++event.seq;
		CHECK_EQ(mt_encoder_add(encoder, &event), 0);
	}
}

static void check_same(struct mt_cursor a, struct mt_cursor b)
{
	CHECK_EQ(mt_cursor_left(&a), mt_cursor_left(&b));
	CHECK(!memcmp(a.at, b.at, mt_cursor_left(&a)));
}

/* A reader that skips all about modules sees the stacks of a recording without them: DEFS 4, and the column of stacks. */
TEST(stacks_are_those_of_a_recording_without_modules)
{
	struct mt_defs *defs[2] = { mt_defs_new(), mt_defs_new() };
	struct mt_cursor nodes[2], events[2];
	struct mt_buffer payload[2] = { { 0 }, { 0 } };
	struct mt_encoder encoder[2];
	uint8_t *bytes[2];
	int i;

	for (i = 0; i < 2; i++) {
		uint32_t done[MT_DEF_END] = { 0 };

		mt_encoder_init(&encoder[i]);
		encoder[i].defs = defs[i];
		fill_layers(defs[i], &encoder[i], 40, i);
		events[i] = make_payload(&encoder[i], MT_CHUNK_EVENTS, &bytes[i]);
		CHECK_EQ(mt_defs_encode(defs[i], done, NULL, 0, &payload[i]), 1);
		nodes[i] = mt_cursor_make(payload[i].data, payload[i].size);
		CHECK_EQ(mt_payload_kind(&nodes[i]), MT_CHUNK_DEFS);
	}
	check_same(find_column(nodes[0], MT_DEF_NODE), find_column(nodes[1], MT_DEF_NODE));
	check_same(find_column(events[0], MT_SECTION_COLUMN + MT_FIELD_stack),
		   find_column(events[1], MT_SECTION_COLUMN + MT_FIELD_stack));
	CHECK_EQ(mt_defs_count(defs[1], MT_DEF_NODE), 3 + 1 + 40 * 2);
	for (i = 0; i < 2; i++) {
		free(bytes[i]);
		mt_buffer_release(&payload[i]);
		mt_encoder_release(&encoder[i]);
		mt_defs_free(defs[i]);
	}
}

static void check_bytes(struct mt_cursor got, const char *want, size_t size)
{
	CHECK_EQ(mt_cursor_left(&got), size);
	CHECK(!memcmp(got.at, want, size));
}

/* The examples of the encodings, worked out by hand from the spec. */
TEST(encodings_are_those_of_the_spec)
{
	struct mt_event events[] = {
		{ .kind = MT_TENSOR_ALLOC, .seq = 1, .time = 100, .addr = 64, .size = 512, .total = 512 },
		{ .kind = MT_TENSOR_ALLOC, .seq = 2, .time = 99, .addr = 0, .size = 300, .total = 812, .reserved = 5 },
		{ .kind = MT_TENSOR_FREE, .seq = 10, .time = 99, .addr = 3, .size = 512, .total = 301, .reserved = 4 },
	};
	struct mt_encoder encoder;
	struct mt_cursor payload;
	uint8_t *bytes;
	size_t i;

	mt_encoder_init(&encoder);
	for (i = 0; i < MT_ARRAY_SIZE(events); i++)
		CHECK_EQ(mt_encoder_add(&encoder, &events[i]), 0);
	payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	check_bytes(find_column(payload, 2), "\1\1\2", 3);
	check_bytes(find_column(payload, 3), "\1\xff\x83\2\2\xff\x83\2", 8); /* fields 0 to 8 and 15: 0x81ff */
	check_bytes(find_column(payload, 32 + 0), "\0\0\7", 3);              /* STEP */
	check_bytes(find_column(payload, 32 + 1), "\xc8\1\1\0", 4);          /* DELTA: +100, -1, 0 */
	check_bytes(find_column(payload, 32 + 5), "\5\3\x0c", 3);            /* ADDR: +1*64, -1*64, +3 */
	check_bytes(find_column(payload, 32 + 6), "\x80\4\xac\2\x80\4", 6);  /* PLAIN */
	check_bytes(find_column(payload, 32 + 7), "\0\0\2", 3);              /* TOTAL: as predicted twice, then +1 */
	check_bytes(find_column(payload, 32 + 8), "\0\x0a\1", 3);            /* DELTA: 0, +5, -1 */
	free(bytes);
	mt_encoder_release(&encoder);
}

TEST(addresses_have_65_bits)
{
	struct mt_event event = { .kind = MT_RANGE_END, .seq = 1, .handle = 1ull << 63 | 1 };
	struct mt_encoder encoder;
	struct mt_cursor payload, column;
	uint8_t *bytes;

	mt_encoder_init(&encoder);
	CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	column = find_column(payload, 32 + MT_FIELD_handle);
	/* zigzag(-2^63 + 1) = 2^64 - 3, times 2 = 2^65 - 6: 0x7a, then eight times 0x7f, then 0x03 */
	check_bytes(column, "\xfa\xff\xff\xff\xff\xff\xff\xff\xff\3", 10);
	free(bytes);
	mt_encoder_release(&encoder);
}

TEST(totals_are_predicted_per_device)
{
	struct mt_defs *defs = mt_defs_new();
	struct mt_encoder encoder;
	struct mt_cursor payload;
	uint8_t *bytes;
	uint64_t i;

	mt_encoder_init(&encoder);
	for (i = 1; i <= 10; i++) {
		struct mt_event event = { .kind = MT_TENSOR_ALLOC, .seq = i, .device = i % 2, .size = 100 };

		event.total = 100 * ((i + 1) / 2);
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	}
	payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	check_bytes(find_column(payload, 32 + MT_FIELD_total), "\0\0\0\0\0\0\0\0\0\0", 10);
	free(bytes);
	mt_encoder_release(&encoder);
	mt_defs_free(defs);
}

TEST(a_chunk_has_limits)
{
	struct mt_event event = { .kind = MT_MARK };
	struct mt_encoder encoder;
	uint32_t i;

	mt_encoder_init(&encoder);
	for (i = 1; i <= MT_CHUNK_EVENTS_MAX; i++) {
		event.seq = i;
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	}
	event.seq++;
	CHECK_EQ(mt_encoder_add(&encoder, &event), -MT_E_LIMIT);
	CHECK_EQ(encoder.info.events, MT_CHUNK_EVENTS_MAX);
	mt_encoder_clear(&encoder);
	CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	mt_encoder_release(&encoder);
}

TEST(fat_events_end_a_chunk_before_it_is_too_big)
{
	struct kit_random random = { 4 };
	struct mt_event event = { .kind = MT_LIVE };
	struct mt_buffer payload = { 0 };
	struct mt_encoder encoder;
	int error = 0;

	mt_encoder_init(&encoder);
	while (!error) {
#define FAT(name, number, encoding, meaning) event.name = kit_next(&random) | 1ull << 63;
		MT_FIELD_LIST(FAT)
#undef FAT
		error = mt_encoder_add(&encoder, &event);
	}
	CHECK_EQ(error, -MT_E_LIMIT);
	CHECK(encoder.info.events > 300000);
	mt_encoder_payload(&encoder, MT_CHUNK_CHECKPOINT, &payload);
	CHECK(!payload.error && payload.size <= MT_CHUNK_BYTES_MAX);
	mt_buffer_release(&payload);
	mt_encoder_release(&encoder);
}

/* Whatever is changed: no crash, no read out of bounds (the sanitizers look), events or an error. */
static void damage(uint64_t seed, int look_back)
{
	struct kit_random random = { seed };
	struct mt_defs *defs = some_defs(&random);
	struct mt_event batch[16];
	struct mt_encoder encoder;
	struct mt_decoder decoder;
	struct mt_cursor payload;
	uint32_t i, errors = 0;
	uint8_t *bytes;
	size_t got, left;

	mt_encoder_init(&encoder);
	encoder.defs = defs;
	if (look_back)
		mt_encoder_look_back(&encoder);
	for (i = 0; i < 40; i++) {
		struct mt_event event = { .kind = kit_kind(&random), .seq = i + 1 };

		kit_fill_event(&random, defs, &event);
		if (event.addr && i % 3)
			event.addr = 4096 * (1 + i % 5);
		CHECK_EQ(mt_encoder_add(&encoder, &event), 0);
	}
	payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	left = mt_cursor_left(&payload);
	for (i = 0; i < 40000; i++) {
		size_t size = i % 2 ? left : kit_below(&random, left), at = kit_below(&random, left);
		uint8_t *copy = malloc(size + 1);
		struct mt_cursor cursor = mt_cursor_make(copy, size);
		int error;

		memcpy(copy, payload.at, size);
		if (at < size)
			copy[at] = (uint8_t)kit_next(&random);
		error = mt_decoder_init(&decoder, MT_CHUNK_EVENTS, &cursor, defs, 0);
		while (!error && decoder.done < decoder.info.events)
			error = mt_decoder_next(&decoder, batch, MT_ARRAY_SIZE(batch), &got);
		errors += error != 0;
		free(copy);
	}
	CHECK(errors > 20000);
	free(bytes);
	mt_encoder_release(&encoder);
	mt_defs_free(defs);
}

TEST(any_damage_of_a_payload_is_refused_or_harmless)
{
	damage(11, 0);
	damage(12, 1);
}

/* Blocks that come and go, at addresses within reach and beyond it. */
static void come_and_go(uint32_t blocks, size_t count)
{
	struct mt_event *events = calloc(count, sizeof(*events));
	struct mt_defs *defs = mt_defs_new();
	struct mt_encoder encoder;
	struct mt_cursor payload;
	uint8_t *bytes;
	int chunk;
	size_t i;

	mt_encoder_init(&encoder);
	mt_encoder_look_back(&encoder);
	for (chunk = 0; chunk < 2; chunk++) { /* the second knows nothing of the first */
		mt_encoder_clear(&encoder);
		for (i = 0; i < count; i++) {
			events[i] = (struct mt_event){ .kind = i / blocks % 2 ? MT_TENSOR_FREE : MT_TENSOR_ALLOC,
						       .seq = i + 1,
						       .addr = 0x7f0000000000 + i % blocks * 4096 + i % 2,
						       .size = 4096 };
			CHECK_EQ(mt_encoder_add(&encoder, &events[i]), 0);
		}
		payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
		check_decode(payload, MT_CHUNK_EVENTS, defs, events, count, 512);
		check_decode(payload, MT_CHUNK_EVENTS, defs, events, count, 7);
		free(bytes);
	}
	/* An address within reach is not written again: a block has one address in the column, one that comes again
	 * none. */
	if (blocks <= 64)
		CHECK(encoder.column[MT_FIELD_addr].size <= (size_t)blocks * 8);
	if (blocks > MT_AGAIN_MAX)
		CHECK(encoder.column[MT_FIELD_addr].size >= count);
	mt_encoder_release(&encoder);
	free(events);
	mt_defs_free(defs);
}

TEST(addresses_that_come_again)
{
	come_and_go(1, 100);
	come_and_go(64, 5000);
	come_and_go(MT_AGAIN_MAX - 2, 40000);
	come_and_go(MT_AGAIN_MAX, 40000);
	come_and_go(MT_AGAIN_MAX + 2, 40000);
}

/* A payload of two allocations whose AGAIN is given: where it must be, and where it may not be. */
static int decode_again(uint8_t first, uint8_t second, size_t addr_bytes)
{
	struct mt_encoder encoder;
	struct mt_decoder decoder;
	struct mt_event batch[2];
	struct mt_defs *defs = mt_defs_new();
	struct mt_cursor payload;
	uint8_t *bytes;
	size_t got;
	int error;

	mt_encoder_init(&encoder);
	mt_encoder_look_back(&encoder);
	CHECK_EQ(mt_encoder_add(&encoder, &(struct mt_event){ .kind = MT_TENSOR_ALLOC, .seq = 1, .addr = 64 }), 0);
	CHECK_EQ(mt_encoder_add(&encoder, &(struct mt_event){ .kind = MT_TENSOR_ALLOC, .seq = 2, .addr = 128 }), 0);
	CHECK_EQ(encoder.again_column.size, 2);
	CHECK_EQ(encoder.column[MT_FIELD_addr].size, 2);
	encoder.again_column.data[0] = first;
	encoder.again_column.data[1] = second;
	encoder.column[MT_FIELD_addr].size = addr_bytes;
	payload = make_payload(&encoder, MT_CHUNK_EVENTS, &bytes);
	error = mt_decoder_init(&decoder, MT_CHUNK_EVENTS, &payload, defs, 0);
	if (!error)
		error = mt_decoder_next(&decoder, batch, 2, &got);
	free(bytes);
	mt_encoder_release(&encoder);
	mt_defs_free(defs);
	return error;
}

TEST(again_is_held_against_what_was_before)
{
	CHECK_EQ(decode_again(0, 0, 2), 0);
	CHECK_EQ(decode_again(0, 1, 1), 0);
	CHECK_EQ(decode_again(0, 1, 2), -MT_E_CORRUPT); /* a value too many in the column, */
	CHECK_EQ(decode_again(0, 0, 1), -MT_E_CORRUPT); /* and one too few */
	CHECK_EQ(decode_again(0, 2, 1), -MT_E_CORRUPT); /* before the first */
	CHECK_EQ(decode_again(1, 0, 1), -MT_E_CORRUPT);
	CHECK_EQ(decode_again(0, 0x80, 2), -MT_E_CORRUPT); /* without an end */
}

/* A payload of one mark, with `field` in its LAYOUT, too, and in a section of its own. */
static int decode_field(unsigned field)
{
	struct mt_buffer payload = { 0 }, layout = { 0 };
	struct mt_defs *defs = mt_defs_new();
	struct mt_decoder decoder;
	struct mt_event batch[1];
	struct mt_cursor cursor;
	size_t got = 0;
	int error;

	mt_buffer_put_varint(&layout, MT_MARK);
	mt_buffer_put_varint(&layout, MT_F_COMMON | 1ull << field);
	mt_payload_begin(&payload, MT_CHUNK_EVENTS);
	mt_payload_section(&payload, MT_SECTION_SUMMARY, "\1\1\1\0\0\0\0\0", 8);
	mt_payload_section(&payload, MT_SECTION_KINDS, "\44", 1);
	mt_payload_section(&payload, MT_SECTION_LAYOUT, layout.data, layout.size);
	mt_payload_section(&payload, MT_SECTION_COLUMN + MT_FIELD_seq, "", 1);
	mt_payload_section(&payload, MT_SECTION_COLUMN + MT_FIELD_time, "", 1);
	mt_payload_section(&payload, MT_SECTION_COLUMN + MT_FIELD_thread, "", 1);
	mt_payload_section(&payload, MT_SECTION_COLUMN + field, "\7", 1);
	cursor = mt_cursor_make(payload.data, payload.size);
	CHECK_EQ(mt_payload_kind(&cursor), MT_CHUNK_EVENTS);
	error = mt_decoder_init(&decoder, MT_CHUNK_EVENTS, &cursor, defs, 0);
	if (!error)
		error = mt_decoder_next(&decoder, batch, 1, &got);
	CHECK(error || got == 1);
	mt_buffer_release(&payload);
	mt_buffer_release(&layout);
	mt_defs_free(defs);
	return error;
}

/* The column of field 32 + n has the number of AGAIN of field n: such a field is refused, not taken for an address. */
TEST(a_field_without_a_section_of_its_own_is_refused)
{
	unsigned field;

	_Static_assert(MT_MARK == 044, "the kind of the payload");
	for (field = MT_FIELD_COUNT; field < 64; field++)
		CHECK_EQ(decode_field(field), field >= 32 && field < 56 ? -MT_E_CORRUPT : 0);
}

TEST_MAIN()
